"""Paid discovery: domains that nobody knows publicly, found and paid for before the rest of a run.

Discovery is a run of its own in the ledger, `RUN.discovery`, under the same promise as the run that
follows: both budgets are parts of one (`Budget.split`). What it finds is public, so that the schema
made of it is, too.

* **Categories**: values whose noisy counts reach a threshold (`dprap.privacy.discovery`); all
  others go to `other`. Where several columns are asked for, a first look tells which of them still
  lack many records. The rest of ρ goes to these.
* **Bounds**: noisy counts on a public grid of ±1, ±2, ±5 times powers of ten. The bounds are the
  outer edges of the outermost cells that stand out of the noise, and one cell more. Values beyond
  them are clipped, and the run refines what lies between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from dprap.accounting import Budget, Measurement, Neighbors
from dprap.accounting.measurement import FoundValues
from dprap.array_types import Answers, Bool
from dprap.errors import SettingsError, WorkloadError
from dprap.mechanisms.refinement.planning import plan_refinement
from dprap.privacy import Curator, Excess, Ledger, PersonColumn
from dprap.privacy.person_bound import bound_mask, require_memory
from dprap.queries import Marginal
from dprap.release.output_checks import check_rows
from dprap.runs.discovery_plan import FIRST_LOOK, DiscoveryPlan
from dprap.runs.options import RunOptions
from dprap.runs.plan import Plan, check_size, make_plan, neighbors_of, planned_budget
from dprap.schema import Schema
from dprap.schema.discover import (
    MOST_VALUES,
    DiscoverColumn,
    Discovered,
    bounded_column,
    grid_column,
    grid_edges,
    listed_column,
)
from dprap.sources.table_files import PassProgress
from dprap.sources.unknown_columns import DiscoverySource, open_discovery

# How likely it is that the noise alone moves a bound of a column outwards by a few cells, which
# costs little, and how likely that it moves one far away, which would ruin the column. Tails of
# real columns go on from cell to cell: so the second may be small without hiding records.
FALSE_BOUND = 1e-3
FALSE_FAR_BOUND = 1e-10

# Empty cells that the near rule steps over.
_GAP = 2

# Cells of the grid whose sum is looked at, too: a thin tail may stand out of the noise only as a
# whole.
_WINDOWS = (1, 2, 4)


@dataclass(frozen=True)
class Discovery:
    """What a run is about to pay to find domains."""

    schema: Schema
    source: DiscoverySource
    plan: DiscoveryPlan
    budget: Budget
    rest: Budget
    neighbors: Neighbors

    @property
    def records(self) -> int | None:
        """The number of records, where it is public."""
        return self.source.rows if self.neighbors.rows_are_public else None

    @property
    def lines(self) -> list[str]:
        """The discovery in a few lines."""
        promise = f"ε = {self.budget.epsilon:g}, δ = {self.budget.delta:.3g}"
        return [
            f"promise     {promise}, so ρ = {float(self.budget.whole_rho):.4g} in all",
            *self.plan.lines,
        ]


def discovery_name(run: str | None) -> str | None:
    """The name of the discovery of a run in the ledger."""
    return None if run is None else f"{run}.discovery"


def schema_to_discover(schema: Schema, options: RunOptions) -> Schema:
    """The schema with the columns that the options name among those to be discovered."""
    names = [name.strip() for name in str(options.discover or "").split(",") if name.strip()]
    return schema.asking_for(names) if names else schema


def plan_discovery(schema: Schema, options: RunOptions, records: int | None) -> DiscoveryPlan:
    """How discovery will share its budget; `records` is the number of records if it is public."""
    whole, neighbors = planned_budget(options, records), neighbors_of(options)
    return DiscoveryPlan.of(schema.discover, whole, options.discover_share, neighbors, records)


def plan_run(schema: Schema, options: RunOptions, *, records: int | None) -> Plan:
    """`make_plan`, also for a schema with domains to be found: for what follows their discovery two
    values stand in.

    Args:
        schema: The reviewed schema.
        options: What the user says about the run.
        records: The number of records if it is publicly known.

    Returns:
        The plan, with that of the discovery before it.

    Raises:
        DprapError: If the schema or an option is refused.
    """
    schema = schema_to_discover(schema, options)
    if not schema.discover:
        return make_plan(schema, options, records=records)
    schema.refuse_draft()
    public_records = records if neighbors_of(options).rows_are_public else None
    discovery = plan_discovery(schema, options, public_records)
    _, rest = discovery.split()
    return replace(
        make_plan(stand_in(schema), options, records=records, budget=rest), discovery=discovery
    )


def open_for_discovery(
    table: Any, schema: Schema, options: RunOptions, progress: PassProgress
) -> Discovery:
    """Read the table once, and check everything about discovery and the run after it that can be
    checked before.

    Raises:
        SchemaError: The schema is a draft, or does not fit the table.
        SettingsError: An option does not go with discovery.
        BudgetError: ε, δ or the share make no sense.
    """
    schema.refuse_draft()
    for name in ("public", "queries", "workload"):
        if getattr(options, name) is not None:
            raise SettingsError(
                f"--{name} needs domains that are known before the run. Leave it out, or declare"
                " all domains."
            )
    neighbors = neighbors_of(options)
    person = (
        None
        if options.person_column is None
        else PersonColumn(options.person_column, Excess(options.excess))
    )
    source = open_discovery(
        table,
        schema,
        engine=options.engine,
        person_column=options.person_column,
        kept=bound_mask(neighbors, person),
        progress=progress,
    )
    records = source.rows if neighbors.rows_are_public else None
    plan = plan_discovery(schema, options, records)
    wanted = Discovery(schema, source, plan, *plan.split(), neighbors)
    _check_what_follows(wanted, table, options)
    return wanted


def _check_what_follows(wanted: Discovery, table: Any, options: RunOptions) -> None:
    """Say before anything is spent what is wrong with the run after discovery, for the smallest and
    the largest domain.
    """
    smallest, largest = stand_in(wanted.schema), stand_in(wanted.schema, largest=True)
    records = wanted.records
    plan = make_plan(smallest, options, records=records, budget=wanted.rest)
    refinement = plan_refinement(
        largest, rho=wanted.rest.rho, neighbors=wanted.neighbors, records=records
    )
    check_size(plan.settings, largest.domain if refinement is None else refinement.domain)
    if options.rows is not None:
        check_rows(options.rows, smallest)
    if options.person_column is not None:
        require_memory(table, largest, options.engine)  # type: ignore[arg-type]


def options_for_found(schema: Schema, options: RunOptions, wanted: Discovery) -> RunOptions:
    """The options of the run after discovery, which was paid for and must lead to a release.

    How many values are found is known only now. Where the workload that was asked for is too large
    for them, the run takes the default workload: that depends on what was found and paid for, and
    on public facts.
    """
    try:
        make_plan(schema, options, records=wanted.records, budget=wanted.rest)
    except WorkloadError:
        return replace(options, kway=None, marginals=None, max_cells=None)
    return options


def discover(
    wanted: Discovery,
    *,
    ledger: Ledger | None,
    run: str | None,
    insecure_noise_seed: int | None = None,
) -> Schema:
    """Pay for the domains, or replay what was paid for, and return the schema that holds them."""
    curator = Curator(
        wanted.source,
        budget=wanted.budget,
        neighbors=wanted.neighbors,
        ledger=ledger,
        run=discovery_name(run),
        insecure_noise_seed=insecure_noise_seed,
    )
    columns, numbers = wanted.schema.discover, wanted.plan.numbers
    found: dict[str, dict[str, Any]] = {}
    paid: dict[str, Discovered] = {}
    for name, looks in _find_values(curator, wanted).items():
        values = {value for look in looks for value in look.values}
        found[name] = listed_column(
            columns[name], values, whole=name in wanted.source.whole_columns
        )
        paid[name] = Discovered(
            rho=sum(look.rho for look in looks),
            delta=sum(look.delta for look in looks),
            threshold_counts=min(look.threshold_counts for look in looks),
        )
    if numbers:
        marginals = [Marginal((name,)) for name in numbers]
        for name, measured in zip(
            numbers, curator.measure(marginals, curator.remaining), strict=True
        ):
            found[name] = bounded_column(columns[name], *bounds_of(columns[name], measured))
            paid[name] = Discovered(rho=measured.rho)
    curator.finish()
    return wanted.schema.with_found(found, paid)


def _find_values(curator: Curator, wanted: Discovery) -> dict[str, list[FoundValues]]:
    """All looks at the columns of categories: one at a single column; at several a first one, and
    one by need.
    """
    names = wanted.plan.listed
    if not names:
        return {}
    rho, delta = wanted.plan.listed_rho(curator.budget), curator.budget.threshold_delta
    if len(names) == 1:
        return {names[0]: curator.discover_values(names, rho, delta=delta)}
    first_delta = delta * float(FIRST_LOOK)
    looks = {
        found.column: [found]
        for found in curator.discover_values(names, rho * FIRST_LOOK, delta=first_delta)
    }
    rho, delta = rho * (1 - FIRST_LOOK), (delta - first_delta) / len(names) * (1 - 1e-9)
    shares = shares_by_need([first for first, *_ in looks.values()], wanted.records)
    for name, share in zip(names, shares, strict=True):
        if share:
            looks[name] += curator.discover_values([name], rho * share, delta=delta)
    return looks


def shares_by_need(first: Sequence[FoundValues], records: int | None) -> list[Fraction]:
    """What each column gets of the ρ of the second look: in proportion to the records that are
    still without a value.

    A column lacks all records less the sum of the noisy counts that it found. Where the number of
    records is private, the column that found most of them stands in for it. All of this follows
    from published counts. On raw Adult, with 20 draws of all its columns, this left as many columns
    below 95% of their records as the power 1.5 did, and fewer than the square.

    Args:
        first: What the first look found.
        records: The number of records, where it is public.
    """
    covered = [int(sum(found.noisy_counts)) for found in first]
    total = max(covered) if records is None else records
    weights = [max(0, total - each) for each in covered]
    if not any(weights):
        weights = [1] * len(first)
    return [Fraction(weight, sum(weights)) for weight in weights]


def bounds_of(column: DiscoverColumn, measured: Measurement) -> tuple[float, float]:
    """The outer edges of the outermost cells that stand out of the noise; of the fullest cell, if
    none does.

    A cell or a sum of w neighbouring cells stands out if it is above z·σ·√w, where z is such that
    with probability 1 − p none does in a column without records. With p = `FALSE_FAR_BOUND` a cell
    counts wherever it lies, with p = `FALSE_BOUND` if it lies near one that counts. What lies next
    to the outermost cell may hold up to that many records without being seen, so each bound moves
    out by one cell more. That costs nothing but a wider grid for the refinement, whose intervals
    follow the records. A bound at zero stays there: where negative values are absent or rare, zero
    is what people know.
    """
    edges = grid_edges(column.type)
    noisy = measured.counts[: len(edges) - 1].astype(np.float64)
    sure = _standing_out(noisy, measured.stddev_counts, FALSE_FAR_BOUND)
    at = np.flatnonzero(sure) if sure.any() else np.array([int(noisy.argmax())])
    low, high = int(at[0]), int(at[-1]) + 1
    likely = np.flatnonzero(_standing_out(noisy, measured.stddev_counts, FALSE_BOUND))
    for cell in likely[::-1]:
        low = int(cell) if low - _GAP - 1 <= cell < low else low
    for cell in likely:
        high = int(cell) + 1 if high <= cell <= high + _GAP else high
    low = low if edges[low] == 0 else max(low - 1, 0)
    high = high if edges[high] == 0 else min(high + 1, len(edges) - 1)
    return edges[low], edges[high]


def _standing_out(noisy: Answers, stddev: float, false: float) -> Bool[np.ndarray, " cells"]:
    """Which cells stand out of the noise, alone or with neighbours; `false` is the probability that
    one does in a column without records.
    """
    z = NormalDist().inv_cdf(1 - false / (len(noisy) * len(_WINDOWS)))
    found = np.zeros(len(noisy), dtype=bool)
    for width in _WINDOWS:
        sums = np.convolve(noisy, np.ones(width), mode="valid")
        for start in np.flatnonzero(sums > z * stddev * np.sqrt(width)):
            # the fullest of them: its neighbours may be empty
            found[start + int(np.argmax(noisy[start : start + width]))] = True
    return found


def stand_in(schema: Schema, *, largest: bool = False) -> Schema:
    """A schema of the same columns with made-up domains."""
    return schema.with_found(
        {name: _made_up(column, largest=largest) for name, column in schema.discover.items()}, {}
    )


def _made_up(column: DiscoverColumn, *, largest: bool) -> dict[str, Any]:
    if column.type != "categorical":
        return bounded_column(column, *_ends(column)) if largest else grid_column(column)
    values: Sequence[str] = [f"{number}" for number in range(MOST_VALUES if largest else 2)]
    return listed_column(column, values, whole=False)


def _ends(column: DiscoverColumn) -> tuple[float, float]:
    edges = grid_edges(column.type)
    return edges[0], edges[-1]
