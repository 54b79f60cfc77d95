"""Thresholded noisy counts: which values a column has, where nobody knows them publicly.

Let c_v(D) be the number of records with the value v, for the values that are *present* in D. Each
count gets independent discrete Gaussian noise N of scale σ, and (v, c_v + N) is published if c_v +
N ≥ τ. That a value is present is itself private, so the noise alone does not protect a value that
one person alone has: the threshold does, up to δ.

**Claim.** Let one person have at most r records, and let Δ₂ be the L2 sensitivity of a marginal
(`Neighbors`). With σ = Δ₂/√(2ρ) and r · P(N ≥ τ − r) ≤ δ, publishing one column is δ-approximately
ρ-zCDP. Columns add up: k columns with (ρᵢ, δᵢ) are (Σδᵢ)-approximately (Σρᵢ)-zCDP.

**Argument.** Take neighbours D and D′, and let K be the values present in both.

1. A value v in D and not in D′ has only records of the person who differs, so c_v(D) ≤ r, and there
   are at most r such values. This holds under replace and under add-remove. Each is published with
   probability at most P(N ≥ τ − r). Let A be the event that none of them is: P(A) ≥ 1 − r·P(N ≥ τ −
   r) ≥ 1 − δ. Likewise A′ for D′.
2. Given A, the result on D is a function of the noisy counts of the values in K alone, because
   noises are independent and values outside D have none. Given A′ the same function is applied to
   the counts in D′. The vectors (c_v)_{v ∈ K} of D and D′ are parts of the vectors over all values,
   in which a record lies in one cell. So they are at most Δ₂ apart, and noise of scale σ on them is
   ρ-zCDP (`dprap.privacy.discrete_gaussian`). That is the definition of δ-approximate ρ-zCDP (Bun
   and Steinke 2016, definition 8.1). ∎

**What it means for the promise of the whole run.** A coin that is tossed apart can shrink A and A′
until both have probability exactly 1 − δ, with the same conditional results. Let everything after
discovery, which sees D and what was published, be such that the whole run *with the counts of K in
place of the published ones* is (ε, δ₀)-differentially private, by whichever accounting: its steps
are discrete Gaussian measurements and picks, of which discovery is one. Then for every set S of
outcomes

    P(M(D) ∈ S) ≤ δ + (1 − δ)·P(M(D) ∈ S | A) ≤ δ + (1 − δ)·(e^ε·P(M(D′) ∈ S | A′) + δ₀)
               ≤ δ + δ₀ + e^ε·P(M(D′) ∈ S),

since P(M(D′) ∈ S) ≥ (1 − δ)·P(M(D′) ∈ S | A′). So the whole is (ε, δ₀ + δ)-differentially private.
A `Budget` keeps δ as `threshold_delta` and accounts for ρ with what is left of the promised δ.

**Several looks.** A later look at a column may have a ρ and a τ that follow from what earlier ones
published, as long as its δ is fixed before. Shrunk by coins, given the results so far, each look's
A has probability 1 − δᵢ whatever these results were. So conditioning on all of them changes no
probability among the results, and the δᵢ add up as above.

Which values are candidates is decided by each value alone (`dprap.schema.discover.is_candidate`),
and the number of values that are kept depends on noisy counts alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from dprap.accounting.neighbors import Neighbors
from dprap.array_types import Counts
from dprap.errors import LedgerError
from dprap.privacy.discrete_gaussian import add_discrete_gaussian
from dprap.privacy.entropy import Entropy
from dprap.privacy.ledger import Arrays
from dprap.schema.discover import MOST_VALUES
from dprap.sources import CountSource

Values: TypeAlias = list[str] | list[int]

# The tail below is computed in floats, a few units in the last place off; its logarithm is asked
# for this much lower.
_SLACK = 1e-9


@runtime_checkable
class ValueSource(CountSource, Protocol):
    """A source that knows which values some columns have. Only `dprap.privacy` may call it."""

    def present(self, name: str) -> tuple[Values, Counts]:
        """The values of a column that are present and may be published, sorted, and how many
        records have each.
        """
        ...


def log_tail(stddev_counts: float, at_least: int) -> float:
    """An upper bound on log P(N ≥ m) for discrete Gaussian noise N and m ≥ 1.

    With w(x) = exp(−x²/2σ²), P(N ≥ m) is the sum of w(x) over x ≥ m, divided by that over all
    integers. From m on, each w(x + 1)/w(x) = exp(−(2x + 1)/2σ²) is at most q = exp(−(2m + 1)/2σ²),
    so the first sum is at most w(m)/(1 − q). By Poisson summation the second is at least √(2π)σ,
    and it has w(0) = 1.
    """
    twice = 2 * stddev_counts**2
    geometric = math.log(-math.expm1(-(2 * at_least + 1) / twice))
    return -(at_least**2) / twice - geometric - math.log(max(1.0, math.sqrt(math.pi * twice)))


def threshold_for(stddev_counts: float, delta: float, neighbors: Neighbors) -> int:
    """The smallest τ with r · P(N ≥ τ − r) ≤ δ.

    >>> threshold_for(10.0, 1e-10, Neighbors())
    66
    """
    rows = neighbors.max_rows_per_person
    wanted = math.log(delta / rows) - _SLACK

    def is_enough(margin: int) -> bool:
        return log_tail(stddev_counts, margin) * (1 - _SLACK) <= wanted

    high = 1
    while not is_enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high + rows


def thresholded(
    values: Values, counts: Counts, *, stddev_counts: float, threshold: int, entropy: Entropy
) -> tuple[Values, Counts]:
    """The values whose noisy counts reach the threshold, sorted, and these noisy counts."""
    noisy = (
        add_discrete_gaussian(counts, stddev_counts, entropy)
        if len(values)
        else np.zeros(0, dtype=np.int64)
    )
    kept = np.flatnonzero(noisy >= threshold)
    if len(kept) > MOST_VALUES:  # the most frequent, by what may be published
        kept = np.sort(kept[np.argsort(-noisy[kept], kind="stable")[:MOST_VALUES]])
    return [values[index] for index in kept.tolist()], noisy[kept]  # type: ignore[return-value]


def packed_values(position: int, values: Values, noisy: Counts) -> Arrays:
    """Published values as arrays of a result file.

    Texts go as JSON: arrays of texts would lose zeros at their ends.
    """
    text = json.dumps(values).encode("ascii")
    return {f"{position}.values": np.frombuffer(text, dtype=np.uint8), f"{position}.counts": noisy}


def unpacked_values(position: int, arrays: Arrays) -> tuple[Values, Counts]:
    """What `packed_values` packed."""
    try:
        found = json.loads(arrays[f"{position}.values"].tobytes())
        counts = np.asarray(arrays[f"{position}.counts"], dtype=np.int64)
    except (KeyError, ValueError) as error:
        raise LedgerError(
            "a stored result of discovery is damaged. Restore the ledger from a backup."
        ) from error
    return found, counts


def described_values(names: Sequence[str]) -> list[list[str]]:
    """The columns in the words of the ledger."""
    return [["Values", name] for name in names]
