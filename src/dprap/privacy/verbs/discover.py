"""The verb that discovers: values of columns whose domain nobody knows publicly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dprap.accounting.measurement import FoundValues
from dprap.accounting.stddev import stddev_for
from dprap.accounting.zcdp import Rho
from dprap.array_types import Counts
from dprap.errors import BudgetError, SettingsError
from dprap.privacy.discovery import (
    Values,
    ValueSource,
    described_values,
    packed_values,
    threshold_for,
    thresholded,
    unpacked_values,
)
from dprap.privacy.ledger import Arrays
from dprap.privacy.steps import Described
from dprap.privacy.verbs.private_table import PrivateTable


class Discovering(PrivateTable):
    """Values above a noisy threshold."""

    def discover_values(self, names: Sequence[str], rho: Rho, *, delta: float) -> list[FoundValues]:
        """The values of columns whose noisy counts reach a threshold.

        σ = Δ₂/√(2ρᵢ) and the threshold with r · P(N ≥ τ − r) ≤ δᵢ make each column δᵢ-approximately
        ρᵢ-zCDP: the argument is in `dprap.privacy.discovery`. The budget must have set `delta`
        apart as its `threshold_delta`, and all calls of a curator together may not ask for more.

        Args:
            names: The columns.
            rho: The charge.
            delta: What the thresholds may take of δ.

        Returns:
            For each column the values that were found, sorted, and the threshold.

        Raises:
            SettingsError: The table is of a kind whose values cannot be listed.
            BudgetError: `rho` or `delta` is more than is left.
        """
        source = self._source
        if not isinstance(source, ValueSource):
            raise SettingsError("values are discovered in tables in memory and in files alone.")
        rho = self._affordable(rho)
        each_delta = float(delta) / len(names) * (1 - 1e-12)
        # a negative one would buy back what thresholds took before
        is_covered = self._threshold_delta + Fraction(delta) <= Fraction(
            self.budget.threshold_delta
        )
        if not (delta > 0 and is_covered):
            raise BudgetError(
                "thresholds ask for more of delta than the budget has set apart for them, or for"
                " none."
            )
        self._threshold_delta += Fraction(delta)
        part = rho / len(names)
        stddev = stddev_for(self.neighbors.marginal_l2_squared, part)
        threshold = threshold_for(stddev, each_delta, self.neighbors)

        def exact() -> list[tuple[Values, Counts]]:
            return [source.present(name) for name in names]

        def draw(present: list[tuple[Values, Counts]]) -> Arrays:
            arrays: Arrays = {}
            for position, (values, counts) in enumerate(present):
                published = thresholded(
                    values, counts, stddev_counts=stddev, threshold=threshold, entropy=self._entropy
                )
                arrays |= packed_values(position, *published)
            return arrays

        terms = {"threshold_counts": threshold, "threshold_delta": float(delta)}
        arrays = self._steps.take(
            "discover_values",
            Described.of(described_values(names)),
            rho,
            exact,
            draw,
            terms=terms,
            stddev_counts=stddev,
        )
        found = [unpacked_values(position, arrays) for position in range(len(names))]
        return [
            FoundValues(
                name,
                tuple(values),
                stddev,
                threshold,
                float(part),
                each_delta,
                tuple(counts.tolist()),
            )
            for name, (values, counts) in zip(names, found, strict=True)
        ]
