"""The verbs that select: the worst-answered marginals or queries, by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dprap.accounting.zcdp import Rho
from dprap.array_types import Answers, Counts
from dprap.errors import SettingsError
from dprap.privacy.candidates import Candidates
from dprap.privacy.ledger import Arrays
from dprap.privacy.open_candidates import Apart
from dprap.privacy.scores import Estimates, Score, grid_estimates
from dprap.privacy.selection import inverse_temperature, pick_in_turn, pick_top
from dprap.privacy.steps import Described, label
from dprap.privacy.verbs.private_table import PARTITIONS, PrivateTable
from dprap.queries import Family, Marginal, Query


class Selecting(PrivateTable):
    """Private choices of what to measure next."""

    _candidates: Candidates | None = None

    def select(
        self,
        marginals: Sequence[Marginal],
        estimates_counts: Iterable[Estimates],
        *,
        k: int,
        rho: Rho,
        score: Score | None = None,
        apart: Apart | None = None,
    ) -> list[int]:
        """Positions of the k worst-answered marginals.

        Whoever chooses from the same tuple of marginals again does not have them checked and laid
        out again. The sensitivity of the score is proven in `dprap.privacy.scores`; every pick is
        an exponential mechanism worth the charge rho/k (`dprap.privacy.selection`,
        `Budget.pick_rho`).

        Args:
            marginals: The candidates.
            estimates_counts: What is known of them, in counts: one array after the other, or `Rows`
                of several.
            k: How many to pick.
            rho: The price of all picks.
            score: How badly a candidate is answered; the largest error of a cell, unless given.
            apart: Public rules by which a pick closes candidates to later ones.

        Returns:
            Places in `marginals`, in the order in which they were picked.

        Raises:
            BudgetError: `rho` is more than is left.
            SettingsError: k is not between 1 and the number of candidates.
            WorkloadError: A marginal is not of the domain, or has too many cells.
        """
        candidates = self._candidates_of(tuple(marginals))
        rho = self._affordable(rho)
        if not 1 <= k <= len(marginals):
            raise SettingsError(
                f"{k} marginals asked for, but there are {len(marginals)} candidates."
            )
        on_grid = (score or Score()).on_grid(len(marginals))
        pick_rho = self.budget.pick_rho(rho / k)
        eta = inverse_temperature(on_grid.sensitivity(self.neighbors), pick_rho)

        def exact() -> Counts:
            candidates.prepare()
            return on_grid.of_all(candidates.counts, estimates_counts)

        def draw(scores: Counts) -> Arrays:
            if turns is None:
                return {"picked": np.array(pick_top(scores, k=k, eta=eta, entropy=self._entropy))}
            picked = pick_in_turn(
                scores, k=k, eta=eta, entropy=self._entropy, open_after=turns.open_after
            )
            return {"picked": np.array(picked)}

        turns = None if apart is None else candidates.turns(apart)
        rules = {} if apart is None else {"apart": apart.described()}
        terms = {"picks": k, "rho_of_a_pick": str(pick_rho), "score": on_grid.described(), **rules}
        arrays = self._steps.take("select", candidates.described, rho, exact, draw, terms=terms)
        return [int(position) for position in arrays["picked"]]

    def finish(self) -> None:
        """Close the run, and forget what was counted for it.

        Raises:
            LedgerError: If the ledger cannot be written.

        """
        super().finish()
        self._candidates = None

    def _candidates_of(self, marginals: tuple[Marginal, ...]) -> Candidates:
        """The candidates, checked; those of the step before where they are the same."""
        if self._candidates is None or not self._candidates.are(marginals, self._exact):
            self._check_sizes(marginals, PARTITIONS)
            self._candidates = Candidates(marginals, self._exact)
        return self._candidates

    def select_queries(
        self,
        families: Sequence[Family],
        estimates_counts: Iterable[Answers],
        *,
        k: int,
        rho: Rho,
        exclude: Iterable[Query] = (),
    ) -> list[Query]:
        """The k worst-answered queries: top-k report noisy max on |count − estimate|.

        Each score is a count's distance to a public number, rounded to integers: sensitivity 1
        (times the rows a person may have). Every pick is worth the charge rho/k
        (`Budget.pick_rho`).

        Args:
            families: Families whose queries are the candidates.
            estimates_counts: What is known of them, in counts: one array for each family.
            k: How many to pick.
            rho: The price of all picks.
            exclude: Queries that are no candidates.

        Returns:
            The queries, in the order in which they were picked.

        Raises:
            BudgetError: `rho` is more than is left.
            SettingsError: There are fewer than k candidates, or an excluded query is none of them.
            WorkloadError: A family is not of the domain, or has too many cells.
        """
        self._check_sizes(families)
        rho = self._affordable(rho)
        sizes = [family.size(self.domain) for family in families]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        position_of = {family: position for position, family in enumerate(families)}
        exclude = list(exclude)
        self._check_indices(exclude)
        if any(query.family not in position_of for query in exclude):
            raise SettingsError("a query to exclude is not among the candidates.")
        excluded = sorted(
            {int(starts[position_of[query.family]]) + int(query.index) for query in exclude}
        )
        if not 1 <= k <= int(starts[-1]) - len(excluded):
            raise SettingsError(
                f"{k} queries asked for, but only {int(starts[-1]) - len(excluded):,} are left to"
                " select from."
            )
        pick_rho = self.budget.pick_rho(rho / k)
        eta = inverse_temperature(self.neighbors.query, pick_rho)

        def exact() -> Counts:
            self._exact.prepare(families)
            scores = np.empty(int(starts[-1]), dtype=np.int64)
            for family, start, estimate in zip(
                families, starts[:-1], estimates_counts, strict=True
            ):
                answers, unit = self._exact.family(family)
                whole = grid_estimates(estimate, answers.size, unit)
                # Floor division keeps the sensitivity: inputs at most `unit` apart give results at
                # most 1 apart.
                scores[start : start + answers.size] = np.abs(answers - whole) // unit
            return scores

        def draw(scores: Counts) -> Arrays:
            return {
                "picked": np.array(
                    pick_top(scores, k=k, eta=eta, entropy=self._entropy, excluded=excluded)
                )
            }

        # The estimates are not part of the description: they follow from earlier results and public
        # seeds, and making them again only to compare them would double the cost of a replay.
        terms = {"picks": k, "rho_of_a_pick": str(pick_rho), "excluded": excluded}
        described = Described.of(map(label, families))
        arrays = self._steps.take("select_queries", described, rho, exact, draw, terms=terms)
        found = np.searchsorted(starts, arrays["picked"], side="right") - 1
        return [
            Query(families[position], int(index - starts[position]))
            for position, index in zip(found, arrays["picked"], strict=True)
        ]
