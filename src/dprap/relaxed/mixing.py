"""Records mixed until they say no more than pairs of columns do.

A few hundred relaxed rows are fitted to marginals. What the rows say beyond these marginals, of
many columns at once, follows from where the rows started. Nobody measured it, and a model that is
trained on the records learns it all the same. Of all tables with the fitted pairs of columns, the
one with the most entropy assumes nothing else. It is log-linear: the chance of a record x is in
proportion to

    exp( Σ over pairs of columns a, b of θ(x_a, x_b) ),  times a factor for each of its codes.

Exchanges lead there. Two random records exchange their codes in one column with the chance
1/(1 + exp(−gain)), where the gain is what the exchange adds to the sum of their θ. No exchange
changes a column's counts.

θ is found by the same exchanges on a sample. After each sweep over the columns, θ grows in cells
that have fewer records than the rows expect, and falls in cells that have more (maximum likelihood
by a persistent chain). Cells of few records move slowly and the sweeps are few, so θ is shrunk
there: of small cells noise has left little to know.

Everything here is post-processing of public rows by public randomness.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dprap.array_types import Bool, CodeColumn, Float32, Int64
from dprap.domain import Domain
from dprap.products import product
from dprap.relaxed.fit import StepCallback, unwatched
from dprap.relaxed.rounding import share_out, systematic_columns
from dprap.relaxed.rows import RelaxedDataset

Places = Int64[np.ndarray, "columns records"]
"""The place of each code of each record among the one-hot coordinates."""
# θ of a cell that stays empty: no other cells of a record make up for it.
_NEVER = np.float32(-1e4)

OfPairs = Float32[np.ndarray, "places places"]
"""A number for each cell of each pair of columns, twice; cells within a column mean nothing."""


@dataclass(frozen=True)
class MixingSettings:
    """How much work mixing does, with the reasons.

    Args:
        sample: Records on which θ is found. Half as many gave the same errors.
        sweeps: Exchanges in every column of the sample, each followed by a step of θ. Sharp
            relations, such as that of a code with its name, need a large θ, and a sweep takes θ
            only so far.
        least_sweeps: There are as many where time allows no more.
        step: The part of a cell's missing share that a step makes up. A record lies in a cell of
            every pair of columns, so whole steps would overshoot. Steps fall to none in the last
            half of the sweeps, whose mean θ is taken.
        slow_share: A cell with this share of the records moves at half the speed, in a pair of few
            cells. In a pair of more cells than its inverse, a cell with the mean share does: of
            strong relations between columns of many codes, all cells are small.
        start: The part of the logarithm of (expected / independent) at which θ starts. All of it
            would be right for two columns; with more columns a relation is counted several times.
        ruled_out: Cells in which rows expect so few records of the whole table, where independent
            columns expect one or more, stay empty: rows that were fitted to a rule keep it.
        mixes: Sweeps of exchanges over all records, with the θ that was found.
        pairings: How often records are paired anew in a column before the next column's turn.
        most_looks: A sweep looks at two cells for each record and pair of columns. Tables that
            need more looks stay as the rows have them: these take some 15 processor seconds.
        most_places: So do tables of more codes in all, since θ has as many cells as their square.

    """

    sample: int = 16_000
    sweeps: int = 80
    least_sweeps: int = 20
    step: float = 0.3
    slow_share: float = 0.025
    start: float = 0.5
    ruled_out: float = 0.01
    mixes: int = 3
    pairings: int = 2
    most_looks: float = 3e9
    most_places: int = 3_000

    def worth(self, relaxed: RelaxedDataset, records: int) -> bool:
        """Whether there is anything to mix, in a table for which that does not take too long."""
        columns, places = len(relaxed.domain), relaxed.domain.onehot_size
        is_small = self._room(columns, records) >= self.least_sweeps and places <= self.most_places
        return relaxed.rows > 1 and columns > 2 and is_small

    def sweeps_of(self, columns: int, records: int) -> int:
        """How many sweeps there are on a table of so many columns and records."""
        return int(min(max(self._room(columns, records), self.least_sweeps), self.sweeps))

    def _room(self, columns: int, records: int) -> float:
        """For how many sweeps there is time."""
        looked_at = self.most_looks / (2 * columns**2) - self.mixes * self.pairings * records
        return looked_at / min(records, self.sample)


DEFAULT = MixingSettings()


@dataclass(frozen=True)
class PairModel:
    """θ of the table with the most entropy that has the rows' pairs of columns.

    Args:
        domain: The columns.
        theta: θ of every cell of every pair of columns.
        settings: How much work to do.

    """

    domain: Domain
    theta: OfPairs
    settings: MixingSettings

    @classmethod
    def of(
        cls,
        relaxed: RelaxedDataset,
        records: int,
        rng: np.random.Generator,
        *,
        settings: MixingSettings = DEFAULT,
        watch: StepCallback = unwatched,
    ) -> PairModel:
        """Find θ for tables of so many records."""
        count = min(records, settings.sample)
        sample = _places(
            relaxed.domain, systematic_columns(relaxed, share_out(relaxed, count, rng), rng)
        )
        wanted, independent = _expected(relaxed, count)
        slow = count * np.minimum(settings.slow_share, _mean_shares(relaxed.domain))
        theta = settings.start * np.log((wanted + slow) / (independent + slow))
        scale = np.float32(records / count)
        never = (wanted * scale < settings.ruled_out) & (independent * scale >= 1)
        never &= _of_two_columns(relaxed.domain)
        theta[never] = _NEVER
        late = np.zeros_like(theta)
        sweeps = settings.sweeps_of(len(relaxed.domain), records)
        for number in range(sweeps):
            _exchange(theta, sample, rng, pairings=1)
            counted = _counted(sample, len(theta))
            slowing = min(1.0, 2 * (1 - number / sweeps))
            missing = (wanted - counted) / (np.maximum(wanted, counted) + slow)
            missing[never] = 0
            theta += np.float32(settings.step * slowing) * missing
            if number >= sweeps // 2:
                late += theta
            watch(number + 1, sweeps)
        late /= np.float32(sweeps - sweeps // 2)
        return cls(relaxed.domain, late, settings)

    @cached_property
    def never(self) -> Bool[np.ndarray, "places places"] | None:
        """Which cells stay empty, if any does."""
        found = self.theta <= _NEVER
        return found if found.any() else None

    def ruled_out(
        self, records: Sequence[CodeColumn], position: int
    ) -> Bool[np.ndarray, " records"]:
        """Which records lie in a cell that stays empty, of the column at a position."""
        offsets = self.domain.offsets
        codes = records[position].astype(np.int64) + offsets[position]
        found = np.zeros(len(codes), dtype=bool)
        if self.never is None:
            return found
        for other in range(len(offsets)):
            if other != position:
                found |= self.never[codes, records[other].astype(np.int64) + offsets[other]]
        return found

    def mix(self, records: list[CodeColumn], rng: np.random.Generator) -> list[CodeColumn]:
        """The records after exchanges, in random order."""
        places = _places(self.domain, records)
        for _ in range(self.settings.mixes):
            _exchange(self.theta, places, rng, pairings=self.settings.pairings)
        order = rng.permutation(places.shape[1])
        return [
            (codes[order] - offset).astype(column.dtype)
            for codes, offset, column in zip(places, self.domain.offsets, records, strict=True)
        ]


def _places(domain: Domain, columns: Iterable[CodeColumn]) -> Places:
    """Where the codes of records stand among the one-hot coordinates."""
    placed = zip(columns, domain.offsets, strict=True)
    return np.stack([column.astype(np.int64) + offset for column, offset in placed])


def _expected(relaxed: RelaxedDataset, count: int) -> tuple[OfPairs, OfPairs]:
    """The records that the rows expect in every cell, and those of independent columns."""
    # In double precision, so that a table hardly depends on the order in which a machine adds up.
    probabilities = relaxed.probabilities.astype(np.float64)
    weights = relaxed.weights.astype(np.float64)
    weights /= weights.sum()
    expected = product(probabilities * (weights * count), probabilities.T)
    shares = product(probabilities, weights)
    return expected.astype(np.float32), (np.outer(shares, shares) * count).astype(np.float32)


def _of_two_columns(domain: Domain) -> Bool[np.ndarray, "places places"]:
    """Which cells are of two columns, and not of one with itself."""
    column = np.repeat(np.arange(len(domain)), domain.sizes)
    return np.asarray(column[:, None] != column)


def _mean_shares(domain: Domain) -> OfPairs:
    """For each cell the share of the records that cells of its two columns have in the mean."""
    size = np.repeat(domain.sizes, domain.sizes).astype(np.float32)
    return np.asarray(1 / np.outer(size, size))


def _counted(places: Places, size: int) -> OfPairs:
    """The records in every cell of every pair of columns."""
    counts = np.zeros(size * size, dtype=np.int64)
    for position, column in enumerate(places):
        for other in places[:position]:
            found = np.bincount(column * size + other)
            counts[: len(found)] += found
    table: OfPairs = counts.reshape(size, size).astype(np.float32)
    return np.asarray(table + table.T)


def _exchange(theta: OfPairs, places: Places, rng: np.random.Generator, *, pairings: int) -> None:
    """Exchange codes of each column between random pairs of records, as θ wants them."""
    cells, half = theta.ravel(), places.shape[1] // 2
    for position in rng.permutation(len(places)):
        column = places[position]
        others = np.delete(places, position, axis=0) * len(theta)
        for _ in range(pairings):
            order = rng.permutation(places.shape[1])
            one, other = order[:half], order[half : 2 * half]
            differ = column[one] != column[other]
            one, other = one[differ], other[differ]
            mine, yours = column[one], column[other]
            gain = np.zeros(len(one), np.float32)
            for rows in others:
                rows_one, rows_other = rows[one], rows[other]
                gain += cells[rows_one + yours] - cells[rows_one + mine]
                gain += cells[rows_other + mine] - cells[rows_other + yours]
            # Beyond these limits chances are 0 and 1, and the exponential would overflow.
            chance = 1 / (1 + np.exp(-np.clip(gain, -80, 80)))
            made = rng.random(len(one)) < chance
            column[one[made]], column[other[made]] = yours[made], mine[made]
