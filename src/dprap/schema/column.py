"""What every column declares: nulls, the policy for values outside the domain, and the type it comes out with.

Codes of a column: its ordinary values first, then the catch-all `other` if there is one, then null if nullable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, field_validator, model_validator

from dprap.schema.bins import MAX_CODES
from dprap.schema.values import Plain, Unplaced, is_number_type, is_text_type, plain, whole_number

OutOfDomain = Literal["error", "clip", "other", "null"]

_STORAGE_TYPES: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "date32": pa.date32(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "large_string": pa.large_string(),
    "string": pa.string(),
    "timestamp[s]": pa.timestamp("s"),
    "timestamp[ms]": pa.timestamp("ms"),
    "timestamp[us]": pa.timestamp("us"),
    "timestamp[ns]": pa.timestamp("ns"),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
}
_DECIMAL = re.compile(r"decimal128\((\d{1,2}), ?(\d{1,2})\)")
INTEGER_STORAGE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def require_texts(values: Iterable[str | int | None]) -> None:
    """Raise ValueError for a text that no file can hold: one with half a character, a lone surrogate."""
    if any(isinstance(value, str) and value != value.encode("utf-8", "ignore").decode() for value in values):
        raise ValueError("has a text with half a character (a lone surrogate), which no table can hold. Remove it")


class Part(BaseModel):
    """Base of everything in a schema file: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def __eq__(self, other: object) -> bool:
        # by what is declared: computed edges kept beside the fields are arrays, which do not compare to one truth value
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, field) == getattr(other, field) for field in type(self).model_fields)


class BaseColumn(Part):
    """Settings that all column types share."""

    nullable: bool = False
    out_of_domain: OutOfDomain | None = None
    null_values: tuple[StrictStr, ...] | None = None
    storage: StrictStr | None = None
    description: StrictStr | None = None

    # what a type allows; subclasses say otherwise
    policies: ClassVar[tuple[OutOfDomain, ...]] = ("error", "null")
    storages: ClassVar[tuple[str, ...]] = ()

    @field_validator("out_of_domain", mode="before")
    @classmethod
    def _word_null(cls, value: Any) -> Any:
        # YAML reads an unquoted null as nothing; it is the policy that was meant
        return "null" if value is None else value

    @model_validator(mode="after")
    def _check_common(self) -> Self:
        require_texts(self.null_values or ())
        if self.policy not in self.policies:
            raise ValueError(
                f"out_of_domain: {self.policy} does not fit this column. Choose one of: {', '.join(self.policies)}"
            )
        if self.policy == "null" and not self.nullable:
            raise ValueError("out_of_domain: null needs nullable: true")
        if self.storage is not None:
            name = "decimal128" if _DECIMAL.fullmatch(self.storage) else self.storage
            if name not in self.allowed_storage():
                choices = ", ".join(dict.fromkeys(self.allowed_storage()))
                raise ValueError(f"storage does not fit this column. Choose one of: {choices}")
        return self

    @property
    def policy(self) -> OutOfDomain:
        """What happens to values outside the domain; a declared catch-all means `other`, the default is `error`."""
        return self.out_of_domain or ("other" if self.has_other else "error")

    @property
    def has_other(self) -> bool:
        """Whether there is a catch-all code."""
        return False

    @property
    def regular(self) -> int:
        """Number of ordinary codes: values, groups or bins."""
        raise NotImplementedError

    @property
    def other_code(self) -> int | None:
        """Code of the catch-all, after the ordinary ones."""
        return self.regular if self.has_other else None

    @property
    def null_code(self) -> int | None:
        """Code of null, the last one."""
        return self.size - 1 if self.nullable else None

    @cached_property
    def size(self) -> int:
        """Number of codes."""
        return self.regular + self.has_other + self.nullable

    @property
    def is_total(self) -> bool:
        """Whether every thinkable value, null included, has a code: encoding then cannot fail because of the data."""
        return self.policy == "other" or (self.policy != "error" and self.nullable)

    def place(self, value: Any) -> int:
        """The position of one value among the ordinary codes (and the catch-all), or an `Unplaced`.

        This is the one meaning of a value, whichever container brings it: docs/values.md has it as a table. Under the
        policy `clip` a value outside the bounds is in the nearest bin, so it has a position.

        Args:
            value: a Python, NumPy or pandas scalar, or a `pyarrow.Scalar`. Texts that mean null in CSV files are
                the reader's business: it hands over None.

        Returns:
            A position from 0 on, or `Unplaced.MISSING`, `UNREADABLE` or `OUTSIDE`, which are negative.

        """
        found = plain(value)
        return found if isinstance(found, Unplaced) else self.place_plain(found)

    def place_plain(self, value: Plain) -> int:
        """`place` for a value of one of the plain kinds."""
        raise NotImplementedError

    def takes(self, kind: pa.DataType) -> bool:
        """Whether a typed table may bring this column as this Arrow type: some of its values are readable.

        Text is taken where the schema says so (`storage: string`), and where no text can be refused.
        """
        return is_text_type(kind) and (self.storage == "string" or self.is_total)

    def allowed_storage(self) -> tuple[str, ...]:
        """Names of the Arrow types this column can come out with; the first is the default."""
        return self.storages

    @property
    def default_storage(self) -> str:
        """Arrow type in which decoded values come out when none is declared."""
        return self.allowed_storage()[0]

    @cached_property
    def arrow_type(self) -> pa.DataType:
        """Arrow type in which decoded values come out."""
        storage = self.storage or self.default_storage
        decimal = _DECIMAL.fullmatch(storage)
        return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _STORAGE_TYPES[storage]

    def label(self, code: int) -> str:
        """Text for people: the value, group or bin of a code."""
        if code == self.null_code:
            return "missing"
        return self.regular_label(code)

    def regular_label(self, code: int) -> str:
        """Text of a code that is not null."""
        raise NotImplementedError


