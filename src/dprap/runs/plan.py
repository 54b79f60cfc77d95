"""A plan: everything about a run that is decided before private data are touched."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprap.accounting import Accounting, Budget, Neighbors, Relation, default_delta
from dprap.domain import Domain
from dprap.errors import BudgetError, DprapError, SettingsError, WorkloadError
from dprap.limits import MAX_ARCHIVE_BYTES, MAX_SEED
from dprap.mechanisms import DEFAULT_METHOD
from dprap.mechanisms.refinement.planning import RefinementPlan, plan_refinement
from dprap.mechanisms.registry import Method, method_named
from dprap.public import PublicTable, read_public
from dprap.queries import Custom, Halfspace, Marginal, Range, as_family, from_cells
from dprap.runs.discovery_plan import DiscoveryPlan
from dprap.runs.loading import NamedCode
from dprap.runs.option_values import is_of_kind
from dprap.runs.options import RunOptions
from dprap.runs.points import with_points
from dprap.schema import Schema
from dprap.shown import ShownInNotebooks
from dprap.workload import MAX_CELLS, Workload, all_kway, random_kway
from dprap.workload.files import read_workload
from dprap.workload.kway import fewest_cells, widest_that_fits

if TYPE_CHECKING:
    from dprap.runs.forecast import Forecast

# Above either, the default workload falls back from 3-way to 2-way marginals.
MANY_MARGINALS = 1_000
MANY_QUERIES = 20_000_000

# Largest marginal of a default workload where the number of records is private and cannot set the
# limit.
PRIVATE_ROWS_MAX_CELLS = 50_000


@dataclass(frozen=True, repr=False)
class Plan(ShownInNotebooks):
    """Schema, workload, budget and method of a run; shown as a few lines.

    `records` is the number of records that whoever planned was told, or None. Where it is private
    it enters the forecast alone, and a run on the private table plans without it.
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
    refinement: RefinementPlan | None = None
    intervals: bool = True
    discovery: DiscoveryPlan | None = None

    def __repr__(self) -> str:
        from dprap.runs.describe import plan_lines

        return "\n".join(plan_lines(self))

    @property
    def max_cells(self) -> int:
        """Cells a marginal may have."""
        return max(self.workload.max_cells, MAX_CELLS)

    @property
    def queries_are_a_bound(self) -> bool:
        """Whether a run answers at most the workload's queries, because it finds intervals of
        columns and a plan knows only how many there may be.
        """
        return self.refinement is not None and self.discovery is None

    @property
    def known(self) -> dict[str, Any]:
        """What is publicly known besides the workload, as far as the method takes it."""
        public = {} if self.public is None else {"public": self.public}
        constraints = (
            {"constraints": self.schema.code_constraints} if self.method.takes_constraints else {}
        )
        order = {"ordered": self.schema.ordered_codes} if self.method.takes_order else {}
        return {**public, **constraints, **order}

    @cached_property
    def forecast(self) -> Forecast:
        """The noise of each step, memory and time: from public facts alone."""
        from dprap.runs.forecast import forecast

        return forecast(self, self.records)


