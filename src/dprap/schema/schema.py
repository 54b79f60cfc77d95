"""What is publicly known about a table: its columns, their domains, nulls, policies and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    StrictStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from dprap.domain import Domain
from dprap.errors import SchemaError
from dprap.limits import MAX_SCHEMA_CODES
from dprap.schema.columns import Column
from dprap.schema.columns.base import Part, require_texts
from dprap.schema.constraints import CodeConstraint, Constraint, to_codes
from dprap.schema.files import read_mapping, write_mapping
from dprap.schema.messages import describe

DRAFT_WARNING = """\
DRAFT: the bounds and categories below were taken from the data. Publishing anything that depends on them leaks
private information: a maximum is one person's value, a rare category is one person's existence. Replace them by what
is publicly known (code books, physical limits, law), then remove the line draft: true. Until then dprap refuses it."""


class Csv(Part):
    """How CSV files of this table are written."""

    delimiter: Annotated[StrictStr, Field(min_length=1, max_length=1)] = ","


@dataclass
class _Codes:
    """Codes of the columns that were read so far."""

    found: int = 0


def _within_limit(column: Column, info: ValidationInfo) -> Column:
    """Stop at once where the columns have too many codes together: each keeps the edges of its bins in memory."""
    if isinstance(info.context, _Codes):
        info.context.found += column.size
        if info.context.found > MAX_SCHEMA_CODES:
            raise SchemaError(f"the columns have more than {MAX_SCHEMA_CODES:,} codes in all. Use fewer or wider bins.")
    return column


class Schema(Part):
    """Columns in order, each with a public domain.

    >>> schema = Schema.of({"columns": {"age": {"type": "integer", "min": 0, "max": 99, "width": 10},
    ...                                 "smoker": {"type": "boolean", "nullable": True}}})
    >>> schema.domain
    Domain(names=('age', 'smoker'), sizes=(10, 3))
    """

    is_draft: Annotated[bool, Field(alias="draft")] = False
    columns: dict[StrictStr, Annotated[Column, Field(discriminator="type"), AfterValidator(_within_limit)]]
    constraints: tuple[Constraint, ...] = ()
    null_values: tuple[StrictStr, ...] = ("",)
    ignore_columns: tuple[StrictStr, ...] = ()
    ignore_extra_columns: bool = False
    csv: Csv = Csv()
    description: StrictStr | None = None

    def __init__(self, **data: Any) -> None:
        # pydantic calls this for every way a schema is made: one place turns its errors into ours
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self, context=_Codes())
        except ValidationError as error:
            raise SchemaError(describe(error)) from None

    @field_validator("columns")
    @classmethod
    def _some_columns(cls, columns: dict[str, Any]) -> dict[str, Any]:
        if not columns:
            raise ValueError("lists no column. Describe at least one")
        return columns

    @field_validator("null_values")
    @classmethod
    def _texts(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        require_texts(values)
        return values

    @model_validator(mode="after")
    def _ignored_are_not_described(self) -> Self:
        both = [name for name in self.ignore_columns if name in self.columns]
        if both:
            raise ValueError(f"ignore_columns: {both[0]!r} is described under columns too. Remove one of them")
        return self

    @model_validator(mode="after")
    def _constraints_fit(self) -> Self:
        for position, constraint in enumerate(self.constraints, start=1):
            try:
                to_codes(constraint, self.columns)
            except ValueError as error:
                raise ValueError(f"constraint {position}: {error}") from None
        return self

    @classmethod
    def of(cls, mapping: Mapping[Any, Any]) -> Schema:
        """Make a schema from plain data: the content of a schema file or a {"column": size} domain."""
        if mapping and "columns" not in mapping and all(type(size) is int for size in mapping.values()):
            return cls.from_domain({str(name): size for name, size in mapping.items()})
        columns = mapping.get("columns")
        if isinstance(columns, Mapping):
            unnamed = [name for name in columns if not isinstance(name, str)]
            if unnamed:
                raise SchemaError(f"column {unnamed[0]!r}: column names are text. Quote the name in the file.")
        if any(not isinstance(key, str) for key in mapping):
            raise SchemaError("the settings of a schema are text. Quote them or remove what is not a setting.")
        return cls(**mapping)

    @classmethod
    def from_domain(cls, sizes: Mapping[str, int]) -> Schema:
        """Make a schema of integer codes 0..size-1, the field's {"column": size} domain.

        >>> Schema.from_domain({"age": 85, "sex": 2}).domain.sizes
        (85, 2)
        """
        if any(size < 1 for size in sizes.values()):
            raise SchemaError("a domain file gives every column a size of at least 1.")
        return cls(columns={name: {"type": "integer", "min": 0, "max": size - 1} for name, size in sizes.items()})

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a .yaml, .json or .toml schema file, or a domain JSON file."""
        path = Path(path)
        mapping = read_mapping(path)
        try:
            return cls.of(mapping)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the schema as .yaml or .json; reading it back gives an equal schema."""
        write_mapping(self.as_mapping(), Path(path), comment=DRAFT_WARNING if self.is_draft else None)

    def as_mapping(self) -> dict[str, Any]:
        """The schema as plain data, without settings that have their default."""
        mapping = self.model_dump(mode="json", exclude_defaults=True, by_alias=True)
        mapping["columns"] = {name: {"type": column["type"], **column} for name, column in mapping["columns"].items()}
        return mapping

    @cached_property
    def domain(self) -> Domain:
        """Column names and numbers of codes."""
        return Domain.of({name: column.size for name, column in self.columns.items()})

    @cached_property
    def code_constraints(self) -> tuple[CodeConstraint, ...]:
        """The constraints on codes: for each its columns and a table of the cells that cannot occur."""
        return tuple(to_codes(constraint, self.columns) for constraint in self.constraints)

    @property
    def is_total(self) -> bool:
        """Whether encoding cannot fail because of a value: every column has a policy that covers everything."""
        return all(column.is_total for column in self.columns.values())

    def require_reviewed(self) -> None:
        """Raise unless a person has reviewed the schema; every private operation asks this first."""
        if self.is_draft:
            raise SchemaError(
                "the schema is a draft whose bounds and categories come from private data. "
                "Review every column, then remove draft: true."
            )

    def null_texts(self, name: str) -> tuple[str, ...]:
        """Texts that mean null in a column of a CSV file."""
        own = self.columns[name].null_values
        return self.null_values if own is None else own

    def label(self, name: str, code: int) -> str:
        """Text for people: the value or bin of a code."""
        return self.columns[name].label(code)
