"""What paid discovery will find, from public facts alone: how many records a value needs, and the
share that fewer need.

Which values a column has is not known before, so no plan can say which part of the records they
cover. It says how frequent a value must be to be found, and what share of ρ would find rarer ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dprap.accounting import Budget, Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.privacy.discovery import threshold_for
from dprap.schema.discover import DiscoverColumn

# What thresholds take of δ. A tenth costs the rest of the run 1% of its ρ; a larger part would
# lower the thresholds by a few percent only, since they grow with the root of a logarithm.
THRESHOLD_SHARE = 0.1

# What a column of categories gets for each 1 that a column of numbers gets. A value is published
# from about 7σ on, a cell stands out from about 4.6σ on; with (7/4.6)² ≈ 2 as much ρ the same
# number of records is seen in both.
_CATEGORY_WEIGHT = 2

# What the first look at several columns takes of the ρ and δ of all categories. It tells which
# columns need more. A quarter raises the thresholds of the second look by a seventh, and finds
# values of twice as many records.
FIRST_LOOK = Fraction(1, 4)

# A value this many standard deviations above its threshold is found in 95% of all runs.
_NEARLY_ALWAYS = 1.645

# Values for which a plan tells the share that they need: as parts of all records, or as records.
_PARTS = (0.01, 0.005, 0.002, 0.001)
_COUNTS = (1000, 500, 200, 100)


@dataclass(frozen=True)
class DiscoveryPlan:
    """How discovery shares its budget among columns, and what it will find.

    Args:
        listed: Columns of categories.
        numbers: Columns of numbers.
        whole: The budget of discovery and the run together, before it is split.
        share: The share of ρ for discovery.
        neighbors: The neighbour relation.
        records: The number of records, if it is public.

    """

    listed: tuple[str, ...]
    numbers: tuple[str, ...]
    whole: Budget
    share: float
    neighbors: Neighbors
    records: int | None

    @classmethod
    def of(
        cls,
        columns: dict[str, DiscoverColumn],
        whole: Budget,
        share: float,
        neighbors: Neighbors,
        records: int | None,
    ) -> DiscoveryPlan:
        """The plan for columns of a schema."""
        listed = tuple(name for name, column in columns.items() if column.type == "categorical")
        numbers = tuple(name for name in columns if name not in listed)
        return cls(listed, numbers, whole, share, neighbors, records)

    def split(self, share: float | None = None) -> tuple[Budget, Budget]:
        """The budgets of discovery and of the run after it."""
        delta = self.whole.delta * THRESHOLD_SHARE if self.listed else 0.0
        return self.whole.split(self.share if share is None else share, threshold_delta=delta)

    def listed_rho(self, budget: Budget) -> Fraction:
        """What all columns of categories get of the budget of discovery."""
        units = _CATEGORY_WEIGHT * len(self.listed)
        return budget.rho * units / (units + len(self.numbers))

    def found_from(self, share: float | None = None) -> tuple[int, int]:
        """Records that a value needs to be found in half and in 95% of all runs, where all columns
        need equally much.
        """
        budget, _ = self.split(share)
        rho, delta = (
            self.listed_rho(budget) / len(self.listed),
            budget.threshold_delta / len(self.listed),
        )
        left = 1 if len(self.listed) == 1 else 1 - FIRST_LOOK
        stddev = stddev_for(self.neighbors.marginal_l2_squared, rho * left)
        threshold = threshold_for(stddev, delta * float(left), self.neighbors)
        return threshold, threshold + round(_NEARLY_ALWAYS * stddev)

    def share_for(self, count: int) -> float | None:
        """The share of ρ with which a value of so many records is found in 95% of all runs; None
        where none is enough.
        """
        low, high = 1e-6, 0.99
        if self.found_from(high)[1] > count:
            return None
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (low, middle) if self.found_from(middle)[1] <= count else (middle, high)
        return high

    @property
    def lines(self) -> list[str]:
        """The plan in a few lines."""
        budget, _ = self.split()
        taken = budget.threshold_delta
        lines = [
            f"discover    {', '.join((*self.listed, *self.numbers))}: for {self.share:.1%} of ρ"
            + (f", and {taken / budget.delta:.1%} of δ for thresholds" if taken else "")
        ]
        if not self.listed:
            return lines
        half, nearly_all = self.found_from()
        more = "; fewer where other columns need less" if len(self.listed) > 1 else ""
        found = (
            f"categories of {self._counted(nearly_all)} in 95% of all runs, of"
            f" {self._counted(half)} in half{more}"
        )
        return [*lines, f"found       {found}", f"shares      {self._shares()}"]

    def _counted(self, count: int) -> str:
        part = "" if self.records is None else f" ({count / self.records:.2%})"
        return f"{count:,} records{part}"

    def _shares(self) -> str:
        """What categories of so many records need, the frequent ones first."""
        wanted: Sequence[tuple[str, int]] = (
            [(f"{count:,} records", count) for count in _COUNTS]
            if self.records is None
            else [(f"{part:.1%} of the records", round(part * self.records)) for part in _PARTS]
        )
        needs = [(words, self.share_for(count)) for words, count in wanted]
        texts = [
            f"{words} {'all of ρ is too little' if share is None else f'{share:.1%} of ρ'}"
            for words, share in needs
        ]
        return "for categories of " + ", of ".join(texts)
