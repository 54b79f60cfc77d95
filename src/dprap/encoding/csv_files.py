"""CSV files as a stream of Arrow batches: every value is a text, to be read by the schema."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dprap.encoding.csv_quotes import check_line_quotes, check_quotes
from dprap.errors import DataError
from dprap.schema.encodings import marked_encoding
from dprap.schema.file_layout import Csv

# Arrow holds several blocks and their texts at a time, so this decides how much memory reading
# takes.
_BLOCK_BYTES = 1 << 21

_HEADER_BYTES = 1 << 20

# How bytes are kept that are no sign of the encoding.
_UNDECODED = re.compile("[\udc80-\udcff]")


def csv_header(path: Path, form: Csv) -> tuple[str, ...]:
    """The names in the header line."""
    try:
        with pa.input_stream(path) as raw:  # decompresses .gz and the like
            start = raw.read(_HEADER_BYTES)
        encoding = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
        # only in the header does it matter what is undecodable; the start may end within a sign
        text = codecs.getincrementaldecoder(encoding)("surrogateescape").decode(start)
        lines = io.StringIO(text, newline="")
        for _ in range(form.skip_lines):
            lines.readline()
        first = next(csv.reader(lines, delimiter=form.delimiter, quotechar=form.quote), [])
    except UnicodeError:
        raise _encoding_error(path, form) from None
    except (csv.Error, OSError, pa.ArrowException) as error:
        raise bad_header(path, error) from None
    marked = marked_encoding(start)
    if marked is not None and not form.encoding.startswith(marked):
        raise _encoding_error(path, form, marked)
    if _UNDECODED.search("".join(first)):
        raise _encoding_error(path, form)
    if not first:
        raise DataError(f"{path}: is empty. A CSV file needs a header line and records.")
    return tuple(name.strip() for name in first) if form.strip else tuple(first)


def read_csv(path: Path, names: tuple[str, ...], form: Csv) -> Iterator[pa.RecordBatch]:
    """The records, batch by batch; all columns are texts, and no text is null."""
    try:
        check_quotes(path, form)
        with pa.csv.open_csv(
            path,
            pa.csv.ReadOptions(
                block_size=_BLOCK_BYTES,
                column_names=names,
                skip_rows=form.skip_lines,
                skip_rows_after_names=1,
                encoding=form.encoding,
            ),
            # an empty line is a record only where a record has one value
            pa.csv.ParseOptions(
                delimiter=form.delimiter,
                quote_char=form.quote,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,
            ),
            pa.csv.ConvertOptions(
                column_types={name: pa.string() for name in names}, strings_can_be_null=False
            ),
        ) as reader:
            for batch in reader:
                yield stripped(batch) if form.strip else batch
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise _csv_error(path, error, form) from None


def stripped(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of texts without the blanks around them."""
    columns = [pc.utf8_trim_whitespace(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _csv_options(
    names: Sequence[str], delimiter: str
) -> tuple[pa.csv.ParseOptions, pa.csv.ConvertOptions]:
    """How every CSV text is read: all fields as text, an empty line as a record only where a record
    has one value.
    """
    return (
        pa.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
        ),
        pa.csv.ConvertOptions(
            column_types={name: pa.string() for name in names}, strings_can_be_null=False
        ),
    )


def read_csv_lines(lines: pa.Array, names: Sequence[str], delimiter: str, shown: str) -> pa.Table:
    """The records of CSV lines.

    Each line is a record by itself or is refused, so none can change how another is read.

    Args:
        lines: Texts without line ends, and without the header line.
        names: The fields of the header line.
        delimiter: What stands between fields.
        shown: What to call the table in messages.

    Returns:
        The fields as text.

    Raises:
        DataError: If a line is not a record: an open quote, text behind a closing one, or another
            number of fields.
    """
    check_line_quotes(lines, delimiter, shown)
    # The first line stands for the header: at the very start Arrow would take a byte order mark for
    # its own.
    header, end = (pa.scalar(each, lines.type) for each in ("x" + delimiter * (len(names) - 1), ""))
    joined = pc.binary_join(
        pa.ListArray.from_arrays([0, len(lines)], lines), pa.scalar("\n", lines.type)
    )
    text = pc.binary_join_element_wise(
        header, joined[0], end, pa.scalar("\n", lines.type)
    ).as_buffer()
    try:
        return pa.csv.read_csv(
            pa.BufferReader(text),
            pa.csv.ReadOptions(
                block_size=text.size + 1,
                column_names=names,
                skip_rows_after_names=1,
                use_threads=False,
            ),
            *_csv_options(names, delimiter),
        )
    except pa.ArrowException as error:
        raise _csv_error(shown, error, Csv(delimiter=delimiter)) from None


def csv_fields(text: str, delimiter: str, shown: Path | str) -> tuple[str, ...]:
    """The fields of the first record of a CSV text: the header."""
    try:
        first = next(
            csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter),
            [],
        )
    except csv.Error as error:
        raise bad_header(shown, error) from None
    if not first:
        raise DataError(f"{shown}: is empty. A CSV file needs a header line and records.")
    return tuple(first)


def bad_header(shown: Path | str, error: Exception) -> DataError:
    """Why the start of a file cannot be read."""
    if _is_damaged(error):
        return _damaged(shown)
    return DataError(f"{shown}: cannot be read as CSV. Check its header line and permissions.")


def _is_damaged(error: Exception) -> bool:
    """Whether Arrow could not decompress a file; errors of the system have a number."""
    return isinstance(error, OSError) and error.errno is None


def _damaged(shown: Path | str) -> DataError:
    return DataError(
        f"{shown}: cannot be decompressed. The file is damaged or cut short: copy or write it"
        " again."
    )


def _encoding_error(path: Path | str, form: Csv, marked: str | None = None) -> DataError:
    example = marked or ("cp1252" if form.encoding == "utf-8" else "utf-8")
    return DataError(
        f"{path}: is not {form.encoding.upper()} text. Say in the schema what it is, such as"
        f" csv: {{encoding: {example}}}, or convert it."
    )


def _csv_error(path: Path | str, error: Exception, form: Csv) -> DataError:
    # Arrow's message quotes the line, which is private: only its kind may pass
    message = str(error)
    if _is_damaged(error):
        return _damaged(path)
    if isinstance(error, UnicodeError) or "UTF8" in message or "codec" in message:
        return _encoding_error(path, form)
    if "Empty CSV" in message:
        return DataError(f"{path}: has no records.")
    if "straddl" in message:
        return DataError(
            f"{path}: has a record of more than 2 MB. Check its quotes: one may be left open."
        )
    if "Expected" in message and "columns" in message:
        return DataError(
            f"{path}: has lines with more or fewer fields than the header. The delimiter is"
            f" {form.delimiter!r}; a field that holds it must stand in quotes. Correct the file, or"
            " name another delimiter."
        )
    return DataError(
        f"{path}: cannot be read as CSV. It may be truncated, damaged or of another kind."
    )
