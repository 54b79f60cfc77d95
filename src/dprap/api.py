"""The Python interface: one call from a table to a release, and a class for those used to `fit` and `sample`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.mechanisms import DEFAULT_METHOD
from dprap.mechanisms.result import ProgressCallback, silent
from dprap.plan import Plan, WorkloadChoice, make_plan
from dprap.privacy import (
    Accounting,
    Excess,
    Ledger,
    Neighbors,
    PersonColumn,
    Relation,
    balance_lines,
    caution_lines,
    default_ledger,
    open_bounded,
)
from dprap.public import refuse_same_table
from dprap.release.release import Release, TableFormat
from dprap.run import execute
from dprap.schema import Schema
from dprap.workload import MAX_CELLS, Workload, all_kway

_log = logging.getLogger("dprap")
# Without a handler of the user's, Python shows warnings on stderr: in scripts and notebooks alike.


def synthesize(
    table: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    epsilon: float,
    delta: float | None = None,
    neighbors: Neighbors | str = Relation.REPLACE,
    person_column: str | None = None,
    excess: Excess | str = Excess.ERROR,
    accounting: Accounting | str = Accounting.EXACT,
    kway: int | None = None,
    marginals: int | None = None,
    workload: Workload | None = None,
    workload_seed: int = 0,
    max_cells: int | None = None,
    method: str = DEFAULT_METHOD,
    settings: Mapping[str, Any] | None = None,
    certificate_share: float = 0.02,
    seed: int = 0,
    public: Any = None,
    rows: int | None = None,
    ledger: Path | str | Literal[False] | None = None,
    ledger_cap_rho: float | Fraction | None = None,
    run: str | None = None,
    anchor: Path | str | None = None,
    insecure_noise_seed: int | None = None,
    progress: ProgressCallback = silent,
) -> Release:
    """Publish a private table under (epsilon, delta)-differential privacy.

    `table` is an Arrow, pandas or polars table or the path of a CSV or Parquet file; `schema` what is publicly known of it. The
    workload is all `kway` marginals that fit, `marginals` of them drawn at random, or the one given. People with several records need
    `neighbors=Neighbors(relation, max_rows_per_person)` and the `person_column` with their ids, which stands outside the
    schema; `excess` says what happens to records beyond that bound: `error`, or `drop` under add-remove neighbours. With `public`, a table
    of the same schema that everybody may see, the method `adaptive` starts from it; the release says so, and does not protect it.
    The certificate covers the fitted answers and the table that `Release.table()` gives, which has `rows` rows, or as many
    as there are records.

    Every charge is durable, in the ledger of the data set: `ledger` names its file; by default it stands beside a table in
    files, and in the user's state folder for one in memory, found again by the table's content. What was spent on the data
    set before, and the sum, is logged before anything is spent. `ledger=False` keeps **no memory of what was spent**: for
    invented data alone. `ledger_cap_rho` caps a new ledger, `anchor` is a file outside its folder, or `command:PROGRAM`, that
    remembers its last line. A `run` with a name can be resumed: the same call goes on where it stopped and spends nothing
    twice.

    >>> from dprap.datasets import example, example_schema
    >>> release = synthesize(example(500, seed=1), example_schema(), epsilon=1.0, kway=1, method="independent")
    >>> release.table(rows=10, format="arrow").num_rows
    10
    """
    checked_schema = as_schema(schema)
    checked_schema.require_reviewed()
    relation = neighbors if isinstance(neighbors, Neighbors) else Neighbors(Relation(neighbors))
    refuse_same_table(table, public)
    person = None if person_column is None else PersonColumn(person_column, Excess(excess))
    source = open_bounded(table, checked_schema, neighbors=relation, person=person)
    choice = workload or WorkloadChoice(kway=kway, marginals=marginals, seed=workload_seed, max_cells=max_cells)
    plan = make_plan(
        checked_schema,
        epsilon=epsilon,
        rows=source.rows if relation.rows_are_public else None,
        delta=delta,
        neighbors=relation,
        accounting=Accounting(accounting),
        workload=choice,
        method=method,
        settings=settings,
        certificate_share=certificate_share,
        seed=seed,
        public=public,
    )
    for line in caution_lines(plan.budget):
        _log.warning(line)
    drawn: Any = {"insecure_noise_seed": insecure_noise_seed, "progress": progress, "table_rows": rows}
    if ledger is False or (ledger is None and insecure_noise_seed is not None):
        if (ledger_cap_rho, run, anchor) != (None, None, None):
            raise SettingsError("a cap, a run's name and an anchor are kept by a ledger, and this run has none.")
        return execute(plan, source, **drawn)
    books = default_ledger(table) if ledger is None else ledger
    with Ledger(books, neighbors=relation, cap_rho=ledger_cap_rho, anchor=anchor) as opened:
        spent_before = run not in opened.state.runs and bool(opened.state.runs)
        for line in balance_lines(opened.state, plan.budget) if spent_before else []:
            _log.warning("%s (ledger %s)", line, opened.path)
        return execute(plan, source, ledger=opened, run=run, **drawn)


def marginals(schema: Schema | Domain, k: int, *, max_cells: int = MAX_CELLS) -> Workload:
    """All k-way marginals of a schema with at most `max_cells` cells."""
    return all_kway(schema if isinstance(schema, Domain) else schema.domain, k, max_cells=max_cells)


def as_schema(schema: Schema | str | Path | Mapping[str, Any]) -> Schema:
    """A schema from a file, plain data, or as it is."""
    if isinstance(schema, Schema):
        return schema
    return Schema.of(schema) if isinstance(schema, Mapping) else Schema.load(schema)


class Synthesizer:
    """`fit` and `sample`, for those who know other libraries.

    Takes the arguments of `synthesize`; the constructor only stores them.

    >>> from dprap.datasets import example, example_schema
    >>> model = Synthesizer(example_schema(), epsilon=1.0, kway=1, method="independent")
    >>> len(model.fit(example(500, seed=1)).sample(7))
    7
    """

    def __init__(self, schema: Schema | str | Path | Mapping[str, Any], *, epsilon: float, **options: Any) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.options = options

    def fit(self, table: Any) -> Synthesizer:
        """Spend the budget on a table; `release_` holds the result. A second fit spends the budget again, and says so."""
        if hasattr(self, "release_"):
            _log.warning(
                "this Synthesizer was fitted before: fitting it again spends ε = %g again, and on the same people the two "
                "add up. To draw more rows from the first fit, use sample.",
                self.epsilon,
            )
        self.release_ = synthesize(table, self.schema, epsilon=self.epsilon, **self.options)
        return self

    def sample(self, rows: int, *, format: TableFormat = "pandas", seed: int | None = None) -> Any:  # noqa: A002
        """A synthetic table; costs nothing."""
        return self.release_.table(rows, format=format, seed=seed)


__all__ = ["Plan", "Synthesizer", "as_schema", "marginals", "synthesize"]
