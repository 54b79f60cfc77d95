"""What a report shows of the budget and of the measurements, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dprap.accounting.measurement import Measurement
from dprap.array_types import Float
from dprap.queries import Family, from_cells
from dprap.release import Release

# Cells whose residuals are shown: their histogram does not change beyond.
MAX_RESIDUAL_CELLS = 5_000_000


@dataclass(frozen=True)
class BudgetPart:
    """A step of the run and what it cost."""

    name: str
    rho: float
    detail: str


def budget_parts(release: Release) -> list[BudgetPart]:
    """The budget by kind of step; what no measurement and no certificate took went into
    choosing.
    """
    measured: dict[str, list[float]] = {}
    for item in release.measurements:
        if not isinstance(item, Measurement):
            kind = "single queries"
        elif not item.marginal.columns:
            kind = "the number of records"
        else:
            kind = f"{len(item.marginal.columns)}-way marginals"
        measured.setdefault(kind, []).append(item.rho)
    parts = [
        BudgetPart(f"measuring {kind}", sum(costs), f"{len(costs):,} measured")
        for kind, costs in measured.items()
    ]
    certificate = 0.0 if release.certificate is None else release.certificate.rho
    discovery = release.privacy.discovery_rho
    choosing = release.privacy.rho_spent - sum(part.rho for part in parts) - certificate - discovery
    if choosing > 1e-9 * release.privacy.rho_planned:
        # a run of one round measures all queries and keeps none of these measurements
        name = "choosing what to measure" if parts else "measuring all queries"
        parts.insert(
            0, BudgetPart(name, choosing, "the worst-answered, through noise" if parts else "")
        )
    if discovery:
        parts.insert(
            0,
            BudgetPart(
                "discovering domains", discovery, f"{len(release.schema.discovered):,} columns"
            ),
        )
    if release.certificate is not None:
        parts.append(
            BudgetPart(
                "the accuracy certificate", certificate, f"{release.certificate.queries:,} queries"
            )
        )
    left = release.privacy.rho_planned - release.privacy.rho_spent
    if left > 1e-9 * release.privacy.rho_planned:
        parts.append(BudgetPart("not spent", left, ""))
    return parts


@dataclass(frozen=True)
class MeasuredFamily:
    """All measurements of one family."""

    name: str
    cells: int
    measured: int
    stddev_counts: float
    rho: float
    residual: float | None


def measured_families(release: Release) -> tuple[list[MeasuredFamily], Float[np.ndarray, " cells"]]:
    """Measurements by family, the most expensive first, and all residuals (synthetic minus
    measured) in standard deviations.
    """
    domain = release.schema.domain
    by_family: dict[Family, list[tuple[np.ndarray, np.ndarray, float, float]]] = {}
    for item in release.measurements:
        if isinstance(item, Measurement):
            family: Family = item.marginal
            entry = np.arange(item.counts.size), item.counts.ravel().astype(np.float64)
        else:
            family = item.query.family
            entry = np.array([item.query.index]), np.array([item.count])
        by_family.setdefault(family, []).append((*entry, item.stddev_counts, item.rho))
    found, residuals, cells = [], [np.zeros(0)], 0
    for family, entries in by_family.items():
        cells += family.size(domain)
        answers = None
        if (
            release.relaxed is not None
            and cells <= MAX_RESIDUAL_CELLS
            and from_cells(family, domain)
        ):
            answers = release.shares(family)[0].ravel() * release.rows
        own = (
            np.zeros(0)
            if answers is None
            else np.concatenate(
                [(answers[index] - counts) / stddev for index, counts, stddev, _ in entries]
            )
        )
        residuals.append(own)
        found.append(
            MeasuredFamily(
                name=str(family),
                cells=family.size(domain),
                measured=len({int(at) for index, *_ in entries for at in index}),
                stddev_counts=min(stddev for *_, stddev, _ in entries),
                rho=sum(rho for *_, rho in entries),
                residual=float(np.sqrt(np.mean(own**2))) if own.size else None,
            )
        )
    return sorted(found, key=lambda each: -each.rho), np.concatenate(residuals)
