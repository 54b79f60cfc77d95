"""How many values each column's policy would change, and the likely cause: for the steward's eyes
alone.

A policy such as `clip` or `null` gives every value a code, also where the schema reads a column
wrongly: `€23,775.41` in a column of plain numbers becomes null without an error. So values that a
policy touches are counted before anything is spent. The counts are exact and unprotected. They
decide only whether a run starts, as every error before spending does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dprap.encoding import recognise
from dprap.encoding.column_codes import positions_of
from dprap.encoding.encode_table import check_columns
from dprap.encoding.tables import open_table
from dprap.schema import Column, Schema
from dprap.schema.arrays import decoded
from dprap.schema.values import Unplaced, is_text_type

# Different texts kept to find out why they cannot be read.
_KEPT_TEXTS = 500


@dataclass
class Touched:
    """Numbers of values of one column that have no place of their own."""

    missing: int = 0
    unreadable: int = 0
    outside: int = 0
    texts: dict[str, int] = field(default_factory=dict)
    """Some of the unreadable texts."""

    def lost(self, column: Column) -> int:
        """How many values the policy turns into null or moves to a bound.

        The catch-all is meant for what it takes.
        """
        return 0 if column.policy in ("error", "other") else self.unreadable + self.outside


@dataclass
class TouchedTable:
    """What the policies of a schema touch in a table."""

    schema: Schema
    rows: int = 0
    columns: dict[str, Touched] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._strict = strict_schema(self.schema).columns
        self.columns = {name: Touched() for name in self.schema.columns}

    @property
    def is_worthwhile(self) -> bool:
        """Whether any policy changes values without an error."""
        return any(column.policy in ("clip", "null") for column in self.schema.columns.values())

    def add(self, batch: pa.RecordBatch | pa.Table, *, is_text: bool) -> None:
        """Count the values of a batch."""
        self.rows += batch.num_rows
        for name in self.schema.columns:
            if batch.schema.names.count(name) == 1:  # else opening the table says what is wrong
                array = batch.column(name)
                for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
                    self.add_column(name, chunk, is_text=is_text)

    def add_column(self, name: str, array: pa.Array, *, is_text: bool) -> None:
        """Count the values of one column of a batch."""
        null_texts = self.schema.null_texts(name) if is_text else None
        if not is_text and is_text_type(array.type) and self.schema.columns[name].takes(array.type):
            null_texts = (
                self.schema.columns[name].null_values or ()
            )  # a total policy reads text, which a strict one refuses
        positions = positions_of(name, self._strict[name], array, null_texts)
        touched = self.columns[name]
        touched.missing += int((positions == Unplaced.MISSING).sum())
        touched.outside += int((positions == Unplaced.OUTSIDE).sum())
        unreadable = positions == Unplaced.UNREADABLE
        touched.unreadable += int(unreadable.sum())
        if unreadable.any() and is_text_type(array.type):
            if pa.types.is_string_view(array.type):
                array = array.cast(pa.large_string())  # which few of Arrow's functions know
            for value in decoded(array.filter(pa.array(unreadable)).slice(0, 5 * _KEPT_TEXTS)):
                text = (value or "").encode("utf-8", "replace").decode()
                if len(touched.texts) < _KEPT_TEXTS or text in touched.texts:
                    touched.texts[text] = touched.texts.get(text, 0) + 1

    def count_lines(self) -> list[str]:
        """For each column how many values its policy touches, if any. NOT to be passed on."""
        lines = []
        for name, touched in self.columns.items():
            parts = [
                f"{number:,} {word}"
                for number, word in (
                    (touched.missing, "missing"),
                    (touched.unreadable, "unreadable"),
                    (touched.outside, "outside"),
                )
                if number
            ]
            if parts:
                lines.append(
                    f"column {name!r}: {', '.join(parts)} (policy"
                    f" {self.schema.columns[name].policy})"
                )
        return lines

    def findings(self, share: float, *, quoting: bool) -> list[str]:
        """A line for each column of which a policy would change more than a share of the values.

        NOT to be passed on.

        Bounds that were paid for are what they are: nobody can widen them.

        Args:
            share: The share.
            quoting: Whether a line may quote a few of the values, or only such as usually mean
                null.
        """
        lines = []
        for name, touched in self.columns.items():
            lost = touched.lost(self.schema.columns[name])
            if self.rows and lost > share * self.rows and name not in self.schema.discovered:
                lines.append(self._finding(name, touched, lost, quoting=quoting))
        return lines

    def _finding(self, name: str, touched: Touched, lost: int, *, quoting: bool) -> str:
        column = self.schema.columns[name]
        parts = []
        if touched.unreadable:
            parts.append(
                f"{touched.unreadable / self.rows:.1%} of the values {column.not_readable}"
            )
        if touched.outside:
            verb = "moved to a bound" if column.policy == "clip" else "made null"
            parts.append(
                f"{touched.outside / self.rows:.1%} are {column.not_in_domain} and would be {verb}"
            )
        return (
            f"column {name!r}: {'; '.join(parts)}."
            f" {likely_cause(column, touched, lost, quoting=quoting)}"
        )


def touched_by(schema: Schema, table: Any) -> TouchedTable:
    """Count what the policies of a schema touch in one table."""
    found = TouchedTable(schema)
    source = open_table(table, strict_schema(schema))
    check_columns(source.names, schema)
    for batch in source.read():
        found.add(batch, is_text=source.is_text)
    return found


def strict_schema(schema: Schema) -> Schema:
    """The schema without policies: clip would hide what it moves, also where values without a type
    are placed early.
    """
    strict = {
        name: column.model_copy(update={"out_of_domain": "error"})
        for name, column in schema.columns.items()
    }
    return schema.model_copy(update={"columns": strict})


def likely_cause(column: Column, touched: Touched, lost: int, *, quoting: bool) -> str:
    """The likely cause, and the line to add to the schema."""
    texts = [text for text in touched.texts if text is not None]
    line = suggested_line(column, texts, quoting=quoting)
    if line is not None:
        return f"{line[0]}. Add to the column: {line[1]}"
    if touched.outside > lost / 2:
        return (
            "Extend its bounds or its list to what is publicly possible, or say --no-check if this"
            " is meant"
        )
    return (
        "Correct its type, or list what means null in null_values; or say --no-check if this is"
        " meant"
    )


def suggested_line(column: Column, texts: list[str], *, quoting: bool) -> tuple[str, str] | None:
    """What unreadable texts look like, and the setting that reads them.

    It quotes usual marks of null, or any few words.
    """
    if not texts:
        return None
    stripped = [text.strip() for text in texts]
    if stripped != texts and all(
        column.place(text) >= 0 or column.place(text) == Unplaced.OUTSIDE
        for text in stripped
        if text
    ):
        return "Blanks stand around the values", "(for the whole file) csv: {strip: true}"
    markers = recognise.null_markers(texts)
    rest = [text for text in texts if text not in markers]
    if not rest or (
        len(texts) <= 3 and all(not any(sign.isdigit() for sign in text) for text in texts)
    ):
        shown = (
            _yaml_list(texts)
            if quoting or not rest
            else "[...], with the words that `dprap schema check` shows"
        )
        return "They look like markers of missing values", f"null_values: {shown}"
    if column.is_number:
        both = [
            recognise.number_format(_majority(rest), decimal_comma=comma) for comma in (False, True)
        ]
        form = next((each for each in both if each is not None and each.settings), None)
        if form is not None:
            return (
                "They are written with other signs than plain digits and a point",
                f"format: {_yaml_map(form.settings)}",
            )
        unit = recognise.clock_unit(rest)
        if unit is not None:
            return "They are times of day or durations", f"format: {{clock: {unit}}} (type integer)"
    if column.is_calendar:
        dated = recognise.date_format(rest)
        if dated is not None and "format" in dated.settings:
            return "They are dates in another order", f'format: "{dated.settings["format"]}"'
    return None


def _majority(texts: list[str]) -> list[str]:
    """The texts without the few that have no digit, or of which only a limit is known."""
    return [
        text
        for text in texts
        if any(sign.isdigit() for sign in text) and text[:1] not in recognise.BEYOND
    ] or texts


def _yaml_list(texts: list[str]) -> str:
    return "[" + ", ".join(f"'{text}'" for text in texts) + "]"


def _yaml_map(settings: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'{name}: "{sign}"' for name, sign in settings.items()) + "}"
