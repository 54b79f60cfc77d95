"""Private selection of the highest scores: the exponential mechanism, exactly, also over millions
of candidates.

**Claim.** Let integer scores change by at most Δ between neighbours. Picking one candidate with
probability proportional to exp(η·score) is 2ηΔ-bounded-range, hence ρ-zCDP with ρ = (2ηΔ)²/8 =
η²Δ²/2 (Cesar and Rogers 2021, Lemma 3.2). So η = √(2ρ)/Δ. Adding Gumbel noise of scale Δ/√(2ρ) to
each score and taking the largest draws from this very distribution, and taking the K largest at
once equals K successive picks without replacement, each with its own ρ.

**How it is drawn.** Not by floating-point Gumbel noise, whose finite resolution an attacker could
exploit, but by exact integer arithmetic: candidates with equal scores are alike, so count the
candidates at each score level, give each level the weight count·exp(−η·distance from the top) in
fixed point, draw a uniform integer below their sum, and then a uniform candidate within the level.

**Rounding.** A weight is 2^320·exp(−η·d), with d a whole number below 2^64. It is the product of
one factor for each of the eight bytes of d. The factor of byte b at place j is the b-th power of
exp(−η·256^j), by repeated multiplication; each multiplication of numbers up to 2^320 errs by one
unit and hands on the errors of both arguments. So a factor is off by less than 2·256 units, and a
weight by less than 8·(2·256 + 1) < 2^13 units, 2^-307 of the weight of the top. The top is the best
open candidate. With at most 2^30 candidates the weights are off by less than 2^30·2^-307 = 2^-277
of their sum, that is a δ of 10^-83: it needs no mention.

**Picks in turn.** `pick_in_turn` makes k picks of which each may choose from other candidates than
the one before. Which ones is a function of public data and of the picks before, so that the k picks
are an adaptive composition of k exponential mechanisms, each with its own ρ. The scores are the
same for all of them.

**Bounds.** With very many levels most of the time would go into weights that hardly count.
`pick_in_turn` therefore draws candidate i with probability proportional to a whole number u_i that
bounds its weight w_i, and keeps it with probability w_i/(2^288·u_i), both exactly; else it draws
again. What is kept has probability proportional to w_i whatever the bounds are, if only 2^288·u_i ≥
w_i. Let e = exp(−ηd), with η and d as they are, and u = ⌊2^32·(1 + 2^-20)·e'⌋ + 1 with e' computed
in floating point. Up to ηd = 750, beyond which e' may be 0, conversion and product err by less than
2^-51 of ηd and the exponential by a few units in the last place, so that e' ≥ e·(1 − 2^-40) and
2^288·u > 2^320·e·(1 + 2^-21). For e ≥ 2^-286 the last term exceeds the 2^13 units by which w may be
too large; for a smaller e, w < 2^35 < 2^288. ∎ The bounds of all candidates add up to less than
2^63, and the best open candidate has nearly its weight, so that at most every second draw is made
again.

**Not protected**: the time a selection takes depends on the scores (as that of OpenDP's rejection
sampler does). Someone who can time the steward's process learns something that was not paid for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dprap.accounting.zcdp import Rho
from dprap.array_types import Int64, UInt64
from dprap.errors import BudgetError, SettingsError
from dprap.privacy.entropy import Entropy

_BITS = 320
# Of the whole numbers that bound weights, and by how much they are raised to bound them in spite of
# rounding.
_BOUND_BITS = 32
_RAISED = 1 + 2.0**-20
# A digit of a distance, in bits, and how many of them a 64-bit distance has.
_DIGIT_BITS = 8
_DIGITS = 8

_COUNTED_TOGETHER = 1 << 22

_Members: TypeAlias = Int64[np.ndarray, " members"]
"""Candidates at a score level; those that were picked stand behind the others."""

OpenAfter: TypeAlias = Callable[[Sequence[int]], Int64[np.ndarray, " open"]]
"""Gives the candidates that are open after the picks so far, at least one, in increasing order."""


def inverse_temperature(sensitivity: int, rho: Rho) -> float:
    """The η of a ρ-zCDP pick on scores of the given sensitivity: √(2ρ)/Δ, rounded down.

    Conversion, root and quotient err by less than 2^-51 relatively, so taking off 2^-50 rounds down
    for sure.
    """
    if not rho > 0:
        raise BudgetError("a selection needs a positive share of the budget.")
    return math.sqrt(float(2 * Fraction(rho))) / sensitivity * (1 - 2**-50)


def pick_top(
    scores: Int64[np.ndarray, " candidates"],
    *,
    k: int,
    eta: float,
    entropy: Entropy,
    excluded: Sequence[int] = (),
) -> list[int]:
    """Indices of k distinct candidates, by k successive exponential-mechanism picks on integer
    scores.

    `excluded` (public) indices are no candidates.
    """
    if not 1 <= k <= scores.size - len(set(excluded)):
        raise SettingsError(f"cannot pick {k} of {scores.size - len(set(excluded))} candidates.")
    out = np.unique(np.asarray(excluded, dtype=np.int64))
    levels, counts = _levels(scores)
    if out.size:
        left_out = Counter(scores[out].tolist())
        left = [
            (level, count - left_out[level]) for level, count in zip(levels, counts, strict=True)
        ]
        levels = [level for level, count in left if count]
        counts = [count for _, count in left if count]
    weights = _level_weights(levels, eta)
    picked: list[int] = []
    taken: dict[int, _Members] = {}
    for _ in range(k):
        level = _draw_level(counts, weights, entropy)
        members = taken.get(level)
        if members is None:
            found = np.flatnonzero(scores == levels[level])
            members = taken[level] = found[~np.isin(found, out)] if out.size else found
        chosen, last = entropy.below(counts[level]), counts[level] - 1
        picked.append(int(members[chosen]))
        members[chosen] = members[last]
        counts[level] = last
        if counts[0] == 0:
            levels, counts, weights, taken = _drop_empty_top(levels, counts, taken, eta)
    return picked


def _levels(scores: Int64[np.ndarray, " candidates"]) -> tuple[list[int], list[int]]:
    """Distinct scores, highest first, and the number of candidates at each."""
    lowest, highest = int(scores.min()), int(scores.max())
    if highest - lowest <= max(1 << 20, 4 * scores.size):
        per_score = np.zeros(highest - lowest + 1, dtype=np.int64)
        # part by part: a hundred million differences would be 800 MB
        some = max(_COUNTED_TOGETHER, highest - lowest)
        for start in range(0, scores.size, some):
            part = np.bincount(scores[start : start + some] - lowest)
            per_score[: part.size] += part
        present = np.flatnonzero(per_score)[::-1]
        return (present + lowest).tolist(), per_score[present].tolist()
    values, counts = np.unique(scores, return_counts=True)
    return values[::-1].tolist(), counts[::-1].tolist()


def pick_in_turn(
    scores: Int64[np.ndarray, " candidates"],
    *,
    k: int,
    eta: float,
    entropy: Entropy,
    open_after: OpenAfter,
) -> list[int]:
    """Indices of k candidates, each by an exponential-mechanism pick among those that are open
    then.

    `open_after` is public: a function of public data and of the picks that it is given.
    """
    factors = _factors(eta)
    picked: list[int] = []
    for _ in range(k):
        places = open_after(picked)
        picked.append(int(places[_pick(scores[places], eta, factors, entropy)]))
    return picked


def _pick(
    scores: Int64[np.ndarray, " open"], eta: float, factors: list[_Powers], entropy: Entropy
) -> int:
    """The position of one candidate, drawn by bounds of the weights and then kept by the weight."""
    # Differences of 64-bit numbers may need 64 bits without a sign; modulo 2^64 they are exact.
    distances = scores.max().view(np.uint64) - scores.view(np.uint64)
    bounds = _bounds(distances, eta)
    ends = np.cumsum(bounds)
    while True:
        place = int(np.searchsorted(ends, np.uint64(entropy.below(int(ends[-1]))), side="right"))
        bound = int(bounds[place]) << (_BITS - _BOUND_BITS)
        if entropy.below(bound) < _weight(int(distances[place]), factors):
            return place


def _bounds(distances: UInt64[np.ndarray, " open"], eta: float) -> UInt64[np.ndarray, " open"]:
    """Whole numbers that are no smaller than the weights, in units of 2^288: see "Bounds"."""
    raised = np.exp(distances.astype(np.float64) * -eta) * (_RAISED * 2.0**_BOUND_BITS)
    return raised.astype(np.uint64) + np.uint64(1)


def _level_weights(levels: list[int], eta: float) -> list[int]:
    """exp(−η·(top − level)) in fixed point, for descending levels; stops (implicitly zero) once it
    underflows.
    """
    factors = _factors(eta)
    weights = []
    for level in levels:
        weight = _weight(levels[0] - level, factors)
        if weight == 0:
            break
        weights.append(weight)
    return weights


def _factors(eta: float) -> list[_Powers]:
    return [_Powers(eta, place) for place in range(_DIGITS)]


def _weight(distance: int, factors: list[_Powers]) -> int:
    """exp(−η·distance) in fixed point."""
    weight = 1 << _BITS
    for powers in factors:
        if distance & 255:
            weight = (weight * powers[distance & 255]) >> _BITS
        distance >>= _DIGIT_BITS
        if not distance:
            break
    return weight


class _Powers:
    """Powers of exp(−η·256^place) in fixed point, made as they are asked for."""

    def __init__(self, eta: float, place: int) -> None:
        self._eta, self._place = eta, place
        self._powers = [1 << _BITS]

    def __getitem__(self, power: int) -> int:
        if len(self._powers) == 1:
            with localcontext() as context:
                context.prec = 120
                base = (-Decimal(self._eta) * (1 << (_DIGIT_BITS * self._place))).exp()
                self._powers.append(int(base * (1 << _BITS)))
        while len(self._powers) <= power:
            self._powers.append((self._powers[-1] * self._powers[1]) >> _BITS)
        return self._powers[power]


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
    levels: list[int], counts: list[int], taken: dict[int, _Members], eta: float
) -> tuple[list[int], list[int], list[int], dict[int, _Members]]:
    """Forget the exhausted top levels and renormalise, so that far lower levels regain their
    precision.
    """
    first = next((index for index, count in enumerate(counts) if count > 0), len(counts))
    levels, counts = levels[first:], counts[first:]
    weights = _level_weights(levels, eta) if levels else []
    return (
        levels,
        counts,
        weights,
        {index - first: members for index, members in taken.items() if index >= first},
    )
