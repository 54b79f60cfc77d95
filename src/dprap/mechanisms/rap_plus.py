"""RAP with real coordinates for numeric columns, for halfspaces and random prefixes: the method
`rap++`.

One-way marginals of all columns are measured first, and rows start from them. Then come T rounds.
In each, the K worst-answered queries of the workload are selected and measured, and the rows are
fitted to everything that was measured, by the annealed surrogate of `dprap.relaxed.jax.mixed`.

Costs: with ρ' what is left after the one-way marginals, every round pays ρ'/(2T) for its K picks
and ρ'/(2T) for its K measurements. A query that was measured is no candidate again; its answer is
kept, not measured anew. All of it is charged by the curator's verbs, so that the sum is ρ whatever
the rows do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dprap.accounting import Measurement, Neighbors, QueryMeasurement
from dprap.array_types import Answers
from dprap.errors import SettingsError, WorkloadError
from dprap.mechanisms.cell_answers import distribution_of
from dprap.mechanisms.outline import (
    PlannedStep,
    measured_marginals,
    rho_of_records,
    total_of_records,
)
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.record_count import count_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.mechanisms.rounds import check_rounds, choose_and_measure, planned_rounds
from dprap.privacy import Curator
from dprap.queries import Halfspace, Marginal, Range
from dprap.relaxed.jax.mixed import (
    AnnealingSettings,
    Box,
    MixedRows,
    MixedSpace,
    MixedTargets,
    Places,
    fit_mixed,
)
from dprap.relaxed.marginals import answers
from dprap.workload import Workload

# Share of the budget that buys the number of records, where it is private.
_TOTAL_SHARE = Fraction(1, 100)

# A numeric column enters the fit by at most this many intervals of about equal mass: each is a
# query of the fit.
_INTERVALS = 32

# How far the logits of a row start from those of the column: rows that start alike would move
# alike.
_START_SPREAD = 0.5

# A code that noise left without records starts with this share, from which it can come back.
_LEAST_SHARE = 1e-4


@dataclass(frozen=True)
class RapPlusSettings:
    """Rounds T, queries per round K, rows n', the share of ρ for one-way marginals, and how rows
    are fitted.
    """

    rounds: int = 10
    queries_per_round: int = 30
    synthetic_rows: int = 1000
    columns_share: float = 0.2
    fit: AnnealingSettings = field(default_factory=AnnealingSettings)

    def __post_init__(self) -> None:
        for name in ("rounds", "queries_per_round", "synthetic_rows"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1; it is {getattr(self, name)}.")
        if not 0 < self.columns_share < 1:
            raise SettingsError(
                f"columns_share must lie strictly between 0 and 1; it is {self.columns_share}."
            )

    def check(self, workload: Workload) -> None:
        """Refuse workloads that mixed rows cannot answer, or that are too small for the rounds."""
        numeric = places_of(workload)
        for family in workload.families:
            if not isinstance(family, Halfspace | Marginal | Range):
                raise WorkloadError(
                    f"method rap++ takes halfspaces, ranges and marginals, not {family}."
                )
            if isinstance(family, Range) and (
                other := [name for name in family.along if name not in numeric]
            ):
                raise WorkloadError(
                    f"method rap++: {family} runs along {other[0]!r}, which no halfspaces speak of."
                )
        check_rounds(workload, self.rounds, self.queries_per_round)


def places_of(workload: Workload) -> Places:
    """Where the codes of the numeric columns lie: those that halfspaces of the workload speak
    of.
    """
    found: Places = {}
    for family in workload.families:
        if isinstance(family, Halfspace):
            for name, points in family.points_of(workload.domain).items():
                if found.setdefault(name, points) != points:
                    raise WorkloadError(
                        f"two families of halfspaces place the codes of {name!r} differently."
                    )
    if not found:
        raise WorkloadError(
            "method rap++ needs halfspaces in the workload, which say what is numeric. Else use"
            " rap."
        )
    if clash := [
        name
        for family in workload.families
        if isinstance(family, Halfspace)
        for name in family.by
        if name in found
    ]:
        raise WorkloadError(
            f"column {clash[0]!r} is numeric in one family of halfspaces and in `by` of another."
        )
    return found


def outline(
    workload: Workload,
    settings: RapPlusSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """One-way marginals, then T rounds of choosing and measuring K queries, half of the rest
    each.
    """
    settings.check(workload)
    records_rho = rho_of_records(budget_rho, _TOTAL_SHARE, neighbors)
    columns_rho = (budget_rho - records_rho) * Fraction(settings.columns_share)
    rho = budget_rho - records_rho - columns_rho
    rounds, per_round = settings.rounds, settings.queries_per_round
    evaluate = float(workload.queries * settings.synthetic_rows)
    # half of the queries are there in the mean round; forward once, backward twice
    step = (
        3.0 * (rounds * per_round / 2 + _INTERVALS * len(workload.domain)) * settings.synthetic_rows
    )
    fit = rounds * settings.fit.levels * settings.fit.steps * step
    return [
        *total_of_records(records_rho, neighbors),
        measured_marginals(
            "columns", _columns(workload), workload.domain, rho=columns_rho, neighbors=neighbors
        ),
        *planned_rounds(
            workload, rounds, per_round, rho=rho, neighbors=neighbors, evaluate=evaluate, fit=fit
        ),
    ]


def run(
    curator: Curator,
    workload: Workload,
    settings: RapPlusSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Spend what is left of the curator's budget on mixed rows for the workload.

    Privacy: post-processing of what the curator returns, for which it charges rho in all, exactly.
    """
    settings.check(workload)
    curator.prepare(workload.families)
    space = MixedSpace(workload.domain, places_of(workload))
    records = count_records(curator, _TOTAL_SHARE)
    columns = curator.measure(
        _columns(workload), curator.remaining * Fraction(settings.columns_share)
    )
    shares = {item.marginal.columns[0]: distribution_of(item, records.count) for item in columns}
    rows = _start(space, shares, settings.synthetic_rows, seed)
    known = _known_columns(space, columns, shares, records.count)
    share = curator.remaining / (2 * settings.rounds)
    measured: list[QueryMeasurement] = []
    steps = 0
    for done in range(settings.rounds):
        shares_now = answers(space.relaxed(rows), workload.families)
        measured += choose_and_measure(
            curator,
            workload,
            shares_now,
            measured,
            records=records.count,
            k=settings.queries_per_round,
            rho=share,
        )
        targets = _with_queries(space, known, measured, records.count)
        fitted = fit_mixed(rows, targets, settings.fit)
        rows, steps = fitted.rows, steps + fitted.steps
        residual = (fitted.misfit / np.count_nonzero(targets.weights)) ** 0.5
        progress(
            Progress(
                "round",
                done + 1,
                settings.rounds,
                f"residual {residual:.2g} on {len(measured)} queries",
            )
        )
    measurements: tuple[Measurement | QueryMeasurement, ...] = (
        *records.measurements,
        *columns,
        *measured,
    )
    return MechanismResult(space.relaxed(rows), None, measurements, records.count, steps)


