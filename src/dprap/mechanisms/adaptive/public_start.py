"""Rows that start at a public table, and how far to follow it.

The rows are first fitted to the public table's marginals, and the fits that follow pull each row
towards what it was then, not towards the product of the columns. The pull of κ · KL counts as κ
records that the public table stands for. Two samples of n and N records from one population differ,
in counts of the first, with variance (1 + n/N)·x where x are expected; so κ is n/(1 + n/N) at most,
which is public. If the noisy measurements of the private table depart from what the rows said
before with variance c·x, and c is larger, κ is n/c. If the marginals measured first are nearer to
the product of the private columns than to the rows, the public table misleads, and the run goes on
without it. All of that follows from public facts and from what is measured anyway: nothing is spent
here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers, Relaxed
from dprap.mechanisms.adaptive.evidence import Evidence, first_evidence
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.public_table import PublicTable
from dprap.queries import Marginal
from dprap.relaxed.adam import FitSettings
from dprap.relaxed.fit import FitResult, fit
from dprap.relaxed.gradient import Target
from dprap.relaxed.rows import RelaxedDataset

# A code that no public record has may be common in the private table: every row must be able to
# take it up.
_LEAST_LOGIT = np.float32(np.log(1e-6))


def fit_to_public(
    rows: RelaxedDataset, prior: Relaxed, public: PublicTable, settings: AdaptiveSettings
) -> FitResult[RelaxedDataset]:
    """Fit the rows to the public marginals; later fits start there and pull to it."""
    records = public.facts.rows
    targets = []
    for marginal, shares in public.shares.items():
        # The inverse variance of a share, were the table a sample. The mean share is added so that
        # empty cells do not rule.
        weights = records / (shares + 1 / len(shares))
        targets.append(Target(marginal, shares.astype(np.float32), weights.astype(np.float32)))
    result = fit(
        rows,
        targets,
        FitSettings(
            prior=prior,
            kl_weight=math.sqrt(records),
            steps=settings.final_steps,
            learning_rate=settings.learning_rate,
            cool_down=settings.rules.cool_down,
        ),
    )
    logits = result.rows.logits
    if logits is None:
        raise AssertionError("a fit by logits returns them")
    lifted = RelaxedDataset.from_logits(rows.domain, np.maximum(logits, _LEAST_LOGIT))
    return FitResult(lifted, result.misfit, result.steps)


def column_evidence(
    columns: Sequence[Measurement], public: PublicTable, records: float
) -> list[Evidence]:
    """The measured columns against those of the public table."""
    return first_evidence(
        columns, [public.shares[Marginal(item.marginal.columns)] * records for item in columns]
    )


def misleads(
    measured: Sequence[Measurement], expected: Sequence[Answers], without: Sequence[Answers]
) -> bool:
    """Whether the marginals measured first are nearer to what is expected without the table.

    They were chosen where the rows looked worst, so a table that passes is better than none for the
    others too, most likely.
    """

    def distance(estimates: Sequence[Answers]) -> float:
        return sum(
            float(np.sum((item.counts - counts) ** 2)) / item.stddev_counts**2
            for item, counts in zip(measured, estimates, strict=True)
        )

    return distance(expected) > distance(without)


def records_stood_for(public: PublicTable, evidence: Sequence[Evidence], records: float) -> float:
    """The weight of the pull towards the public table, in records."""
    dispersion = float(np.mean([item.dispersion for item in evidence]))
    return records / max(dispersion, 1 + records / public.facts.rows)
