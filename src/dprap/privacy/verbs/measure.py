"""The verbs that measure: noisy counts of whole marginals and of single queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from dprap.accounting.measurement import Measurement, QueryMeasurement
from dprap.accounting.stddev import stddev_for
from dprap.accounting.zcdp import Rho
from dprap.array_types import Answers, Counts
from dprap.errors import BudgetError
from dprap.privacy.discrete_gaussian import add_discrete_gaussian
from dprap.privacy.ledger import Arrays
from dprap.privacy.steps import Described, label
from dprap.privacy.verbs.private_table import PARTITIONS, PrivateTable
from dprap.queries import Family, Marginal, Query

Item = TypeVar("Item")


class Measuring(PrivateTable):
    """Noisy counts, by discrete Gaussian noise on integers."""

    def stddev_of_marginal(self, rho: Rho) -> float:
        """The noise, in counts, that a marginal measured with this ρ would have. Public.

        Args:
            rho: The price of the marginal.

        Returns:
            σ = Δ₂/√(2ρ).

        Raises:
            BudgetError: If ρ is not positive.

        """
        return stddev_for(self.neighbors.marginal_l2_squared, rho)

    def measure(
        self,
        marginals: Sequence[Marginal],
        rho: Rho,
        shares: Sequence[float | Fraction] | None = None,
        *,
        watch: Callable[[int, int], None] | None = None,
    ) -> list[Measurement]:
        """Noisy counts of whole marginals.

        One record lies in one cell of a marginal, with groups or without, because each code lies in
        one group. So its count vector has the L2 sensitivity √2 (replace) or 1 (add-remove), times
        the rows a person may have. Discrete Gaussian noise with σ = Δ₂/√(2ρᵢ) on marginal i is
        ρᵢ-zCDP, all of them together Σρᵢ = rho.

        Args:
            marginals: What is counted.
            rho: The price of all of them.
            shares: How rho is split; equally, unless given.
            watch: Is told of how many marginals the noise was drawn, of how many: public numbers.

        Returns:
            One measurement for each marginal, in their order.

        Raises:
            BudgetError: `rho` is more than is left, or a share is not positive.
            WorkloadError: A marginal is not of the domain, or has too many cells.
        """
        self._check_sizes(marginals, PARTITIONS)
        rho = self._affordable(rho)
        split = _split(rho, len(marginals), shares)
        stddevs = [stddev_for(self.neighbors.marginal_l2_squared, part) for part in split]

        def exact() -> list[Counts]:
            self._exact.prepare(marginals)
            return [self._exact.marginal(marginal) for marginal in marginals]

        def draw(counts: list[Counts]) -> Arrays:
            return {
                str(position): add_discrete_gaussian(exact_counts, stddev, self._entropy)
                for position, (exact_counts, stddev) in enumerate(
                    _told(list(zip(counts, stddevs, strict=True)), watch)
                )
            }

        described = Described.of(
            [label(marginal), str(part)] for marginal, part in zip(marginals, split, strict=True)
        )
        arrays = self._steps.take("measure", described, rho, exact, draw, stddev_counts=stddevs)
        return [
            Measurement(marginal, arrays[str(position)], stddev, float(part))
            for position, (marginal, stddev, part) in enumerate(
                zip(marginals, stddevs, split, strict=True)
            )
        ]

    def measure_queries(self, queries: Sequence[Query], rho: Rho) -> list[QueryMeasurement]:
        """Noisy counts of single queries; `rho` is split equally.

        A query maps a record to [0, 1], so its count has sensitivity 1 (times the rows a person may
        have) under both relations: σ = 1/√(2ρᵢ), the Gaussian mechanism of the paper. Custom
        queries are summed on an integer grid, where sensitivity and σ are scaled alike.

        Args:
            queries: What is counted.
            rho: The price of all of them.

        Returns:
            One measurement for each query, in their order.

        Raises:
            BudgetError: `rho` is more than is left.
            WorkloadError: A query is not of the domain.
        """
        self._check_sizes([query.family for query in queries])
        self._check_indices(queries)
        rho = self._affordable(rho)
        split = _split(rho, len(queries), None)
        stddev = stddev_for(self.neighbors.query**2, split[0])

        def exact() -> list[tuple[Counts, int]]:
            self._exact.prepare([query.family for query in queries])
            answers = {query.family: self._exact.family(query.family) for query in queries}
            return [
                (answers[query.family][0][[query.index]], answers[query.family][1])
                for query in queries
            ]

        def draw(answers: list[tuple[Counts, int]]) -> Arrays:
            counts = np.concatenate([count for count, _ in answers])
            units = np.array([unit for _, unit in answers])
            noisy = np.empty(len(answers))
            for unit in np.unique(units).tolist():
                alike = units == unit
                noisy[alike] = (
                    add_discrete_gaussian(counts[alike], stddev * unit, self._entropy) / unit
                )
            return {"counts": noisy}

        described = Described.of([label(query.family), int(query.index)] for query in queries)
        arrays = self._steps.take(
            "measure_queries", described, rho, exact, draw, stddev_counts=stddev
        )
        return [
            QueryMeasurement(query, float(count), stddev, float(part))
            for query, count, part in zip(queries, arrays["counts"], split, strict=True)
        ]

    def measure_all(
        self, families: Sequence[Family], rho: Rho
    ) -> Iterator[tuple[Family, Answers, float]]:
        """Noisy counts of every query, paid query by query: the T = 1 branch of the paper.

        Each of the m queries gets rho/m, so σ = √(m/(2 rho)). Each family is charged when it is
        drawn, so one that is never asked for costs nothing.

        Args:
            families: What is counted.
            rho: The price of all queries.

        Yields:
            For each family: the family, its noisy counts and the standard deviation of their noise.

        Raises:
            BudgetError: `rho` is more than is left.
            WorkloadError: A family is not of the domain, or has too many cells.
        """
        self._check_sizes(families)
        rho = self._affordable(rho)
        sizes = [family.size(self.domain) for family in families]
        per_query = rho / sum(sizes)
        stddev = stddev_for(self.neighbors.query**2, per_query)
        with self._stopwatch.running():
            self._exact.prepare(families)
        for family, size in zip(families, sizes, strict=True):

            def exact(family: Family = family) -> tuple[Counts, int]:
                return self._exact.family(family)

            def draw(answers: tuple[Counts, int]) -> Arrays:
                counts, unit = answers
                return {
                    "counts": add_discrete_gaussian(counts, stddev * unit, self._entropy) / unit
                }

            arrays = self._steps.take(
                "measure_all",
                Described.of([label(family)]),
                per_query * size,
                exact,
                draw,
                stddev_counts=stddev,
            )
            yield family, arrays["counts"], stddev


def _told(items: Sequence[Item], watch: Callable[[int, int], None] | None) -> Iterator[Item]:
    """The items as they are; their number is told before each."""
    for done, item in enumerate(items):
        if watch is not None:
            watch(done, len(items))
        yield item


def _split(rho: Fraction, parts: int, shares: Sequence[float | Fraction] | None) -> list[Fraction]:
    """Parts of rho in proportion to the shares; they add up to it exactly."""
    if shares is None:
        return [rho / parts] * parts
    if len(shares) != parts or any(not 0 < share < float("inf") for share in shares):
        raise BudgetError("shares of a budget must be positive, one for each marginal.")
    total = sum(Fraction(share) for share in shares)
    return [rho * Fraction(share) / total for share in shares]
