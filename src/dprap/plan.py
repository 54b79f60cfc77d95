"""A plan: everything about a run that is decided before private data are touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dprap.errors import BudgetError, SettingsError
from dprap.limits import MAX_ARCHIVE_BYTES, MAX_SEED
from dprap.mechanisms import DEFAULT_METHOD
from dprap.mechanisms.registry import Method, method_named
from dprap.privacy import Accounting, Budget, Neighbors, Relation, default_delta
from dprap.public import PublicTable, read_public
from dprap.schema import Schema
from dprap.workload import MAX_CELLS, Workload, all_kway, random_kway
from dprap.workload.files import read_workload

MANY_MARGINALS = 1_000
MANY_QUERIES = 20_000_000
# Above either, the default workload falls back from 3-way to 2-way marginals.

PRIVATE_ROWS_MAX_CELLS = 50_000
# Largest marginal of a default workload where the number of records is private and cannot set the limit.


@dataclass(frozen=True)
class WorkloadChoice:
    """How the user says which queries matter; by default all 3-way marginals that fit."""

    kway: int | None = None
    marginals: int | None = None
    seed: int = 0
    file: Path | None = None
    max_cells: int | None = None


@dataclass(frozen=True)
class Plan:
    """Schema, workload, budget and method of a run."""

    schema: Schema
    workload: Workload
    budget: Budget
    neighbors: Neighbors
    method: Method
    settings: Any
    certificate_share: float
    seed: int
    notes: tuple[str, ...] = field(default=())
    public: PublicTable | None = None

    @property
    def max_cells(self) -> int:
        """Cells a marginal may have."""
        return max(self.workload.max_cells, MAX_CELLS)


def make_plan(
    schema: Schema,
    *,
    epsilon: float,
    rows: int | None,
    delta: float | None = None,
    neighbors: Neighbors | None = None,
    accounting: Accounting = Accounting.EXACT,
    workload: Workload | WorkloadChoice | None = None,
    method: str,
    settings: Mapping[str, Any] | None = None,
    certificate_share: float = 0.02,
    seed: int = 0,
    public: Any = None,
) -> Plan:
    """Decide everything that can be decided without the data.

    `rows` is the number of records where it is public (replace neighbours), else None. `public` is a public table with the same schema, in
    memory or as a path, that the run may start from; only some methods take one.
    """
    schema.require_reviewed()
    chosen = method_named(method)
    if public is not None and not chosen.takes_public:
        raise SettingsError(
            f"method {method} cannot start from a public table. Leave it out, or use the method {DEFAULT_METHOD}."
        )
    neighbors = neighbors or Neighbors(Relation.REPLACE)
    notes: list[str] = []
    if delta is None:
        if not neighbors.rows_are_public or rows is None:
            raise BudgetError(
                "delta must be given where the number of records is private or unknown: choose well below one in the "
                "number of people, for example --delta 1e-9."
            )
        delta = default_delta(rows)
        notes.append(f"delta = 1/n² = {delta:.3g}")
    budget = Budget.of(epsilon=epsilon, delta=delta, accounting=accounting)
    public_rows = rows if neighbors.rows_are_public else None
    if public_rows is not None:
        budget.check_against_rows(public_rows)
    if not 0 <= certificate_share < 1:
        raise SettingsError(f"the certificate's share must lie in [0, 1); it is {certificate_share}.")
    chosen_settings = chosen.settings(settings or {})
    relaxed_rows = getattr(chosen_settings, "synthetic_rows", 1)
    if 4 * relaxed_rows * schema.domain.onehot_size > MAX_ARCHIVE_BYTES:
        most = MAX_ARCHIVE_BYTES // 4 // schema.domain.onehot_size
        raise SettingsError(
            f"a release of {relaxed_rows:,} relaxed rows would be too large to be read. Use --synthetic-rows {most}."
        )
    if not 0 <= seed <= MAX_SEED:
        raise SettingsError(f"the seed must lie between 0 and {MAX_SEED}.")
    if not isinstance(workload, Workload):
        workload = _chosen_workload(schema, workload or WorkloadChoice(), public_rows, notes)
    return Plan(
        schema,
        workload,
        budget,
        neighbors,
        chosen,
        chosen_settings,
        certificate_share,
        seed,
        tuple(notes),
        None if public is None else read_public(public, schema, workload),
    )


def _chosen_workload(schema: Schema, choice: WorkloadChoice, public_rows: int | None, notes: list[str]) -> Workload:
    domain = schema.domain
    if choice.file is not None:
        if choice.kway is not None or choice.marginals is not None:
            raise SettingsError("give a workload file or --kway/--marginals, not both.")
        return read_workload(choice.file, domain, max_cells=choice.max_cells or MAX_CELLS)
    limit = choice.max_cells or public_rows or PRIVATE_ROWS_MAX_CELLS
    k = choice.kway if choice.kway is not None else min(3, len(domain))
    if choice.marginals is not None:
        return random_kway(domain, k, choice.marginals, rows=limit, seed=choice.seed)
    workload = all_kway(domain, k, max_cells=limit)
    too_many = len(workload) > MANY_MARGINALS or workload.queries > MANY_QUERIES
    if choice.kway is None and k == 3 and too_many:
        notes.append(f"2-way instead of 3-way marginals: {len(workload):,} 3-way marginals are too many for a default")
        workload = all_kway(domain, 2, max_cells=limit)
    elif choice.kway is None:
        notes.append(f"workload: all {k}-way marginals with at most {limit:,} cells")
    return workload
