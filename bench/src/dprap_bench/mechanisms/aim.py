"""AIM (McKenna, Mullins, Sheldon and Miklau 2022): adaptive and iterative, with a graphical model.

Columns are measured first. Each round then picks from the workload's downward closure the marginal
that promises most, weight × (L1 error − expected noise), among those the model can still hold,
measures it and fits again. When a measurement teaches less than its noise, budget and sharpness of
the following rounds are doubled twice. Constants are the authors': 16 rounds a column planned, nine
tenths of the budget for measuring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.accounting import Measurement, Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.errors import SettingsError
from dprap.mechanisms.cell_answers import cell_families
from dprap.mechanisms.outline import (
    PlannedStep,
    measured_marginals,
    rho_of_records,
    total_of_records,
)
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.record_count import count_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.privacy import Curator, Score
from dprap.queries import Marginal
from dprap.workload import Workload
from dprap_bench.mechanisms.graphical import fit_model, model_megabytes
from dprap_bench.mechanisms.graphical_result import modelled_result

_MEASURING = Fraction(9, 10)
_ROUNDS_PER_COLUMN = 16


@dataclass(frozen=True)
class AimSettings:
    """Settings of AIM.

    `max_model_megabytes` bounds the junction tree; `iterations` of mirror descent in a round,
    `last_iterations` at the end. `synthetic_rows` records are drawn from the model, none by
    default, because the answers do not need them.
    """

    max_model_megabytes: float = 80.0
    iterations: int = 100
    last_iterations: int = 1000
    records_share: float = 0.01
    synthetic_rows: int = 0

    def __post_init__(self) -> None:
        if min(self.iterations, self.last_iterations) < 1 or self.max_model_megabytes <= 0:
            raise SettingsError("iterations and max_model_megabytes of aim must be positive.")


def outline(
    workload: Workload,
    settings: AimSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """Columns one by one, then rounds of choosing and measuring one marginal.

    How many rounds there are depends on what the noisy measurements teach; this is for the most
    there can be, which have the most noise, on candidates of mean size.
    """
    candidates = _candidates(workload)
    records_rho = rho_of_records(budget_rho, settings.records_share, neighbors)
    per_round = (budget_rho - records_rho) / (_ROUNDS_PER_COLUMN * len(workload.domain))
    columns = [marginal for marginal in candidates if len(marginal.columns) == 1]
    label = f"{len(columns)} columns one by one"
    columns_rho = per_round * _MEASURING * len(columns)
    left = budget_rho - records_rho - columns_rho
    rounds = int(left / per_round)
    cells = (
        rounds * sum(marginal.size(workload.domain) for marginal in candidates) // len(candidates)
    )
    # Each step of mirror descent passes a few times over the tables of the model, which grow by one
    # a round.
    fit = 10.0 * settings.iterations * cells * rounds / 2
    return [
        *total_of_records(records_rho, neighbors),
        measured_marginals(label, columns, workload.domain, rho=columns_rho, neighbors=neighbors),
        PlannedStep(
            f"choose up to {rounds:,} marginals", left * (1 - _MEASURING), None, 0, float(cells)
        ),
        PlannedStep(
            "measure them",
            left * _MEASURING,
            stddev_for(neighbors.marginal_l2_squared, per_round * _MEASURING),
            cells,
            fit,
        ),
    ]


def _candidates(workload: Workload) -> list[Marginal]:
    cell_families(workload, "aim")
    return [marginal for marginal in workload.closure() if marginal.columns]


def run(
    curator: Curator,
    workload: Workload,
    settings: AimSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Run AIM on the workload's columns and return the model's answers."""
    domain = workload.domain
    candidates = _candidates(workload)
    weights = candidate_weights(workload, candidates)
    curator.prepare(candidates)
    records = count_records(curator, settings.records_share)
    budget = curator.remaining
    per_round = budget / (_ROUNDS_PER_COLUMN * len(domain))
    columns = [marginal for marginal in candidates if len(marginal.columns) == 1]
    measured: list[Measurement] = list(
        curator.measure(columns, per_round * _MEASURING * len(columns))
    )
    model = fit_model(domain, measured, records.count, iterations=settings.iterations)
    while curator.remaining > 0:
        if curator.remaining < 2 * per_round:
            per_round = curator.remaining
        spent = float((budget - curator.remaining) / budget)
        held = [Marginal(m.marginal.columns) for m in measured]
        open_ = [
            place
            for place, marginal in enumerate(candidates)
            if any(set(marginal.columns) <= set(other.columns) for other in held)
            or model_megabytes(domain, [*held, marginal])
            <= settings.max_model_megabytes * max(spent, 1e-9)
        ]
        stddev = curator.neighbors.marginal_l2 / math.sqrt(2 * float(per_round * _MEASURING))
        expected_noise = [
            math.sqrt(2 / math.pi) * stddev * candidates[place].size(domain) for place in open_
        ]
        (picked,) = curator.select(
            [candidates[place] for place in open_],
            [model.fractions(candidates[place]) * records.count for place in open_],
            k=1,
            rho=per_round * (1 - _MEASURING),
            score=Score(
                cell=0.0,
                l1=1.0,
                weights=[weights[place] for place in open_],
                penalties_counts=expected_noise,
            ),
        )
        marginal = candidates[open_[picked]]
        before = model.fractions(marginal)
        last = per_round == curator.remaining + per_round * (1 - _MEASURING)
        measured += curator.measure(
            [marginal], curator.remaining if last else per_round * _MEASURING
        )
        iterations = settings.last_iterations if curator.remaining == 0 else settings.iterations
        model = fit_model(domain, measured, records.count, iterations=iterations, start=model)
        learned = float(np.abs(model.fractions(marginal) - before).sum()) * records.count
        if learned <= expected_noise[picked]:
            per_round *= 4
        done = round(1000 * float(1 - curator.remaining / budget))
        progress(Progress("budget spent, per mille", done, 1000, str(marginal)))
    return modelled_result(
        model,
        workload,
        settings.synthetic_rows,
        seed,
        (*records.measurements, *measured),
        records.count,
    )


def candidate_weights(workload: Workload, candidates: list[Marginal]) -> list[float]:
    """How much of the workload a candidate touches: the columns it shares with each family, times
    the family's weight.
    """
    return [
        sum(
            weight * len(set(candidate.columns) & set(family.columns))
            for family, weight in zip(workload.families, workload.weights, strict=True)
        )
        for candidate in candidates
    ]


MECHANISM = Mechanism(
    run,
    outline,
    AimSettings,
    "adaptive marginals with a graphical model; answers, and records if synthetic_rows is set",
)
