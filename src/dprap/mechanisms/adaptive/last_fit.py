"""How close the last fit gets: it is repeated while rows are further off than noise explains.

Two things ask for another time: a misfit above that of the truth, which the pull or too few steps
leave, and single cells that rows miss by more than noise does (`misses`). Where fits gain no more
and the misfit still is well above that of the truth, so few rows cannot say what was measured. Then
each row becomes two, and fits take twice the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dprap.mechanisms.adaptive.misses import misses_of
from dprap.mechanisms.adaptive.rules import Rules
from dprap.relaxed.gradient import Target
from dprap.relaxed.rows import RelaxedDataset


@dataclass(frozen=True)
class Closeness:
    """Where the first of the last fits stands.

    Args:
        misfit: The rows' chi-square.
        noise: That of the truth, as far as it can be known.
        cells: How many cells were measured, whether they count or not.
        kl_weight: The pull to independent columns.
        closely: Whether the pull gives way to a misfit above the noise.
    """

    misfit: float
    noise: float
    cells: int
    kl_weight: float
    closely: bool


def repeated(
    targets: Sequence[Target],
    rows: Callable[[], RelaxedDataset],
    fit: Callable[[Sequence[Target], float], float],
    split: Callable[[], bool],
    first: Closeness,
    rules: Rules,
) -> float:
    """Fit again as long as it is worth it, and return the misfit at the end.

    Args:
        targets: What was measured, with the weights that noise gives.
        rows: The rows as they are now.
        fit: Fits the rows to targets with a pull, and returns their misfit.
        split: Makes two rows of each, and tells whether there is room for so many.
        first: Where the first fit stands.
        rules: How far is too far, and what a repetition must gain.
    """
    misfit, kl_weight, noise = first.misfit, first.kl_weight, first.noise
    emphasised: Sequence[Target] = targets
    rest = 1 - rules.least_gain_of_last_fit
    for fits_left in reversed(range(rules.most_last_fits - 1)):
        # Where rows are further off than noise everywhere, a cell must stand out from the others.
        level = math.sqrt(max(1.0, misfit / noise))
        found = misses_of(rows(), targets, emphasised, limit=rules.usual_miss * level)
        misfit, emphasised = found.misfit, found.emphasised
        above_noise = first.closely and misfit > noise
        too_far = misfit > rules.misfit_of_noise * first.cells or above_noise
        if not too_far and found.largest <= rules.certain_miss * level:
            break
        before = misfit
        if above_noise:
            kl_weight *= (noise / misfit) ** rules.weaker_pull
        misfit = fit(emphasised, kl_weight)
        if misfit <= rest * before:
            continue
        # split rows have to be fitted once more
        if not (first.closely and rest * misfit > noise and fits_left and split()):
            break
    return misfit
