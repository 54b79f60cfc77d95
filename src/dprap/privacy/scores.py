"""Scores of marginals for private selection: integers whose sensitivity is exact.

For a marginal with exact counts c and public estimates e, both in counts, let
error_i = |c_i − e_i| and above_i = max(error_i − threshold, 0). The score is

    weight · (cell · max_i error_i + l1 · Σ_i above_i − penalty),

with public weights, thresholds (0 unless given) and penalties; the sum is over all cells, or over
the k with the largest errors, with k public. Between neighbours c changes by at most Δ∞ in a cell
and Δ1 in sum; every error_i and every above_i moves at most as much as c_i, so the sum over any
fixed k cells moves by at most min(Δ1, k · Δ∞), and so does the largest of such sums. Hence the
score changes by at most weight · (cell · Δ∞ + l1 · min(Δ1, k · Δ∞)). Everything is put on integer
grids *before* the private counts enter, so this bound holds to the last bit.

Weights say how much a candidate matters: `adaptive` and AIM (dprap-bench) need them. A weight
scales a candidate's sensitivity, so only this module can account for it. Penalties are no need of
dprap's own mechanisms. They are here because AIM cannot be written without them: a threshold is no
substitute for a penalty, which may be larger than the error.

No 64-bit integer may wrap around: a wrapped difference would jump by 2^64 where its argument moves
by 1. Hence the limits, on public numbers alone: with at most 2^40 records (10^12), and estimates
and penalties of at most 2^40 counts, errors add up to at most 2^45 grid steps and a score is below
2^10 · (2 · 2^6 · 2^45 + 2^50) < 2^63. A certificate compares counts of up to 2^40 records, each of
at most 2^16 units (of a custom function), on a grid of 2^4: both sides are below 2^60 + 1 and their
distance is below 2^62. The grids are as coarse as that asks for and the same for all tables,
because the number of records may be private. A step of an estimate is a sixteenth of a record,
where noise is of several records; rounding a public estimate or weight never touches the
sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

import numpy as np

from dprap.accounting.neighbors import Neighbors
from dprap.array_types import Answers, Counts, Float, Int64
from dprap.errors import SettingsError

ESTIMATE_GRID = 16
"""Estimates are rounded to 1/16 of a count."""

MAX_COUNT = 2**40
"""Largest table, estimate and penalty, in records, for which integer scores provably fit into 64
bits.
"""

# Cells of the candidates that are scored together: a few arrays of 4 MB.
_TOGETHER = 1 << 19

_FACTOR_GRID = 64
_WEIGHT_GRID = 1024


@dataclass(frozen=True)
class Rows:
    """Estimates, in counts, of several candidates that follow each other and have as many cells: a
    row for each.
    """

    counts: Float[np.ndarray, "some cells"]


Estimates: TypeAlias = Answers | Rows
"""What is estimated of the next candidate, or of the next ones."""

CountsOf: TypeAlias = Callable[[int, int], Int64[np.ndarray, "some cells"]]
"""Exact counts of the candidates from one position on and before another, all of which have as many
cells.
"""


@dataclass(frozen=True)
class Score:
    """How badly a marginal is answered: its largest cell error and summed error, blended.

    `summed_cells` is, for each candidate, how many of its largest errors are summed; all of them
    unless it is given.
    """

    cell: float = 1.0
    l1: float = 0.0
    weights: Sequence[float] | None = None
    penalties_counts: Sequence[float] | None = None
    threshold_counts: float = 0.0
    summed_cells: Sequence[int] | None = None

    def on_grid(self, candidates: int) -> GridScore:
        """The score with all its public factors as integers."""
        weights = (
            np.ones(candidates)
            if self.weights is None
            else np.asarray(self.weights, dtype=np.float64)
        )
        penalties = (
            np.zeros(candidates)
            if self.penalties_counts is None
            else np.asarray(self.penalties_counts, dtype=np.float64)
        )
        factors = np.array([self.cell, self.l1])
        if weights.shape != (candidates,) or penalties.shape != (candidates,):
            raise SettingsError("a score needs one weight and one penalty per candidate.")
        if not (
            np.isfinite(weights).all()
            and np.isfinite(penalties).all()
            and np.isfinite(factors).all()
        ):
            raise SettingsError("weights, penalties and factors of a score must be finite.")
        if weights.min() < 0 or weights.max() <= 0 or factors.min() < 0 or factors.max() <= 0:
            raise SettingsError(
                "weights and factors of a score must not be negative, nor all zero."
            )
        whole_weights = np.rint(weights / weights.max() * _WEIGHT_GRID).astype(np.int64)
        cell, l1 = (
            round(factor / float(factors.max()) * _FACTOR_GRID) for factor in factors.tolist()
        )
        with np.errstate(over="ignore"):
            penalties = penalties / factors.max()
        if np.abs(penalties).max() > MAX_COUNT:
            raise SettingsError("a penalty of a score is larger than any number of records.")
        if not 0 <= self.threshold_counts <= MAX_COUNT:
            raise SettingsError(
                "the threshold of a score must not be negative or larger than any number of"
                " records."
            )
        if self.summed_cells is not None and (
            len(self.summed_cells) != candidates or min(self.summed_cells) < 1
        ):
            raise SettingsError(
                "a score sums the errors of one cell at least, and needs their number for each"
                " candidate."
            )
        return GridScore(
            cell,
            l1,
            whole_weights,
            np.rint(penalties * (ESTIMATE_GRID * _FACTOR_GRID)).astype(np.int64),
            round(self.threshold_counts * ESTIMATE_GRID),
            None if self.summed_cells is None else tuple(self.summed_cells),
        )


@dataclass
class _Waiting:
    """Candidates with as many cells, to be scored together."""

    candidates: list[int] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    estimates: list[Answers] = field(default_factory=list)

    def add(self, candidate: int, counts: Counts, estimates_counts: Answers) -> None:
        flat = np.ravel(estimates_counts)
        if flat.size != counts.size:
            refuse_estimates()
        self.candidates.append(candidate)
        self.counts.append(counts)
        self.estimates.append(flat)


@dataclass(frozen=True)
class GridScore:
    """A score in integers."""

    cell: int
    l1: int
    weights: np.ndarray
    penalties: np.ndarray
    threshold: int = 0
    summed_cells: tuple[int, ...] | None = None

    def of(self, candidate: int, counts: Counts, estimates_counts: Answers) -> int:
        """The integer score of one candidate."""
        on_grid = grid_estimates(estimates_counts, counts.size, ESTIMATE_GRID)
        return int(self._of_rows(np.array([candidate]), counts[None], on_grid[None])[0])

    def of_all(self, counts_of: CountsOf, estimates_counts: Iterable[Estimates]) -> Counts:
        """The integer scores of all candidates, in their order.

        Candidates with as many cells are taken together, for speed. All of it is integer arithmetic
        without overflow, so that no score depends on which others it is computed with.
        """
        scores = np.empty(len(self.weights), dtype=np.int64)
        waiting: dict[tuple[int, int], _Waiting] = {}
        place = 0
        for estimates in estimates_counts:
            some = len(estimates.counts) if isinstance(estimates, Rows) else 1
            if not 0 < some <= len(scores) - place:
                refuse_estimates()
            counts = counts_of(place, place + some)
            if isinstance(estimates, Rows) and some != 1:
                self._settle_rows(scores, place, counts, estimates)
            else:
                alone = estimates.counts if isinstance(estimates, Rows) else estimates
                key = (counts.size, self._summed(place, counts.size))
                waiting.setdefault(key, _Waiting()).add(place, counts[0], alone)
                if len(waiting[key].candidates) * counts.size >= _TOGETHER:
                    self._settle(scores, waiting.pop(key))
            place += some
        if place < len(scores):
            refuse_estimates()
        for rest in waiting.values():
            self._settle(scores, rest)
        return scores

    def _settle_rows(
        self, scores: Counts, place: int, counts: Int64[np.ndarray, "some cells"], estimates: Rows
    ) -> None:
        if counts.shape != estimates.counts.shape:
            refuse_estimates()
        on_grid = grid_estimates(estimates.counts, counts.size, ESTIMATE_GRID).reshape(counts.shape)
        candidates = np.arange(place, place + len(counts))
        summed = self._summed_of(place, counts)
        for number in np.unique(summed):
            chosen = summed == number
            part = slice(None) if chosen.all() else chosen
            scores[candidates[part]] = self._of_rows(candidates[part], counts[part], on_grid[part])

    def _settle(self, scores: Counts, waiting: _Waiting) -> None:
        counts = np.stack(waiting.counts)
        on_grid = grid_estimates(np.concatenate(waiting.estimates), counts.size, ESTIMATE_GRID)
        candidates = np.array(waiting.candidates)
        scores[candidates] = self._of_rows(candidates, counts, on_grid.reshape(counts.shape))

    def _of_rows(
        self,
        candidates: Int64[np.ndarray, " some"],
        counts: Int64[np.ndarray, "some cells"],
        on_grid: Int64[np.ndarray, "some cells"],
    ) -> Counts:
        """Scores of candidates with as many cells, of which as many are summed."""
        if float(np.abs(on_grid).sum(axis=1, dtype=np.float64).max()) > MAX_COUNT * ESTIMATE_GRID:
            raise SettingsError(
                "the estimates of a marginal add up to more than any number of records."
            )
        errors = np.abs(counts * ESTIMATE_GRID - on_grid)
        largest = self._summed(int(candidates[0]), errors.shape[1])
        summed = (
            errors
            if largest >= errors.shape[1]
            else np.partition(errors, -largest, axis=1)[:, -largest:]
        )
        above = np.maximum(summed - self.threshold, 0) if self.threshold else summed
        blended = self.cell * errors.max(axis=1) + self.l1 * above.sum(axis=1)
        scores: Counts = self.weights[candidates] * (blended - self.penalties[candidates])
        return scores

    def _summed(self, candidate: int, cells: int) -> int:
        """How many errors of a candidate are summed."""
        return cells if self.summed_cells is None else min(self.summed_cells[candidate], cells)

    def _summed_of(
        self, place: int, counts: Int64[np.ndarray, "some cells"]
    ) -> Int64[np.ndarray, " some"]:
        """How many errors of each of some candidates are summed, from a place on."""
        some, cells = counts.shape
        if self.summed_cells is None:
            return np.full(some, cells)
        return np.asarray(np.minimum(self.summed_cells[place : place + some], cells))

    def described(self) -> list[object]:
        """The public numbers of the score, for the ledger's digest."""
        return [
            self.cell,
            self.l1,
            self.weights.tolist(),
            self.penalties.tolist(),
            self.threshold,
            self.summed_cells,
        ]

    def sensitivity(self, neighbors: Neighbors) -> int:
        """Largest change of any candidate's integer score between neighbours."""
        of_sum = neighbors.marginal_l1
        if self.summed_cells is not None:
            of_sum = min(of_sum, max(self.summed_cells) * neighbors.query)
        per_weight = ESTIMATE_GRID * (self.cell * neighbors.query + self.l1 * of_sum)
        return int(self.weights.max()) * per_weight


def grid_estimates(estimates_counts: Answers, size: int, grid: int) -> Counts:
    """Public estimates in units of 1/grid of a count, flat; refused unless finite, in range and one
    a query.
    """
    flat = np.asarray(estimates_counts, dtype=np.float64).ravel()
    if flat.size != size or not np.isfinite(flat).all() or np.abs(flat).max() > MAX_COUNT:
        refuse_estimates()
    return np.rint(flat * grid).astype(np.int64)


def refuse_estimates() -> NoReturn:
    """Say what estimates must be."""
    raise SettingsError(
        f"estimates must be finite, at most {MAX_COUNT:,} counts in size, and one for each query of"
        " the family."
    )
