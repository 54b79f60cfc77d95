"""What a report shows, as numbers: everything here follows from the release alone, but for `truth` where it is given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dprap.accounting.measurement import Measurement
from dprap.errors import WorkloadError
from dprap.evaluate import Evaluation
from dprap.products import product
from dprap.queries import Family, Marginal, from_cells
from dprap.relaxed import RelaxedDataset
from dprap.release import Release, breakdown
from dprap.release.intervals import Interval, Kind
from dprap.release.intervals.fidelity import too_noisy
from dprap.release.intervals.interval import count_intervals
from dprap.schema import Column
from dprap.schema.columns.binned import BinnedColumn

Shares = Float[np.ndarray, " codes"]
MAX_BARS = 40
MAX_LISTED = 12
ASSOCIATION_GROUPS = 16
MAX_RESIDUAL_CELLS = 5_000_000
# Bins that differ more in width are drawn on a logarithmic axis.
_MOST_UNEQUAL = 30
# Rows that are shown as examples, and pairs that get a picture.
SAMPLE_ROWS = 8
PAIR_PLOTS = 6


@dataclass(frozen=True)
class Truth:
    """What only the owner of the private table may see. NOT PRIVATE."""

    columns: Mapping[str, Shares]
    association: Float[np.ndarray, "columns columns"] | None
    evaluation: Evaluation


@dataclass(frozen=True)
class Bar:
    """A value, bin, or several of them drawn together; `span` is where a bin begins and ends."""

    label: str
    synthetic: float
    measured: float | None
    standard_error: float | None
    truth: float | None
    rest: bool = False
    missing: bool = False
    span: tuple[float, float] | None = None
    interval: Interval | None = None

    @property
    def noisy(self) -> bool:
        """Whether the share is too noisy to publish."""
        return (
            self.interval is not None
            and self.interval.known
            and bool(too_noisy(np.array([self.interval.estimate]), np.array([self.interval.standard_error]))[0])
        )


@dataclass(frozen=True)
class ColumnView:
    """One column's distribution as synthetic and as measured.

    `ticks` are values of an ordered column in words, for its axis.
    """

    name: str
    kind: str
    codes: int
    ordered: bool
    measured_by: tuple[str, ...]
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...] = ()

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
        kind = Kind.CELL if len(group) == 1 else Kind.RANGE
        (interval,) = count_intervals(release, (name,), np.array([synthetic[group].sum() * release.rows]), kind=kind)
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
                span=_span(column, group),
                interval=interval,
            )
        )
    origins = tuple(sorted({str(origin) for origin in measured.origins.ravel() if origin}))
    return ColumnView(name, column.type, column.size, ordered, origins, tuple(bars), _axis_ticks(column, bars))


def _span(column: Column, group: Sequence[int]) -> tuple[float, float] | None:
    """Where the bins of a group begin and end; None where the column has no bins, and for null."""
    if not isinstance(column, BinnedColumn) or group[-1] >= column.regular:
        return None
    return float(column.bin_edges[group[0]]), float(column.bin_edges[group[-1] + 1])


def _axis_ticks(column: Column, bars: Sequence[Bar]) -> tuple[tuple[float, str], ...]:
    """About five edges of bins with their texts, spread over the axis as it is drawn."""
    spans = [bar.span for bar in bars if bar.span is not None]
    if not isinstance(column, BinnedColumn) or not spans:
        return ()
    edges = [spans[0][0], *(span[1] for span in spans)]
    at = [axis_position(edge, spans) for edge in edges]
    wanted = np.linspace(0, 1, 5)
    chosen = sorted({int(np.argmin([abs(place - want) for place in at])) for want in wanted})
    return tuple((edges[index], axis_text(column, edges[index], edges)) for index in chosen)


def axis_position(value: float, spans: Sequence[tuple[float, float]]) -> float:
    """Where a value stands on an axis from 0 to 1: to scale, or logarithmic where bins differ very much.

    >>> axis_position(5.0, [(0.0, 5.0), (5.0, 10.0)])
    0.5
    """
    low, high = spans[0][0], spans[-1][1]
    if not is_logarithmic(spans):
        return (value - low) / ((high - low) or 1.0)
    narrowest = min(stop - start for start, stop in spans)
    place = [math.asinh((each - low) / narrowest) for each in (value, high)]
    return place[0] / (place[1] or 1.0)


def is_logarithmic(spans: Sequence[tuple[float, float]]) -> bool:
    """Whether bins are so unequal that the narrow ones would vanish on a linear axis."""
    widths = [stop - start for start, stop in spans]
    return max(widths) > _MOST_UNEQUAL * min(widths)


def axis_text(column: BinnedColumn, value: float, edges: Sequence[float]) -> str:
    """A value at the axis: short, and no finer than the axis needs."""
    if column.type in ("integer", "number"):
        return _short_number(value)
    text = column.edge_text(value)
    days = (edges[-1] - edges[0]) / (1 if column.type == "date" else 86_400e6)
    return text[:4] if days > 5 * 365 else text[:7] if days > 150 else text[:10]


def _short_number(value: float) -> str:
    """A number in few signs.

    >>> [_short_number(value) for value in (0, 12.5, 65000, 1_791_740.0)]
    ['0', '12.5', '65k', '1.79M']
    """
    for least, unit, sign in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / unit:.3g}{sign}"
    return f"{value:.4g}"


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
    discovery = release.privacy.discovery_rho
    choosing = release.privacy.rho_spent - sum(part.rho for part in parts) - certificate - discovery
    if choosing > 1e-9 * release.privacy.rho_planned:
        # a run of one round measures all queries and keeps none of these measurements
        name = "choosing what to measure" if parts else "measuring all queries"
        parts.insert(0, BudgetPart(name, choosing, "the worst-answered, through noise" if parts else ""))
    if discovery:
        parts.insert(0, BudgetPart("discovering domains", discovery, f"{len(release.schema.discovered):,} columns"))
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
        if release.relaxed is not None and cells <= MAX_RESIDUAL_CELLS and from_cells(family, domain):
            answers = release.shares(family)[0].ravel() * release.rows
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
    joint = product(stacked * weights, stacked.T)
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
    return np.add.reduceat(table, _starts(product(table, weights)), axis=0)


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


@dataclass(frozen=True)
class PairView:
    """The joint distribution of two columns, long ones in groups."""

    columns: tuple[str, str]
    association: float
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    shares: Float[np.ndarray, "first second"]


def pair_views(release: Release, found: Float[np.ndarray, "columns columns"]) -> list[PairView]:
    """The pairs with the strongest association, from the relaxed rows."""
    relaxed = release.relaxed
    names = release.schema.domain.names
    if relaxed is None:
        return []
    pairs = sorted(((found[a, b], b, a) for a in range(len(names)) for b in range(a)), reverse=True)[:PAIR_PLOTS]
    weights = np.asarray(relaxed.weights, dtype=np.float64)
    views = []
    for value, a, b in pairs:
        sides = [_grouped_block(release, name, weights) for name in (names[a], names[b])]
        shares = product(sides[0][1] * weights, sides[1][1].T)
        views.append(PairView((names[a], names[b]), float(value), (sides[0][0], sides[1][0]), shares))
    return views


def _grouped_block(
    release: Release, name: str, weights: Float[np.ndarray, " rows"]
) -> tuple[tuple[str, ...], Float[np.ndarray, "groups rows"]]:
    """Labels and probabilities of a column's codes; neighbouring codes of a long column together."""
    assert release.relaxed is not None  # noqa: S101 - callers have rows
    block = np.asarray(release.relaxed.block(name), dtype=np.float64)
    label = release.schema.label
    if len(block) <= ASSOCIATION_GROUPS:
        return tuple(label(name, code) for code in range(len(block))), block
    starts = [int(start) for start in _starts(product(block, weights))]
    ends = [*(start - 1 for start in starts[1:]), len(block) - 1]
    labels = tuple(
        label(name, first) if first == last else f"{bin_ends(label(name, first))[0]} … {bin_ends(label(name, last))[1]}"
        for first, last in zip(starts, ends, strict=True)
    )
    return labels, np.add.reduceat(block, starts, axis=0)
