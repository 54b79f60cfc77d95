"""Cells of the study `regimes` in which the default is behind the better baseline, and whether
chance explains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from dprap_bench.record import Figures
from dprap_bench.studies.regimes import GRID, Regime, regime_of

TOLERANCE = 1.02
"""A median that is this many times the better baseline's still counts as level."""

ERRORS = ("max", "tv")
_BASELINES = ("independent", "gaussian")
_RESAMPLES = 4_000
# Fewer draws have no interval worth stating.
_LEAST_DRAWS = 10

_COLUMNS = (
    *("regime", "draws", "max (95%)", "TV (95%)", "fit's max / TV"),
    *("behind, in records", "baseline in whole records, max / TV"),
)

Methods: TypeAlias = Mapping[str, Figures]


def by_regime(cells: Iterable[tuple[Mapping[str, Any], Figures]]) -> dict[Regime, Methods]:
    """Figures of the three methods where all were measured, and their number of draws, in the order
    of the grid; the last measurement counts.
    """
    found: dict[Regime, dict[str, Figures]] = {}
    for cell, figures in cells:
        if figures:
            of_methods = found.setdefault(regime_of(cell), {})
            of_methods[str(cell["method"])] = {**figures, "draws": cell["draws"]}
    return {regime: found[regime] for regime in GRID if len(found.get(regime, ())) == 3}


def ratio(methods: Methods, error: str, *, kind: str = "") -> float:
    """An error of the default, or with `fit_` of its fit, over the better baseline's."""
    better = min(methods[name][error] or 0.0 for name in _BASELINES)
    return (methods["adaptive"][f"{kind}{error}"] or 0.0) / max(better, 1e-12)


def interval(methods: Methods, error: str) -> tuple[float, float] | None:
    """A 95% interval of the ratio of medians, from draws of each method that are drawn again; None
    where there are few.
    """
    draws = {name: _draws(methods[name], error) for name in ("adaptive", *_BASELINES)}
    if min(map(len, draws.values())) < _LEAST_DRAWS:
        return None
    rng = np.random.default_rng(0)
    medians = {
        name: np.median(rng.choice(values, (_RESAMPLES, len(values))), axis=1)
        for name, values in draws.items()
    }
    better = np.minimum(*(medians[name] for name in _BASELINES))
    low, high = np.quantile(medians["adaptive"] / np.maximum(better, 1e-12), [0.025, 0.975])
    return float(low), float(high)


def _draws(figures: Figures, error: str) -> list[float]:
    """The error of every draw: figures that are named by their seeds."""
    return [
        value
        for name, value in figures.items()
        if name.startswith(f"{error}_") and name.removeprefix(f"{error}_").isdigit()
        if value is not None
    ]


def draws_of(methods: Methods) -> int:
    """Over how many draws the default has medians."""
    return round(methods["adaptive"]["draws"] or 0)


def losses(cells: Iterable[tuple[Mapping[str, Any], Figures]]) -> list[str]:
    """A table of the cells that are behind in either error, and how many are not."""
    measured = by_regime(cells)
    lines = [f"| {' | '.join(_COLUMNS)} |", "|" + "---|" * len(_COLUMNS)]
    for regime, methods in measured.items():
        if max(ratio(methods, error) for error in ERRORS) > TOLERANCE:
            lines.append(_row(regime, methods))
    level = [
        {error for error in ERRORS if ratio(methods, error) <= TOLERANCE}
        for methods in measured.values()
    ]
    counts = [sum(error in each for each in level) for error in ERRORS]
    both = sum(len(each) == len(ERRORS) for each in level)
    lines.append(
        f"| level or ahead, of {len(measured)} | | {counts[0]} | {counts[1]} | both: {both} | | |"
    )
    return lines


def _row(regime: Regime, methods: Methods) -> str:
    better = {
        error: min((methods[name] for name in _BASELINES), key=lambda each: each[error] or 0.0)
        for error in ERRORS
    }
    behind = (methods["adaptive"]["max"] or 0.0) - (better["max"]["max"] or 0.0)
    whole = " / ".join(_in_whole_records(better[error], error) for error in ERRORS)
    entries = [
        str(regime),
        str(draws_of(methods)),
        *(_with_interval(methods, error) for error in ERRORS),
        " / ".join(f"{ratio(methods, error, kind='fit_'):.2f}" for error in ERRORS),
        f"{behind * regime.rows:.1f}",
        whole,
    ]
    return f"| {' | '.join(entries)} |"


def _with_interval(methods: Methods, error: str) -> str:
    found = interval(methods, error)
    said = f" ({found[0]:.2f}–{found[1]:.2f})" if found else ""
    return f"{ratio(methods, error):.2f}{said}"


def _in_whole_records(baseline: Figures, error: str) -> str:
    """What rounding a baseline's answers to whole records does to its error."""
    rounded = baseline.get(f"whole_{error}")
    return f"{rounded / max(baseline[error] or 0.0, 1e-12):.2f}" if rounded is not None else "–"
