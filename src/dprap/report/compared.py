"""The page of `dprap evaluate`: the published table beside the private one, by value.

NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Sequence

from dprap.evaluate import Evaluation
from dprap.evaluate.column_differences import ColumnComparison
from dprap.evaluate.table_comparison import TableComparison
from dprap.report.column_plots import distribution_plot
from dprap.report.figure import WARNING
from dprap.report.html import Html, breakable, el, table
from dprap.schema import Schema
from dprap.schema.columns.binned import BinnedColumn

_MOST_LISTED = 12


def true_errors(evaluation: Evaluation) -> Html:
    """Errors over the workload, and the worst queries by name."""
    rows = [
        [name, *(_share(value) for value in (found.max, found.mean, found.rmse, found.tv))]
        for name, found in evaluation.errors.items()
    ]
    worst = [
        [cell.query, f"{cell.private:.3%}", f"{cell.published:.3%}"] for cell in evaluation.worst
    ]
    return _stack(
        table(
            ["", "largest", "mean", "root mean square", "total variation"],
            rows,
            caption=f"{WARNING}: errors over all queries, as shares of all records",
        ),
        (
            table(
                ["query", "private", "published"],
                worst,
                caption=f"{WARNING}: the worst queries, at most one of each marginal",
            )
            if worst
            else None
        ),
    )


def by_value(found: TableComparison, schema: Schema) -> Html:
    """Both tables by value: columns, pairs, groups of records, models, nearest records."""
    ordered = [column for column in found.columns if column.curve]
    worst = sorted(ordered, key=lambda column: column.similarity)[:_MOST_LISTED]
    plots = [
        el(
            "article",
            el("h3", breakable(column.name)),
            distribution_plot(column.name, column.curve, f"v{at}", _texts(schema, column)),
            class_="card column",
        )
        for at, column in enumerate(worst)
    ]
    return el(
        "div",
        _stack(*_summary(found)),
        _stack(_columns(found.columns, schema)),
        el("div", *plots, class_="grid-of-cards"),
        _stack(_pairs(found), _subgroups(found)),
        class_="stack",
    )


def _stack(*parts: Html | None) -> Html:
    return el(
        "div",
        *(el("div", part, class_="card") for part in parts if part is not None),
        class_="stack",
    )


def _summary(found: TableComparison) -> list[Html | None]:
    nearest = found.nearest
    rows = [
        [
            "records compared, private and published",
            f"{found.records[0]:,} and {found.records[1]:,}",
        ],
        [
            "columns, mean similarity",
            f"{_mean([column.similarity for column in found.columns]):.3f}",
        ],
        *(
            [
                [
                    "pairs of columns, mean similarity",
                    f"{_mean([pair.similarity for pair in found.pairs]):.3f}",
                ]
            ]
            if found.pairs
            else []
        ),
        ["copies of private records among the published", f"{nearest.copies:.2%}"],
        ["copies of each other among the private", f"{nearest.private_copies:.2%}"],
        ["columns in which the nearest private record differs (median)", f"{nearest.distance:g}"],
        ["the same between private records", f"{nearest.private_distance:g}"],
    ]
    if found.quality is not None:
        scores = found.quality
        rows.append(
            [
                "SDMetrics: quality, column shapes, pair trends",
                (
                    f"{scores.quality:.3f}, {scores.column_shapes:.3f},"
                    f" {scores.column_pair_trends:.3f}"
                ),
            ]
        )
    rows += [
        [
            f"constraint {at}: records that break it, private and published",
            f"{one:.2%} and {other:.2%}",
        ]
        for at, (one, other) in enumerate(found.broken_constraints, start=1)
    ]
    models = [
        [
            model.target,
            model.score,
            f"{model.trained_on_published:.3f}",
            f"{model.trained_on_private:.3f}",
        ]
        for model in found.models
    ]
    return [
        table(["", ""], rows, caption=f"{WARNING}: both tables at a glance"),
        (
            table(
                ["target", "score", "trained on the published table", "trained on private records"],
                models,
                caption=(
                    f"{WARNING}: gradient boosting, tested on private records that no model has"
                    " seen"
                ),
                numbers_from=2,
            )
            if models
            else None
        ),
    ]


def _columns(columns: Sequence[ColumnComparison], schema: Schema) -> Html:
    rows = []
    for column in sorted(columns, key=lambda each: each.similarity):
        median, tail = (_quantiles(schema, column, level) for level in ("0.5", "0.99"))
        mean, deviation, zeros = "–", "–", "–"
        private, published = column.private, column.published
        if schema.columns[column.name].is_number and private is not None and published is not None:
            mean = f"{private.mean:,.6g} → {published.mean:,.6g}"
            deviation = f"{private.stddev:,.6g} → {published.stddev:,.6g}"
            zeros = f"{private.zeros:.2%} → {published.zeros:.2%}"
        rows.append(
            [
                column.name,
                f"{column.similarity:.3f}",
                mean,
                deviation,
                median,
                tail,
                zeros,
                f"{column.missing[0]:.2%} → {column.missing[1]:.2%}",
                f"{column.beyond:.2%}",
            ]
        )
    return table(
        [
            "column",
            "similarity",
            "mean",
            "standard deviation",
            "median",
            "99% quantile",
            "zeros",
            "missing",
            "unreadable or out of bounds",
        ],
        rows,
        caption=f"{WARNING}: columns, the least alike first; private → published",
    )


def _pairs(found: TableComparison) -> Html | None:
    rows = [
        [
            " × ".join(pair.columns),
            f"{pair.similarity:.3f}",
            "–" if pair.correlations is None else "{:.3f} → {:.3f}".format(*pair.correlations),
        ]
        for pair in found.pairs[:_MOST_LISTED]
    ]
    caption = (
        f"{WARNING}: the pairs that are least alike, long columns in groups; private → published"
    )
    return table(["pair", "similarity", "correlation"], rows, caption=caption) if rows else None


def _subgroups(found: TableComparison) -> Html | None:
    rows = [["all records", "100%", f"{found.overall_tv:.4f}"]] + [
        [f"{group.column} = {group.value}", f"{group.share:.1%}", f"{group.tv:.4f}"]
        for group in found.subgroups[:_MOST_LISTED]
    ]
    caption = (
        f"{WARNING}: total variation distance of a column among the records of a group, the worst"
        " groups"
    )
    return (
        table(["records", "share", "distance"], rows, caption=caption) if found.subgroups else None
    )


def _quantiles(schema: Schema, column: ColumnComparison, level: str) -> str:
    if column.private is None or column.published is None:
        return "–"
    both = (
        value_text(schema, column.name, each.quantiles[level])
        for each in (column.private, column.published)
    )
    return " → ".join(both)


def value_text(schema: Schema, name: str, value: float) -> str:
    """A value of an ordered column in words.

    >>> schema = Schema.of(
    ...     {"columns": {"born": {"type": "date", "min": "1970-01-01", "max": "1970-12-31"}}}
    ... )
    >>> value_text(schema, "born", 31.0)
    '1970-02-01'
    """
    column = schema.columns[name]
    if not isinstance(column, BinnedColumn) or column.is_number:
        return f"{value:,.6g}"
    return column.edge_text(value)[:16]  # to the minute


def _texts(schema: Schema, column: ColumnComparison) -> tuple[str, str]:
    return (
        value_text(schema, column.name, column.curve[0][0]),
        value_text(schema, column.name, column.curve[-1][0]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 1.0


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.5f}"