def make_plan(
    schema: Schema, options: RunOptions, *, records: int | None, budget: Budget | None = None
) -> Plan:
    """Decide everything that can be decided without the data.

    Args:
        schema: The reviewed schema.
        options: What the user says about the run.
        records: The number of records if it is publicly known. It decides about δ and the workload
            under replace neighbours alone.
        budget: What paid discovery has left; unless given, all that the options allow.

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
            f"method {method.name} cannot start from a public table. Leave it out, or use the"
            f" method {DEFAULT_METHOD}."
        )
    neighbors = neighbors_of(options)
    public_records = records if neighbors.rows_are_public else None
    notes: list[str] = []
    budget = budget or _budget(options, public_records, notes)
    if not 0 <= options.certificate_share < 1:
        raise SettingsError(
            f"the certificate's share must lie in [0, 1); it is {options.certificate_share}."
        )
    settings = _with_targets(
        method, _settings(method, options.settings or {}, options.preset), options, schema
    )
    refinement = plan_refinement(
        schema,
        rho=budget.rho * (1 - Fraction(options.certificate_share)),
        neighbors=neighbors,
        records=public_records,
    )
    domain = schema.domain if refinement is None else refinement.domain
    check_size(settings, domain)
    if refinement is not None and options.public is not None:
        raise SettingsError(
            f"a public table goes with declared bins, and column {refinement.columns[0].name!r} has"
            " none. Declare bins, or leave the public table out."
        )
    if not 0 <= options.seed <= MAX_SEED:
        raise SettingsError(f"the seed must lie between 0 and {MAX_SEED}.")
    workload = _workload(schema, domain, options, public_records, notes)
    if refinement is not None:
        _check_codes(workload, refinement)
    else:
        workload = with_points(workload, schema)
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
        refinement=refinement,
        intervals=options.intervals == "yes",
    )


def expected_marginals(schema: Schema, options: RunOptions, records: int | None) -> list[Marginal]:
    """What a run by these options will count first, as far as is known while the table is read.

    Args:
        schema: The reviewed schema.
        options: What the user says about the run.
        records: The number of records, nearly, or None if nobody knows it yet.

    Returns:
        Marginals that the workload's queries are sums of; none where that depends on what is not
        known.
    """
    if schema.fine_columns:  # what comes after them is counted by intervals that nobody knows yet
        return [Marginal((name,)) for name in schema.fine_columns]
    follows_records = (
        neighbors_of(options).rows_are_public
        and options.workload is None
        and options.max_cells is None
    )
    if follows_records and records is None:
        return []
    try:
        workload = _workload(
            schema, schema.domain, options, records if follows_records else None, []
        )
    except DprapError:  # make_plan says why
        return []
    return [
        Marginal(family.columns)
        for family in workload.families
        if from_cells(family, workload.domain)
    ]


def check_records(records: int | None, name: str = "records") -> None:
    """Refuse a number of records that no table has; `name` is how the user wrote it."""
    if records is not None and not is_of_kind(records, int):
        raise SettingsError(f"{name} must be a whole number, not {records!r}.")
    if records is not None and records < 1:
        raise SettingsError(f"{name} must be at least 1, not {records}.")


def neighbors_of(options: RunOptions) -> Neighbors:
    """The neighbour relation that the options describe."""
    return Neighbors(Relation(str(options.neighbors)), options.max_rows_per_person)


def planned_budget(options: RunOptions, records: int | None) -> Budget:
    """The whole budget that the options describe; `records` is the number of records if it is
    public.
    """
    return _budget(options, records, [])


def _budget(options: RunOptions, records: int | None, notes: list[str]) -> Budget:
    delta = options.delta
    if delta is None:
        if records is None:
            raise BudgetError(
                "delta must be given where the number of records is private or unknown: choose well"
                " below one in the number of people, for example --delta 1e-9. If the number is"
                " public, give a plan --records."
            )
        delta = default_delta(records)
        notes.append(f"delta = 1/n² = {delta:.3g}")
    budget = Budget.of(
        epsilon=options.epsilon, delta=delta, accounting=Accounting(options.accounting)
    )
    if records is not None:
        budget.check_against_rows(records)
    return budget


def _settings(method: Method, given: Mapping[str, Any], preset: str | None) -> Any:
    """The settings of a method; a value of a wrong kind is refused before it can stop a run that
    has spent.
    """
    _check_kinds(method, given)
    try:
        return method.settings(given, preset)
    except (TypeError, ValueError, AttributeError):
        raise SettingsError(
            f"method {method.name}: a setting has a value of the wrong kind."
        ) from None


def _check_kinds(method: Method, given: Mapping[str, Any]) -> None:
    """Refuse a value of another kind than its setting declares, where that is a simple one."""
    try:
        hints = typing.get_type_hints(method.mechanism.settings)
    # an author's annotations that cannot be read: the class itself takes the values, or refuses
    except (NameError, TypeError):
        return
    for name, value in given.items():
        kinds = _kinds(hints.get(name))
        if kinds and value is not None and not any(is_of_kind(value, kind) for kind in kinds):
            allowed = " or ".join(kind.__name__ for kind in kinds)
            raise SettingsError(
                f"method {method.name}: setting {name} must be of the kind {allowed}, not"
                f" {type(value).__name__}."
            )


def _kinds(hint: Any) -> tuple[type, ...]:
    """The simple kinds that a hint allows, or none where it allows others."""
    parts = (
        typing.get_args(hint)
        if typing.get_origin(hint) in (typing.Union, types.UnionType)
        else (hint,)
    )
    parts = tuple(part for part in parts if part is not type(None))
    return parts if all(part in (bool, int, float, str) for part in parts) else ()


def _with_targets(method: Method, settings: Any, options: RunOptions, schema: Schema) -> Any:
    """The settings with the columns that models will predict."""
    if options.target is None:
        return settings
    if not hasattr(settings, "targets"):
        raise SettingsError(
            f"method {method.name} has no targets. Leave --target out, or use {DEFAULT_METHOD}."
        )
    for name in options.target:
        if name not in schema.domain.names:
            raise SettingsError(
                f"--target names the column {name!r}, which the schema does not have."
            )
    return replace(settings, targets=tuple(options.target))


def _check_codes(workload: Workload, refinement: RefinementPlan) -> None:
    """Refuse functions and intervals of codes that nobody knows before the run."""
    refined = {column.name for column in refinement.columns}
    for family in workload:
        found = [name for name in family.columns if name in refined]
        if isinstance(family, Custom) and found:
            raise WorkloadError(
                f"custom query {family}: column {found[0]!r} has no bins yet. Declare bins for it."
            )
        if isinstance(family, Halfspace) and family.points is not None and found:
            raise WorkloadError(
                f"{family} has points of codes, and column {found[0]!r} has no bins yet. Leave them"
                " out."
            )
        if isinstance(family, Range) and (
            listed := [c for c in found if isinstance(family.along.get(c), tuple)]
        ):
            raise WorkloadError(
                f"range family {family} lists intervals of codes, and column {listed[0]!r} has no"
                " bins yet. Declare bins for it, or ask for 'all' or 'prefixes'."
            )


def check_size(settings: Any, domain: Domain) -> None:
    """Refuse relaxed rows that would make a release too large to be read."""
    relaxed_rows = getattr(settings, "synthetic_rows", 1)
    if 4 * relaxed_rows * domain.onehot_size > MAX_ARCHIVE_BYTES:
        most = MAX_ARCHIVE_BYTES // 4 // domain.onehot_size
        raise SettingsError(
            f"a release of {relaxed_rows:,} relaxed rows would be too large to be read. Use"
            f" --synthetic-rows {most}."
        )


def _workload(
    schema: Schema, domain: Domain, options: RunOptions, records: int | None, notes: list[str]
) -> Workload:
    """The workload given, with the families that code of the user's own adds."""
    code = NamedCode.of(options.queries)
    added = code.families(schema)
    marginals_asked_for = (
        options.workload is not None or options.kway is not None or options.marginals is not None
    )
    if not added:
        return _given_workload(schema, domain, options, records, notes, code)
    limit = options.max_cells or MAX_CELLS
    if not marginals_asked_for:
        return Workload(domain, tuple(added), max_cells=limit)
    given = _given_workload(schema, domain, options, records, notes, code)
    return Workload(
        domain,
        (*given.families, *added),
        (*given.weights, *(1.0 for _ in added)),
        max_cells=max(given.max_cells, limit),
    )


