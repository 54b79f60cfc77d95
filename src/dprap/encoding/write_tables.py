"""Synthetic tables to files. CSV files are written as the schema says that they are: delimiter,
encoding, quotes, lines above the header, null texts and formats.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from dprap.encoding.tables import BATCH_ROWS, csv_form
from dprap.errors import DataError, ImpossibleTableError, SettingsError
from dprap.schema import Column, Schema
from dprap.schema.columns.listed import ListedColumn
from dprap.schema.file_layout import Csv
from dprap.schema.number_format import NumberFormat
from dprap.schema.values import is_text_type


def write_table(table: pa.Table, path: str | Path, schema: Schema) -> None:
    """Write a decoded table as .csv, .tsv or .parquet; encoding the file again gives the same
    codes.
    """
    write_chunks([table], path, schema)


def write_chunks(chunks: Iterable[pa.Table], path: str | Path, schema: Schema) -> None:
    """Write the chunks of a decoded table, one below the other; one at a time is in memory.

    There is at least one.
    """
    path = Path(path)
    rest = iter(chunks)
    first = next(rest)
    try:
        with _writer(first, path, schema) as write:
            for chunk in chain([first], rest):
                write(chunk)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}). Check the folder."
        ) from None
    except UnicodeEncodeError:
        # a domain that a run discovered is not known before
        raise ImpossibleTableError(
            f"The table has values that {schema.csv.encoding} cannot write. Draw it as Parquet."
        ) from None


def require_writable(schema: Schema) -> None:
    """Refuse a schema whose tables cannot be written as it says that CSV files are.

    Raises:
        SettingsError: If a name, or a text that a column may hold, is not read back from such a
            file.
    """
    encoding = schema.csv.encoding
    for name, column in schema.columns.items():
        own = [name, *_own_texts(column), *([_null_text(schema, name)] if column.nullable else [])]
        if not all(_is_kept(text, encoding) for text in (*own, *_format_texts(column))):
            raise SettingsError(
                f"column {name!r}: has a name or a value that {encoding} cannot write. Use"
                " --format parquet, or csv: {encoding: utf-8} in the schema."
            )
        if schema.csv.strip and any(text != text.strip() for text in own):
            raise SettingsError(
                f"column {name!r}: has a name or a value with blanks around it, which csv: {{strip:"
                " true}} takes off. Use --format parquet, or change the schema."
            )


def _own_texts(column: Column) -> Iterable[str]:
    return column.label_texts if isinstance(column, ListedColumn) else ()


def _format_texts(column: Column) -> Iterable[str]:
    """The signs of a column's format."""
    form = getattr(column, "format", None)
    signs = form.model_dump().values() if isinstance(form, NumberFormat) else [form]
    return [sign for sign in signs if sign is not None]


def _is_kept(text: str, encoding: str) -> bool:
    try:
        return text.encode(encoding).decode(encoding) == text
    except UnicodeError:
        return False


@contextmanager
def _writer(first: pa.Table, path: Path, schema: Schema) -> Iterator[Callable[[pa.Table], None]]:
    """A function that appends a chunk, by the file's ending."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        with pa.parquet.ParquetWriter(path, first.schema) as parquet:
            yield parquet.write_table
    elif suffix in (".csv", ".tsv"):
        form = csv_form(path, schema.csv)
        encoder = codecs.getincrementalencoder(form.encoding)()
        with path.open("wb") as file:
            names = form.delimiter.join(_quoted(pa.array(list(schema.columns)), form).to_pylist())
            file.write(encoder.encode("\n" * form.skip_lines + names + "\n"))

            def write(chunk: pa.Table) -> None:
                for batch in chunk.to_batches(BATCH_ROWS):
                    file.write(encoder.encode(_lines(batch, schema, form)))

            yield write
    else:
        raise DataError(
            f"{path}: tables are written as .csv, .tsv or .parquet. Choose one of these endings."
        )


def _lines(batch: pa.RecordBatch, schema: Schema, form: Csv) -> str:
    """The records as lines of a CSV file."""
    fields = []
    for name, column in schema.columns.items():
        null_text = _null_text(schema, name)
        null = _quoted(pa.array([null_text]), form)[0] if null_text else ""
        fields.append(pc.fill_null(_fields(column.as_csv(batch.column(name)), form), null))
    lines = pc.binary_join_element_wise(*fields, form.delimiter)
    whole = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")
    return f"{whole[0].as_py()}\n"


def _fields(array: pa.Array, form: Csv) -> pa.Array:
    """Values as the schema reads them: texts in quotes, and others where they hold a sign of the
    form.
    """
    texts = array.cast(pa.string())
    if is_text_type(array.type) or pa.types.is_dictionary(array.type):
        return _quoted(texts, form)
    signs = f"[\\x{ord(form.delimiter):02x}\\x{ord(form.quote):02x}]"
    return pc.if_else(pc.match_substring_regex(texts, signs), _quoted(texts, form), texts)


def _quoted(texts: pa.Array, form: Csv) -> pa.Array:
    inner = pc.replace_substring(texts, form.quote, 2 * form.quote)
    return pc.binary_join_element_wise(form.quote, inner, form.quote, "")


def _null_text(schema: Schema, name: str) -> str:
    return next(iter(schema.null_texts(name)), "")