class Categorical(BaseColumn):
    """One of a list of values, or one of a list of groups of values, with an optional catch-all.

    >>> Categorical(type="categorical", values=("north", "south"), other="elsewhere", nullable=True).size
    4
    """

    type: Literal["categorical"]
    values: Annotated[tuple[StrictStr, ...] | tuple[StrictInt, ...], Field(min_length=1)] | None = None
    groups: dict[StrictStr, tuple[StrictStr, ...] | tuple[StrictInt, ...]] | None = None
    other: StrictStr | StrictInt | None = None
    decode: Literal["uniform", "representative"] = "uniform"
    representatives: tuple[StrictStr, ...] | tuple[StrictInt, ...] | None = None

    policies = ("error", "other", "null")

    @model_validator(mode="before")
    @classmethod
    def _read_other(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("other"), bool):
            return {**data, "other": "other" if data["other"] else None}
        return data

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.values is None) == (not self.groups):
            raise ValueError("needs either values: [...] or groups: {name: [...]}")
        members = self.members
        if len(set(members)) != len(members):
            raise ValueError("lists a value twice. Remove the second one")
        require_texts((*members, self.other))
        if len({type(member) for member in members}) > 1:
            raise ValueError("mixes text and integers in its values. Quote all of them or none")
        if any(len(group) == 0 for group in self.member_groups):
            raise ValueError("has an empty group. Remove it or list its values")
        if self.size > MAX_CODES:
            raise ValueError(
                f"has {self.size:,} values; the limit is {MAX_CODES:,}. Use groups or a top list with other"
            )
        if self.other is not None and (self.other in members or type(self.other) is not type(members[0])):
            raise ValueError("other must be a label of the same type as the values and not one of them")
        if self.policy == "other" and self.other is None:
            raise ValueError("out_of_domain: other needs a catch-all label. Add other: <label>")
        self._check_representatives()
        if self.is_integer:
            self._check_fits()
        return self

    def _check_fits(self) -> None:
        try:
            pa.array([*self.members, *([] if self.other is None else [self.other])], pa.int64()).cast(self.arrow_type)
        except (pa.ArrowInvalid, OverflowError):
            raise ValueError("storage is too small for the declared values. Choose a wider type") from None

    def _check_representatives(self) -> None:
        if self.decode == "uniform":
            if self.representatives is not None:
                raise ValueError("representatives are only used with decode: representative")
            return
        if self.representatives is None or len(self.representatives) != self.regular:
            raise ValueError("decode: representative needs representatives, one per group")
        if any(value not in group for value, group in zip(self.representatives, self.member_groups, strict=True)):
            raise ValueError("has a representative that is not in its group")

    def allowed_storage(self) -> tuple[str, ...]:
        """Integer types for integer values, text types for text; the first is the default."""
        return ("int64", *INTEGER_STORAGE, "float64") if self.is_integer else ("string", "large_string", "dictionary")

    @cached_property
    def member_groups(self) -> tuple[tuple[str | int, ...], ...]:
        """Raw values behind each ordinary code: one each, or the members of the group."""
        if self.groups:
            return tuple(tuple(group) for group in self.groups.values())
        return tuple((value,) for value in self.values or ())

    @cached_property
    def members(self) -> tuple[str | int, ...]:
        """All raw values, in the order of their codes."""
        return tuple(member for group in self.member_groups for member in group)

    @property
    def is_integer(self) -> bool:
        """Whether the raw values are integers rather than text."""
        return bool(self.members) and isinstance(self.members[0], int)

    @property
    def has_other(self) -> bool:
        """Whether there is a catch-all code."""
        return self.other is not None

    @property
    def regular(self) -> int:
        """Number of values or groups."""
        return len(self.groups or self.values or ())

    @cached_property
    def labels(self) -> dict[str | int, int]:
        """Position of each listed value, and of the catch-all's own label."""
        found: dict[str | int, int] = {
            member: code for code, group in enumerate(self.member_groups) for member in group
        }
        return found if self.other is None else {**found, self.other: self.regular}

    @cached_property
    def label_texts(self) -> dict[str, int]:
        """`labels` by their texts, as CSV files have them."""
        return {str(label): position for label, position in self.labels.items()}

    def takes(self, kind: pa.DataType) -> bool:
        """Text for a list of texts, numbers for a list of integers."""
        return super().takes(kind) or (is_number_type(kind) if self.is_integer else is_text_type(kind))

    def place_plain(self, value: Plain) -> int:
        """Look the value up; integers by their value, and in text by their digits exactly as Python writes them."""
        if isinstance(value, str):
            return self.label_texts.get(value, Unplaced.OUTSIDE)
        whole = whole_number(value) if self.is_integer else None
        return Unplaced.UNREADABLE if whole is None else self.labels.get(whole, Unplaced.OUTSIDE)

    def regular_label(self, code: int) -> str:
        """The value, the name of the group, or the catch-all's label."""
        if code == self.other_code:
            return str(self.other)
        return list(self.groups)[code] if self.groups else str(self.members[code])


