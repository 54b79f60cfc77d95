"""What a schema declares, checked when one is made: its settings, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    StrictStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from dprap.errors import SchemaError
from dprap.limits import MAX_SCHEMA_CODES
from dprap.schema.code_constraints import to_codes
from dprap.schema.columns import Column
from dprap.schema.columns.base import Part, require_texts
from dprap.schema.constraints import Constraint
from dprap.schema.discover import DiscoverColumn, Discovered, split_columns
from dprap.schema.file_layout import Csv, Excel
from dprap.schema.number_format import NumberFormat
from dprap.schema.review_record import DraftNote, Vouch


@dataclass
class CodesSoFar:
    """Codes of the columns that were read so far."""

    found: int = 0


def _within_limit(column: Column, info: ValidationInfo) -> Column:
    """Stop at once where the columns have too many codes together: each keeps the edges of its bins
    in memory.
    """
    if isinstance(info.context, CodesSoFar):
        info.context.found += column.size
        if info.context.found > MAX_SCHEMA_CODES:
            raise SchemaError(
                f"the columns have more than {MAX_SCHEMA_CODES:,} codes in all. Use fewer or wider"
                " bins."
            )
    return column


def _lacks_format(column: Mapping[Any, Any]) -> bool:
    return column.get("type") in ("integer", "number") and column.get("format") is None


class DeclaredTable(Part):
    """The settings of a schema. An object of this class keeps what its validators ask for."""

    is_draft: Annotated[bool, Field(alias="draft")] = False
    columns: dict[
        StrictStr, Annotated[Column, Field(discriminator="type"), AfterValidator(_within_limit)]
    ]
    constraints: tuple[Constraint, ...] = ()
    null_values: tuple[StrictStr, ...] = ("",)
    ignore_columns: tuple[StrictStr, ...] = ()
    ignore_extra_columns: bool = False
    numbers: NumberFormat | None = None
    csv: Csv = Csv()
    excel: Excel = Excel()
    description: StrictStr | None = None
    draft_notes: Annotated[dict[StrictStr, DraftNote], Field(default_factory=dict)]
    vouched: Annotated[dict[StrictStr, Vouch], Field(default_factory=dict)]
    discover: Annotated[dict[StrictStr, DiscoverColumn], Field(default_factory=dict)]
    """Columns whose domain a run is to find.

    A file has them among the columns, with `domain: discover`.
    """
    discovered: Annotated[dict[StrictStr, Discovered], Field(default_factory=dict)]
    """What was paid for the domains that a run has found."""
    order: tuple[StrictStr, ...] = ()
    """The order of all columns, where some are to be discovered."""

    @model_validator(mode="before")
    @classmethod
    def _with_numbers(cls, data: Any) -> Any:
        """Give the format of the whole file to every column of numbers that has none of its own."""
        form, columns = (
            (data.get("numbers"), data.get("columns")) if isinstance(data, dict) else (None, None)
        )
        if form is None or not isinstance(columns, Mapping):
            return data
        given = {
            name: (
                {**column, "format": form}
                if isinstance(column, Mapping) and _lacks_format(column)
                else column
            )
            for name, column in columns.items()
        }
        return {**data, "columns": given}

    @model_validator(mode="before")
    @classmethod
    def _apart(cls, data: Any) -> Any:
        """Put columns with `domain: discover` aside, in whose place a run puts what it finds."""
        columns = data.get("columns") if isinstance(data, dict) else None
        if not isinstance(columns, Mapping):
            return data
        declared, wanted = split_columns(columns)
        if not wanted:
            return data
        return {**data, "columns": declared, "discover": wanted, "order": tuple(columns)}

    @model_validator(mode="after")
    def _some_columns(self) -> Self:
        if not self.columns and not self.discover:
            raise ValueError("columns: lists no column. Describe at least one")
        if self.discover and set(self.order) != {*self.columns, *self.discover}:
            raise ValueError("order: is written by dprap alone. Remove it")
        unknown = [name for name in self.discovered if name not in self.columns]
        if unknown:
            raise ValueError(f"discovered: {unknown[0]!r} is no column of the schema. Remove it")
        return self

    @field_validator("null_values")
    @classmethod
    def _texts(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        require_texts(values)
        return values

    @model_validator(mode="after")
    def _ignored_are_not_described(self) -> Self:
        both = [
            name for name in self.ignore_columns if name in self.columns or name in self.discover
        ]
        if both:
            raise ValueError(
                f"ignore_columns: {both[0]!r} is described under columns too. Remove one of them"
            )
        return self

    @model_validator(mode="after")
    def _record_fits(self) -> Self:
        unknown = [name for name in self.vouched if name not in self.columns]
        if unknown:
            raise ValueError(f"vouched: {unknown[0]!r} is no column of the schema. Remove it")
        if self.draft_notes and not self.is_draft:
            raise ValueError(
                "draft_notes: speak of the data, so they stand in drafts alone. Put draft: true"
                " back and run `dprap schema review`, which takes them out and keeps who vouches"
                " for what"
            )
        return self

    @model_validator(mode="after")
    def _constraints_fit(self) -> Self:
        for position, constraint in enumerate(self.constraints, start=1):
            try:
                to_codes(constraint, self.columns)
            except ValueError as error:
                raise ValueError(f"constraint {position}: {error}") from None
        return self
