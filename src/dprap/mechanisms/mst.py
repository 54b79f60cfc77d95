"""MST (McKenna, Miklau and Sheldon 2021): all columns, and a maximum spanning tree of pairs.

A third of the budget measures the columns one by one, a third selects the pairs of a spanning tree, each by how far the model so
far is from the pair's true marginal, and a third measures them. The model is a tree, so inference is quick. Codes whose noisy count is
below three standard deviations are merged into one before the pairs are looked at, and share its records evenly in the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from dprap.errors import SettingsError
from dprap.mechanisms.cell_answers import cell_families
from dprap.mechanisms.graphical import NoisyTable, fit_model
from dprap.mechanisms.modelled import MergedModel, ModelOutput, modelled_result
from dprap.mechanisms.records import count_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.privacy import CodeMap, Curator, Measurement, Score
from dprap.queries import Marginal
from dprap.workload import Workload

RARE = 3.0
"""A code is rare if its noisy count is below this many standard deviations of its noise."""


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
    # A single column has no pairs: it gets what they would have.
    columns_rho = third if len(domain) > 1 else curator.remaining
    columns = curator.measure([Marginal((name,)) for name in domain.names], columns_rho)
    maps = {name: _merging(column) for name, column in zip(domain.names, columns, strict=True)}
    merged = curator.merged(maps)
    measured: list[Measurement | NoisyTable] = [
        _merged_column(column, maps[column.marginal.columns[0]]) for column in columns
    ]
    model = fit_model(merged.domain, measured, records.count, iterations=settings.iterations)
    pairs = [Marginal(pair) for pair in combinations(domain.names, 2)]
    estimates = {pair: model.fractions(pair) * records.count for pair in pairs}
    group = {name: {name} for name in domain.names}
    chosen: list[Marginal] = []
    for done in range(len(domain) - 1):
        candidates = [pair for pair in pairs if pair.columns[1] not in group[pair.columns[0]]]
        (place,) = merged.select(
            candidates,
            (estimates[pair] for pair in candidates),
            k=1,
            rho=third / (len(domain) - 1),
            score=Score(cell=0.0, l1=1.0),
        )
        chosen.append(candidates[place])
        joined = group[candidates[place].columns[0]] | group[candidates[place].columns[1]]
        group |= dict.fromkeys(joined, joined)
        progress(Progress("select", done + 1, len(domain) - 1, str(chosen[-1])))
    measurements = [*records.measurements, *columns]
    if chosen:
        of_pairs = merged.measure(chosen, merged.remaining)
        measurements += of_pairs
        model = fit_model(merged.domain, [*measured, *of_pairs], records.count, iterations=settings.iterations)
    published = MergedModel(model, domain, maps)
    return modelled_result(published, workload, settings.output, seed, tuple(measurements))


def _merging(column: Measurement) -> CodeMap:
    """The new code of each code: kept ones in their order, then one for all rare ones."""
    kept = column.counts >= RARE * column.stddev_counts
    if not kept.any():
        kept[np.argmax(column.counts)] = True
    return np.where(kept, np.cumsum(kept) - 1, kept.sum())


def _merged_column(column: Measurement, codes: CodeMap) -> NoisyTable:
    """A column's noisy counts after merging: the noise of merged codes adds up."""
    together = np.bincount(codes)
    counts = np.bincount(codes, weights=column.counts)
    return NoisyTable(Marginal(column.marginal.columns), counts, column.stddev_counts * np.sqrt(together))
