"""Shares of many marginals on changing rows: what can be said of them before the rows are known is
said once.

All pairs of a thousand columns are half a million marginals. Looked at one by one, each costs far
more than its multiplications. Pairs that follow on each other and have their first column in common
are therefore one matrix product, and come as one array with a row for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from dprap.array_types import Float32, Relaxed
from dprap.domain import Domain
from dprap.products import product
from dprap.queries import Marginal
from dprap.relaxed.blocks import Axis, Blocks, axes_of
from dprap.relaxed.rows import column_slices

# Pairs that are answered by one matrix product: with columns of ten codes, 3 MB of factors.
_PAIRS_TOGETHER = 256
# Marginals of more cells come one by one, so that no array becomes large.
_MOST_CELLS = 4096


@dataclass(frozen=True)
class _Run:
    """Pairs with a common first column; `place` has the codes of the others where these stand side
    by side.
    """

    first: Axis
    others: tuple[Axis, ...]
    place: slice | None
    parts: tuple[tuple[int, int], ...]
    """How many pairs that follow on each other have a second column of how many codes or groups."""


@dataclass(frozen=True)
class SharePlan:
    """How the shares of some marginals are computed, in their order."""

    runs: tuple[_Run | Marginal, ...]

    @classmethod
    def of(cls, domain: Domain, marginals: Sequence[Marginal]) -> SharePlan:
        """Plan for marginals of a domain."""
        return cls(tuple(_runs(domain, marginals)))

    def shares(self, blocks: Blocks) -> Iterator[Float32[np.ndarray, "some cells"]]:
        """Shares of all cells, one row a marginal; as many rows at a time as come from one
        product.
        """
        for run in self.runs:
            if isinstance(run, Marginal):
                yield blocks.shares(run)[None]
            else:
                yield from _pairs(blocks, run)


def _pairs(blocks: Blocks, run: _Run) -> Iterator[Float32[np.ndarray, "some cells"]]:
    first, others = blocks.of(run.first), _others(blocks, run)
    table = product(others, first.T)
    table /= np.float32(first.shape[1])
    start = 0
    for pairs, codes in run.parts:
        part = table[start : start + pairs * codes].reshape(pairs, codes, len(first))
        yield part.transpose(0, 2, 1).reshape(pairs, -1)
        start += pairs * codes


def _others(blocks: Blocks, run: _Run) -> Relaxed:
    if run.place is not None:
        return blocks.probabilities[run.place]
    return np.concatenate([blocks.of(axis) for axis in run.others])


def _runs(domain: Domain, marginals: Sequence[Marginal]) -> Iterator[_Run | Marginal]:
    slices = column_slices(domain)
    sizes = dict(zip(domain.names, domain.sizes, strict=True))

    def codes(axis: Axis) -> int:
        name, starts = axis
        return sizes[name] if starts is None else len(starts)

    def first_of(each: tuple[Marginal, tuple[Axis, ...]]) -> Axis | None:
        axes = each[1]
        return (
            axes[0] if len(axes) == 2 and codes(axes[0]) * codes(axes[1]) <= _MOST_CELLS else None
        )

    for first, run in groupby(
        ((marginal, axes_of(marginal)) for marginal in marginals), key=first_of
    ):
        together = list(run)
        if first is None:
            yield from (marginal for marginal, _ in together)
            continue
        for start in range(0, len(together), _PAIRS_TOGETHER):
            others = tuple(axes[1] for _, axes in together[start : start + _PAIRS_TOGETHER])
            widths = [codes(axis) for axis in others]
            parts = tuple((len(list(same)), width) for width, same in groupby(widths))
            yield _Run(first, others, _side_by_side(slices, others), parts)


def _side_by_side(slices: dict[str, slice], axes: Sequence[Axis]) -> slice | None:
    """The place of columns that stand one after the other, by code; None if they do not."""
    if any(starts is not None for _, starts in axes):
        return None
    places = [slices[name] for name, _ in axes]
    if any(one.stop != other.start for one, other in pairwise(places)):
        return None
    return slice(places[0].start, places[-1].stop)
