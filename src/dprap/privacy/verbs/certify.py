"""The verb that certifies: a noisy largest error of finished answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import NormalDist

import numpy as np

from dprap.accounting.measurement import Certificate, DrawnTable
from dprap.accounting.stddev import stddev_for
from dprap.accounting.zcdp import Rho
from dprap.array_types import Answers
from dprap.errors import SettingsError
from dprap.privacy.discrete_gaussian import add_discrete_gaussian
from dprap.privacy.ledger import Arrays
from dprap.privacy.scores import ESTIMATE_GRID, grid_estimates
from dprap.privacy.steps import Described, label
from dprap.privacy.verbs.private_table import PrivateTable
from dprap.queries import Family


class Certifying(PrivateTable):
    """A paid bound on how far a release may be off."""

    def certify(
        self,
        families: Sequence[Family],
        estimates_counts: Iterable[Answers],
        *,
        rho: Rho,
        confidence: float = 0.95,
        table: DrawnTable | None = None,
    ) -> Certificate:
        """A noisy maximum error of finished answers over all queries, with an upper bound.

        Let c_q(D) be the counts, f_q the fitted answers and t_q those of a synthetic table, if
        there is one. Certified is

            E(D) = max_q max(|c_q(D) − f_q|, |c_q(D) − t_q|), in counts.

        Sensitivity r, the rows a person may have: f and t are functions of earlier results of this
        curator and of public seeds, so they are fixed when D changes. |c − f| moves at most as far
        as c, and a maximum at most as far as the farthest of its arguments, be there one for each
        query or two. So |E(D) − E(D′)| ≤ max_q |c_q(D) − c_q(D′)| ≤ r, because a record contributes
        between 0 and 1 to a count. This holds under replace, where one contribution takes the place
        of another, and under add-remove, where one comes or goes: there f and t are counts among
        the noisy number of records, which was paid for, and nothing is divided by the private one.

        On the grids: with u units for a record (1, or `GRID` for custom queries, whose
        contributions lie in 0..u), c is an integer that moves by at most r·u, and G·c by at most
        r·u·G. Estimates are rounded to integers on that scale before c enters. x ↦ x // u is
        monotone and (x + k·u) // u = x // u + k, so arguments at most r·u·G apart give results at
        most r·G apart, for each family, and then so is the largest of all families. Discrete
        Gaussian noise with σ = r·G/√(2 rho) is rho-zCDP. ∎

        Args:
            families: The queries.
            estimates_counts: Fitted answers in counts, one array a family.
            rho: What the certificate costs.
            confidence: Probability with which the bound holds for all queries, of fit and table
                together.
            table: A synthetic table that was drawn before; its answers are certified too.

        Returns:
            The certificate. On a replay it names the table that was certified when the noise was
            drawn.

        Raises:
            SettingsError: The confidence or an estimate is out of range.
            BudgetError: `rho` is more than is left.
        """
        self._check_sizes(families)
        if not 0 < confidence < 1:
            raise SettingsError(
                f"confidence must lie strictly between 0 and 1; it is {confidence}."
            )
        rho = self._affordable(rho)
        stddev = stddev_for(self.neighbors.query**2, rho)

        def exact() -> int:
            self._exact.prepare(families)
            published = (
                [estimates_counts] if table is None else [estimates_counts, table.answers_counts]
            )
            largest = 0
            for family, *estimates in zip(families, *published, strict=True):
                answers, unit = self._exact.family(family)
                for estimate in estimates:
                    whole = grid_estimates(estimate, answers.size, unit * ESTIMATE_GRID)
                    largest = max(
                        largest, int(np.abs(answers * ESTIMATE_GRID - whole).max()) // unit
                    )
            return largest

        def draw(largest: int) -> Arrays:
            noisy = add_discrete_gaussian(
                np.array([largest]), stddev * ESTIMATE_GRID, self._entropy
            )
            return {"max_error": noisy, **named}

        # made here: nothing public may fail after the charge
        named = {} if table is None else _named(table)
        described = Described.of(map(label, families))
        arrays = self._steps.take("certify", described, rho, exact, draw, stddev_counts=stddev)
        noisy = float(arrays["max_error"][0]) / ESTIMATE_GRID
        # On top of the normal quantile: half a grid step for the rounding of estimates, one for
        # that of the maximum, one for the steps of the discrete distribution.
        upper = noisy + NormalDist().inv_cdf(confidence) * stddev + 3 / ESTIMATE_GRID
        queries = sum(family.size(self.domain) for family in families)
        stored = "table_digest" in arrays
        return Certificate(
            queries,
            noisy,
            stddev,
            confidence,
            max(upper, 0.0),
            float(rho),
            int(arrays["table_rows"][0]) if stored else None,
            arrays["table_digest"].tobytes().hex() if stored else None,
        )


def _named(table: DrawnTable) -> Arrays:
    """Which table a certificate speaks of, to be stored with it."""
    digest = np.frombuffer(bytes.fromhex(table.digest), dtype=np.uint8)
    return {"table_rows": np.array([table.rows]), "table_digest": digest}