class _KnownColumns(NamedTuple):
    """What the one-way marginals say of rows: boxes of codes, their shares, and the variances of
    these.
    """

    boxes: list[Box]
    shares: list[float]
    variances: list[float]


def _columns(workload: Workload) -> list[Marginal]:
    return [Marginal((name,)) for name in workload.domain]


def _start(space: MixedSpace, shares: dict[str, Answers], rows: int, seed: int) -> MixedRows:
    """Rows whose columns are distributed as measured: coordinates at evenly spread quantiles,
    logits near the shares.
    """
    random = np.random.default_rng(seed)
    coordinates = []
    for name in space.numeric:
        running = np.cumsum(shares[name][space.known[name]])
        levels = (random.permutation(rows) + 0.5) / rows * running[-1]
        coordinates.append(
            space.points[name][np.minimum(np.searchsorted(running, levels), len(running) - 1)]
        )
    logits = [np.log(np.maximum(shares[name], _LEAST_SHARE)) for name in space.others]
    every = np.concatenate(logits) if logits else np.zeros(0)
    spread = _START_SPREAD * random.standard_normal((len(every), rows))
    placed, logits_of_rows = np.stack(coordinates), every[:, None] + spread
    return MixedRows(placed.astype(np.float32), logits_of_rows.astype(np.float32))  # type: ignore[arg-type]


def _known_columns(
    space: MixedSpace, columns: list[Measurement], shares: dict[str, Answers], records: float
) -> _KnownColumns:
    found = _KnownColumns([], [], [])
    for item in columns:
        (name,) = item.marginal.columns
        noisy = np.asarray(item.counts, dtype=np.float64) / records
        variance = (item.stddev_counts / records) ** 2
        for first, last in _intervals(space, name, shares[name]):
            found.boxes.append({name: (first, last)})
            found.shares.append(float(noisy[first : last + 1].sum()))
            found.variances.append(variance * (last - first + 1))
    return found


def _intervals(space: MixedSpace, name: str, shares: Answers) -> list[tuple[int, int]]:
    """Single codes, or intervals of about equal mass where the column has coordinates."""
    if name not in space.numeric:
        return [(code, code) for code in range(len(shares))]
    known = space.known[name]
    place = np.floor(
        np.cumsum(shares[known]) / max(shares[known].sum(), 1e-12) * _INTERVALS * (1 - 1e-9)
    )
    starts = np.flatnonzero(np.append(True, np.diff(place) > 0))
    stops = np.append(starts[1:], len(known))
    return [
        (int(known[start]), int(known[stop - 1])) for start, stop in zip(starts, stops, strict=True)
    ]


def _with_queries(
    space: MixedSpace,
    known: _KnownColumns,
    measured: list[QueryMeasurement],
    records: float,
) -> MixedTargets:
    """Columns and measured queries together, each by the inverse variance of its share."""
    conjunctions = space.compiled([*known.boxes, *(item.query for item in measured)])
    shares = np.array([*known.shares, *(item.count / records for item in measured)])
    spread = np.array(
        [*known.variances, *((item.stddev_counts / records) ** 2 for item in measured)]
    )
    return MixedTargets(space, conjunctions, shares, 1 / spread)


MECHANISM = Mechanism(
    run, outline, RapPlusSettings, "halfspaces and prefixes of real-valued columns, adaptively"
)
