"""Which marginals a round measures: those that the rows answer worst, as far as noise lets us see.

Privacy: a round's picks are one call of the curator, which chooses at random by the scores and
charges for every pick.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dprap.domain import Domain
from dprap.mechanisms.adaptive.groups import is_broad
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.mechanisms.adaptive.spending_steps import Choose
from dprap.privacy import Apart, Curator, Score
from dprap.privacy.scores import Estimates
from dprap.queries import Marginal


def choose(
    curator: Curator,
    candidates: Sequence[Marginal],
    estimates_counts: Iterable[Estimates],
    step: Choose,
    settings: AdaptiveSettings,
) -> list[int]:
    """Positions of the round's picks: no two share a pair of columns, while there are others.

    What two have in common the first measures, and only the next fit will say what is left of the
    error of the second. Broad marginals take part in the first part of a round alone.
    """
    rules = settings.rules
    stddev_counts = curator.stddev_of_marginal(step.measure_rho_each)
    importance = [step.pool.importance_of.get(candidate.columns, 1.0) for candidate in candidates]
    broad = frozenset(
        place for place, candidate in enumerate(candidates) if is_broad(candidate, rules)
    )
    return curator.select(
        candidates,
        estimates_counts,
        k=step.picks,
        rho=step.rho,
        score=score_of(candidates, importance, curator.domain, stddev_counts, settings),
        apart=Apart(early=broad, early_picks=math.ceil(step.picks * rules.broad_part_of_round)),
    )


def score_of(
    candidates: Sequence[Marginal],
    importance: Sequence[float],
    domain: Domain,
    stddev_counts: float,
    settings: AdaptiveSettings,
) -> Score:
    """What makes a marginal worth measuring, by the objective.

    A relation of two columns shows in four cells at least, two with too many records and two with
    too few. Their sum is four times the error of each and moves by 2 between neighbours where a
    single count moves by 1, so it stands twice as far above the noise of selection as the largest
    error does. Of a broad marginal all errors count: it is there to add up what several columns
    have to do with each other.

    Args:
        candidates: What may be chosen.
        importance: How much each matters to the workload, at most 1.
        domain: Of the table.
        stddev_counts: The noise that a measurement of the chosen marginal would have.
        settings: The objective, how many errors count and what each must exceed.

    """
    rules = settings.rules
    match settings.objective:
        case "max":
            return Score(cell=1.0, weights=importance)
        case "mean":
            threshold = stddev_counts * rules.error_threshold_of_mean
            return Score(cell=0.0, l1=1.0, weights=importance, threshold_counts=threshold)
        case "largest_errors":
            summed = [
                each.size(domain) if is_broad(each, rules) else rules.cells_that_count
                for each in candidates
            ]
            threshold = stddev_counts * rules.error_threshold
            return Score(
                cell=0.0,
                l1=1.0,
                weights=importance,
                threshold_counts=threshold,
                summed_cells=summed,
            )
