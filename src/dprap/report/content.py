"""What a report shows, as numbers: everything here follows from the release alone, but for `truth` where it is given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from dprap.accounting.measurement import Measurement
from dprap.errors import WorkloadError
from dprap.queries import Custom, Family, Marginal
from dprap.relaxed import RelaxedDataset
from dprap.release import Release, breakdown
from dprap.schema import Column

Shares = Float[np.ndarray, " codes"]
MAX_BARS = 40
MAX_LISTED = 12
ASSOCIATION_GROUPS = 16
MAX_RESIDUAL_CELLS = 5_000_000


@dataclass(frozen=True)
class Truth:
    """What only the owner of the private table may see. NOT PRIVATE."""

    columns: Mapping[str, Shares]
    association: Float[np.ndarray, "columns columns"] | None
    errors: Mapping[str, Any]


@dataclass(frozen=True)
class Bar:
    """A value, bin, or several of them drawn together."""

    label: str
    synthetic: float
    measured: float | None
    standard_error: float | None
    truth: float | None
    rest: bool = False
    missing: bool = False


@dataclass(frozen=True)
class ColumnView:
    """One column's distribution as synthetic and as measured."""

    name: str
    kind: str
    codes: int
    ordered: bool
    measured_by: tuple[str, ...]
    bars: tuple[Bar, ...]

    @property
    def worst_deviation(self) -> float | None:
        """Largest distance between synthetic and measured, in standard errors."""
        known = [
            abs(bar.synthetic - bar.measured) / bar.standard_error
            for bar in self.bars
            if bar.measured is not None and bar.standard_error
        ]
        return max(known, default=None)


def column_view(release: Release, name: str, truth: Shares | None) -> ColumnView | None:
    """The view of a column; None where the release cannot say anything about it by itself."""
    column = release.schema.columns[name]
    asked = breakdown.Asked(release.schema, ({},), (name,))
    try:
        synthetic = breakdown.shares(release, asked)
    except WorkloadError:
        return None
    measured = breakdown.measured(release, asked)
    ordered = column.is_ordered
    bars = []
    for group in _groups(column, synthetic, ordered=ordered):
        errors = measured.standard_errors[group]
        known = bool(np.isfinite(errors).all())
        bars.append(
            Bar(
                label=_group_label(release, name, group, ordered=ordered),
                synthetic=float(synthetic[group].sum()),
                measured=float(measured.counts[group].sum()) / release.rows if known else None,
                standard_error=math.sqrt(float((errors**2).sum())) / release.rows if known else None,
                truth=None if truth is None else float(truth[group].sum()),
                rest=len(group) > 1 and not ordered,
                missing=group == [column.null_code],
            )
        )
    origins = tuple(sorted({str(origin) for origin in measured.origins.ravel() if origin}))
    return ColumnView(name, column.type, column.size, ordered, origins, tuple(bars))


