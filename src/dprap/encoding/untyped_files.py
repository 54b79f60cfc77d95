"""Files whose values have no declared type: JSON lines and Excel sheets, read as rows of Python
values.

No type is inferred from a column, because one record would then decide how the others are read.
Each value goes to the schema alone, as a value of an object column does.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from dprap.errors import DataError, SettingsError
from dprap.schema.file_layout import Excel

# Characters of a line of JSON, as many as Arrow takes of a CSV record. Without a limit one record
# may take all memory.
_LONGEST_LINE = 1 << 21

# Digits of an integer that Python reads as one, by its default; a longer one is read as a decimal,
# which has the same place.
_MOST_DIGITS = 4_000


@dataclass(frozen=True)
class Rows:
    """Rows of values by the names of their columns, which can be read more than once."""

    names: tuple[str, ...]
    read: Callable[[], Iterator[dict[str, Any]]]

    def batches(self, wanted: Sequence[str], batch_rows: int) -> Iterator[list[list[Any]]]:
        """The values of the wanted columns, so many rows at a time; None where a row has no
        value.
        """
        rows = self.read()
        while batch := list(islice(rows, batch_rows)):
            yield [[row.get(name) for row in batch] for name in wanted]


def open_json_lines(path: Path, declared: tuple[str, ...] | None) -> Rows:
    """A file with one JSON object in each line. A key that an object lacks is a missing value.

    With a schema the columns are those declared, and those of the first object. Without one, for a
    draft, they are the keys of all objects. Lines end in line feeds alone. Of a key that stands
    twice in an object the last value counts.
    """

    def read() -> Iterator[dict[str, Any]]:
        try:
            with (
                pa.input_stream(path) as raw,
                io.TextIOWrapper(raw, encoding="utf-8-sig", newline="\n") as lines,
            ):
                while line := lines.readline(_LONGEST_LINE + 1):
                    if len(line) > _LONGEST_LINE:
                        raise ValueError("too long")  # noqa: TRY301 - one way out for all that is no object
                    if line.strip():
                        yield _object(line)
        except (OSError, pa.ArrowException):
            raise DataError(
                f"{path}: cannot be read. It may be truncated, damaged or of another kind."
            ) from None
        except (ValueError, RecursionError):
            raise DataError(
                f"{path}: has a line that is no JSON object in UTF-8, or one of more than 2 MB."
                " Write one object in each line."
            ) from None

    rows = read()
    names = dict.fromkeys(declared or ())
    for row in rows if declared is None else islice(rows, 1):
        names |= dict.fromkeys(row)
    if not names:
        raise DataError(f"{path}: is empty. A file of JSON lines needs an object in each line.")
    return Rows(tuple(names), read)


def _object(line: str) -> dict[str, Any]:
    """The object that one line is; raises ValueError for anything else."""
    found = json.loads(
        line, parse_int=lambda digits: (int if len(digits) <= _MOST_DIGITS else Decimal)(digits)
    )
    if not isinstance(found, dict):
        raise ValueError("no object")  # noqa: TRY004 - one way out for all that is no object
    return found


def open_excel(path: Path, place: Excel | None) -> Rows:
    """A sheet of an Excel or OpenDocument file, with a header line.

    A line in which every cell is empty is no record.

    A cell is a number, a text, a truth value, a time of day, a duration, or a day with a time,
    which may be midnight.
    """
    is_draft, place = place is None, place or Excel()
    try:
        import python_calamine as calamine
    except ImportError:
        raise SettingsError(
            "Excel files need an extra package. Run: pip install 'dprap[excel]'."
        ) from None
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
        sheet = place.sheet or book.sheet_names[0]
        if sheet not in book.sheet_names:
            raise DataError(
                f"{path}: has no sheet {sheet!r}. Its sheets are: {', '.join(book.sheet_names)}."
            )
        lines = book.get_sheet_by_name(sheet).to_python(skip_empty_area=True)[place.skip_lines :]
    except (calamine.CalamineError, OSError, IndexError, ValueError, OverflowError):
        raise DataError(
            f"{path}: cannot be read as an Excel file. It may be damaged, locked or of another"
            " kind."
        ) from None
    if not lines:
        raise DataError(
            f"{path}: sheet {sheet!r} is empty. A sheet needs a header line and records."
        )
    header = [str(cell).strip() for cell in lines[0]]
    named = [number for number, name in enumerate(header) if name]
    names = tuple(header[number] for number in named)

    def read() -> Iterator[dict[str, Any]]:
        for line in lines[1:]:
            values = {header[number]: _cell(line[number], is_draft=is_draft) for number in named}
            if any(value is not None for value in values.values()):
                yield values

    return Rows(names, read)


def _cell(value: Any, *, is_draft: bool) -> Any:
    """The value of a cell.

    The reader of sheets takes a day at midnight for a day without a time. Only a column can tell
    what is meant, and columns of days take both; a draft has no columns yet.
    """
    if type(value) is date and not is_draft:
        return datetime.combine(value, time.min)
    return None if value == "" else value
