"""What every query family offers, whatever its kind."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from dprap.domain import Domain


@runtime_checkable
class Family(Protocol):
    """A set of counting queries over the same columns.

    Sensitivity: every query maps one record to [0, 1], so one record moves each answer, as a count, by at most 1.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the queries read."""
        ...

    def size(self, domain: Domain) -> int:
        """Number of queries."""
        ...


@runtime_checkable
class LinearFamily(Family, Protocol):
    """A family whose answers are a linear map of the cell counts over its columns."""

    def answers(self, table: np.ndarray) -> np.ndarray:
        """Answers of all queries, from the table of cell counts with one axis a column."""
        ...
