"""The workload that the options ask for: a file, a list, code of the user's own, or the default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dprap.domain import Domain
from dprap.errors import SettingsError, WorkloadError
from dprap.mechanisms.refinement.planning import RefinementPlan
from dprap.queries import Custom, Halfspace, Marginal, Range, as_family
from dprap.runs.named_code import NamedCode
from dprap.runs.options import RunOptions
from dprap.schema import Schema
from dprap.workload import MAX_CELLS, Workload, all_kway, random_kway
from dprap.workload.files import read_workload
from dprap.workload.kway import fewest_cells, parts_of_none, widest_that_fits

# Above either, the default workload falls back from 3-way to 2-way marginals.
MANY_MARGINALS = 1_000
MANY_QUERIES = 20_000_000

# Largest marginal of a default workload where the number of records is private and cannot set the
# limit.
PRIVATE_ROWS_MAX_CELLS = 50_000


def asked_workload(
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


def check_codes(workload: Workload, refinement: RefinementPlan) -> None:
    """Refuse functions and intervals of codes that nobody knows before the run."""
    refined = {column.name for column in refinement.columns}
    for family in workload:
        found = [name for name in family.columns if name in refined]
        if isinstance(family, Custom) and found:
            raise WorkloadError(
                f"custom query {family}: column {found[0]!r} has no bins yet. Declare bins for it"
                " in the schema, such as bins: 20."
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
                " bins yet. Declare bins for it (such as bins: 20), or ask for 'all' or 'prefixes'."
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
        left_out = parts_of_none(workload, k - 1, max_cells=limit)
        note = f"workload: all {k}-way marginals with at most {limit:,} cells"
        if left_out:
            note += f", and {len(left_out)} {k - 1}-way ones that are part of none of them"
            families = (*workload.families, *left_out)
            workload = Workload(domain, families, max_cells=limit)
        notes.append(note)
    return workload


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
