"""Carry out a plan on a private table: the one place where a mechanism meets a curator.

After the last measurement was paid for, nothing that is mere post-processing may take the release
away: a table that cannot be drawn and intervals that cannot be found are left out, and the log says
so.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dprap.accounting import Certificate, DrawnTable, Measurement
from dprap.array_types import Answers
from dprap.blas_threads import one_blas_thread
from dprap.encoding import Codes
from dprap.errors import BudgetError, SettingsError
from dprap.mechanisms.record_count import estimate_records
from dprap.mechanisms.refinement.refine import refine
from dprap.mechanisms.result import MechanismResult, Paced, Progress, ProgressCallback, silent
from dprap.mechanisms.rounds import rounds_within
from dprap.privacy import Curator, Ledger
from dprap.relaxed import answers
from dprap.release.certified import table_digest
from dprap.release.draw_records import MOST_ROWS_HELD, draw_table, matched_marginals, mixing_of
from dprap.release.output_checks import check_rows
from dprap.release.privacy_statement import PrivacyStatement
from dprap.release.release import Release, RunFacts
from dprap.release.sharp_pairs import sharp_pairs
from dprap.release.table_answers import table_answers
from dprap.runs.calibrate import calibrate
from dprap.runs.halfspace_points import with_points
from dprap.runs.plan import Plan
from dprap.sources import CountSource
from dprap.version import __version__

_log = logging.getLogger("dprap")

Made = TypeVar("Made")


@one_blas_thread()
def execute(
    plan: Plan,
    source: CountSource,
    *,
    ledger: Ledger | None = None,
    run: str | None = None,
    insecure_noise_seed: int | None = None,
    progress: ProgressCallback = silent,
    table_rows: int | None = None,
) -> Release:
    """Spend the plan's budget on the source and return what may be published.

    `table_rows` is the number of rows of the synthetic table that is drawn and certified; unless
    given, as many as there are records, or as the noisy total says. Tables of more than ten million
    rows are not.
    """
    if table_rows is not None:
        check_rows(table_rows, plan.schema)
    started = time.monotonic()
    curator = Curator(
        source,
        budget=plan.budget,
        neighbors=plan.neighbors,
        ledger=ledger,
        run=run,
        insecure_noise_seed=insecure_noise_seed,
        max_cells=plan.max_cells,
    )
    certificate_rho = curator.budget.rho * Fraction(plan.certificate_share)
    curator.set_aside(certificate_rho)
    refinement = None
    if plan.refinement is not None:
        progress(Progress("refine", 0, 1, f"{len(plan.refinement.columns)} columns without bins"))
        refinement = refine(curator, plan.schema, plan.refinement)
        workload = replace(plan.workload, domain=refinement.schema.domain)
        plan = replace(
            plan, schema=refinement.schema, workload=with_points(workload, refinement.schema)
        )
        plan = replace(plan, settings=rounds_within(plan.settings, plan.workload))
    progress(Progress("count", 0, 1, f"{len(plan.workload):,} marginals"))
    curator.prepare(plan.workload.families)
    result = plan.method.run(
        curator, plan.workload, plan.settings, seed=plan.seed, progress=progress, **plan.known
    )
    if not isinstance(result, MechanismResult):  # of a package that a type checker never saw
        raise SettingsError(
            f"method {plan.method.name} returned {type(result).__name__}, and its run must return a"
            " MechanismResult. What it measured is paid for."
        )
    rows = _rows(curator, plan, result)
    curator.set_aside(0)
    certificate, codes = None, None
    if certificate_rho:
        codes = _drawn(plan, result, rows, table_rows or rows, progress)
        certificate = _certify(curator, plan, result, rows, codes, certificate_rho, progress)
    curator.finish()
    release = Release(
        schema=plan.schema,
        workload=plan.workload,
        privacy=_statement(plan, curator),
        facts=RunFacts(
            method=plan.method.name,
            settings=_plain(asdict(plan.settings)),
            seed=plan.seed,
            seconds=round(max(0.0, time.monotonic() - started - curator.private_seconds), 1),
            peak_memory_mb=None,
            version=__version__,
            created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        ),
        rows=rows,
        relaxed=result.relaxed,
        workload_shares=None if result.answers is None else tuple(result.answers),
        measurements=result.measurements,
        certificate=certificate,
        public=None if plan.public is None else plan.public.facts,
        drawn=codes,
        refinement=None if refinement is None else refinement.columns,
    )
    if not plan.intervals:
        return release
    errors = _or_none(
        lambda told: calibrate(plan, release, result.predictions, progress=told),
        progress,
        "intervals were not found",
    )
    return replace(release, errors=errors)


def _or_none(
    make: Callable[[ProgressCallback], Made], progress: ProgressCallback, failed: str
) -> Made | None:
    """What post-processing makes; None where it fails.

    Whoever stops the run by its progress is obeyed.
    """
    stopped: list[BaseException] = []

    def told(each: Progress) -> None:
        try:
            progress(each)
        except BaseException as error:
            stopped.append(error)
            raise

    try:
        return make(told)
    except Exception as error:
        if stopped:
            raise stopped[0] from None
        _log.warning(
            "%s (%s). All that was paid for is in the release.", failed, type(error).__name__
        )
        return None


def _rows(curator: Curator, plan: Plan, result: MechanismResult) -> int:
    """The number of records to publish: public, or the estimate that the mechanism paid for."""
    if curator.neighbors.rows_are_public:
        return curator.n
    measured = [item for item in result.measurements if isinstance(item, Measurement)]
    if result.records is None and not measured:
        raise BudgetError(
            f"method {plan.method.name} bought no number of records, which is private under"
            " add-remove neighbours. Its run must measure Marginal(()) and return that"
            " measurement."
        )
    estimate = estimate_records(measured) if result.records is None else result.records
    if not math.isfinite(estimate):
        raise SettingsError(
            f"method {plan.method.name} returned records={estimate!r}, and it must be a finite"
            " number. What it measured is paid for."
        )
    return max(1, round(estimate))


def _drawn(
    plan: Plan, result: MechanismResult, records: int, rows: int, progress: ProgressCallback
) -> Codes | None:
    """The synthetic table to certify, or None where there is none to certify."""
    # A table that is too long to be held is not certified: then the fitted answers alone are, and
    # the table, which is written chunk by chunk, has a bound widened by its distance to them.
    if result.relaxed is None or rows > MOST_ROWS_HELD:
        return None
    progress(Progress("table", 0, 1, f"{rows:,} rows"))
    relaxed = result.relaxed

    def draw(told: ProgressCallback) -> Codes:
        meanwhile = Paced(told)

        def watch(done: int, steps: int) -> None:
            meanwhile(Progress("table", done, steps, f"{rows:,} rows"))

        marginals = matched_marginals(plan.workload, result.measurements)
        sharp = sharp_pairs(plan.schema, relaxed, result.measurements, records)
        return draw_table(
            relaxed,
            plan.schema,
            marginals,
            rows=rows,
            seed=plan.seed,
            sharp=sharp,
            mix=mixing_of(plan.workload, result.measurements, records=records, rows=rows),
            watch=watch,
        )

    # It fails where the constraints leave no record to draw; then `Release.table` says so. What was
    # paid for is certified.
    return _or_none(
        draw,
        progress,
        "no table was drawn, so that the certificate covers the fitted answers alone",
    )


def _certify(
    curator: Curator,
    plan: Plan,
    result: MechanismResult,
    rows: int,
    codes: Codes | None,
    rho: Fraction,
    progress: ProgressCallback,
) -> Certificate:
    """Certify the fitted answers and, where one was drawn, the synthetic table."""
    families = plan.workload.families
    progress(Progress("certify", 0, len(families)))
    fitted = (
        answers(result.relaxed, families) if result.relaxed is not None else result.answers or ()
    )
    meanwhile = Paced(progress)
    fitted = meanwhile.each(fitted, "certify", len(families))
    table = None
    if codes is not None:

        def watch(done: int, records: int) -> None:
            meanwhile(Progress("certify", done, records, "rows of the table counted"))

        drawn = table_answers(codes, families, watch=watch)
        table = DrawnTable(codes.rows, table_digest(codes), _in_counts(drawn, rows))
    return curator.certify(families, _in_counts(fitted, rows), rho=rho, table=table)


def _in_counts(shares: Iterable[Answers], rows: int) -> Iterator[Answers]:
    for share in shares:
        yield np.asarray(share, dtype=np.float64) * rows


def _statement(plan: Plan, curator: Curator) -> PrivacyStatement:
    return PrivacyStatement(
        epsilon=plan.budget.epsilon,
        delta=plan.budget.delta,
        rho_planned=float(plan.budget.whole_rho),
        rho_spent=float(curator.spent + plan.budget.other_rho),
        relation=plan.neighbors.relation.value,
        max_rows_per_person=plan.neighbors.max_rows_per_person,
        accounting=plan.budget.accounting.value,
        private=curator.private,
        discovery_rho=float(plan.budget.other_rho),
        discovery_delta=plan.budget.threshold_delta,
    )


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as plain data for the release file."""
    return {
        name: (
            _plain(value)
            if isinstance(value, dict)
            else value
            if isinstance(value, str | int | float | bool | None)
            else str(value)
        )
        for name, value in settings.items()
    }
