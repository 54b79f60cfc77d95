"""Which one-way marginals are measured: of columns along which ranges run, blocks of codes too.

A prefix sums the noise of all codes before it: σ√(D/2) in the mean for D codes. With blocks of √D
neighbouring codes measured as well, each with half of the column's ρ, it is made of at most √D
blocks and √D codes (Hay et al., 2010): σ√2·√(√D) in the mean, 4.5σ instead of 7σ at 100 codes. Any
other interval is the difference of two prefixes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers
from dprap.mechanisms.adaptive.rules import Rules
from dprap.queries import Marginal, Range
from dprap.workload import Workload


@dataclass(frozen=True)
class ColumnMarginals:
    """All columns in their order, then blocks of some; with the share of ρ that each gets."""

    columns: tuple[Marginal, ...]
    blocks: tuple[Marginal, ...]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, workload: Workload, shares: Sequence[float], rules: Rules) -> ColumnMarginals:
        """What is measured for a workload; `shares` are those of the columns."""
        along = cumulative_columns(workload, rules.long_from_codes)
        blocks = tuple(Marginal((name,), (_starts(workload.domain.size(name)),)) for name in along)
        share_of = {
            name: share * (_prefix_factor(workload.domain.size(name)) if name in along else 1.0)
            for name, share in zip(workload.domain, shares, strict=True)
        }
        codes = tuple(share_of[name] / (2 if name in along else 1) for name in workload.domain)
        return cls(
            tuple(Marginal((name,)) for name in workload.domain),
            blocks,
            (*codes, *(share_of[name] / 2 for name in along)),
        )

    @property
    def marginals(self) -> tuple[Marginal, ...]:
        """Everything that is measured."""
        return (*self.columns, *self.blocks)

    def split(
        self, measured: Sequence[Measurement]
    ) -> tuple[list[Measurement], dict[str, Measurement]]:
        """What was measured of the columns, and of blocks by the name of their column."""
        found = list(measured)
        return found[: len(self.columns)], {
            item.marginal.columns[0]: item for item in found[len(self.columns) :]
        }


def cumulative_columns(workload: Workload, least_codes: int) -> tuple[str, ...]:
    """The columns of at least so many codes along which ranges of the workload run, in the domain's
    order.
    """
    along = {name for family in workload if isinstance(family, Range) for name in family.along}
    return tuple(
        name
        for name in workload.domain
        if name in along and workload.domain.size(name) >= least_codes
    )


def reconciled(counts: Answers, stddev: float, blocks: Measurement) -> Answers:
    """Counts of codes, moved so that their sums agree with those of blocks as least squares has it.

    A block of k codes has variance s² by itself and k·σ² as their sum. The best estimate of its sum
    is the mean by inverse variance, and its codes share the difference alike.
    """
    (starts,) = blocks.marginal.groups or (None,)
    first = np.asarray(starts, dtype=np.int64)
    sizes = np.diff(np.append(first, len(counts)))
    sums = np.add.reduceat(counts, first)
    own = blocks.stddev_counts**2
    moved = (blocks.counts - sums) * (sizes * stddev**2) / (sizes * stddev**2 + own)
    return np.asarray(counts + np.repeat(moved / sizes, sizes))


def _prefix_factor(codes: int) -> float:
    """How much more ρ a column gets for its prefixes: errors of m·σ add up least for shares ∝
    m^(2/3), m = √(2√D).
    """
    return math.pow(2 * math.sqrt(codes), 1 / 3)


def _starts(codes: int) -> tuple[int, ...]:
    return tuple(range(0, codes, math.ceil(math.sqrt(codes))))
