"""Which marginals a round measures: those that the rows answer worst, as far as noise lets us see.

Privacy: every pick is one call of the curator, which adds noise to the scores and charges for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from dprap.array_types import Answers
from dprap.domain import Domain
from dprap.mechanisms.adaptive.groups import is_broad
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.mechanisms.adaptive.spending import Choose
from dprap.privacy import Curator, Score
from dprap.queries import Marginal


def choose(
    curator: Curator,
    candidates: Sequence[Marginal],
    estimates_counts: Sequence[Answers],
    step: Choose,
    settings: AdaptiveSettings,
) -> list[int]:
    """Positions of the round's picks: no two share a pair of columns, while there are others.

    What two have in common the first measures, and only the next fit will say what is left of the
    error of the second. Broad marginals take part in the first part of a round alone.
    """
    rules = settings.rules
    stddev_counts = curator.stddev_of_marginal(step.measure_rho_each)
    pairs = [frozenset(combinations(candidate.columns, 2)) for candidate in candidates]
    taken: set[tuple[str, str]] = set()
    chosen: list[int] = []
    for number in range(step.picks):
        others = [place for place in range(len(candidates)) if place not in chosen]
        if number >= step.picks * rules.broad_part_of_round:
            others = [place for place in others if not is_broad(candidates[place], rules)] or others
        left = [place for place in others if not pairs[place] & taken] or others
        open_ = [candidates[place] for place in left]
        (pick,) = curator.select(
            open_,
            [estimates_counts[place] for place in left],
            k=1,
            rho=step.rho_each,
            score=score_of(open_, curator.domain, stddev_counts, settings),
        )
        chosen.append(left[pick])
        taken |= pairs[left[pick]]
    return chosen


def score_of(candidates: Sequence[Marginal], domain: Domain, stddev_counts: float, settings: AdaptiveSettings) -> Score:
    """What makes a marginal worth measuring, by the objective.

    A relation of two columns shows in four cells at least, two with too many records and two with
    too few. Their sum is four times the error of each and moves by 2 between neighbours where a
    single count moves by 1, so it stands twice as far above the noise of selection as the largest
    error does. Of a broad marginal all errors count: it is there to add up what several columns
    have to do with each other.

    Args:
        candidates: What may be chosen.
        domain: Of the table.
        stddev_counts: The noise that a measurement of the chosen marginal would have.
        settings: The objective, how many errors count and what each must exceed.

    """
    rules = settings.rules
    match settings.objective:
        case "max":
            return Score(cell=1.0)
        case "mean":
            return Score(cell=0.0, l1=1.0, threshold_counts=stddev_counts * rules.error_threshold_of_mean)
        case "largest_errors":
            summed = [each.size(domain) if is_broad(each, rules) else rules.cells_that_count for each in candidates]
            return Score(cell=0.0, l1=1.0, threshold_counts=stddev_counts * rules.error_threshold, summed_cells=summed)
