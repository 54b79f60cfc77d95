"""Neighbour relations and the sensitivities that follow from them.

Two tables are neighbours if one person's records differ. Let r be `max_rows_per_person` (1 unless
people have several).

* **replace**: up to r records of one person are replaced by as many others; the number of records n
  is public.
* **add-remove**: up to r records of one person are added or removed; n is private.

Every sensitivity below is in counts. A record lies in exactly one cell of a marginal, so replacing
it takes 1 from one cell and adds 1 to another; adding it adds 1 to one cell. With r records the
worst case is that all r move alike, which scales each norm by r.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from dprap.errors import BudgetError


class Relation(StrEnum):
    """Which change of the table the guarantee hides."""

    REPLACE = "replace"
    ADD_REMOVE = "add-remove"


@dataclass(frozen=True)
class Neighbors:
    """A neighbour relation with the largest number of records one person has.

    >>> Neighbors(Relation.REPLACE).marginal_l1, Neighbors(Relation.ADD_REMOVE, 3).marginal_l1
    (2, 3)
    """

    relation: Relation = Relation.REPLACE
    max_rows_per_person: int = 1

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "relation", Relation(self.relation))
        except ValueError:
            raise BudgetError(
                f"neighbours are replace or add-remove, not {self.relation!r}."
            ) from None
        if not isinstance(self.max_rows_per_person, int) or self.max_rows_per_person < 1:
            raise BudgetError("max_rows_per_person must be a whole number of at least 1.")

    @property
    def rows_are_public(self) -> bool:
        """Whether neighbours always have the same number of records."""
        return self.relation is Relation.REPLACE

    @property
    def marginal_l1(self) -> int:
        """Largest L1 change of a marginal's count vector: one cell loses r and another gains r, or
        one changes by r.
        """
        return self.max_rows_per_person * (2 if self.relation is Relation.REPLACE else 1)

    @property
    def marginal_l2(self) -> float:
        """Largest L2 change of a marginal's count vector: r times the square root of 2, or r."""
        return self.max_rows_per_person * (
            math.sqrt(2.0) if self.relation is Relation.REPLACE else 1.0
        )

    @property
    def marginal_l2_squared(self) -> int:
        """Square of `marginal_l2`, exactly."""
        return self.max_rows_per_person**2 * (2 if self.relation is Relation.REPLACE else 1)

    @property
    def query(self) -> int:
        """Largest change of one counting query, of the largest cell error of a marginal, and of any
        cell: r.
        """
        return self.max_rows_per_person
