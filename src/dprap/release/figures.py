"""The answer to a question about numbers, as lines, as a table and as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dprap.display import ShownAsLines, aligned
from dprap.release.answer_question import frame_line, interval_remarks
from dprap.release.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Figure:
    """The answer for one group: a number, its text, the records that it is about, and how far it
    may be off.

    `warned` says in a sentence why the number deserves less trust than others, where there is a
    reason.
    """

    values: tuple[str, ...]
    value: float | None
    text: str
    count: float
    interval: Interval | None = None
    ends: tuple[str, str] | None = None
    warned: str | None = None


@dataclass(frozen=True, repr=False)
class Figures(ShownAsLines):
    """The answer to a question about numbers; `all` is over all groups, None for histograms."""

    question: str
    statistic: str
    columns: tuple[str, ...]
    by: tuple[str, ...]
    figures: tuple[Figure, ...]
    all: Figure | None
    cut: tuple[str, ...]

    @property
    def value(self) -> float | None:
        """The figure over all groups; None for a histogram, and where there are no records."""
        return None if self.all is None else self.all.value

    @property
    def interval(self) -> Interval | None:
        """How far `value` may be off."""
        return None if self.all is None else self.all.interval

    def lines(self) -> list[str]:
        """The answer as lines for people."""
        header, rows, remarks = self.cells()
        return [*aligned(header, rows, left=len(self._labelled)), *remarks]

    def cells(self) -> tuple[list[str], list[list[str]], list[str]]:
        """The answer as a table of texts: its header, its rows, and what is to be said below."""
        heading = " of ".join(each for each in (self.statistic, " and ".join(self.columns)) if each)
        first = self._labelled
        shown = "share" if self.statistic == "histogram" else heading
        told = [
            each
            for each in (*self.figures, *([] if self.all is None else [self.all]))
            if each.interval is not None
        ]
        known = [
            each.interval for each in told if each.interval is not None and each.interval.known
        ]
        between = ["std. error", f"{known[0].level:.0%} interval"] if known else []
        rows = [
            [*each.values, each.text, *(_sure(each) if between else []), f"{each.count:,.1f}"]
            for each in self.figures
        ]
        if self.all is not None and self.by:
            whole = [self.all.text, *(_sure(self.all) if between else []), f"{self.all.count:,.1f}"]
            rows.append(["all", *[""] * (len(self.by) - 1), *whole])
        remarks = interval_remarks([each.interval for each in told if each.interval is not None])
        if self.all is not None and self.all.count <= 0:
            values = "a value" if len(self.columns) == 1 else "values"
            remarks.append(
                f"no records that are asked for have {values} of {' and '.join(self.columns)}, so"
                f" that there is no {self.statistic}"
            )
        elif not told:
            remarks.append(
                f"no interval: none is looked up for a {self.statistic};"
                " Release.statistic_interval finds one in Python"
            )
        # Of the whole if there is one to tell of: a line for each group would say the same again.
        # A comparison has none; there its own line comes first, and then that of one group.
        warned = [each.warned for each in reversed(told) if each.warned]
        remarks += warned[: 2 if self.all is None else 1]
        remarks += [
            f"{name}: the condition cuts an interval; its records are interpolated by the fine"
            " shape of the release"
            for name in self.cut
        ]
        return [*first, shown, *between, "records"], rows, remarks

    def frame(self) -> pd.DataFrame:
        """The answer as a pandas table: a line a group."""
        import pandas as pd

        return pd.DataFrame(
            [
                frame_line(
                    dict(zip(self._labelled, each.values, strict=True)),
                    {self.statistic: each.value, "records": each.count},
                    each.interval,
                )
                for each in self.figures
            ]
        )

    @property
    def _labelled(self) -> list[str]:
        """The columns whose values tell the groups apart; a histogram's own is the last."""
        return [*self.by, *([self.columns[0]] if self.statistic == "histogram" else [])]

    def as_data(self) -> dict[str, Any]:
        """The answer as plain data."""
        return asdict(self)


def _sure(figure: Figure) -> tuple[str, str]:
    """The standard error and the interval of a figure as text."""
    if figure.interval is None or figure.interval.numbers is None:
        return "", "none"
    error, low, high = figure.interval.numbers
    ends = figure.ends or (f"{low:,.6g}", f"{high:,.6g}")
    return f"{error:.3%}" if ends[0].endswith("%") else _three_digits(error), " to ".join(ends)


def _three_digits(number: float) -> str:
    """A number in three digits, or in all those before the point where there are more.

    >>> _three_digits(4.9612), _three_digits(1119.5), _three_digits(0.000123)
    ('4.96', '1,120', '0.000123')
    """
    return f"{number:,.0f}" if number >= 1000 else f"{number:,.3g}"
