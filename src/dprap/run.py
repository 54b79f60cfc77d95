"""Carry out a plan on a private table: the one place where a mechanism meets a curator."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from dprap.array_types import Answers
from dprap.mechanisms.records import estimate_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.plan import Plan
from dprap.privacy import Certificate, Curator, Ledger, Measurement
from dprap.relaxed import answers
from dprap.release.release import Release, RunFacts
from dprap.release.statement import PrivacyStatement
from dprap.sources import CountSource
from dprap.version import __version__

MEMORY_GRAIN_MB = 256
"""Peak memory is published rounded up to a multiple of this, because it depends on the private table."""


def execute(
    plan: Plan,
    source: CountSource,
    *,
    ledger: Ledger | None = None,
    run: str | None = None,
    insecure_noise_seed: int | None = None,
    progress: ProgressCallback = silent,
) -> Release:
    """Spend the plan's budget on the source and return what may be published."""
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
    progress(Progress("count", 0, 1, f"{len(plan.workload):,} marginals"))
    curator.prepare(plan.workload.families)
    start = {} if plan.public is None else {"public": plan.public}
    result = plan.method.run(curator, plan.workload, plan.settings, seed=plan.seed, progress=progress, **start)
    rows = _rows(curator, result)
    curator.set_aside(0)
    certificate = _certify(curator, plan, result, rows, certificate_rho)
    curator.finish()
    return Release(
        schema=plan.schema,
        workload=plan.workload,
        privacy=_statement(plan, curator),
        facts=RunFacts(
            method=plan.method.name,
            settings=_plain(asdict(plan.settings)),
            seed=plan.seed,
            seconds=round(max(0.0, time.monotonic() - started - curator.private_seconds), 1),
            peak_memory_mb=_coarse_peak_memory() if plan.neighbors.rows_are_public else None,
            version=__version__,
            created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        ),
        rows=rows,
        relaxed=result.relaxed,
        workload_shares=None if result.answers is None else tuple(result.answers),
        measurements=result.measurements,
        certificate=certificate,
        public=None if plan.public is None else plan.public.facts,
    )


def peak_memory_mb() -> float:
    """The most memory this process has held. It depends on the exact data: for the steward, never for a release."""
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held / (1 << 20 if sys.platform == "darwin" else 1 << 10)  # bytes there, kilobytes elsewhere


def _coarse_peak_memory() -> float:
    return float(math.ceil(peak_memory_mb() / MEMORY_GRAIN_MB) * MEMORY_GRAIN_MB)


def _rows(curator: Curator, result: MechanismResult) -> int:
    """The number of records to publish: public, or the estimate by which the mechanism made counts fractions."""
    if curator.neighbors.rows_are_public:
        return curator.n
    measured = [item for item in result.measurements if isinstance(item, Measurement)]
    estimate = estimate_records(measured) if result.records is None and measured else result.records
    return max(1, round(estimate or 0))


def _certify(curator: Curator, plan: Plan, result: MechanismResult, rows: int, rho: Fraction) -> Certificate | None:
    if rho == 0:
        return None

    def estimates_counts() -> Iterator[Answers]:
        shares = answers(result.relaxed, plan.workload.families) if result.relaxed is not None else result.answers or ()
        for share in shares:
            yield share * rows

    return curator.certify(plan.workload.families, estimates_counts(), rho=rho)


def _statement(plan: Plan, curator: Curator) -> PrivacyStatement:
    return PrivacyStatement(
        epsilon=plan.budget.epsilon,
        delta=plan.budget.delta,
        rho_planned=float(plan.budget.rho),
        rho_spent=float(curator.spent),
        relation=plan.neighbors.relation.value,
        max_rows_per_person=plan.neighbors.max_rows_per_person,
        accounting=plan.budget.accounting.value,
        private=curator.private,
    )


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as plain data for the release file."""
    return {
        name: _plain(value)
        if isinstance(value, dict)
        else value
        if isinstance(value, str | int | float | bool | None)
        else str(value)
        for name, value in settings.items()
    }