class Boolean(BaseColumn):
    """False (code 0) or true (code 1)."""

    type: Literal["boolean"]
    false_values: tuple[StrictStr, ...] = ("false", "False", "FALSE")
    true_values: tuple[StrictStr, ...] = ("true", "True", "TRUE")

    storages = ("bool", "string")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.false_values or not self.true_values or set(self.false_values) & set(self.true_values):
            raise ValueError("false_values and true_values must be non-empty and have no text in common")
        require_texts(self.label_texts)
        return self

    @property
    def regular(self) -> int:
        """Two codes: false and true."""
        return 2

    @cached_property
    def label_texts(self) -> dict[str, int]:
        """Position of each text that means false or true."""
        return {**dict.fromkeys(self.false_values, 0), **dict.fromkeys(self.true_values, 1)}

    def takes(self, kind: pa.DataType) -> bool:
        """Booleans and text."""
        return bool(pa.types.is_boolean(kind)) or is_text_type(kind)

    def place_plain(self, value: Plain) -> int:
        """Booleans and the declared texts; numbers are no booleans."""
        if isinstance(value, bool):
            return int(value)
        return self.label_texts.get(value, Unplaced.UNREADABLE) if isinstance(value, str) else Unplaced.UNREADABLE

    def regular_label(self, code: int) -> str:
        """The word false or true."""
        return ("false", "true")[code]
