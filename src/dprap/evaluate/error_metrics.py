"""Error metrics over a workload. NOT PRIVATE: they compare with the exact answers.

Errors are absolute differences of fractions of n. **max** and **mean** and **rmse** run over all
queries of all families; **tv**, the total variation distance, is the mean over marginals of half
the L1 error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dprap.array_types import Answers
from dprap.errors import WorkloadError
from dprap.evaluate.answer_shares import Published, exact_answers, published_answers
from dprap.products import product
from dprap.queries import Family, Marginal
from dprap.sources import CountSource
from dprap.workload import Workload


@dataclass(frozen=True)
class FamilyErrors:
    """Errors of one family. NOT PRIVATE."""

    family: Family
    queries: int
    max: float
    sum: float
    sum_of_squares: float

    @property
    def tv(self) -> float | None:
        """Half the L1 error, for marginals."""
        return self.sum / 2 if isinstance(self.family, Marginal) else None


@dataclass(frozen=True)
class Errors:
    """Errors over all queries of a workload, as fractions of n. NOT PRIVATE."""

    queries: int
    max: float
    mean: float
    rmse: float
    tv: float | None

    @classmethod
    def over(cls, families: Sequence[FamilyErrors]) -> Errors:
        """Sum up the families' errors."""
        queries = sum(family.queries for family in families)
        tvs = [family.tv for family in families if family.tv is not None]
        return cls(
            queries=queries,
            max=max(family.max for family in families),
            mean=sum(family.sum for family in families) / queries,
            rmse=math.sqrt(sum(family.sum_of_squares for family in families) / queries),
            tv=sum(tvs) / len(tvs) if tvs else None,
        )


def family_errors(
    families: Sequence[Family], exact: Iterable[Answers], published: Iterable[Answers]
) -> list[FamilyErrors]:
    """Errors family by family, from fractions; streams, so that answers never stand in memory
    together.
    """
    found = []
    for family, truth, answer in zip(families, exact, published, strict=True):
        if np.size(truth) != np.size(answer):
            raise WorkloadError(
                f"{family} has {np.size(truth):,} queries but {np.size(answer):,} published"
                " answers."
            )
        error = np.abs(np.asarray(answer, dtype=np.float64).ravel() - truth)
        found.append(
            FamilyErrors(
                family,
                error.size,
                float(error.max()),
                float(error.sum()),
                float(product(error, error)),
            )
        )
    return found


def compare(
    families: Sequence[Family], exact: Iterable[Answers], published: Iterable[Answers]
) -> Errors:
    """Errors over all queries, from fractions.

    >>> compare([Marginal(("sex",))], [np.array([0.5, 0.5])], [np.array([0.25, 0.75])])
    Errors(queries=2, max=0.25, mean=0.25, rmse=0.25, tv=0.25)
    """
    return Errors.over(family_errors(families, exact, published))


def evaluate(source: CountSource, workload: Workload, published: Published) -> Errors:
    """Errors of what was published on the workload. NOT PRIVATE."""
    families = workload.families
    return compare(
        families, exact_answers(source, families), published_answers(published, families)
    )
