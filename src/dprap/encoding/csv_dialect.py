"""The form of a CSV file, recognised from its first lines for a draft; the schema then declares it,
and reading is strict.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from charset_normalizer import from_bytes
from pydantic import ValidationError

from dprap.encoding.csv_files import bad_header
from dprap.errors import DataError
from dprap.schema.encodings import marked_encoding
from dprap.schema.file_layout import Csv
from dprap.schema.messages import describe

_SAMPLE_BYTES = 1 << 18
_CHUNK_BYTES = 1 << 22
_LINES = 300
_DELIMITERS = (",", ";", "\t", "|", ":", "^", "~")
# Encodings that tables come in, besides UTF-8. The order decides where several fit as well.
_ENCODINGS = [
    "cp1252",
    "iso8859_15",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "mac_roman",
    "cp850",
    "koi8_r",
    "gb18030",
    "shift_jis",
    "euc_kr",
    "big5",
]
# How much a sign counts as a delimiter that cuts the first line into another number of fields.
# Titles above a header do so too, but to every sign.
_NO_HEADER = 0.8
# Letters and signs of western Europe outside ASCII: a file that has no others is one of Windows'
# western encoding.
_WESTERN = set(
    "éèêëàâäáãåæçñíìîïóòôöõøœúùûüýÿßÉÈÊÀÂÄÁÃÅÆÇÑÍÎÓÔÖÕØŒÚÛÜŸ€£¥§°²³µ·–—‘’“”„«»…™©®¿¡ªº½¼¾×±¢\xa0"
)


def recognise_csv(path: Path, given: Mapping[str, Any] | None = None) -> Csv:
    """Delimiter, encoding, quote, blanks and lines above the header, as the first lines of a file
    show them.

    Args:
        path: The file.
        given: Settings of `Csv` that somebody knows; the others are recognised.

    Returns:
        The form of the file.

    Raises:
        DataError: If the file cannot be read, its first line is a record and no header, or a given
            setting is refused.
    """
    given = _checked(given or {})
    try:
        with pa.input_stream(path) as raw:
            start = raw.read(_SAMPLE_BYTES)
        encoding = given.get("encoding") or _encoding(path, start)
    except (OSError, pa.ArrowException) as error:
        raise bad_header(path, error) from None
    if not start:
        raise DataError(f"{path}: is empty. A CSV file needs a header line and records.")
    text = start.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="ignore")
    is_cut = len(start) == _SAMPLE_BYTES
    lines = text.splitlines(keepends=True)[: -1 if is_cut else None][:_LINES]
    delimiter, quote = _delimiter(lines)
    delimiter, quote = given.get("delimiter", delimiter), given.get("quote", quote)
    rows = _rows(lines, delimiter, quote)
    width = Counter(len(row) for row in rows).most_common(1)[0][0] if rows else 1
    skip = next(
        (number for number, row in enumerate(rows) if len(row) == width and _is_filled(row)), 0
    )
    skip = given.get("skip_lines", skip if skip <= 30 else 0)
    rows = [row for row in rows[skip:] if row]
    padded = sum(field[:1] in " \t" for row in rows[1:] for field in row[1:])
    fields = sum(len(row) - 1 for row in rows[1:])
    strip = (fields > 0 and padded > fields / 2) or _has_padded_names(rows[0] if rows else [])
    _require_header(path, rows)
    strip = given.get("strip", strip)
    return Csv(delimiter=delimiter, encoding=encoding, quote=quote, strip=strip, skip_lines=skip)


def _has_padded_names(header: list[str]) -> bool:
    """Whether a name has blanks around it, which no program needs to tell two columns apart."""
    names = [name.strip() for name in header]
    return names != header and len(set(names)) == len(names)


def _is_filled(row: list[str]) -> bool:
    """Whether most fields of a line hold something; spreadsheets write a title with empty fields
    behind it.

    The header of a table with row numbers may lack its first name alone, whichever its number of
    columns.
    """
    filled = [bool(field.strip()) for field in row]
    return 2 * sum(filled) > len(row) or (len(row) > 1 and all(filled[1:]))


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {name: getattr(Csv(**given), name) for name in given}
    except ValidationError as error:
        raise DataError(describe(error)) from None


def _encoding(path: Path, start: bytes) -> str:
    marked = marked_encoding(start)
    if marked is not None:
        return marked
    odd = _bytes_beyond_utf8(path)
    if odd is None:
        return "utf-8"
    try:
        if set(odd.decode("cp1252")) - set(map(chr, range(128))) <= _WESTERN:
            return "cp1252"
    except UnicodeDecodeError:
        pass
    best = from_bytes(odd, cp_isolation=_ENCODINGS).best()
    return "cp1252" if best is None else best.encoding


def _bytes_beyond_utf8(path: Path) -> bytes | None:
    """Lines of a file with bytes beyond ASCII, if the file is not UTF-8; None if it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf8 = True
    found = bytearray()
    with pa.input_stream(path) as raw:
        while chunk := raw.read(_CHUNK_BYTES):
            if is_utf8:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    is_utf8 = False
            if len(found) < _SAMPLE_BYTES and not chunk.isascii():
                found += b"\n".join(line for line in chunk.splitlines() if not line.isascii())[
                    :_SAMPLE_BYTES
                ]
            if not is_utf8 and len(found) >= _SAMPLE_BYTES:
                break
    return None if is_utf8 else bytes(found)


def _rows(lines: list[str], delimiter: str, quote: str) -> list[list[str]]:
    try:
        return list(
            csv.reader(
                io.StringIO("".join(lines), newline=""), delimiter=delimiter, quotechar=quote
            )
        )
    except csv.Error:
        return []


def _delimiter(lines: list[str]) -> tuple[str, str]:
    """The delimiter that cuts the most lines into the same number of fields, more than one; and the
    quote.
    """
    text = "".join(lines)
    best, found = 0.0, (",", '"')
    for delimiter in _DELIMITERS:
        for quote in ('"', "'"):
            if quote == "'" and text.count(f"'{delimiter}'") < len(lines) // 2 + 1:
                continue
            rows = [row for row in _rows(lines, delimiter, quote) if row]
            if not rows:
                continue
            width, count = Counter(map(len, rows)).most_common(1)[0]
            if width == 1:
                continue
            # a sign that stands in every line once or twice is weaker evidence than one that stands
            # there often
            score = count / len(rows) * (1 - 0.5 / width) * (1.01 if quote == "'" else 1)
            if len(rows[0]) != width:
                # colons of clocks cut all lines alike, but not the names of the columns
                score *= _NO_HEADER
            if score > best + 1e-9:
                best, found = score, (delimiter, quote)
    return found


def _require_header(path: Path, rows: list[list[str]]) -> None:
    """Refuse a file whose first line is a record: its values would become names of columns, and be
    published.
    """
    if len(rows) < 3:
        return
    header, records = rows[0], rows[1:]
    again = sum(
        bool(name.strip()) and any(len(row) > at and row[at] == name for row in records)
        for at, name in enumerate(header)
    )
    if again > len(header) / 2:
        raise DataError(
            f"{path}: its first line looks like a record, and no header. Add a line with the names"
            " of the columns."
        )
