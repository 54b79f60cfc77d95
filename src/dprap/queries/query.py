"""One query of a family, the kinds of families, and columns that stand for a marginal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.custom import Custom
from dprap.queries.halfspace import Halfspace
from dprap.queries.marginal import Marginal
from dprap.queries.range import Range
from dprap.queries.threshold import Threshold

CellFamily: TypeAlias = Marginal | Threshold | Range
"""Families whose answers are a linear map of one table of cell counts."""

Family: TypeAlias = CellFamily | Custom | Halfspace
"""Any set of counting queries over the same columns: each maps a record to [0, 1]."""


def as_family(given: Any) -> Family:
    """A query family as it is; a column, or several in a list or tuple, as their marginal.

    Raises:
        WorkloadError: If it is none of these.

    >>> as_family("sex"), as_family(["sex", "age"])
    (Marginal(columns=('sex',), groups=None), Marginal(columns=('sex', 'age'), groups=None))

    """
    if isinstance(given, Family):
        return given
    columns = (given,) if isinstance(given, str) else given
    if (
        not isinstance(columns, list | tuple)
        or not columns
        or not all(isinstance(name, str) for name in columns)
    ):
        raise WorkloadError("a marginal is named by its columns, such as 'age' or ('age', 'sex').")
    return Marginal(tuple(columns))


@dataclass(frozen=True)
class Query:
    """The query at a position of a family's answers, in C order."""

    family: Family
    index: int

    def __str__(self) -> str:
        return f"{self.family}[{self.index}]"


def from_cells(family: Family, domain: Domain) -> bool:
    """Whether the answers are sums over the cells of the family's columns; else they need records,
    one by one.
    """
    return not isinstance(family, Halfspace) and (
        not isinstance(family, Custom) or family.is_table(domain)
    )
