"""What every column declares and answers for: the base of all column types.

A column declares its nulls, the policy for values outside its domain, and the type its values come
out with. It answers for everything that depends on its type: what a value means, how codes become
values, texts and SQL types, which values a question or a constraint names, and what messages call
it. The rest of dprap asks and never looks at the type.

Codes of a column: its ordinary values first, then the catch-all `other` if there is one, then null
if nullable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, StrictStr, field_validator, model_validator

from dprap.array_types import Bool, Int64
from dprap.errors import WorkloadError
from dprap.schema.arrays import Mask, Positions
from dprap.schema.value_sets import CodeWeights, ValueSet
from dprap.schema.values import Plain, Unplaced, is_number_type, is_text_type, plain

OutOfDomain = Literal["error", "clip", "other", "null"]
CodeMask: TypeAlias = Bool[np.ndarray, " codes"]

DatabaseKind: TypeAlias = Literal[
    "boolean", "integer", "float", "decimal", "text", "enum", "date", "timestamp", "timestamptz"
]
"""What a database column holds, whatever the database calls it."""

SqlType: TypeAlias = Literal[
    "boolean", "text", "int8", "float8", "date", "timestamp", "timestamptz"
]
"""The types of SQL in which values are compared with labels and edges."""

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
# Exact in float64, and written as every program writes it.
_WHOLE = re.compile(r"-?[1-9][0-9]{0,14}|0", re.ASCII)
_DECIMAL = re.compile(r"decimal128\((\d{1,2}), ?(\d{1,2})\)")
INTEGER_STORAGE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def require_texts(values: Iterable[str | int | None]) -> None:
    """Raise ValueError for a text that no file can hold: one with half a character, a lone
    surrogate.
    """
    if any(
        isinstance(value, str) and value != value.encode("utf-8", "ignore").decode()
        for value in values
    ):
        raise ValueError(
            "has a text with half a character (a lone surrogate), which no table can hold."
            " Remove it"
        )


class Part(BaseModel):
    """Base of everything in a schema file: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    def __eq__(self, other: object) -> bool:
        # by what is declared: computed edges kept beside the fields are arrays, which do not
        # compare to one truth value
        if type(self) is not type(other):
            return NotImplemented
        return all(
            getattr(self, field) == getattr(other, field) for field in type(self).model_fields
        )


