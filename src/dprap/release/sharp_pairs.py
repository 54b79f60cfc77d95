"""Pairs of ordered columns whose records lie in few cells, such as a number and its double: known
from the noisy counts.

A fit is content with what noise cannot tell from the truth, cell by cell. Of a sharp relation
nearly all cells are empty, and a few records in each, which no single noisy count rules out, are
together a tenth of the table and far from where they belong. All these counts together say more
than each: if cells that do not stand out of the noise add up to nothing, they are most likely
empty. The synthetic table then has no record in them.

With noise σ a cell is seen where its count is 4σ or more. Beside a seen cell others are possible
from σ on, because a relation seldom ends where an interval does. A code of which no cell is seen,
as in a tail, may go with what lies between the cells of the next codes.

Of the N other cells, with counts y, the fit says that they hold F records: a twentieth of the n or
more, else they are left alone. Their number is estimated as Y = Σey/Σe², to within s = σ/√Σe², once
with e the shares that the product of both columns gives the cells and once with e = 1/N, which is
the plain sum. (The fit's own shares would not do: they follow the noise.) By both, "empty" must be
likelier than "F records", which is where (F − Y)² − Y² ≥ 2s²·ln k: k = 10 times by the first, and
no less likely, k = 1, by the second, which knows less. And by both it must be 3 times likelier than
"any number of records alike": (n/s)·φ(Y/s)/Φ(Y/s) ≥ 3. So a pair with a real background of records,
which has a Y of many s, stays as it is, and so does one whose noise hides what the fit says. One
estimate alone would err where a background is spread otherwise: on four pairs of real and made-up
tables the first alone did.

One more fact must not speak against it: the counts of each column by itself, which are known far
better than those of the pair. A fit spreads records around a sharp relation to all sides. Moved to
possible cells, they give each code about as many records as they take from it. Where one value
dominates a column, such as a zero, its cells are seen with all codes of the other column and hardly
any other cell is. Then all moved records would end at that value. So at most half of the records
that move may change a column's counts.

All of it follows from published counts: post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dprap.accounting.measurement import Measurement, QueryMeasurement
from dprap.array_types import Bool, CodeColumn, Float64
from dprap.products import product
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.marginals import cell_table
from dprap.schema import Schema
from dprap.schema.columns.binned import BinnedColumn

# In standard deviations: noise alone shows one of 30,000 empty cells.
_SEEN = 4.0
# Beside a seen cell a count of so many standard deviations is enough: a relation seldom ends where
# an interval does.
_LIKELY = 1.0
# How much likelier it must be that cells are empty than that they are as the fit says, by either
# estimate, and than that they hold any number of records: "strong", "not against it" and
# "substantial" on Jeffreys' scale.
_LIKELIER_THAN_FIT = (10.0, 1.0)
_LIKELIER_THAN_ANY = 3.0
# The least share of the records that is worth moving.
_LEAST_SHARE = 0.05
# From here on φ(z)/Φ(z) is −z to within 3%.
_FAR_BELOW = -6.0
# The least share of the records in seen cells. A sharp relation has nearly all of them there.
_LEAST_SEEN = 0.5
# Columns of fewer codes are no numbers whose relation could be called sharp.
_LEAST_CODES = 8
# The largest part of the moved records that may change the counts of the second column, net: a
# majority gives back what it takes. Pairs with a sharp relation had .07 to .22 on made-up tables;
# two pairs of raw Adult that noise alone had made look sharp had .65 and 1.
_MOST_SHIFTED = 0.5
# Rounds of proportional fitting, after which the sums of a pair are as they were to within a
# thousandth.
_FITTINGS = 30
# A record that is moved in one pair may be out of place in another that shares a column.
_SWEEPS = 3

Cells = Float64[np.ndarray, "first second"]


@dataclass(frozen=True)
class SharpPair:
    """Two columns and which of their cells may hold records."""

    columns: tuple[str, str]
    possible: Bool[np.ndarray, "first second"]


def sharp_pairs(
    schema: Schema,
    relaxed: RelaxedDataset,
    measurements: Iterable[Measurement | QueryMeasurement],
    records: float,
) -> tuple[SharpPair, ...]:
    """The sharp pairs among those that were measured code by code.

    Args:
        schema: The schema.
        relaxed: The fitted rows.
        measurements: What was measured.
        records: The number of records.

    """
    sums: dict[tuple[str, str], Cells] = {}
    precisions: dict[tuple[str, str], float] = {}
    for item in measurements:
        pair = _numeric_pair(schema, item)
        if pair is not None and isinstance(item, Measurement):
            precision = item.stddev_counts**-2
            counts = item.counts.astype(np.float64).reshape(schema.domain.shape_of(pair))
            sums[pair] = sums.get(pair, np.zeros(counts.shape)) + precision * counts
            precisions[pair] = precisions.get(pair, 0.0) + precision
    found = []
    for pair, total in sums.items():
        counts, stddev = total / precisions[pair], precisions[pair] ** -0.5
        seen = counts >= _SEEN * stddev
        if counts[seen].sum() < _LEAST_SEEN * records:
            continue
        regular = tuple(schema.columns[name].regular for name in pair)
        possible = _possible(seen, counts >= _LIKELY * stddev, regular)
        if possible.all() or not _is_likelier_than_any(*_sum(counts[~possible], stddev), records):
            continue  # before the fit is asked, which takes far longer
        fitted = records * cell_table(relaxed, pair).astype(np.float64)
        if _are_empty(~possible, counts, fitted, stddev) and _restores_sums(fitted, possible):
            found.append(SharpPair(pair, possible))
    return tuple(found)


def _numeric_pair(schema: Schema, item: Measurement | QueryMeasurement) -> tuple[str, str] | None:
    """The columns of a measurement if they are two ordered ones of many codes, counted code by
    code.
    """
    if (
        not isinstance(item, Measurement)
        or item.marginal.groups is not None
        or len(item.marginal.columns) != 2
    ):
        return None
    columns = [schema.columns[name] for name in item.marginal.columns]
    if not all(
        isinstance(column, BinnedColumn) and column.regular >= _LEAST_CODES for column in columns
    ):
        return None
    first, second = item.marginal.columns
    return first, second


def _are_empty(
    which: Bool[np.ndarray, "first second"], counts: Cells, fitted: Cells, stddev: float
) -> bool:
    """Whether some cells are likelier empty than not."""
    records, held = float(fitted.sum()), float(fitted[which].sum())
    if held < _LEAST_SHARE * records:
        return False
    product = np.outer(fitted.sum(axis=1), fitted.sum(axis=0))[which]
    return all(
        _is_nothing(
            counts[which],
            shares / shares.sum(),
            stddev,
            held=held,
            records=records,
            likelier=likelier,
        )
        for shares, likelier in zip(
            (product, np.ones_like(product)), _LIKELIER_THAN_FIT, strict=True
        )
    )


def _restores_sums(fitted: Cells, possible: Bool[np.ndarray, "first second"]) -> bool:
    """Whether records that are moved out of impossible cells give the codes of the second column
    about as many records as they take from them.
    """
    weights = np.diff(_moves(fitted, possible), axis=1, prepend=0.0)
    leaving = np.where(possible, 0.0, fitted)
    arriving = weights * _ratio(leaving.sum(axis=1), weights.sum(axis=1))[:, None]
    shifted = np.abs(arriving.sum(axis=0) - leaving.sum(axis=0)).sum() / 2
    return bool(shifted <= _MOST_SHIFTED * leaving.sum())


def _is_nothing(
    counts: Float64[np.ndarray, " cells"],
    shares: Float64[np.ndarray, " cells"],
    stddev: float,
    *,
    held: float,
    records: float,
    likelier: float,
) -> bool:
    """Whether noisy counts of records that are spread in these shares speak for none, and not for
    `held` or any number.
    """
    squares = float(product(shares, shares))
    estimate, noise = float(product(shares, counts)) / squares, stddev / math.sqrt(squares)
    if (held - estimate) ** 2 - estimate**2 < 2 * noise**2 * math.log(likelier):
        return False
    return _is_likelier_than_any(estimate, noise, records)


def _sum(counts: Float64[np.ndarray, " cells"], stddev: float) -> tuple[float, float]:
    """The plain sum of noisy counts and its noise."""
    return float(counts.sum()), stddev * math.sqrt(len(counts))


def _is_likelier_than_any(estimate: float, noise: float, records: float) -> bool:
    """Whether a noisy number of records speaks for none rather than for any number alike."""
    z, normal = estimate / noise, NormalDist()
    ratio = -z if z < _FAR_BELOW else normal.pdf(z) / normal.cdf(z)
    return records / noise * ratio >= _LIKELIER_THAN_ANY


def _possible(
    seen: Bool[np.ndarray, "first second"],
    likely: Bool[np.ndarray, "first second"],
    regular: Sequence[int],
) -> Bool[np.ndarray, "first second"]:
    """Seen cells, likely ones beside them, and of codes of which none is seen what lies between
    those of the next codes.
    """
    found = seen | ~seen.any(axis=1, keepdims=True) | ~seen.any(axis=0, keepdims=True)
    numbers = seen[: regular[0], : regular[1]]
    padded = np.pad(numbers, 1)
    near = np.zeros_like(numbers)
    for down in range(3):
        for right in range(3):
            near |= padded[down : down + regular[0], right : right + regular[1]]
    unseen_first, unseen_second = np.asarray(~numbers.any(axis=1)), np.asarray(~numbers.any(axis=0))
    near &= numbers | likely[: regular[0], : regular[1]]
    between = near | (unseen_first[:, None] & unseen_second)
    between |= unseen_first[:, None] & _between(near)
    between |= unseen_second & _between(near.T).T
    found[: regular[0], : regular[1]] = between
    return np.asarray(found)


def _between(near: Bool[np.ndarray, "codes others"]) -> Bool[np.ndarray, "codes others"]:
    """For each code, the others from the first to the last that are near the last code below with
    any, or the next above.
    """
    known = np.flatnonzero(near.any(axis=1))
    found = np.zeros_like(near)
    if known.size:
        at = np.searchsorted(known, np.arange(len(near)))
        ends = zip(known[np.maximum(at - 1, 0)], known[np.minimum(at, known.size - 1)], strict=True)
        for code, (below, above) in enumerate(ends):
            others = np.flatnonzero(near[below] | near[above])
            found[code, others[0] : others[-1] + 1] = True
    return found


class Placing:
    """Moves records out of cells that are most likely empty, with the sums of both columns as rows
    have them.
    """

    def __init__(self, relaxed: RelaxedDataset, pairs: Sequence[SharpPair]) -> None:
        self._pairs = [
            (
                tuple(map(relaxed.domain.position, pair.columns)),
                pair.possible,
                _moves(cell_table(relaxed, pair.columns).astype(np.float64), pair.possible),
            )
            for pair in pairs
        ]

    def misplaced(self, records: Sequence[CodeColumn]) -> Bool[np.ndarray, " records"]:
        """Which records lie in a cell that is most likely empty."""
        found = np.zeros(len(records[0]), dtype=bool)
        for (first, second), possible, _ in self._pairs:
            found |= ~possible[records[first], records[second]]
        return found

    def place(self, records: list[CodeColumn], rng: np.random.Generator) -> None:
        """Give each misplaced record another code in the second column of its pair, fit for its
        first.
        """
        for _ in range(_SWEEPS):
            for (first, second), possible, moves in self._pairs:
                wrong = np.flatnonzero(~possible[records[first], records[second]])
                if wrong.size:
                    running = moves[records[first][wrong]]
                    drawn = (rng.random(len(wrong))[:, None] * running[:, -1:] >= running).sum(
                        axis=1
                    )
                    drawn = np.minimum(drawn, running.shape[1] - 1)
                    records[second][wrong] = drawn.astype(records[second].dtype)


def _moves(fitted: Cells, possible: Bool[np.ndarray, "first second"]) -> Cells:
    """For each code of the first column, running weights of codes of the second that misplaced
    records get.

    With C = `fitted` what rows say of the pair and J the table nearest to it that has the same sums
    and nothing in impossible cells (iterative proportional fitting), records that move from code x
    go to y in proportion to the excess of J over C.
    """
    table = np.where(possible, np.maximum(fitted, 1e-12), 0.0)
    for _ in range(_FITTINGS):
        table *= _ratio(fitted.sum(axis=1), table.sum(axis=1))[:, None]
        table *= _ratio(fitted.sum(axis=0), table.sum(axis=0))[None]
    more = np.where(possible, np.maximum(table - fitted, 0.0) + 1e-6 * table, 0.0)
    return np.asarray(np.cumsum(more, axis=1))


def _ratio(wanted: np.ndarray, had: np.ndarray) -> np.ndarray:
    return np.asarray(wanted / np.maximum(had, 1e-300))
