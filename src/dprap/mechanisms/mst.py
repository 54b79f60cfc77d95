"""MST (McKenna, Miklau and Sheldon 2021): all columns, and a maximum spanning tree of pairs.

A third of the budget measures the columns one by one, a third selects the pairs of a spanning tree, each by how far the model so
far is from the pair's true marginal, and a third measures them. The model is a tree, so inference is quick. Rare values are not merged, as
the original does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

from dprap.errors import SettingsError
from dprap.mechanisms.graphical import fit_model
from dprap.mechanisms.modelled import ModelOutput, modelled_result
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.mechanisms.shared import cell_families, count_records
from dprap.privacy import Curator, Score
from dprap.queries import Marginal
from dprap.workload import Workload


@dataclass(frozen=True)
class MstSettings:
    """`iterations` of mirror descent for each of the two fits; `output` says what to publish of the model."""

    iterations: int = 1000
    records_share: float = 0.01
    output: ModelOutput = field(default_factory=ModelOutput)

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise SettingsError("iterations of mst must be at least 1.")


def run(
    curator: Curator,
    workload: Workload,
    settings: MstSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Measure columns, choose a tree of pairs, measure them, fit."""
    domain = workload.domain
    cell_families(workload, "mst")
    records = count_records(curator, settings.records_share)
    third = curator.remaining / 3
    measured = list(curator.measure([Marginal((name,)) for name in domain.names], third))
    model = fit_model(domain, measured, records.count, iterations=settings.iterations)
    pairs = [Marginal(pair) for pair in combinations(domain.names, 2)]
    estimates = {pair: model.fractions(pair) * records.count for pair in pairs}
    group = {name: {name} for name in domain.names}
    chosen: list[Marginal] = []
    for done in range(len(domain) - 1):
        candidates = [pair for pair in pairs if pair.columns[1] not in group[pair.columns[0]]]
        (place,) = curator.select(
            candidates,
            (estimates[pair] for pair in candidates),
            k=1,
            rho=third / (len(domain) - 1),
            score=Score(cell=0.0, l1=1.0),
        )
        chosen.append(candidates[place])
        merged = group[candidates[place].columns[0]] | group[candidates[place].columns[1]]
        group |= dict.fromkeys(merged, merged)
        progress(Progress("select", done + 1, len(domain) - 1, str(chosen[-1])))
    if chosen:
        measured += curator.measure(chosen, curator.remaining)
        model = fit_model(domain, measured, records.count, iterations=settings.iterations)
    return modelled_result(model, workload, settings.output, seed, (*records.measurements, *measured))
