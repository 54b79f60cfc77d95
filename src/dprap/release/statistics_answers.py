"""Sums, means, variances, quantiles, correlations and histograms from a release, at no cost.

The joint shares of groups and codes come from the relaxed rows (or published answers); where values
lie inside a code is what the schema of the release says of it (`value_pieces`). So a mean is
Σ share · mean of the code over Σ share. A missing value takes part in nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dprap.errors import WorkloadError
from dprap.products import product
from dprap.release.answer_question import MAX_GROUPS, Answered, ask
from dprap.release.breakdown import Asked, Table, joint_bounds, joint_shares
from dprap.release.comparisons import Comparison, Proportion, compared, parse_comparison, proportion
from dprap.release.figures import Figure, Figures
from dprap.release.hidden_codes import HiddenCodes
from dprap.release.intervals.compound import of_one_table
from dprap.release.intervals.interval import DEFAULT_LEVEL
from dprap.release.question_language import quoted
from dprap.release.release import Release
from dprap.release.statistics_intervals import Sureness
from dprap.release.statistics_language import COUNTS, Statistic, parse_statistic
from dprap.release.value_pieces import Masses, Pieces, pieces_of
from dprap.schema.columns.binned import BinnedColumn

# Cells of groups and codes together that an answer may rest on.
_MOST_CELLS = 20_000_000

# Noise in codes that are nearly empty is told from this share of a mean on.
_WARN_FROM = 0.05
# If more of the records are in such codes, they are no tail that one could leave out: the interval
# says enough.
_FEW = 0.05

_OPEN_RATIO = (
    "ratio: no interval, because the second number lies too near to 0 for its error: the ratio may"
    " be anything. Ask for the difference"
)

# A column with more codes is shown as about so many bars.
_BARS = 12


def answer(
    release: Release,
    question: str,
    by: Sequence[str] = (),
    *,
    level: float = DEFAULT_LEVEL,
    population: bool = False,
) -> Answered | Figures:
    """Answer any question: a condition, which asks for a count, or a statistic.

    Args:
        release: The release.
        question: Such as `age >= 65` or `mean income by region where age >= 65`.
        by: Columns to break the answer down by, beside those that the question names.
        level: Of the intervals, between 0.5 and 0.99.
        population: Whether intervals are about a population of which the records are a sample.

    Raises:
        WorkloadError: The question cannot be read, or the release cannot answer it.

    """
    comparison = parse_comparison(question, release.schema)
    if comparison is not None:
        if by:
            raise WorkloadError(
                "a comparison is of two groups and has no breakdown. Ask for each group by itself."
            )
        return _comparison(release, question, comparison, level=level, population=population)
    asked = parse_statistic(question, release.schema)
    if asked is None:
        return ask(release, question, by, level=level, population=population)
    groups = tuple(dict.fromkeys((*asked.by, *by)))
    if asked.name in COUNTS:
        return ask(release, asked.where, groups, level=level, population=population)
    return _figures(release, question, asked, groups, Sureness(release, asked, level, population))


def _comparison(
    release: Release,
    question: str,
    asked: Comparison | Proportion,
    *,
    level: float,
    population: bool,
) -> Figures:
    """A share among some records, or a difference or ratio between two groups."""
    if isinstance(asked, Proportion):
        found, count = proportion(release, asked, level=level, population=population)
        ends = (
            None
            if found.low is None or found.high is None
            else (f"{found.low:.3%}", f"{found.high:.3%}")
        )
        figure = Figure((), found.estimate, f"{found.estimate:.3%}", count, found, ends)
        return Figures(question, f"share of {asked.of}", (), (), (figure,), figure, ())
    answered = [
        answer(release, each, level=level, population=population) for each in asked.questions()
    ]
    rows = [
        _of_group(release, group, each) for group, each in zip(asked.groups, answered, strict=True)
    ]
    first, second = (row.interval for row in rows)
    if first is None or second is None:
        raise WorkloadError(f"a {asked.name} of these groups is not known.")
    are_counts = all(isinstance(each, Answered) for each in answered)
    correlation = of_one_table(first.estimate, second.estimate, release.rows) if are_counts else 0.0
    both = compared(asked.name, first, second, correlation=correlation)
    open_ratio = asked.name == "ratio" and first.known and second.known and not both.known
    rows.append(
        Figure(
            (asked.name,),
            both.estimate,
            f"{both.estimate:,.6g}",
            sum(row.count for row in rows),
            both,
            warned=_OPEN_RATIO if open_ratio else None,
        )
    )
    return Figures(question, asked.what, (), ("group",), tuple(rows), None, ())


def _of_group(release: Release, group: str, answered: Answered | Figures) -> Figure:
    """The answer for one of two groups."""
    if isinstance(answered, Answered):
        return Figure(
            (group,), answered.count, f"{answered.count:,.1f}", answered.count, answered.interval
        )
    if any(release.schema.columns[name].is_calendar for name in answered.columns):
        raise WorkloadError("dates are not compared. Ask for each group by itself.")
    if answered.all is None or answered.all.value is None:
        raise WorkloadError(f"there are no records with {group}.")
    return replace(answered.all, values=(group,))


def _figures(
    release: Release, question: str, asked: Statistic, by: tuple[str, ...], sureness: Sureness
) -> Figures:
    domain = release.schema.domain
    if domain.size_of(by) > MAX_GROUPS:
        raise WorkloadError(
            f"a breakdown by {'×'.join(by)} has more than {MAX_GROUPS:,} lines. Use fewer columns."
        )
    if domain.size_of((*by, *asked.columns)) > _MOST_CELLS:
        raise WorkloadError("the question asks about more than 20 million cells. Use fewer groups.")
    if set(by) & set(asked.columns):
        raise WorkloadError(f"{asked.name} names a column twice. Name each column once.")
    found: list[Figure]
    overall: Figure | None
    if asked.name == "histogram":
        found, overall = _histogram(release, asked, by)
    elif asked.name == "correlation":
        found, overall = _correlation(release, asked, by)
    else:
        found, overall = _single(release, asked, by, sureness)
    cut = Asked(release.schema, asked.boxes, by).cut_columns
    return Figures(question, asked.name, asked.columns, by, tuple(found), overall, cut)


def _labels(release: Release, by: tuple[str, ...]) -> list[tuple[str, ...]]:
    shape = release.schema.domain.shape_of(by)
    return [
        tuple(release.schema.label(name, code) for name, code in zip(by, codes, strict=True))
        for codes in np.ndindex(shape)
    ]


def _spread(
    release: Release, asked: Statistic, by: tuple[str, ...]
) -> list[tuple[Pieces, tuple[Table, Table, Table]]]:
    """For each box the pieces of the column, and the share of all records in each by group:
    [groups, pieces], with the least and the most that it may be.
    """
    (name,) = asked.columns
    column = release.schema.columns[name]
    assert isinstance(column, BinnedColumn)  # noqa: S101 - the parser lets no other through
    found = []
    for box in asked.boxes:
        pieces = pieces_of(column, box.get(name))
        joints = joint_bounds(release, box, by, asked.columns)
        likely, least, most = (
            table.reshape(-1, column.size)[:, pieces.code] * share
            for table, share in zip(joints, (pieces.share, *pieces.bounds), strict=True)
        )
        found.append((pieces, (likely, least, most)))
    return found


def _single(
    release: Release, asked: Statistic, by: tuple[str, ...], sureness: Sureness
) -> tuple[list[Figure], Figure]:
    spread = _spread(release, asked, by)
    column = release.schema.columns[asked.columns[0]]
    assert isinstance(column, BinnedColumn)  # noqa: S101
    labels = _labels(release, by)
    pieces, tables = _joined(spread, len(labels))
    rows = [
        _figure(
            release,
            asked,
            column,
            pieces,
            Masses(*(table[at] for table in tables)),
            labels[at],
            sureness.of_groups(by),
        )
        for at in range(len(labels))
    ]
    overall = Masses(*(table.sum(axis=0) for table in tables))
    whole = _figure(release, asked, column, pieces, overall, (), sureness)
    return _told(rows, by), whole


def _told(rows: list[Figure], by: tuple[str, ...]) -> list[Figure]:
    """The lines of a breakdown that have records; the one line of an answer without any."""
    return [row for row in rows if row.count > 0 or not by]


def _joined(
    spread: list[tuple[Pieces, tuple[Table, Table, Table]]], groups: int
) -> tuple[Pieces, list[Table]]:
    """The pieces of all boxes together, in increasing order, and the shares of each by group."""
    whole = Pieces.joined(pieces for pieces, _ in spread)
    order = np.argsort(whole.first, kind="stable")
    tables = [
        np.concatenate([np.empty((groups, 0)), *(of_box[at] for _, of_box in spread)], axis=1)
        for at in range(3)
    ]
    return whole.of(order), [table[:, order] for table in tables]


def _figure(
    release: Release,
    asked: Statistic,
    column: BinnedColumn,
    pieces: Pieces,
    masses: Masses,
    values: tuple[str, ...],
    sureness: Sureness,
) -> Figure:
    mass = masses.likely
    share = float(mass.sum())
    count = share * release.rows
    if share <= 0:
        return Figure(values, None, "-", 0.0)
    mean = float(product(mass, pieces.mean)) / share
    variance = max(float(product(mass, pieces.mean_square)) / share - mean**2, 0.0)
    plain = asked.name in ("sum", "variance", "stddev")
    interval = None
    warned = None
    if asked.level is not None:
        value = pieces.quantile(mass, asked.level)
        interval = sureness.quantile(count, pieces, masses, asked.level)
    else:
        value = {"sum": mean * count, "mean": mean, "variance": variance, "stddev": variance**0.5}[
            asked.name
        ]
        if asked.name in ("mean", "sum"):
            hidden = sureness.hidden(pieces, mass)
            interval = sureness.mean(count, mean, variance**0.5, pieces, masses, hidden)
            warned = _warned(column, asked.columns[0], mean, hidden)
        if asked.name == "sum" and interval is not None:
            interval = sureness.sum(masses, interval)

    def text(number: float) -> str:
        return f"{number:,.6g}" if plain else column.value_text(number)

    ends = None
    if interval is not None and interval.low is not None and interval.high is not None:
        ends = (text(interval.low), text(interval.high))
    return Figure(values, value, text(value), count, interval, ends, warned)


def _warned(column: BinnedColumn, name: str, mean: float, hidden: HiddenCodes | None) -> str | None:
    """What is to be said of a mean that rests on codes whose records are hidden in the noise."""
    if hidden is None or hidden.error < _WARN_FROM * abs(mean) or hidden.share > _FEW:
        return None
    where = _span(column, hidden.first, hidden.last + 1)
    part = (
        "more than all of it"
        if hidden.error >= abs(mean)
        else f"{hidden.error / abs(mean):.0%} either way"
    )
    return (
        f"{name}: the release has hardly more records than noise in {where}, and this noise alone"
        f" moves the mean by {part}. The median is surer, and so is a mean without these values"
        f"{_without(column, name, hidden)}"
    )


def _without(column: BinnedColumn, name: str, hidden: HiddenCodes) -> str:
    """The condition that leaves hidden codes out, where they are an end of the column."""
    first, last = column.regular_label(hidden.first), column.regular_label(hidden.last)
    if hidden.last == column.regular - 1:
        return f" (`where {quoted(name)} < {_ends(first)[0]}`)"
    if hidden.first == 0:
        return f" (`where {quoted(name)} {'>=' if ',' in last else '>'} {_ends(last)[1]}`)"
    return ""


def _ends(label: str) -> tuple[str, str]:
    """The ends of a bin by its label: `[10, 20)`, `3..7` or a single value.

    >>> _ends("[10, 20)"), _ends("-3..7"), _ends("5")
    (('10', '20'), ('-3', '7'), ('5', '5'))
    """
    sign = "," if "," in label else ".."
    first, _, last = label.strip("[])").partition(sign)
    return first.strip(), (last or first).strip()


def _correlation(
    release: Release, asked: Statistic, by: tuple[str, ...]
) -> tuple[list[Figure], Figure]:
    """Pearson's correlation: inside a pair of codes the two columns are independent, as they are
    drawn.
    """
    columns = [release.schema.columns[name] for name in asked.columns]
    labels = _labels(release, by)
    sums: Any = np.zeros((6, len(labels)))
    for box in asked.boxes:
        joint = joint_shares(release, box, by, asked.columns).reshape(
            -1, columns[0].size, columns[1].size
        )
        held, first, second = zip(
            *(_moments(c, box.get(n)) for n, c in zip(asked.columns, columns, strict=True)),
            strict=True,
        )
        both = joint * held[0][:, None] * held[1][None, :]
        left, right = both.sum(axis=2), both.sum(axis=1)
        of_sides = [
            product(side, of[at]) for of in (first, second) for at, side in enumerate((left, right))
        ]
        products = [both.sum(axis=(1, 2)), *of_sides]
        products.append(np.einsum("gxy,x,y->g", both, first[0], first[1]))
        sums = sums + np.stack(products)
    rows = [_correlated(release, sums[:, at], labels[at]) for at in range(len(labels))]
    return _told(rows, by), _correlated(release, sums.sum(axis=1), ())


def _moments(column: Any, values: Any) -> tuple[Table, Table, Table]:
    """For each code, the share of its values in a set, and their mean and mean square."""
    pieces = pieces_of(column, values)
    held = np.bincount(pieces.code, pieces.share, minlength=column.size)
    safe = np.where(held > 0, held, 1)
    first = np.bincount(pieces.code, pieces.share * pieces.mean, minlength=column.size) / safe
    return (
        held,
        first,
        np.bincount(pieces.code, pieces.share * pieces.mean_square, minlength=column.size) / safe,
    )


def _correlated(release: Release, sums: Table, values: tuple[str, ...]) -> Figure:
    share, x, y, xx, yy, xy = (float(each) for each in sums)
    if share <= 0:
        return Figure(values, None, "-", 0.0)
    spread = (xx / share - (x / share) ** 2) * (yy / share - (y / share) ** 2)
    if spread <= 0:
        return Figure(values, None, "-", share * release.rows)
    value = (xy / share - x * y / share**2) / spread**0.5
    return Figure(values, value, f"{value:.4f}", share * release.rows)


def _histogram(
    release: Release, asked: Statistic, by: tuple[str, ...]
) -> tuple[list[Figure], None]:
    (name,) = asked.columns
    column = release.schema.columns[name]
    assert isinstance(column, BinnedColumn)  # noqa: S101
    by_code: Any = np.zeros((release.schema.domain.size_of(by), column.size))
    for box in asked.boxes:
        held, _, _ = _moments(column, box.get(name))
        by_code = (
            by_code + joint_shares(release, box, by, asked.columns).reshape(-1, column.size) * held
        )
    bars = _bars(by_code[:, : column.regular].sum(axis=0))
    heights = np.add.reduceat(by_code[:, : column.regular], bars, axis=1)
    stops = np.append(bars[1:], column.regular)
    texts = [_span(column, int(a), int(b)) for a, b in zip(bars, stops, strict=True)]
    labels = _labels(release, by)
    figures = []
    for at, label in enumerate(labels):
        total = heights[at].sum()
        for text, height in zip(texts, heights[at], strict=True):
            share = float(height / total) if total > 0 else 0.0
            figures.append(
                Figure((*label, text), share, f"{share:.2%}", float(height) * release.rows)
            )
    return figures, None


def _bars(shares: Table) -> np.ndarray:
    """The first code of each bar: every code, or neighbours until a bar has its part."""
    if len(shares) <= 2 * _BARS:
        return np.arange(len(shares))
    starts, room = [], 0.0
    for code, share in enumerate(shares):
        if code == 0 or room < share / 2:
            starts.append(code)
            room = float(shares.sum()) / _BARS
        room -= share
    return np.array(starts)


def _span(column: BinnedColumn, first: int, stop: int) -> str:
    """The codes of a bar in words."""
    if stop - first == 1:
        return column.regular_label(first)
    low, high = column.regular_label(first), column.regular_label(stop - 1)
    if "," in high:  # intervals of numbers
        return f"{low.split(',')[0] if low[0] == '[' else '[' + low},{high.split(',')[1]}"
    return f"{low.split('..')[0]}..{high.split('..')[-1]}"
