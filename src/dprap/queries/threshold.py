"""t-out-of-k thresholds: how many records match at least t of k values."""

from __future__ import annotations

from dataclasses import dataclass

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.marginal import CellTable


@dataclass(frozen=True, order=True)
class Threshold:
    """For every cell y over the columns: records x with x_c = y_c for at least `at_least` of the
    columns c.

    `at_least` = k is the marginal, `at_least` = 1 the disjunction.

    >>> import numpy as np
    >>> Threshold(("sex", "region"), at_least=1).answers(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[10, 11, 12],
           [16, 17, 18]])
    """

    columns: tuple[str, ...]
    at_least: int

    def __post_init__(self) -> None:
        given: object = self.columns
        if isinstance(given, str):
            raise WorkloadError(
                f"a threshold takes a tuple of columns: Threshold(({self.columns!r},), 1)."
            )
        object.__setattr__(self, "columns", tuple(self.columns))
        if len(set(self.columns)) != len(self.columns):
            raise WorkloadError(f"threshold {self} names a column twice.")
        if not 1 <= self.at_least <= len(self.columns):
            raise WorkloadError(
                f"threshold {self}: at_least must be between 1 and its number of columns,"
                f" {len(self.columns)}."
            )

    def __str__(self) -> str:
        return f"{self.at_least}-of-{len(self.columns)}({', '.join(self.columns)})"

    def size(self, domain: Domain) -> int:
        """The number of queries: one for each cell.

        Args:
            domain: The domain of the table.

        Returns:
            How many there are.

        Raises:
            WorkloadError: If the domain lacks a column.

        >>> Threshold(("sex", "region"), at_least=1).size(Domain.of({"sex": 2, "region": 3}))
        6

        """
        return domain.size_of(self.columns)

    def answers(self, table: CellTable) -> CellTable:
        """Answers at every cell y from cell counts: exact on integers, linear on any array.

        Dynamic programming over the columns: `matches[j]` counts the records with j matches among
        the columns seen, with the axes of those columns indexed by y; its last entry counts
        `at_least` matches or more. Only methods of the array are used, so JAX arrays pass too and
        can be differentiated.

        Args:
            table: Counts or shares of all cells, with one axis for each column.

        Returns:
            An array of the same shape.
        """
        enough = self.at_least
        matches = [table]
        for axis in range(len(self.columns)):
            totals = [counts.sum(axis=axis, keepdims=True) for counts in matches]
            following = [total - counts for total, counts in zip(totals, matches, strict=True)]
            if len(matches) > enough:
                following[enough] = totals[enough] + 0 * matches[enough]
                following[1:] = [
                    missed + hit for missed, hit in zip(following[1:], matches[:-1], strict=True)
                ]
            else:
                following = [
                    *following[:1],
                    *(
                        missed + hit
                        for missed, hit in zip(following[1:], matches[:-1], strict=True)
                    ),
                    matches[-1],
                ]
            matches = following
        return matches[enough]
