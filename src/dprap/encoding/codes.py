"""An encoded table: one compact array of codes per column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dprap.array_types import CodeColumn
from dprap.domain import Domain
from dprap.errors import DataError


def code_dtype(size: int) -> np.dtype[np.unsignedinteger]:
    """Smallest unsigned type that holds the codes 0..size-1."""
    return np.dtype(np.min_scalar_type(size - 1))


@dataclass(frozen=True, eq=False)
class Codes:
    """Records as codes, column by column in the order of the domain.

    Private when they come from a private table.

    >>> codes = Codes.of(Domain.of({"sex": 2, "age": 300}), {"sex": [0, 1], "age": [299, 7]})
    >>> codes.rows, [column.dtype.name for column in codes.columns]
    (2, ['uint8', 'uint16'])
    """

    domain: Domain
    columns: tuple[CodeColumn, ...]

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.domain):
            raise DataError(
                f"codes: {len(self.columns)} columns where the schema has {len(self.domain)}."
            )
        if len({len(column) for column in self.columns}) > 1:
            raise DataError("codes: columns differ in length.")
        for name, size, column in zip(
            self.domain.names, self.domain.sizes, self.columns, strict=True
        ):
            if column.dtype != code_dtype(size):
                raise DataError(
                    f"column {name!r}: codes must be {code_dtype(size)}, the smallest type for"
                    f" {size} codes."
                )
            if len(column) and int(column.max()) >= size:
                raise DataError(
                    f"column {name!r}: has codes outside 0..{size - 1}. Encode with the same"
                    " schema."
                )

    @classmethod
    def of(cls, domain: Domain, columns: dict[str, object]) -> Codes:
        """Make codes from any integer sequences, by column name."""
        arrays = []
        for name, size in zip(domain.names, domain.sizes, strict=True):
            column = np.asarray(columns[name])
            if column.size and (column.min() < 0 or column.max() >= size):
                raise DataError(
                    f"column {name!r}: has codes outside 0..{size - 1}. Check the domain."
                )
            arrays.append(column.astype(code_dtype(size)))
        return cls(domain, tuple(arrays))

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.columns[0]) if self.columns else 0

    def column(self, name: str) -> CodeColumn:
        """Codes of one column."""
        return self.columns[self.domain.position(name)]
