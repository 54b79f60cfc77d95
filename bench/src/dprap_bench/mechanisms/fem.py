"""FEM (Vietri, Tian, Bun, Steinke and Wu 2020): a game between records and queries.

Each round, the data player follows the perturbed leader: `samples` times it draws exponential noise
for every one-hot coordinate and asks the oracle for the record that best answers the queries met so
far. The query player then picks, by the exponential mechanism, the query (with its sign) that these
records answer worst. The synthetic data are the records of the later rounds. Nothing is ever
measured: only selections are paid for.

The authors account for a round of the exponential mechanism with parameter ε₀ by ε₀²/2; `rounds`
rounds here share the budget equally by the tighter bounded-range analysis, which makes every
selection twice as sharp at the same number of rounds.
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
from dprap.workload import Workload
from dprap_bench.mechanisms.game import oracle_for, outline_of_game
from dprap_bench.mechanisms.signed_selection import SignedQuery, as_relaxed, select_signed


@dataclass(frozen=True)
class FemSettings:
    """Settings of FEM.

    `rounds` of `samples` records each, with exponential noise of scale `noise_scale`; `burn_in` is
    the share of early rounds whose records are thrown away. `oracle_seconds` limits one call of the
    solver.
    """

    rounds: int = 50
    samples: int = 100
    noise_scale: float = 1.5
    burn_in: float = 0.5
    records_share: float = 0.01
    oracle_seconds: float = 20.0

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.samples < 1:
            raise SettingsError("rounds and samples of fem must be at least 1.")
        if not self.noise_scale > 0 or not 0 <= self.burn_in < 1:
            raise SettingsError("noise_scale of fem must be positive and burn_in in [0, 1).")

    @classmethod
    def authors(cls, rho: float, *, epsilon_0: float, noise_scale: float) -> FemSettings:
        """Settings in the authors' terms: as many rounds as their accounting, ε₀²/2 a round, gets
        out of ρ.
        """
        return cls(rounds=max(int(rho / (epsilon_0**2 / 2)), 1), noise_scale=noise_scale)


def outline(
    workload: Workload,
    settings: FemSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """Rounds of choosing one query; nothing is measured."""
    choices = f"choose {settings.rounds:,} of {2 * workload.queries:,} signed queries, one a round"
    return outline_of_game(choices, workload, settings, budget_rho=budget_rho, neighbors=neighbors)


def run(
    curator: Curator,
    workload: Workload,
    settings: FemSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Play the game and return the later rounds' records as relaxed rows."""
    marginals = workload.marginals
    records = count_records(curator, settings.records_share)
    share = curator.remaining / Fraction(settings.rounds)
    rng = np.random.default_rng(seed)
    kept: list[np.ndarray] = []
    met: list[SignedQuery] = []
    for done in range(settings.rounds):
        oracle = oracle_for(workload, met, settings)
        bonuses = rng.exponential(
            settings.noise_scale, (settings.samples, workload.domain.onehot_size)
        )
        played = np.array([oracle.best(bonus) for bonus in bonuses])
        if done >= settings.burn_in * settings.rounds or done == settings.rounds - 1:
            kept.append(played)
        met += select_signed(curator, marginals, played, records=records.count, k=1, rho=share)
        progress(Progress("round", done + 1, settings.rounds, str(met[-1].query)))
    return MechanismResult(
        as_relaxed(workload.domain, np.concatenate(kept)), None, records.measurements, records.count
    )


MECHANISM = Mechanism(
    run, outline, FemSettings, "a game of records and queries by integer programmes"
)
