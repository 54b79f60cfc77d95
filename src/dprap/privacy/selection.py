"""Private selection of the highest scores: the exponential mechanism, exactly, also over millions of candidates.

**Claim.** Let integer scores change by at most Δ between neighbours. Picking one candidate with probability proportional
to exp(η·score) is 2ηΔ-bounded-range, hence ρ-zCDP with ρ = (2ηΔ)²/8 = η²Δ²/2 (Cesar and Rogers 2021, Lemma 3.2).
So η = √(2ρ)/Δ. Adding Gumbel noise of scale Δ/√(2ρ) to each score and taking the largest draws from this very
distribution, and taking the K largest at once equals K successive picks without replacement, each with its own ρ.

**How it is drawn.** Not by floating-point Gumbel noise, whose finite resolution an attacker could exploit, but by exact
integer arithmetic: candidates with equal scores are alike, so count the candidates at each score level, give each level
the weight count·exp(−η·distance from the top) as a 256-bit integer, draw a uniform integer below their sum, and then a
uniform candidate within the level. Rounding of the weights is below 2^-240 of the total (at most 2^24 levels, 2^30
candidates and 2^-320 a step), that is a δ of 10^-72: it needs no mention.

**Not protected**: the time a selection takes depends on the number of distinct score levels (as OpenDP's rejection sampler
depends on the scores). Someone who can time the steward's process learns something that was not paid for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from jaxtyping import Int64

from dprap.accounting.zcdp import Rho
from dprap.errors import BudgetError, SettingsError
from dprap.privacy.entropy import Entropy

_BITS = 256


def inverse_temperature(sensitivity: int, rho: Rho) -> float:
    """The η of a ρ-zCDP pick on scores of the given sensitivity: √(2ρ)/Δ, rounded down.

    Conversion, root and quotient err by less than 2^-51 relatively, so taking off 2^-50 rounds down for sure.
    """
    if not rho > 0:
        raise BudgetError("a selection needs a positive share of the budget.")
    return math.sqrt(float(2 * Fraction(rho))) / sensitivity * (1 - 2**-50)


def pick_top(
    scores: Int64[np.ndarray, " candidates"], *, k: int, eta: float, entropy: Entropy, excluded: Sequence[int] = ()
) -> list[int]:
    """Indices of k distinct candidates, by k successive exponential-mechanism picks on integer scores.

    `excluded` (public) indices are no candidates.
    """
    if not 1 <= k <= scores.size - len(set(excluded)):
        raise SettingsError(f"cannot pick {k} of {scores.size - len(set(excluded))} candidates.")
    if excluded:
        scores = scores.copy()
        scores[np.asarray(excluded)] = scores.min() - 1
    levels, counts = _levels(scores)
    if excluded:
        levels, counts = levels[:-1], counts[:-1]
    weights = _level_weights(levels, eta)
    picked: list[int] = []
    taken: dict[int, list[int]] = {}
    for _ in range(k):
        level = _draw_level(counts, weights, entropy)
        members = taken.get(level)
        if members is None:
            members = taken[level] = np.flatnonzero(scores == levels[level]).tolist()
        chosen = entropy.below(len(members))
        members[chosen], members[-1] = members[-1], members[chosen]
        picked.append(members.pop())
        counts[level] -= 1
        if counts[0] == 0:
            levels, counts, weights, taken = _drop_empty_top(levels, counts, taken, eta)
    return picked


def _levels(scores: Int64[np.ndarray, " candidates"]) -> tuple[list[int], list[int]]:
    """Distinct scores, highest first, and the number of candidates at each."""
    lowest, highest = int(scores.min()), int(scores.max())
    if highest - lowest <= max(1 << 20, 4 * scores.size):
        per_score = np.bincount(scores - lowest)
        present = np.flatnonzero(per_score)[::-1]
        return (present + lowest).tolist(), per_score[present].tolist()
    values, counts = np.unique(scores, return_counts=True)
    return values[::-1].tolist(), counts[::-1].tolist()


def _level_weights(levels: list[int], eta: float) -> list[int]:
    """exp(−η·(top − level)) in fixed point, for descending levels; stops (implicitly zero) once it underflows."""
    working_bits = _BITS + 64
    weights = [1 << working_bits]
    factors: dict[int, int] = {}
    with localcontext() as context:
        context.prec = 120
        exact_eta = Decimal(eta)
        for above, level in itertools.pairwise(levels):
            gap = above - level
            factor = factors.get(gap)
            if factor is None:
                factor = factors[gap] = int((-exact_eta * gap).exp() * (1 << working_bits))
            weight = (weights[-1] * factor) >> working_bits
            if weight == 0:
                break
            weights.append(weight)
    return weights


def _draw_level(counts: list[int], weights: list[int], entropy: Entropy) -> int:
    """A level with probability proportional to count·weight."""
    total = sum(count * weight for count, weight in zip(counts, weights, strict=False))
    remaining = entropy.below(total)
    for level, (count, weight) in enumerate(zip(counts, weights, strict=False)):
        remaining -= count * weight
        if remaining < 0:
            return level
    raise AssertionError("a draw below the total always lands in a level")


def _drop_empty_top(
    levels: list[int], counts: list[int], taken: dict[int, list[int]], eta: float
) -> tuple[list[int], list[int], list[int], dict[int, list[int]]]:
    """Forget the exhausted top levels and renormalise, so that far lower levels regain their precision."""
    first = next((index for index, count in enumerate(counts) if count > 0), len(counts))
    levels, counts = levels[first:], counts[first:]
    weights = _level_weights(levels, eta) if levels else []
    return levels, counts, weights, {index - first: members for index, members in taken.items() if index >= first}
