"""What a report shows of one column, as numbers: from the release alone, but for the truth where it
is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dprap.array_types import Float
from dprap.errors import WorkloadError
from dprap.evaluate import Evaluation
from dprap.release import Release, breakdown
from dprap.release.intervals import Interval, Kind
from dprap.release.intervals.fidelity import too_noisy
from dprap.release.intervals.interval import count_intervals
from dprap.schema import Column
from dprap.schema.columns.binned import BinnedColumn

Shares = Float[np.ndarray, " codes"]

# Bars that a plot can hold side by side; more codes are drawn together.
MAX_BARS = 40
# Values that a list shows; the rest are one line.
MAX_LISTED = 12

# Bins that differ more in width are drawn on a logarithmic axis.
_MOST_UNEQUAL = 30


# On such an axis no bar is narrower than this share of it, or it could not be seen.
_NARROWEST_BAR = 0.025


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
            and bool(
                too_noisy(
                    np.array([self.interval.estimate]), np.array([self.interval.standard_error])
                )[0]
            )
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


def released_as(release: Release) -> str:
    """What the shares of a release are those of: of data, or of answers where there are no rows."""
    return "published answers" if release.relaxed is None else "synthetic data"


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
        (interval,) = count_intervals(
            release, (name,), np.array([synthetic[group].sum() * release.rows]), kind=kind
        )
        errors = measured.standard_errors[group]
        known = bool(np.isfinite(errors).all())
        bars.append(
            Bar(
                label=_group_label(release, name, group, ordered=ordered),
                synthetic=float(synthetic[group].sum()),
                measured=float(measured.counts[group].sum()) / release.rows if known else None,
                standard_error=(
                    math.sqrt(float((errors**2).sum())) / release.rows if known else None
                ),
                truth=None if truth is None else float(truth[group].sum()),
                rest=len(group) > 1 and not ordered,
                missing=group == [column.null_code],
                span=_span(column, group),
                interval=interval,
            )
        )
    origins = tuple(sorted({str(origin) for origin in measured.origins.ravel() if origin}))
    return ColumnView(
        name, column.type, column.size, ordered, origins, tuple(bars), _axis_ticks(column, bars)
    )


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
    """Where a value stands on an axis from 0 to 1: to scale, or logarithmic where bins differ very
    much.

    >>> axis_position(5.0, [(0.0, 5.0), (5.0, 10.0)])
    0.5
    """
    low, high = spans[0][0], spans[-1][1]
    if not is_logarithmic(spans):
        return (value - low) / ((high - low) or 1.0)
    # A bin for zero alone is no measure of the others, so the lower quartile of widths is.
    usual = sorted(stop - start for start, stop in spans)[len(spans) // 4]
    edges = [low, *(stop for _, stop in spans)]
    widths = np.diff(np.arcsinh([(edge - low) / usual for edge in edges]))
    places = np.cumsum([0.0, *np.maximum(widths, _NARROWEST_BAR * widths.sum())])
    return float(np.interp(value, edges, places / places[-1]))


def is_logarithmic(spans: Sequence[tuple[float, float]]) -> bool:
    """Whether bins are so unequal that the narrow ones would vanish on a linear axis."""
    widths = [stop - start for start, stop in spans]
    return max(widths) > _MOST_UNEQUAL * min(widths)


def axis_text(column: BinnedColumn, value: float, edges: Sequence[float]) -> str:
    """A value at the axis: short, and no finer than the axis needs."""
    if column.is_number:
        return _short_number(value)
    text = column.edge_text(value)
    days = (edges[-1] - edges[0]) / column.units_per_day
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
    """Codes that are drawn together: neighbouring bins, or the smallest of a long list; null always
    alone.
    """
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
    return (
        f"{bin_ends(first)[0]} to {bin_ends(last)[1]}" if ordered else f"{len(group)} other values"
    )


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