class BaseColumn(Part):
    """Settings that all column types share, and what each type must answer."""

    type: str
    nullable: bool = False
    out_of_domain: OutOfDomain | None = None
    null_values: tuple[StrictStr, ...] | None = None
    storage: StrictStr | None = None
    description: StrictStr | None = None

    # what a type allows; subclasses say otherwise
    policies: ClassVar[tuple[OutOfDomain, ...]] = ("error", "null")
    storages: ClassVar[tuple[str, ...]] = ()
    # whether the codes are bins in increasing order, rather than a list
    is_ordered: ClassVar[bool]
    # whether the values are numbers, and whether they are days or times
    is_number: ClassVar[bool] = False
    is_calendar: ClassVar[bool] = False
    # the SQL type in which a database column of each kind is compared
    sql_types: ClassVar[Mapping[DatabaseKind, SqlType]] = {}
    # how messages go on after "has values that" and "has values"
    not_readable: ClassVar[str]
    not_in_domain: ClassVar[str]

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
                f"out_of_domain: {self.policy} does not fit this column. Choose one of:"
                f" {', '.join(self.policies)}"
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
        """What happens to values outside the domain; a declared catch-all means `other`, the
        default is `error`.
        """
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
        """Whether every thinkable value, null included, has a code: encoding then cannot fail
        because of the data.
        """
        return self.policy == "other" or (self.policy != "error" and self.nullable)

    def place(self, value: Any) -> int:
        """The position of one value among the ordinary codes (and the catch-all), or an `Unplaced`.

        This is the one meaning of a value, whichever container brings it: docs/values.md has it as
        a table. Under the policy `clip` a value outside the bounds is in the nearest bin, so it has
        a position.

        Args:
            value: a Python, NumPy or pandas scalar, or a `pyarrow.Scalar`. Texts that mean null in
                all columns of a CSV file are the reader's business: it hands over None.

        Returns:
            A position from 0 on, or `Unplaced.MISSING`, `UNREADABLE` or `OUTSIDE`, which are
            negative.
        """
        found = plain(value)
        if isinstance(found, Unplaced):
            return found
        return (
            Unplaced.MISSING
            if self.null_values and self._means_null(found)
            else self.place_plain(found)
        )

    def _means_null(self, value: Plain) -> bool:
        """Whether a value is one of the column's `null_values`: the same text, or the whole number
        that a text names.
        """
        if isinstance(value, str):
            return value in (self.null_values or ())
        return (
            not isinstance(value, bool)
            and isinstance(value, int | float | Decimal)
            and value in self.null_numbers
        )

    @cached_property
    def null_numbers(self) -> frozenset[int]:
        """The whole numbers among `null_values`, such as 99 and -9: in typed tables, too, they mean
        null.
        """
        return frozenset(int(text) for text in self.null_values or () if _WHOLE.fullmatch(text))

    def null_mask(self, array: pa.Array) -> Mask:
        """Which elements of an Arrow array of numbers are among `null_numbers`; anything for
        null.
        """
        found = np.zeros(len(array), dtype=bool)
        if not is_number_type(array.type):
            return found
        if pa.types.is_decimal(array.type):  # few, and never exact in another type
            return np.array(
                [each.is_valid and self._means_null(each.as_py()) for each in array], dtype=bool
            )
        values = array.fill_null(0).to_numpy(zero_copy_only=False)
        for number in self.null_numbers:
            found |= values == number
        return found

    def place_plain(self, value: Plain) -> int:
        """`place` for a value of one of the plain kinds."""
        raise NotImplementedError

    def place_array(self, array: pa.Array) -> Positions:
        """`place` of each value of an Arrow array of a type that the column takes, but no text;
        anything for null.
        """
        raise NotImplementedError

    def place_texts(self, texts: pa.Array) -> Positions:
        """`place` of each text of an Arrow array."""
        raise NotImplementedError

    def takes(self, kind: pa.DataType) -> bool:
        """Whether a typed table may bring this column as this Arrow type: some of its values are
        readable.

        Text is taken where the schema says so (`storage: string`, or a `format`), and where no text
        can be refused.
        """
        return is_text_type(kind) and (self.storage == "string" or self.is_total or self.reads_text)

    @property
    def reads_text(self) -> bool:
        """Whether the schema says how texts of this column are to be read."""
        return False

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
        return (
            pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _STORAGE_TYPES[storage]
        )

    def draw(
        self, positions: Int64[np.ndarray, " records"], is_null: Mask, rng: np.random.Generator
    ) -> pa.Array:
        """Values for positions, in the column's Arrow type, that are placed at these positions
        again.

        Args:
            positions: positions among the ordinary codes and the catch-all; 0 where the value is
                null.
            is_null: which values are null.
            rng: public randomness, for bins and groups that hold several values.
        """
        raise NotImplementedError

    def as_csv(self, array: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Decoded values in a type that Arrow writes to CSV as the column reads it."""
        # the shortest text of a float32 may lie in the next bin
        return array.cast(pa.float64()) if array.type == pa.float32() else array

    def sql_type(self, kind: DatabaseKind) -> SqlType | None:
        """The SQL type in which a database column of this kind is compared; None if the column does
        not read it.
        """
        return self.sql_types.get(kind)

    def label(self, code: int) -> str:
        """Text for people: the value, group or bin of a code."""
        if code == self.null_code:
            return "missing"
        return self.regular_label(code)

    def regular_label(self, code: int) -> str:
        """Text of a code that is not null."""
        raise NotImplementedError

    @property
    def described(self) -> str:
        """The type in words, as messages about tables name it."""
        return self.type

    def code_of(self, name: str, value: Any) -> int:
        """Code of one value as a constraint of the schema writes it; raises ValueError when it has
        none.
        """
        if value is not None:
            return self.regular_code_of(name, value)
        if self.null_code is None:
            raise ValueError(f"names null for column {name!r}, which is not nullable")
        return self.null_code

    def regular_code_of(self, name: str, value: Any) -> int:
        """`code_of` for a value that is not null."""
        raise NotImplementedError

    def codes_of_values(self, name: str, values: Iterable[Any]) -> CodeMask:
        """Codes of the values that a constraint lists; raises ValueError when one has no code to
        itself.
        """
        mask = np.zeros(self.size, dtype=bool)
        for value in values:
            mask[self.code_of(name, value)] = True
        return mask

    def codes_of_range(self, name: str, low: Any, high: Any) -> CodeMask:  # noqa: ARG002 - columns with an order use them
        """Codes of the values from one to another, None for an open end; raises ValueError when the
        range cuts one.
        """
        raise ValueError(f"gives a range for column {name!r}, which has no order. List its values")

    def all_values(self) -> ValueSet:
        """All values that the column can have."""
        raise NotImplementedError

    def no_value(self, name: str) -> ValueSet:
        """Null, alone; raises WorkloadError where it cannot occur."""
        if not self.nullable:
            raise WorkloadError(
                f"column {name!r} is declared without missing values, so none can be null."
            )
        return ValueSet(missing=True)

    def equal(self, name: str, text: str) -> ValueSet:
        """The values that a literal names: one value, a group by its name, or a whole day, month or
        year.
        """
        raise NotImplementedError

    def compared(self, name: str, operator: str, text: str) -> ValueSet:
        """The values below or above a literal."""
        raise NotImplementedError

    def between(self, name: str, low: str | None, high: str | None) -> ValueSet:
        """The values from one literal to another, both included; either may be open."""
        raise NotImplementedError

    def holds(self, values: ValueSet, array: pa.Array) -> Mask:
        """Which decoded values, null aside, are in a set."""
        raise NotImplementedError

    def shares_of(self, values: ValueSet) -> CodeWeights:
        """How much of each code's values a set holds: 0, 1, or a share for a bin or group that is
        cut.

        The values of a bin lie as its fine shape says, where one is known, and evenly otherwise.
        """
        found = np.zeros(self.size)
        shares = self.position_shares(values)
        found[: len(shares)] = shares
        if self.null_code is not None:
            found[self.null_code] = values.missing
        return np.minimum(found, 1.0)

    def position_shares(self, values: ValueSet) -> CodeWeights:
        """`shares_of` for the ordinary codes and the catch-all."""
        raise NotImplementedError
