"""A plan: everything about a run that is decided before private data are touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dprap.accounting import Accounting, Budget, Neighbors, Relation, default_delta
from dprap.display import ShownInNotebooks
from dprap.domain import Domain
from dprap.errors import BudgetError, DprapError, SettingsError
from dprap.limits import MAX_ARCHIVE_BYTES, MAX_SEED
from dprap.mechanisms import DEFAULT_METHOD
from dprap.mechanisms.refinement.planning import RefinementPlan, plan_refinement
from dprap.mechanisms.registry import Method, method_named
from dprap.public_table import PublicTable, read_public
from dprap.queries import Marginal, from_cells
from dprap.runs.asked_workload import asked_workload, check_codes
from dprap.runs.discovery_plan import DiscoveryPlan
from dprap.runs.halfspace_points import with_points
from dprap.runs.method_settings import settings_of, with_targets
from dprap.runs.option_values import is_of_kind
from dprap.runs.options import RunOptions
from dprap.schema import Schema
from dprap.workload import MAX_CELLS, Workload

if TYPE_CHECKING:
    from dprap.runs.forecast import Forecast


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
    settings = with_targets(
        method, settings_of(method, options.settings or {}, options.preset), options, schema
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
    workload = asked_workload(schema, domain, options, public_records, notes)
    if refinement is not None:
        check_codes(workload, refinement)
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
        workload = asked_workload(
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
                " below one in the number of people, for example --delta 1e-9. Where the number is"
                " public, use replace neighbours; a plan then takes it as --records."
            )
        delta = default_delta(records)
        notes.append(f"delta = 1/n² = {delta:.3g}")
    budget = Budget.of(
        epsilon=options.epsilon, delta=delta, accounting=Accounting(options.accounting)
    )
    if records is not None:
        budget.check_against_rows(records)
    return budget


def check_size(settings: Any, domain: Domain) -> None:
    """Refuse relaxed rows that would make a release too large to be read."""
    relaxed_rows = getattr(settings, "synthetic_rows", 1)
    if 4 * relaxed_rows * domain.onehot_size > MAX_ARCHIVE_BYTES:
        most = MAX_ARCHIVE_BYTES // 4 // domain.onehot_size
        raise SettingsError(
            f"a release of {relaxed_rows:,} relaxed rows would be too large to be read. Use"
            f" --synthetic-rows {most}."
        )
