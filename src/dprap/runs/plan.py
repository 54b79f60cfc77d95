"""A plan: everything about a run that is decided before private data are touched."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprap.accounting import Accounting, Budget, Neighbors, Relation, default_delta
from dprap.domain import Domain
from dprap.errors import BudgetError, SettingsError
from dprap.limits import MAX_ARCHIVE_BYTES, MAX_SEED
from dprap.mechanisms import DEFAULT_METHOD
from dprap.mechanisms.registry import Method, method_named
from dprap.public import PublicTable, read_public
from dprap.runs.options import RunOptions, is_of_kind
from dprap.schema import Schema
from dprap.workload import MAX_CELLS, Workload, all_kway, random_kway
from dprap.workload.files import read_workload

if TYPE_CHECKING:
    from dprap.runs.forecast import Forecast

# Above either, the default workload falls back from 3-way to 2-way marginals.
MANY_MARGINALS = 1_000
MANY_QUERIES = 20_000_000

# Largest marginal of a default workload where the number of records is private and cannot set the limit.
PRIVATE_ROWS_MAX_CELLS = 50_000


@dataclass(frozen=True, repr=False)
class Plan:
    """Schema, workload, budget and method of a run; shown as a few lines.

    `records` is the number of records that whoever planned was told, or None. Where it is private it enters the forecast
    alone, and a run on the private table plans without it.
    """

    schema: Schema
    workload: Workload
    budget: Budget
    neighbors: Neighbors
    method: Method
    settings: Any
    certificate_share: float
    seed: int
    records: int | None
    notes: tuple[str, ...] = field(default=())
    public: PublicTable | None = None

    def __repr__(self) -> str:
        from dprap.runs.describe import plan_lines

        return "\n".join(plan_lines(self))

    @property
    def max_cells(self) -> int:
        """Cells a marginal may have."""
        return max(self.workload.max_cells, MAX_CELLS)

    @cached_property
    def forecast(self) -> Forecast:
        """The noise of each step, memory and time: from public facts alone."""
        from dprap.runs.forecast import forecast

        return forecast(self, self.records)


def make_plan(schema: Schema, options: RunOptions, *, records: int | None) -> Plan:
    """Decide everything that can be decided without the data.

    Args:
        schema: The reviewed schema.
        options: What the user says about the run.
        records: The number of records if it is publicly known. It decides about δ and the workload under replace
            neighbours alone.

    Returns:
        The plan.

    Raises:
        SchemaError: If the schema is a draft.
        BudgetError: If ε and δ make no sense, or δ must be given.
        SettingsError: If an option cannot be carried out.
        WorkloadError: If the schema cannot carry the workload.

    """
    schema.require_reviewed()
    method = method_named(options.method)
    if options.public is not None and not method.takes_public:
        raise SettingsError(
            f"method {method.name} cannot start from a public table. Leave it out, or use the method {DEFAULT_METHOD}."
        )
    neighbors = neighbors_of(options)
    public_records = records if neighbors.rows_are_public else None
    notes: list[str] = []
    budget = _budget(options, public_records, notes)
    if not 0 <= options.certificate_share < 1:
        raise SettingsError(f"the certificate's share must lie in [0, 1); it is {options.certificate_share}.")
    settings = _settings(method, options.settings or {})
    _check_size(settings, schema)
    if not 0 <= options.seed <= MAX_SEED:
        raise SettingsError(f"the seed must lie between 0 and {MAX_SEED}.")
    workload = _workload(schema, options, public_records, notes)
    return Plan(
        schema=schema,
        workload=workload,
        budget=budget,
        neighbors=neighbors,
        method=method,
        settings=settings,
        certificate_share=options.certificate_share,
        seed=options.seed,
        records=records,
        notes=tuple(notes),
        public=None if options.public is None else read_public(options.public, schema, workload),
    )


def check_records(records: int | None, name: str = "records") -> None:
    """Refuse a number of records that no table has; `name` is how the user wrote it."""
    if records is not None and (not is_of_kind(records, int) or records < 1):
        raise SettingsError(f"{name} must be at least 1, not {records}.")


def neighbors_of(options: RunOptions) -> Neighbors:
    """The neighbour relation that the options describe."""
    return Neighbors(Relation(str(options.neighbors)), options.max_rows_per_person)


def _budget(options: RunOptions, records: int | None, notes: list[str]) -> Budget:
    delta = options.delta
    if delta is None:
        if records is None:
            raise BudgetError(
                "delta must be given where the number of records is private or unknown: choose well below one in the "
                "number of people, for example --delta 1e-9."
            )
        delta = default_delta(records)
        notes.append(f"delta = 1/n² = {delta:.3g}")
    budget = Budget.of(epsilon=options.epsilon, delta=delta, accounting=Accounting(options.accounting))
    if records is not None:
        budget.check_against_rows(records)
    return budget


def _settings(method: Method, given: Mapping[str, Any]) -> Any:
    """The settings of a method; a value of a wrong kind is refused before it can stop a run that has spent."""
    try:
        settings = method.settings(given)
    except (TypeError, ValueError, AttributeError):
        raise SettingsError(f"method {method.name}: a setting has a value of the wrong kind.") from None
    try:
        hints = typing.get_type_hints(type(settings))
    except (NameError, TypeError):  # an author's annotations that cannot be read; the class itself took the values
        return settings
    for name, value in given.items():
        kinds = _kinds(hints.get(name))
        if kinds and value is not None and not any(is_of_kind(value, kind) for kind in kinds):
            allowed = " or ".join(kind.__name__ for kind in kinds)
            raise SettingsError(
                f"method {method.name}: setting {name} must be of the kind {allowed}, not {type(value).__name__}."
            )
    return settings


def _kinds(hint: Any) -> tuple[type, ...]:
    """The simple kinds that a hint allows, or none where it allows others."""
    parts = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    parts = tuple(part for part in parts if part is not type(None))
    return parts if all(part in (bool, int, float, str) for part in parts) else ()


def _check_size(settings: Any, schema: Schema) -> None:
    relaxed_rows = getattr(settings, "synthetic_rows", 1)
    if 4 * relaxed_rows * schema.domain.onehot_size > MAX_ARCHIVE_BYTES:
        most = MAX_ARCHIVE_BYTES // 4 // schema.domain.onehot_size
        raise SettingsError(
            f"a release of {relaxed_rows:,} relaxed rows would be too large to be read. Use --synthetic-rows {most}."
        )


def _fits(domain: Domain, k: int, limit: int) -> bool:
    """Whether at least one k-way marginal has at most `limit` cells."""
    return math.prod(sorted(domain.sizes)[:k]) <= limit


def _workload(schema: Schema, options: RunOptions, records: int | None, notes: list[str]) -> Workload:
    """The workload given; by default all 3-way marginals that fit, or 2-way if none does."""
    domain = schema.domain
    given = options.workload
    if given is not None:
        if options.kway is not None or options.marginals is not None:
            raise SettingsError("give a workload file or --kway/--marginals, not both.")
        if isinstance(given, Workload):
            return given
        if not isinstance(given, str | Path):
            raise SettingsError("--workload must be a Workload or the path of a workload file.")
        return read_workload(given, domain, max_cells=options.max_cells or MAX_CELLS)
    limit = options.max_cells or records or PRIVATE_ROWS_MAX_CELLS
    k = options.kway if options.kway is not None else min(3, len(domain))
    if options.marginals is not None:
        return random_kway(domain, k, options.marginals, rows=limit, seed=options.workload_seed)
    if options.kway is None:
        k = next((each for each in range(k, 1, -1) if _fits(domain, each, limit)), 1)
    workload = all_kway(domain, k, max_cells=limit)
    too_many = len(workload) > MANY_MARGINALS or workload.queries > MANY_QUERIES
    if options.kway is None and k == 3 and too_many:
        notes.append(f"2-way instead of 3-way marginals: {len(workload):,} 3-way marginals are too many for a default")
        workload = all_kway(domain, 2, max_cells=limit)
    elif options.kway is None:
        notes.append(f"workload: all {k}-way marginals with at most {limit:,} cells")
    return workload
