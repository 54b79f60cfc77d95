"""MST (McKenna, Miklau and Sheldon 2021): all columns, and a maximum spanning tree of pairs.

A third of the budget measures the columns one by one, a third selects the pairs of a spanning tree,
each by how far the model so far is from the pair's true marginal, and a third measures them. The
model is a tree, so inference is quick. Codes whose noisy count is below three standard deviations
are merged into one before the pairs are looked at, and share its records evenly in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from dprap.accounting import Measurement, Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.domain import Domain
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
from dprap.queries import Groups, Marginal
from dprap.workload import Workload
from dprap_bench.mechanisms.graphical import NoisyTable, fit_model
from dprap_bench.mechanisms.graphical_result import CodeMap, MergedModel, modelled_result

RARE = 3.0
"""A code is rare if its noisy count is below this many standard deviations of its noise."""


@dataclass(frozen=True)
class MstSettings:
    """Settings of MST.

    `iterations` of mirror descent for each of the two fits. `synthetic_rows` records are drawn from
    the model, none by default, because the answers do not need them.
    """

    iterations: int = 1000
    records_share: float = 0.01
    synthetic_rows: int = 0

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise SettingsError("iterations of mst must be at least 1.")


def outline(
    workload: Workload,
    settings: MstSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """A third each: columns one by one, choosing the pairs of a tree, measuring them (of mean size
    here).
    """
    cell_families(workload, "mst")
    domain = workload.domain
    records_rho = rho_of_records(budget_rho, settings.records_share, neighbors)
    columns = [Marginal((name,)) for name in domain.names]
    columns_rho = _columns_rho(budget_rho - records_rho, len(domain))
    steps = [
        *total_of_records(records_rho, neighbors),
        measured_marginals(
            f"{len(columns)} columns one by one",
            columns,
            domain,
            rho=columns_rho,
            neighbors=neighbors,
        ),
    ]
    if len(domain) == 1:
        return steps
    edges = len(domain) - 1
    sizes = [domain.size_of(pair) for pair in combinations(domain.names, 2)]
    cells = edges * sum(sizes) // len(sizes)
    stddev = stddev_for(neighbors.marginal_l2_squared, columns_rho / edges)
    return [
        *steps,
        PlannedStep(f"choose {edges} pairs of columns", columns_rho, None, 0, float(sum(sizes))),
        PlannedStep("measure them", columns_rho, stddev, cells, 10.0 * settings.iterations * cells),
    ]


def _columns_rho(rho: Fraction, columns: int) -> Fraction:
    """What the columns get: a third, or all where there are no pairs."""
    return rho / 3 if columns > 1 else rho


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
    third = _columns_rho(curator.remaining, len(domain))
    columns = curator.measure([Marginal((name,)) for name in domain.names], third)
    maps = {name: _merging(column) for name, column in zip(domain.names, columns, strict=True)}
    merged = Domain(domain.names, tuple(int(maps[name].max()) + 1 for name in domain.names))
    groups = {name: _groups(codes) for name, codes in maps.items()}
    measured: list[Measurement | NoisyTable] = [
        _merged_column(column, maps[column.marginal.columns[0]]) for column in columns
    ]
    model = fit_model(merged, measured, records.count, iterations=settings.iterations)
    pairs = [Marginal(pair) for pair in combinations(domain.names, 2)]
    estimates = {pair: model.fractions(pair) * records.count for pair in pairs}
    group = {name: {name} for name in domain.names}
    chosen: list[Marginal] = []
    for done in range(len(domain) - 1):
        candidates = [pair for pair in pairs if pair.columns[1] not in group[pair.columns[0]]]
        (place,) = curator.select(
            [_coarse(pair, groups) for pair in candidates],
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
        of_pairs = curator.measure([_coarse(pair, groups) for pair in chosen], curator.remaining)
        measurements += of_pairs
        measured += [
            replace(item, marginal=pair) for item, pair in zip(of_pairs, chosen, strict=True)
        ]
        model = fit_model(merged, measured, records.count, iterations=settings.iterations)
    published = MergedModel(model, domain, maps)
    return modelled_result(
        published, workload, settings.synthetic_rows, seed, tuple(measurements), records.count
    )


def _merging(column: Measurement) -> CodeMap:
    """The new code of each code: kept ones in their order, then one for all rare ones."""
    kept = column.counts >= RARE * column.stddev_counts
    if not kept.any():
        kept[np.argmax(column.counts)] = True
    return np.where(kept, np.cumsum(kept) - 1, kept.sum())


def _groups(codes: CodeMap) -> Groups:
    """The codes of each group, or None where every code stays where it is (a single rare code moves
    to the end).
    """
    if np.array_equal(codes, np.arange(len(codes))):
        return None
    return tuple(
        tuple(np.flatnonzero(codes == group).tolist()) for group in range(int(codes.max()) + 1)
    )


def _coarse(pair: Marginal, groups: Mapping[str, Groups]) -> Marginal:
    """The pair over merged codes."""
    return Marginal(pair.columns, tuple(groups[name] for name in pair.columns))


def _merged_column(column: Measurement, codes: CodeMap) -> NoisyTable:
    """A column's noisy counts after merging: the noise of merged codes adds up."""
    together = np.bincount(codes)
    counts = np.bincount(codes, weights=column.counts)
    return NoisyTable(
        Marginal(column.marginal.columns), counts, column.stddev_counts * np.sqrt(together)
    )


MECHANISM = Mechanism(
    run,
    outline,
    MstSettings,
    "columns and a spanning tree of pairs; answers, and records if synthetic_rows is set",
)
