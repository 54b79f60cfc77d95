"""Categories: one of a list of values, or of a list of groups of values."""

from __future__ import annotations

import difflib
import operator as operators
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, StrictInt, StrictStr, model_validator

from dprap.array_types import Int64
from dprap.errors import WorkloadError
from dprap.schema import arrays
from dprap.schema.arrays import Mask, Positions
from dprap.schema.bins import MAX_CODES
from dprap.schema.columns.base import INTEGER_STORAGE, DatabaseKind, SqlType, require_texts
from dprap.schema.columns.listed import ListedColumn
from dprap.schema.value_sets import CodeWeights, Member, ValueSet, whole_literal
from dprap.schema.values import Plain, Unplaced, is_number_type, is_text_type, whole_number

_COMPARE = {"<": operators.lt, "<=": operators.le, ">": operators.gt, ">=": operators.ge}


class Categorical(ListedColumn):
    """One of a list of values, or one of a list of groups of values, with an optional catch-all.

    >>> Categorical(
    ...     type="categorical", values=("north", "south"), other="elsewhere", nullable=True
    ... ).size
    4
    """

    type: Literal["categorical"]
    values: Annotated[tuple[StrictStr, ...] | tuple[StrictInt, ...], Field(min_length=1)] | None = (
        None
    )
    groups: dict[StrictStr, tuple[StrictStr, ...] | tuple[StrictInt, ...]] | None = None
    other: StrictStr | StrictInt | None = None
    decode: Literal["uniform", "representative"] = "uniform"
    representatives: tuple[StrictStr, ...] | tuple[StrictInt, ...] | None = None

    policies = ("error", "other", "null")
    not_readable = "cannot be read as categorical"
    not_listed = Unplaced.OUTSIDE

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
                f"has {self.size:,} values; the limit is {MAX_CODES:,}. Use groups or a top list"
                " with other"
            )
        if self.other is not None and (
            self.other in members or type(self.other) is not type(members[0])
        ):
            raise ValueError(
                "other must be a label of the same type as the values and not one of them"
            )
        if self.policy == "other" and self.other is None:
            raise ValueError("out_of_domain: other needs a catch-all label. Add other: <label>")
        self._check_representatives()
        numbers = [member for member in self.all_members if isinstance(member, int)]
        if numbers and not arrays.holds(self.arrow_type, min(numbers), max(numbers)):
            raise ValueError("storage is too small for the declared values. Choose a wider type")
        return self

    def _check_representatives(self) -> None:
        if self.decode == "uniform":
            if self.representatives is not None:
                raise ValueError("representatives are only used with decode: representative")
            return
        if self.representatives is None or len(self.representatives) != self.regular:
            raise ValueError("decode: representative needs representatives, one per group")
        if any(
            value not in group
            for value, group in zip(self.representatives, self.member_groups, strict=True)
        ):
            raise ValueError("has a representative that is not in its group")

    def allowed_storage(self) -> tuple[str, ...]:
        """Integer types for integer values, text types for text; the first is the default."""
        return (
            ("int64", *INTEGER_STORAGE, "float64")
            if self.is_integer
            else ("string", "large_string", "dictionary")
        )

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
    def all_members(self) -> tuple[Member, ...]:
        """All raw values, and the catch-all's label."""
        return self.members if self.other is None else (*self.members, self.other)

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
        return super().takes(kind) or (
            is_number_type(kind) if self.is_integer else is_text_type(kind)
        )

    def place_plain(self, value: Plain) -> int:
        """Look the value up; integers by their value, and in text by their digits exactly as Python
        writes them.
        """
        if isinstance(value, str):
            return self.label_texts.get(value, Unplaced.OUTSIDE)
        whole = whole_number(value) if self.is_integer else None
        return Unplaced.UNREADABLE if whole is None else self.labels.get(whole, Unplaced.OUTSIDE)

    def place_array(self, array: pa.Array) -> Positions:
        """Look whole numbers up; text goes to `place_texts`."""
        return arrays.place_whole_numbers(array, self._place_whole, self.place)

    def _place_whole(self, values: Positions, beyond: Mask | None) -> Positions:
        # the ends of int64 may be in the list, and what lies beyond them is not
        positions = arrays.look_up(pa.array(values), self.labels, Unplaced.OUTSIDE)
        return positions if beyond is None else np.where(beyond, Unplaced.OUTSIDE, positions)

    def draw(
        self, positions: Int64[np.ndarray, " records"], is_null: Mask, rng: np.random.Generator
    ) -> pa.Array:
        """The value, or one of the group: any, or its representative."""
        labels = pa.array(self.all_members)
        sizes = np.array([len(group) for group in self.member_groups] + [1])
        starts = np.concatenate([[0], np.cumsum(sizes[:-1])])
        if self.decode == "representative":
            place = {member: index for index, member in enumerate(self.members)}
            chosen = np.array(
                [place[value] for value in self.representatives or ()] + [len(self.members)]
            )
            indices = chosen[positions]
        elif (sizes == 1).all():
            indices = starts[positions]
        else:
            indices = starts[positions] + rng.integers(0, sizes[positions])
        dictionary = pa.DictionaryArray.from_arrays(
            pa.array(indices.astype(np.int32), mask=is_null), labels
        )
        if self.storage == "dictionary":
            return dictionary
        return labels.take(dictionary.indices).cast(self.arrow_type)

    def as_csv(self, array: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Integers as integers: 20000000000, not 2e+10."""
        return array.cast(pa.int64()) if pa.types.is_floating(array.type) else array

    def sql_type(self, kind: DatabaseKind) -> SqlType | None:
        """Text for texts, whole numbers for integers; text that holds integers only where nothing
        can go wrong.
        """
        if kind in ("text", "enum"):
            return "text" if not self.is_integer or self.is_total else None
        return "int8" if self.is_integer and kind in ("integer", "float", "decimal") else None

    @property
    def described(self) -> str:
        """The type, and that of its members."""
        return f"categorical of {'integers' if self.is_integer else 'text'}"

    def regular_code_of(self, name: str, value: Any) -> int:
        """Code of a group by its name, of a value that is not one of several, or of the
        catch-all.
        """
        if self.groups and value in self.groups:
            return list(self.groups).index(value)
        if self.other is not None and value == self.other:
            return self.regular
        for code, group in enumerate(self.member_groups):
            if value in group:
                if len(group) > 1:
                    raise ValueError(
                        f"names one value of a group of column {name!r}. Name the group"
                    )
                return code
        raise ValueError(f"names a value that column {name!r} does not list")

    def equal(self, name: str, text: str) -> ValueSet:
        """The members of a group, or one value."""
        if self.groups and text in self.groups:
            return ValueSet(members=frozenset(self.groups[text]))
        by_text = {str(member): member for member in self.all_members}
        if text in by_text:
            return ValueSet(members=frozenset({by_text[text]}))
        known = [
            *(self.groups or ()),
            *(each for each in by_text if each not in (self.groups or ())),
        ]
        close = difflib.get_close_matches(text, known, n=1)
        if close:
            advice = f"Did you mean {close[0]!r}?"
        else:
            advice = f"Its values are: {', '.join(known[:6])}{', …' if len(known) > 6 else ''}."
        raise WorkloadError(f"column {name!r} has no value {text!r}. {advice}")

    def compared(self, name: str, operator: str, text: str) -> ValueSet:
        """Integers by their order; texts have none."""
        if not self.is_integer:
            return super().compared(name, operator, text)
        bound, _ = whole_literal(name, text)
        return ValueSet(
            members=frozenset(
                member for member in self.members if _COMPARE[operator](member, bound)
            )
        )

    def position_shares(self, values: ValueSet) -> CodeWeights:
        """The share of each group's members that are in a set, or whether its representative is."""
        if self.decode == "representative":
            found = [float(value in values.members) for value in self.representatives or ()]
        else:
            found = [
                sum(each in values.members for each in group) / len(group)
                for group in self.member_groups
            ]
        return np.array(
            found if self.other is None else [*found, float(self.other in values.members)]
        )

    def regular_label(self, code: int) -> str:
        """The value, the name of the group, or the catch-all's label."""
        if code == self.other_code:
            return str(self.other)
        return list(self.groups)[code] if self.groups else str(self.members[code])
