"""One query of a family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dprap.domain import Domain
from dprap.queries.custom import Custom
from dprap.queries.halfspace import Halfspace
from dprap.queries.marginal import Marginal
from dprap.queries.range import Range
from dprap.queries.threshold import Threshold

CellFamily: TypeAlias = Marginal | Threshold | Range
"""Families whose answers are a linear map of one table of cell counts."""

Family: TypeAlias = CellFamily | Custom | Halfspace
"""Any set of counting queries over the same columns: each maps a record to [0, 1]."""


@dataclass(frozen=True)
class Query:
    """The query at a position of a family's answers, in C order."""

    family: Family
    index: int

    def __str__(self) -> str:
        return f"{self.family}[{self.index}]"


def from_cells(family: Family, domain: Domain) -> bool:
    """Whether the answers are sums over the cells of the family's columns; else they need records, one by one."""
    return not isinstance(family, Halfspace) and (not isinstance(family, Custom) or family.is_table(domain))
