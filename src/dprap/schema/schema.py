"""What is publicly known about a table: its columns, their domains, nulls, policies and
constraints.

`declared` has the settings and refuses what makes no sense. Here a schema is read, written, changed
and asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dprap.arguments import as_path, as_whole_number
from dprap.display import ShownInNotebooks
from dprap.domain import Domain
from dprap.errors import SchemaError, SettingsError, meant
from dprap.schema.code_constraints import CodeConstraint, to_codes
from dprap.schema.columns import Column
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.ordered import PLAIN_POINTS
from dprap.schema.declared import CodesSoFar, DeclaredTable
from dprap.schema.discover import Discovered
from dprap.schema.files import SUGGESTED, read_mapping, write_mapping
from dprap.schema.messages import describe

DRAFT_WARNING = """\
DRAFT: the bounds and categories below were taken from the data. Publishing anything that depends on them leaks
private information: a maximum is one person's value, a rare category is one person's existence. Replace them by what
is publicly known (code books, physical limits, law). `dprap schema review` walks through the columns, keeps who
vouches for what, and lifts the mark draft: true. Until then dprap refuses the schema."""


# So many columns are listed where a schema shows itself.
_SHOWN = 40


class Schema(ShownInNotebooks, DeclaredTable):
    """Columns in order, each with a public domain.

    >>> schema = Schema.of(
    ...     {
    ...         "columns": {
    ...             "age": {"type": "integer", "min": 0, "max": 99, "width": 10},
    ...             "smoker": {"type": "boolean", "nullable": True},
    ...         }
    ...     }
    ... )
    >>> schema.domain
    Domain(names=('age', 'smoker'), sizes=(10, 3))
    """

    def __init__(self, **data: Any) -> None:
        # pydantic calls this for every way a schema is made: one place turns its errors into ours
        try:
            self.__pydantic_validator__.validate_python(
                data, self_instance=self, context=CodesSoFar()
            )
        except ValidationError as error:
            raise SchemaError(describe(error)) from None

    @classmethod
    def of(cls, mapping: Mapping[Any, Any]) -> Schema:
        """Make a schema from plain data.

        Args:
            mapping: The content of a schema file, or a domain such as {"age": 85, "sex": 2}.

        Returns:
            The schema.

        Raises:
            SchemaError: If a setting is unknown or makes no sense; the message names the column.

        >>> Schema.of({"columns": {"smoker": {"type": "boolean"}}}).domain.sizes
        (2,)

        """
        if not isinstance(mapping, Mapping):
            raise SchemaError(f"a schema is a mapping with columns, not {type(mapping).__name__}.")
        if (
            mapping
            and "columns" not in mapping
            and all(isinstance(each, Mapping) for each in mapping.values())
        ):
            raise SchemaError(
                'a schema has its columns under the key "columns": write {"columns": {...}}.'
            )
        if (
            mapping
            and "columns" not in mapping
            and all(type(size) is int for size in mapping.values())
        ):
            return cls.from_domain({str(name): size for name, size in mapping.items()})
        columns = mapping.get("columns")
        if isinstance(columns, Mapping):
            unnamed = [name for name in columns if not isinstance(name, str)]
            if unnamed:
                raise SchemaError(
                    f"column {unnamed[0]!r}: column names are text. Quote the name in the file."
                )
        if any(not isinstance(key, str) for key in mapping):
            raise SchemaError(
                "the settings of a schema are text. Quote them or remove what is not a setting."
            )
        return cls(**mapping)

    @classmethod
    def from_domain(cls, sizes: Mapping[str, int]) -> Schema:
        """Make a schema of integer codes 0..size-1, from a domain as other tools write it.

        Args:
            sizes: For each column how many codes it has.

        Returns:
            The schema.

        Raises:
            SchemaError: If a size is no whole number, or below 1.

        >>> Schema.from_domain({"age": 85, "sex": 2}).domain.sizes
        (85, 2)
        """
        if not isinstance(sizes, Mapping) or any(
            type(size) is bool or not isinstance(size, Integral) for size in sizes.values()
        ):
            raise SchemaError("a domain gives every column a whole number of codes: {'age': 85}.")
        if any(size < 1 for size in sizes.values()):
            raise SchemaError("a domain file gives every column a size of at least 1.")
        # the codes are what they are, numbers or not: a run must not look for intervals of them
        plain = {
            name: {"refine": False} if size > PLAIN_POINTS else {} for name, size in sizes.items()
        }
        return cls(
            columns={
                name: {"type": "integer", "min": 0, "max": size - 1, **plain[name]}
                for name, size in sizes.items()
            }
        )

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema file.

        Args:
            path: A .yaml, .json or .toml file, or a domain in JSON.

        Returns:
            The schema; reading what `save` wrote gives an equal one.

        Raises:
            SchemaError: If the file cannot be read, or a setting is refused; the message names
                both.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "domain.json").write_text('{"age": 85, "sex": 2}')
        ...     Schema.load(f"{folder}/domain.json").domain.sizes
        (85, 2)
        """
        path = as_path(path, "a schema's file")
        mapping = read_mapping(path)
        try:
            return cls.of(mapping)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    def save(self, path: str | Path, *, suggestions: Sequence[str] = ()) -> None:
        """Write the schema; reading it back gives an equal schema.

        Args:
            path: A .yaml or .json file.
            suggestions: Constraints for the reviewer of a draft to think about, as comments in
                YAML.

        Raises:
            SchemaError: If the file cannot be written, or has another ending.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     schema = Schema.from_domain({"age": 85})
        ...     schema.save(f"{folder}/schema.yaml")
        ...     Schema.load(f"{folder}/schema.yaml") == schema
        True
        """
        above = DRAFT_WARNING if self.is_draft else None
        below = "\n".join(["", SUGGESTED, *suggestions]) if self.is_draft and suggestions else None
        write_mapping(
            self.as_mapping(), as_path(path, "a schema's file"), comment=above, below=below
        )

    def as_mapping(self) -> dict[str, Any]:
        """The schema as plain data, without settings that have their default.

        Returns:
            What `Schema.of` makes an equal schema of.

        >>> Schema.of({"columns": {"smoker": {"type": "boolean"}}}).as_mapping()["columns"]
        {'smoker': {'type': 'boolean'}}

        """
        mapping = self.model_dump(mode="json", exclude_defaults=True, by_alias=True)
        if self.numbers is not None:
            for column in mapping["columns"].values():
                if column.get("format") == mapping["numbers"]:
                    del column["format"]
        columns = {
            name: {"type": column["type"], **column} for name, column in mapping["columns"].items()
        }
        wanted = {
            name: {"domain": "discover", **each}
            for name, each in mapping.pop("discover", {}).items()
        }
        mapping["columns"] = {
            name: (columns | wanted)[name] for name in mapping.pop("order", columns)
        }
        return mapping

    def with_found(
        self, found: Mapping[str, Mapping[str, Any]], paid: Mapping[str, Discovered]
    ) -> Schema:
        """The schema with columns in place of those that were to be discovered.

        Args:
            found: For each such column its settings, as plain data.
            paid: For each what its discovery cost.

        Returns:
            The schema, in which nothing is to be discovered among them.

        Raises:
            SchemaError: If a setting makes no sense.

        >>> asked = Schema.from_domain({"sex": 2}).asking_for(["zip"])
        >>> list(asked.with_found({"zip": {"type": "categorical", "values": ["a"]}}, {}).columns)
        ['sex', 'zip']

        """
        mapping = self.as_mapping()
        costs = {
            name: each.model_dump(mode="json", exclude_defaults=True) for name, each in paid.items()
        }
        return self.of(
            {
                **mapping,
                "columns": {**mapping["columns"], **found},
                **({"discovered": mapping.get("discovered", {}) | costs} if costs else {}),
            }
        )

    def asking_for(self, names: Iterable[str]) -> Schema:
        """The schema with some columns to be discovered.

        Args:
            names: The columns. Those that the schema describes keep their type; others are
                categorical.

        Returns:
            The schema, whose run finds these domains and pays for them.

        Raises:
            SchemaError: If a column is of a type whose domain cannot be discovered.

        >>> Schema.from_domain({"age": 100}).asking_for(["age", "zip"]).discover["age"].type
        'integer'
        """
        mapping = self.as_mapping()
        for name in names:
            if name in self.discover:
                continue
            described = mapping["columns"].get(name, {"type": "categorical"})
            if described["type"] not in ("categorical", "integer", "number"):
                raise SchemaError(
                    f"column {name!r}: is a {described['type']} column, whose domain is not"
                    " discovered. Declare it."
                )
            kept = {
                key: described[key]
                for key in ("type", "null_values", "format", "description")
                if key in described
            }
            if described["type"] == "categorical" and name in self.columns:
                kept["nullable"] = self.columns[name].nullable
            mapping["columns"][name] = {"domain": "discover", **kept}
            # of the domain that is given up
            for record in ("vouched", "discovered", "draft_notes"):
                mapping.get(record, {}).pop(name, None)
        ignored = [name for name in self.ignore_columns if name not in mapping["columns"]]
        return self.of(mapping | {"ignore_columns": ignored})

    @cached_property
    def domain(self) -> Domain:
        """Column names and numbers of codes."""
        return Domain.of({name: column.size for name, column in self.columns.items()})

    @cached_property
    def code_constraints(self) -> tuple[CodeConstraint, ...]:
        """The constraints on codes: for each its columns and a table of the cells that cannot
        occur.
        """
        return tuple(to_codes(constraint, self.columns) for constraint in self.constraints)

    @cached_property
    def fine_columns(self) -> dict[str, BinnedColumn]:
        """The columns whose codes are points of a fine grid: a run pays to find intervals of
        them.
        """
        ordered = {
            name: column
            for name, column in self.columns.items()
            if isinstance(column, BinnedColumn)
        }
        return {name: column for name, column in ordered.items() if column.is_fine}

    def __repr__(self) -> str:
        state = "draft of a schema" if self.is_draft else "schema"
        lines = [f"{state} of {len(self.columns)} columns"]
        shown = list(self.columns.items())[:_SHOWN]
        width = max((len(name) for name, _ in shown), default=0)
        for name, column in shown:
            codes = (
                "intervals found by a run"
                if name in self.fine_columns
                else f"{column.size:,} codes"
            )
            missing = ", may be missing" if column.nullable else ""
            lines.append(f"  {name:{width}}  {column.type}, {codes}{missing}")
        if len(self.columns) > _SHOWN:
            lines.append(f"  and {len(self.columns) - _SHOWN} more columns")
        return "\n".join(lines)

    __str__ = __repr__

    @property
    def ordered_codes(self) -> dict[str, int]:
        """How many codes have an order, for each column whose values have one.

        Codes of missing values follow them.
        """
        return {
            name: column.regular
            for name, column in self.columns.items()
            if isinstance(column, BinnedColumn)
        }

    def with_columns(self, changed: Mapping[str, Column]) -> Schema:
        """The schema with some columns replaced.

        Args:
            changed: The new columns by name.

        Returns:
            The schema; everything else, constraints included, is checked against the new columns.

        Raises:
            SchemaError: If a constraint no longer makes sense.

        >>> schema = Schema.from_domain({"age": 100, "sex": 2})
        >>> schema.with_columns(
        ...     {"age": Schema.from_domain({"age": 10}).columns["age"]}
        ... ).domain.sizes
        (10, 2)
        """
        return self.of(
            {
                **self.as_mapping(),
                "columns": {
                    name: {
                        "type": column.type,
                        **column.model_dump(mode="json", exclude_defaults=True),
                    }
                    for name, column in {**self.columns, **changed}.items()
                },
            }
        )

    @property
    def is_total(self) -> bool:
        """Whether encoding cannot fail because of a value: every column has a policy that covers
        everything.
        """
        return all(column.is_total for column in self.columns.values())

    def refuse_draft(self) -> None:
        """Raise unless a person has reviewed the schema.

        Raises:
            SchemaError: If it is a draft, whose bounds and categories come from the data.

        >>> Schema.from_domain({"age": 100}).refuse_draft()

        """
        if self.is_draft:
            raise SchemaError(
                "the schema is a draft whose bounds and categories come from private data. "
                "Review every column with `dprap schema review`."
            )

    def require_reviewed(self) -> None:
        """Raise unless the schema is reviewed and says all domains.

        Raises:
            SchemaError: If it is a draft, or a domain is still to be discovered.

        >>> Schema.from_domain({"age": 100}).require_reviewed()
        """
        self.refuse_draft()
        if self.discover:
            raise SchemaError(
                f"column {next(iter(self.discover))!r}: has domain: discover, which a run pays for"
                " before anything else is known. Run `dprap synth`, or declare the domain."
            )

    def null_texts(self, name: str) -> tuple[str, ...]:
        """Texts that mean null in a column of a CSV file.

        Args:
            name: The column.

        Returns:
            The texts: the column's own, else those of the schema.

        >>> Schema.of({"columns": {"age": {"type": "integer", "min": 0, "max": 9}}}).null_texts(
        ...     "age"
        ... )
        ('',)
        """
        own = self.columns[name].null_values
        return self.null_values if own is None else own

    def label(self, name: str, code: int) -> str:
        """The value or bin that a code stands for, as text for people.

        Args:
            name: The column.
            code: The code.

        Returns:
            The text.

        Raises:
            SchemaError: If there is no such column, or the column has no such code.
            SettingsError: If the code is no whole number, or negative.

        >>> Schema.of(
        ...     {"columns": {"age": {"type": "integer", "min": 0, "max": 99, "width": 10}}}
        ... ).label("age", 3)
        '30..39'
        """
        if not isinstance(name, str):
            raise SettingsError(f"a column is named by a text, not {type(name).__name__}.")
        if name not in self.columns:
            advice = meant(name, self.columns, "Its columns are")
            raise SchemaError(f"column {name!r} is not in the schema. {advice}")
        size = self.columns[name].size
        if as_whole_number(code, "code") >= size:
            raise SchemaError(f"column {name!r} has codes from 0 to {size - 1:,}.")
        return self.columns[name].label(int(code))
