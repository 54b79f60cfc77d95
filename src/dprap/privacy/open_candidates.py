"""Which marginals are open to each of several picks in one step: public rules, and the picks
before.

Two marginals that share a pair of columns have in common what that pair says, so that measuring
both at once is a waste. A step that picks several marginals therefore leaves out those that share a
pair with one of its earlier picks, while there are others. What is open follows from the columns of
the marginals and from earlier picks, never from counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from dprap.array_types import Int64
from dprap.queries import Marginal


@dataclass(frozen=True)
class Apart:
    """Picks that share no pair of columns, while there are others.

    Args:
        early: Positions of candidates that take part in the first picks alone, while there are
            others.
        early_picks: How many picks are the first ones.

    """

    early: frozenset[int] = field(default_factory=frozenset)
    early_picks: int = 0

    def described(self) -> list[Any]:
        """The rules in plain data, for the ledger's digest."""
        return [sorted(self.early), self.early_picks]


class OpenCandidates:
    """The candidates of a step, and which of them are open after some picks."""

    def __init__(self, marginals: Sequence[Marginal], apart: Apart) -> None:
        self._apart = apart
        number_of: dict[tuple[str, str], int] = {}
        pairs, owners = [], []
        for position, marginal in enumerate(marginals):
            for pair in combinations(sorted(marginal.columns), 2):
                pairs.append(number_of.setdefault(pair, len(number_of)))
                owners.append(position)
        self._pairs, self._owners = np.array(pairs, np.int64), np.array(owners, np.int64)
        self._is_taken = np.zeros(len(number_of), dtype=bool)
        self._is_early = np.zeros(len(marginals), dtype=bool)
        self._is_early[list(apart.early)] = True

    def open_after(self, picked: Sequence[int]) -> Int64[np.ndarray, " open"]:
        """Positions that are open to the next pick, after the ones given; a pick is never open
        again.
        """
        is_open = np.ones(len(self._is_early), dtype=bool)
        is_open[list(picked)] = False
        if len(picked) >= self._apart.early_picks:
            is_open = _unless_none(is_open & ~self._is_early, is_open)
        taken = self._is_taken.copy()
        taken[self._pairs[np.isin(self._owners, picked)]] = True
        shares = np.zeros(len(is_open), dtype=bool)
        shares[self._owners[taken[self._pairs]]] = True
        return np.flatnonzero(_unless_none(is_open & ~shares, is_open))


def _unless_none(wanted: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    return wanted if wanted.any() else otherwise