def _listed_workload(
    given: Sequence[Any] | Marginal, domain: Domain, options: RunOptions
) -> Workload:
    """A workload from a list in Python: each entry a query family, a column, or columns.

    A tuple of names is a marginal elsewhere and a sequence of marginals here, so it is refused.
    """
    if isinstance(given, tuple) and len(given) > 1 and all(isinstance(c, str) for c in given):
        raise WorkloadError(
            f"--workload {given!r} may mean one marginal or {len(given)}. Write [{given!r}] for one,"
            f" {list(given)!r} for one of each column."
        )
    entries: Sequence[Any] = [given] if isinstance(given, Marginal) else given
    return Workload(
        domain, tuple(map(as_family, entries)), max_cells=options.max_cells or MAX_CELLS
    )


def _given_workload(
    schema: Schema,
    domain: Domain,
    options: RunOptions,
    records: int | None,
    notes: list[str],
    code: NamedCode,
) -> Workload:
    """The workload given; by default 3-way marginals that fit, or fewer columns if none does."""
    given: Any = options.workload
    if given is not None:
        if options.kway is not None or options.marginals is not None:
            raise SettingsError("give a workload file or --kway/--marginals, not both.")
        if isinstance(given, Workload):
            return given if given.domain.sizes == domain.sizes else replace(given, domain=domain)
        if isinstance(given, Sequence | Marginal) and not isinstance(given, str):
            return _listed_workload(given, domain, options)
        if not isinstance(given, str | Path):
            raise SettingsError(
                "--workload must be a Workload, a list of marginals, or the path of a workload"
                " file."
            )
        if isinstance(given, str) and not Path(given).is_file() and not Path(given).suffix:
            raise WorkloadError(
                f"there is no workload file {given!r}. In Python, marginals are listed:"
                " workload=[('age', 'sex'), 'region']."
            )
        return read_workload(
            given,
            domain,
            max_cells=options.max_cells or MAX_CELLS,
            load=lambda name: code.load(name, schema),
        )
    limit = options.max_cells or records or PRIVATE_ROWS_MAX_CELLS
    usual = min(3, len(domain))
    k = options.kway
    if k is None:
        k = max(widest_that_fits(domain, usual, limit), 1)
        if k < usual:
            notes.append(
                f"{k}-way instead of {usual}-way marginals: no {usual}-way marginal has at most"
                f" {limit:,} cells, the smallest has {fewest_cells(domain, usual):,}"
            )
    if options.marginals is not None:
        return random_kway(domain, k, options.marginals, rows=limit, seed=options.workload_seed)
    workload = all_kway(domain, k, max_cells=limit)
    too_many = len(workload) > MANY_MARGINALS or workload.queries > MANY_QUERIES
    if options.kway is None and k == 3 and too_many:
        notes.append(
            f"2-way instead of 3-way marginals: {len(workload):,} 3-way marginals are too many for"
            " a default"
        )
        workload = all_kway(domain, 2, max_cells=limit)
    elif options.kway is None:
        notes.append(f"workload: all {k}-way marginals with at most {limit:,} cells")
    return workload