def _groups(column: Column, shares: Shares, *, ordered: bool) -> list[list[int]]:
    """Codes that are drawn together: neighbouring bins, or the smallest of a long list; null always alone."""
    null = [] if column.null_code is None else [[column.null_code]]
    codes = [code for code in range(column.size) if [code] not in null]
    if ordered:
        together = -(-len(codes) // MAX_BARS)
        return [codes[at : at + together] for at in range(0, len(codes), together)] + null
    if len(codes) <= MAX_LISTED + 1:
        return [[code] for code in codes] + null
    by_share = sorted(codes, key=lambda code: -shares[code])
    return [[code] for code in by_share[:MAX_LISTED]] + [sorted(by_share[MAX_LISTED:])] + null


def _group_label(release: Release, name: str, group: Sequence[int], *, ordered: bool) -> str:
    first, last = release.schema.label(name, group[0]), release.schema.label(name, group[-1])
    if len(group) == 1:
        return first
    return f"{bin_ends(first)[0]} to {bin_ends(last)[1]}" if ordered else f"{len(group)} other values"


def bin_ends(label: str) -> tuple[str, str]:
    """First and last value that the label of a bin (or of several) names.

    >>> bin_ends("30..39"), bin_ends("[0, 1.5)"), bin_ends("7"), bin_ends("0 to 3")
    (('30', '39'), ('0', '1.5'), ('7', '7'), ('0', '3'))
    """
    for between in ("..", ", ", " to "):
        first, found, last = label.strip("[])").partition(between)
        if found:
            return first, last
    return label, label


@dataclass(frozen=True)
class BudgetPart:
    """A step of the run and what it cost."""

    name: str
    rho: float
    detail: str


def budget_parts(release: Release) -> list[BudgetPart]:
    """The budget by kind of step; what no measurement and no certificate took went into choosing."""
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
        BudgetPart(f"measuring {kind}", sum(costs), f"{len(costs):,} measured") for kind, costs in measured.items()
    ]
    certificate = 0.0 if release.certificate is None else release.certificate.rho
    choosing = release.privacy.rho_spent - sum(part.rho for part in parts) - certificate
    if choosing > 1e-9 * release.privacy.rho_planned:
        # a run of one round measures all queries and keeps none of these measurements
        name = "choosing what to measure" if parts else "measuring all queries"
        parts.insert(0, BudgetPart(name, choosing, "the worst-answered, through noise" if parts else ""))
    if release.certificate is not None:
        parts.append(BudgetPart("the accuracy certificate", certificate, f"{release.certificate.queries:,} queries"))
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
    """Measurements by family, dearest first, and all residuals (synthetic minus measured) in standard deviations."""
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
        if release.relaxed is not None and cells <= MAX_RESIDUAL_CELLS and not isinstance(family, Custom):
            answers = release.answer(family)[0].ravel() * release.rows
        own = (
            np.zeros(0)
            if answers is None
            else np.concatenate([(answers[index] - counts) / stddev for index, counts, stddev, _ in entries])
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


def association(relaxed: RelaxedDataset) -> Float[np.ndarray, "columns columns"]:
    """Cramér's V of every pair of columns, from the relaxed rows; long columns are first drawn together to a few groups.

    V is 0 for unrelated columns and 1 where one determines the other.
    """
    weights = np.asarray(relaxed.weights, dtype=np.float64)
    blocks = [coarse(np.asarray(relaxed.block(name), dtype=np.float64), weights) for name in relaxed.domain.names]
    starts = np.cumsum([0, *(len(block) for block in blocks)])
    stacked = np.concatenate(blocks)
    joint = (stacked * weights) @ stacked.T
    size = len(blocks)
    found = np.eye(size)
    for a in range(size):
        for b in range(a):
            cells = joint[starts[a] : starts[a + 1], starts[b] : starts[b + 1]]
            found[a, b] = found[b, a] = cramers_v(cells)
    return found


def coarse(
    table: Float[np.ndarray, "codes rows"], weights: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, "groups rows"]:
    """Neighbouring codes drawn together to groups of about equal share."""
    if len(table) <= ASSOCIATION_GROUPS:
        return table
    return np.add.reduceat(table, _starts(table @ weights), axis=0)


def coarse_cells(cells: Float[np.ndarray, "a b"]) -> Float[np.ndarray, "groups more_groups"]:
    """A table of two columns with both drawn together as `coarse` does."""
    if len(cells) > ASSOCIATION_GROUPS:
        cells = np.add.reduceat(cells, _starts(cells.sum(axis=1)), axis=0)
    if cells.shape[1] > ASSOCIATION_GROUPS:
        cells = np.add.reduceat(cells, _starts(cells.sum(axis=0)), axis=1)
    return cells


def _starts(shares: Shares) -> np.ndarray:
    cumulative = np.cumsum(shares) - shares / 2
    groups = np.minimum(
        (cumulative / max(shares.sum(), 1e-30) * ASSOCIATION_GROUPS).astype(int), ASSOCIATION_GROUPS - 1
    )
    return np.flatnonzero(np.diff(groups, prepend=-1))


def cramers_v(cells: Float[np.ndarray, "a b"]) -> float:
    """Cramér's V of a table of shares.

    >>> round(cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]])), 6), round(cramers_v(np.array([[0.25, 0.25], [0.25, 0.25]])), 6)
    (1.0, 0.0)
    """
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    expected = np.outer(rows, columns)
    there = expected > 1e-12
    chi2 = float((((cells - expected)[there]) ** 2 / expected[there]).sum())
    freedom = min(np.count_nonzero(rows > 1e-9), np.count_nonzero(columns > 1e-9)) - 1
    return math.sqrt(min(chi2 / freedom, 1.0)) if freedom > 0 else 0.0


def pair_marginals(release: Release, max_cells: int) -> list[Marginal]:
    """All pairs of columns whose table is not too large, in the order of the lower triangle."""
    domain = release.schema.domain
    pairs = (Marginal((a, b)) for i, a in enumerate(domain.names) for b in domain.names[:i])
    return [pair for pair in pairs if pair.size(domain) <= max_cells]
