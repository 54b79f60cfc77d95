"""Columns of a published table beside those of the private one, by value. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dprap.evaluate.records_by_value import Numbers, TableValues

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
# A picture of a distribution function needs no more points of either table.
_CURVE_POINTS = 40


@dataclass(frozen=True)
class NumberSummary:
    """The distribution of the numbers of a column; nulls are apart. NOT PRIVATE."""

    mean: float
    stddev: float
    zeros: float
    quantiles: Mapping[str, float]

    @classmethod
    def of(cls, numbers: Numbers) -> NumberSummary | None:
        """The summary of numbers; None where there is no finite one."""
        there = numbers[np.isfinite(numbers)]
        if not there.size:
            return None
        quantiles = np.quantile(there, QUANTILES)
        named = {f"{q:g}": float(value) for q, value in zip(QUANTILES, quantiles, strict=True)}
        return cls(float(there.mean()), float(there.std()), float((there == 0).mean()), named)


@dataclass(frozen=True)
class ColumnComparison:
    """One column of both tables. NOT PRIVATE.

    Args:
        name: The column.
        kind: Its type in the schema.
        similarity: 1 − the Kolmogorov–Smirnov distance of the values of an ordered column; 1 − the
            total variation distance of the codes of any other.
        code_tv: The total variation distance of the codes.
        missing: Shares of null in the private and in the published table.
        beyond: The share of values of the private table that the column cannot read or that lie
            outside its bounds.
        private: The numbers of the private table; None for a column without an order.
        published: Those of the published table.
        curve: Values with the shares of private and of published numbers up to each.

    """

    name: str
    kind: str
    similarity: float
    code_tv: float
    missing: tuple[float, float]
    beyond: float
    private: NumberSummary | None = None
    published: NumberSummary | None = None
    curve: tuple[tuple[float, float, float], ...] = ()


def compare_columns(private: TableValues, published: TableValues) -> list[ColumnComparison]:
    """Every column of both tables, in the order of the schema."""
    return [_compare(name, private, published) for name in private.schema.columns]


def _compare(name: str, private: TableValues, published: TableValues) -> ColumnComparison:
    column = private.schema.columns[name]
    codes = private.codes.column(name), published.codes.column(name)
    shares = [np.bincount(each, minlength=column.size) / len(each) for each in codes]
    code_tv = float(np.abs(shares[0] - shares[1]).sum() / 2)
    null = column.null_code
    missing = (0.0, 0.0) if null is None else (float(shares[0][null]), float(shares[1][null]))
    if name not in private.numbers or name not in published.numbers:
        return ColumnComparison(name, column.type, 1 - code_tv, code_tv, missing, 0.0)
    truth, synthetic = private.numbers[name], published.numbers[name]
    return ColumnComparison(
        name,
        column.type,
        1 - kolmogorov_smirnov(truth, synthetic),
        code_tv,
        missing,
        private.beyond[name],
        NumberSummary.of(truth),
        NumberSummary.of(synthetic),
        _curve(truth, synthetic),
    )


def kolmogorov_smirnov(one: Numbers, other: Numbers) -> float:
    """The largest distance of two distribution functions; nulls are apart.

    >>> kolmogorov_smirnov(np.array([1.0, 2.0, np.nan]), np.array([1.0, 1.0]))
    0.5
    """
    one, other = one[~np.isnan(one)], other[~np.isnan(other)]
    if not one.size or not other.size:
        return 0.0 if one.size == other.size else 1.0
    values = np.union1d(one, other)
    return float(np.abs(_shares_up_to(one, values) - _shares_up_to(other, values)).max())


def _curve(one: Numbers, other: Numbers) -> tuple[tuple[float, float, float], ...]:
    one, other = one[np.isfinite(one)], other[np.isfinite(other)]
    if not one.size or not other.size:
        return ()
    levels = np.linspace(0, 1, _CURVE_POINTS)
    values = np.union1d(np.quantile(one, levels), np.quantile(other, levels))
    shares = _shares_up_to(one, values), _shares_up_to(other, values)
    return tuple(zip(values.tolist(), shares[0].tolist(), shares[1].tolist(), strict=True))


def _shares_up_to(numbers: Numbers, values: Numbers) -> Numbers:
    return np.asarray(np.searchsorted(np.sort(numbers), values, side="right") / numbers.size)
