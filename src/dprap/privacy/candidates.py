"""Marginals that a run chooses from again and again: what is public about them, and their exact
counts, made once.

A step that chooses looks at every candidate. What does not change from one step to the next is kept
here: labels for the ledger, which candidates share a pair of columns, and exact counts side by
side. Nothing here is noisy; nothing may leave but by a verb of the curator.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dprap.array_types import Int32, Int64
from dprap.privacy.exact_counts import ExactAnswers
from dprap.privacy.open_candidates import Apart, OpenCandidates
from dprap.privacy.steps import Described, label
from dprap.queries import Marginal


class Candidates:
    """Some marginals of a private table, in a fixed order; their sizes were checked."""

    def __init__(self, marginals: tuple[Marginal, ...], exact: ExactAnswers) -> None:
        self.marginals = marginals
        self._exact = exact
        self._rows: dict[
            tuple[int, int], Int64[np.ndarray, "some cells"] | Int32[np.ndarray, "some cells"]
        ] = {}
        self._turns: tuple[Apart, OpenCandidates] | None = None
        self._are_counted = False

    def are(self, marginals: tuple[Marginal, ...], exact: ExactAnswers) -> bool:
        """Whether these are the very marginals, of the same records under the same codes."""
        return self.marginals is marginals and self._exact is exact

    @cached_property
    def described(self) -> Described:
        """The marginals in plain data, for the ledger."""
        return Described.of(map(label, self.marginals))

    def turns(self, apart: Apart) -> OpenCandidates:
        """Which candidates are open to each pick."""
        if self._turns is None or self._turns[0] != apart:
            self._turns = (apart, OpenCandidates(self.marginals, apart))
        return self._turns[1]

    def prepare(self) -> None:
        """Count what is not known yet, in one pass over the records."""
        if not self._are_counted:
            self._exact.prepare(self.marginals)
            self._are_counted = True

    def counts(self, start: int, stop: int) -> Int64[np.ndarray, "some cells"]:
        """Exact counts of candidates that follow each other and have as many cells, a row for
        each.
        """
        if stop == start + 1:
            return self._exact.marginal(self.marginals[start])[None]
        if (start, stop) not in self._rows:
            self._rows[start, stop] = self._exact.rows(self.marginals[start:stop])
        # Scores are proven for 64-bit integers; what is kept may be narrower.
        return self._rows[start, stop].astype(np.int64, copy=False)
