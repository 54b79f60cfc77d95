"""The steps of the adaptive mechanism: what each buys and costs.

The run carries them out, the plan adds them up.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dprap.queries import Marginal


@dataclass(frozen=True)
class CountRecords:
    """Measure the number of records, where it is private."""

    rho: Fraction


@dataclass(frozen=True)
class MeasureColumns:
    """Measure every one-way marginal, with these shares of what they get in all."""

    rho: Fraction
    shares: tuple[float, ...]


@dataclass(frozen=True)
class StartRows:
    """Make the rows, far apart if the last fit is to be afresh; a public table moves them.

    If nothing will be fitted, one row is the product of the columns and says it all. The rows of a
    round stay if the last fit goes on from them without a sweep in between.
    """

    afresh: bool
    rows_stay: bool
    public: bool
    fitted: bool = True
    rho: Fraction = Fraction(0)


@dataclass(frozen=True)
class Pool:
    """Which marginals may be chosen after the columns.

    `candidates` are of the workload's downward `closure`. `pick_resolution` is the number of
    records over the noise of one pick. `importance_of` is how much columns matter together.
    """

    candidates: tuple[Marginal, ...]
    closure: tuple[Marginal, ...]
    pick_resolution: float
    importance_of: Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class Choose:
    """Choose the marginals of a round; each will be measured with `measure_rho_each`."""

    pool: Pool
    picks: int
    rho_each: Fraction
    measure_rho_each: Fraction

    @property
    def rho(self) -> Fraction:
        """What the round's choices cost together."""
        return self.rho_each * self.picks


@dataclass(frozen=True)
class MeasureChosen:
    """Measure what was chosen, and fit the rows; of all fits this is number `fit` of `fits`."""

    picks: int
    rho_each: Fraction
    fit: int
    fits: int

    @property
    def rho(self) -> Fraction:
        """What the round's measurements cost together."""
        return self.rho_each * self.picks


@dataclass(frozen=True)
class MeasureWorkload:
    """The sweep: measure the workload's own marginals, and fit the rows for the last time."""

    marginals: tuple[Marginal, ...]
    rho: Fraction
    fit: int
    fits: int
    shares: tuple[float, ...]


@dataclass(frozen=True)
class MeasureOne:
    """Measure the one marginal that answers the whole workload; its cells become the rows."""

    marginal: Marginal
    rho: Fraction


Step: TypeAlias = (
    CountRecords
    | MeasureColumns
    | StartRows
    | Choose
    | MeasureChosen
    | MeasureWorkload
    | MeasureOne
)
Spending: TypeAlias = Generator[Step, float, None]


def has_sweep(steps: Iterable[Step]) -> bool:
    """Whether the whole workload is measured at the end."""
    return any(isinstance(step, MeasureWorkload) for step in steps)
