"""Records under a coarser schema: each code of a fine column becomes that of its interval.

The new code of a record depends on its old code and on public maps alone, so nothing about another
record can change it, and counts of the new codes have the sensitivities that counts of codes have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dprap.array_types import CodeColumn, Int64
from dprap.domain import Domain
from dprap.encoding import code_dtype
from dprap.errors import SchemaError
from dprap.schema import Schema


@dataclass(frozen=True, eq=False)
class Recoding:
    """A coarser schema, and for each column that changes the new code of every old one."""

    domain: Domain
    schema: Schema
    maps: Mapping[str, Int64[np.ndarray, " codes"]]

    def __post_init__(self) -> None:
        new = self.schema.domain
        if new.names != self.domain.names:
            raise SchemaError("a recoding keeps the columns of the schema and their order.")
        for name, size in zip(self.domain.names, self.domain.sizes, strict=True):
            codes = self.maps.get(name)
            if codes is None and new.size(name) != size:
                raise SchemaError(
                    f"column {name!r}: a recoding changes its codes and does not say how."
                )
            if codes is not None and (
                len(codes) != size or codes.min() < 0 or codes.max() >= new.size(name)
            ):
                raise SchemaError(
                    f"column {name!r}: a recoding must give every code a new one of the coarser"
                    " schema."
                )

    def __call__(self, columns: Sequence[CodeColumn]) -> tuple[CodeColumn, ...]:
        """The new codes of records, column by column in the domain's order."""
        return tuple(
            (
                self.maps[name].astype(code_dtype(self.schema.domain.size(name)))[column]
                if name in self.maps
                else column
            )
            for name, column in zip(self.domain.names, columns, strict=True)
        )
