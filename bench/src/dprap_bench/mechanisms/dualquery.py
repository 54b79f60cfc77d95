"""DualQuery (Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014): multiplicative weights over queries,
kept implicit.

The query player's weights after t rounds are exp(η · Σ signed errors of the records so far):
sampling from them is the exponential mechanism on t times the error of the mean so far, so nothing
of size queries × rounds is ever held. Each round samples `samples` queries and the oracle answers
with the record that fulfils most of them; the records are the synthetic data.

The first sample is uniform and free. Round t's samples cost in proportion to t², the square of
their scores' sensitivity; η follows from the budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.accounting import Neighbors
from dprap.errors import SettingsError
from dprap.mechanisms.outline import PlannedStep
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.record_count import count_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.queries import Marginal, Query
from dprap.workload import Workload
from dprap_bench.mechanisms.game import oracle_for, outline_of_game
from dprap_bench.mechanisms.signed_selection import SignedQuery, as_relaxed, select_signed


@dataclass(frozen=True)
class DualQuerySettings:
    """`rounds` (T) records in all, each for `samples` (s) sampled queries.

    `oracle_seconds` limits one call of the solver.
    """

    rounds: int = 100
    samples: int = 20
    records_share: float = 0.01
    oracle_seconds: float = 20.0

    def __post_init__(self) -> None:
        if self.rounds < 2 or self.samples < 1:
            raise SettingsError("dualquery needs at least 2 rounds and 1 sample.")


def outline(
    workload: Workload,
    settings: DualQuerySettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """Every round but the first chooses queries; nothing is measured."""
    choices = (
        f"choose {(settings.rounds - 1) * settings.samples:,} signed queries in"
        f" {settings.rounds - 1:,} rounds"
    )
    return outline_of_game(choices, workload, settings, budget_rho=budget_rho, neighbors=neighbors)


def run(
    curator: Curator,
    workload: Workload,
    settings: DualQuerySettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Play the game and return one record a round as relaxed rows."""
    marginals = workload.marginals
    records = count_records(curator, settings.records_share)
    rng = np.random.default_rng(seed)
    budget = curator.remaining
    squares = sum(done**2 for done in range(1, settings.rounds))
    played: list[np.ndarray] = []
    for done in range(settings.rounds):
        if done == 0:
            picks = _uniform(workload, marginals, settings.samples, rng)
        else:
            picks = select_signed(
                curator,
                marginals,
                np.array(played),
                records=records.count,
                k=settings.samples,
                rho=budget * Fraction(done**2, squares),
            )
        oracle = oracle_for(workload, picks, settings)
        # A bonus far below one reward breaks ties between equally good records at random.
        played.append(oracle.best(rng.random(workload.domain.onehot_size) * 1e-3))
        progress(Progress("round", done + 1, settings.rounds))
    return MechanismResult(
        as_relaxed(workload.domain, np.array(played)), None, records.measurements, records.count
    )


def _uniform(
    workload: Workload, marginals: tuple[Marginal, ...], samples: int, rng: np.random.Generator
) -> list[SignedQuery]:
    starts = np.concatenate([[0], np.cumsum(workload.sizes)])
    drawn = rng.integers(0, starts[-1], samples)
    families = np.searchsorted(starts, drawn, side="right") - 1
    signs = rng.choice((-1, 1), samples)
    return [
        SignedQuery(Query(marginals[family], int(index - starts[family])), int(sign))
        for index, family, sign in zip(drawn, families, signs, strict=True)
    ]


MECHANISM = Mechanism(
    run, outline, DualQuerySettings, "multiplicative weights over queries, by integer programmes"
)
