"""Which cells make up which experiment. Numbers are those of the documentation page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dprap_bench.cell import Cell
from dprap_bench.methods import BENCH_METHODS, fem_settings

SMALL = ("adult-reduced", "nltcs")
"""Tables whose full histogram fits into memory, as MWEM needs."""

EPSILONS = (0.1, 0.25, 0.5, 1.0)
RAP_GRID = {
    0.05: ((5, 5),),
    0.1: ((5, 5), (10, 10)),
    0.25: ((5, 5), (10, 10)),
    0.5: ((10, 10), (25, 5)),
    1.0: ((10, 10), (25, 5)),
}
"""ε → (T, K) tried for RAP unless the paper's whole grid is asked for; the best is reported, as in
the paper.
"""
RAP_PAIR = {0.05: (5, 5), 0.1: (5, 5), 0.25: (10, 10), 0.5: (10, 10), 1.0: (25, 5)}
"""ε → the one pair of further experiments: the better one on ADULT's 64 three-way marginals."""

_AIM_MOST_ROWS = 100_000
# With more records every round teaches more than its noise, so that AIM uses all of the rounds it
# plans: many minutes.


@dataclass(frozen=True)
class Experiment:
    """A numbered experiment: what it shows, and its cells."""

    name: str
    title: str
    cells: Callable[[str], list[Cell]]


def cells_for(
    experiment: str,
    data: str,
    workload: str,
    epsilons: Iterable[float],
    methods: Iterable[str],
    *,
    extras: tuple[str, ...] = (),
) -> list[Cell]:
    """Cells of some methods that exist, with the settings each is compared at."""
    cells: list[Cell] = []
    for method in methods:
        for epsilon in epsilons:
            base = Cell(experiment, data, workload, method, epsilon, extras=extras)
            if method == "rap":
                cells += [
                    replace(base, settings={"rounds": rounds, "queries_per_round": queries})
                    for rounds, queries in RAP_GRID[epsilon]
                ]
            elif method != "fem":
                cells.append(base)
            elif settings := fem_settings(data, workload, epsilon):
                cells.append(replace(base, settings=settings))
    return cells


_ALONGSIDE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("adaptive", "rap", "rp"), ("rounding", "unseen", "quantiles")),
    **dict.fromkeys(("independent", "mst", "aim", "fem"), ("unseen",)),
}
# Measured together on ADULT's 64 three-way marginals, so that experiments 1, 4, 8 and 9 share their
# runs.


def _main_cells(
    experiment: str,
    data: str,
    epsilons: Iterable[float],
    methods: Iterable[str],
    *,
    workload: str = "3way:64",
) -> list[Cell]:
    cells = cells_for(experiment, data, workload, epsilons, methods)
    if (data, workload) != ("adult", "3way:64"):
        return cells
    return [replace(cell, extras=_ALONGSIDE.get(cell.method, ())) for cell in cells]


def _undrawn(cells: list[Cell]) -> list[Cell]:
    """The same without drawing records from models, which would add to their time and memory."""
    return [
        replace(cell, extras=()) if BENCH_METHODS[cell.method].models else cell for cell in cells
    ]


def _epsilon(data: str) -> list[Cell]:
    chosen: tuple[str, ...] = (
        "adaptive",
        "rap",
        "gaussian",
        "independent",
        "zero",
        "mst",
        "aim",
        "hdmm-lls",
        "fem",
    )
    if data in SMALL:
        chosen += ("mwem",)
    if data == "adult":
        chosen += ("dualquery",)
    cells = [
        cell
        for k in (3, 5)
        for cell in _main_cells("1-epsilon", data, EPSILONS, chosen, workload=f"{k}way:64")
    ]
    return cells if data == "adult" else _one_pair(cells)


def _one_pair(cells: list[Cell]) -> list[Cell]:
    """The same with RAP at one (T, K) for every ε."""
    return [
        cell
        for cell in cells
        if cell.method != "rap"
        or (cell.settings["rounds"], cell.settings["queries_per_round"]) == RAP_PAIR[cell.epsilon]
    ]


def _workload_size(data: str) -> list[Cell]:
    sizes = {"adult": {3: (16, 64, 128, "all"), 5: (16, 64, 128, "all")}}.get(
        data, {3: (64, 256, 1024), 5: (64, 256, 1024)}
    )
    methods = (
        "adaptive",
        "rap",
        "gaussian",
        "independent",
        "zero",
        "fem",
        *(("aim", "mst") if data == "adult" else ()),
    )
    epsilons = (0.05, 0.1)
    return [
        cell
        for k, counts in sizes.items()
        for count in counts
        for cell in cells_for("2-marginals", data, f"{k}way:{count}", epsilons, methods)
        if cell.method != "rap" or cell.settings["rounds"] == 5
    ]


def _hdmm(data: str) -> list[Cell]:
    methods = ("adaptive", "rap", "hdmm-lls", "hdmm-pgm", "gaussian", "aim", "mst", "zero")
    if data != "adult":
        return []
    return [
        cell
        for workload in ("hdmm15", "hdmm15:prefix")
        for cell in _one_pair(cells_for("3-hdmm", data, workload, EPSILONS, methods))
    ]


def _rounding(data: str) -> list[Cell]:
    cells = _main_cells("4-rounding", data, (0.1, 1.0), ("adaptive", "rap"))
    return (
        cells
        if data == "adult"
        else [replace(cell, extras=("rounding",)) for cell in _one_pair(cells)]
    )


def _synthetic_rows(data: str) -> list[Cell]:
    base = cells_for("5-rows", data, "3way:64", (0.1, 1.0), ("rap",))
    if data != "adult":
        base = [cell for cell in base if cell.epsilon == 1.0]
    # Compilation is measured apart: its time hides what a step costs.
    return [
        replace(
            cell,
            settings={**cell.settings, "synthetic_rows": rows},
            extras=("compilation",),
        )
        for cell in base
        if cell.settings["rounds"] == 10
        for rows in (100, 250, 500, 1000, 2000)
    ]


def _query_counts(data: str) -> list[Cell]:
    small = (1, 4, 16, 64, 128, "all") if data == "adult" else (1, 4, 16, 64, 256, 1024)
    # LOANS has 3,552 five-way marginals of at most n cells.
    sizes = {
        3: small if data == "adult" else (*small, 4096),
        5: small if data == "adult" else (*small, "all"),
    }
    return [
        Cell("6-queries", data, f"{k}way:{size}", "none")
        for k, counts in sizes.items()
        for size in counts
    ]


def _thresholds(data: str) -> list[Cell]:
    methods: tuple[str, ...] = ("adaptive", "rap", "gaussian", "independent", "zero")
    methods += ("hdmm-lls", "aim", "mst") if data == "adult" else ()
    return [
        cell
        for workload in (("1of3:64", "2of3:64") if data == "adult" else ("1of3:64",))
        for cell in _one_pair(cells_for("7-thresholds", data, workload, EPSILONS, methods))
    ]


def _ablation(data: str) -> list[Cell]:
    if data != "adult":
        return []
    return _main_cells("8-ablation", data, (0.1, 1.0), ("rp", "rap", "adaptive"))


def _unseen(data: str) -> list[Cell]:
    methods = ("adaptive", "rap", "independent", "mst", "aim", "fem")
    return _main_cells("9-unseen", data, (0.1, 1.0), methods) if data == "adult" else []


def _beyond(data: str) -> list[Cell]:
    if data != "adult":
        return []
    synthetic = ("adaptive", "rap", "independent", "mst", "aim")
    cells = cells_for("10-beyond", data, "2way", (0.25, 1.0), synthetic, extras=("downstream",))
    scaling = cells_for("10-beyond", data, "3way:64", (1.0,), ("adaptive", "rap", "mst", "aim"))
    cells += [
        replace(cell, rows=rows)
        for cell in scaling
        for rows in (10_000, 100_000, 1_000_000, 5_000_000)
        if cell.method != "aim" or rows <= _AIM_MOST_ROWS
    ]
    pairs = cells_for("10-beyond", data, "2way", (1.0,), ("adaptive", "rap", "mst", "aim"))
    cells += [replace(cell, columns=columns) for cell in pairs for columns in (4, 8, 14)]
    cells += _undrawn(_main_cells("10-beyond", data, EPSILONS, ("adaptive", "rap", "mst", "aim")))
    cells = [cell for cell in cells if cell.method != "rap" or cell.settings["rounds"] == 10]
    by_size = [
        cell
        for cell in _workload_size(data)
        if cell.workload.startswith("3way") and cell.epsilon == 0.1
    ]
    cells += [
        replace(cell, experiment="10-beyond")
        for cell in by_size
        if cell.method in ("adaptive", "rap", "mst", "aim")
    ]
    return list({cell.key: cell for cell in cells}.values())


PAPER = {
    experiment.name.partition("-")[0]: experiment
    for experiment in (
        Experiment("1-epsilon", "Maximum error against ε, 64 marginals", _epsilon),
        Experiment("2-marginals", "Maximum error against the number of marginals", _workload_size),
        Experiment("3-hdmm", "The 15 marginals of the HDMM comparison, cells and prefixes", _hdmm),
        Experiment("4-rounding", "Error after rounding against oversampling", _rounding),
        Experiment(
            "5-rows", "Error and time against the number of relaxed rows n'", _synthetic_rows
        ),
        Experiment("6-queries", "Queries against workload size", _query_counts),
        Experiment("7-thresholds", "1-of-3 and 2-of-3 thresholds against ε", _thresholds),
        Experiment("8-ablation", "Distribution of errors of the ablation T = 1", _ablation),
        Experiment("9-unseen", "Marginals that were not in the workload", _unseen),
        Experiment("10-beyond", "Beyond the paper: classifiers, time and memory", _beyond),
    )
}
"""The experiments by number."""

COMPARISONS = (
    *(experiment.name for experiment in PAPER.values()),
    "grid",
    "peers",
    "numbers",
    "quick",
)
"""All experiments whose cells run a method on a workload; their results go into one table."""


def peers(data: str) -> list[Cell]:
    """Dprap beside what users would pick instead, on both neighbour relations."""
    methods = ("adaptive", "aim", "mst", "gaussian", "independent")
    same = [
        c
        for k in (3, 5)
        for c in _main_cells("peers", data, (0.1, 1.0), methods, workload=f"{k}way:64")
    ]
    return _undrawn(same) + [replace(cell, relation="add-remove", extras=()) for cell in same]


def numbers(data: str) -> list[Cell]:
    """Prefixes, ranges and halfspaces of ADULT's numeric columns, with what answers them
    elsewhere.
    """
    if data != "adult":
        return []
    beside = ("adaptive", "hdmm-lls", "gaussian", "aim")
    ends = (0.1, 1.0)
    return [
        *cells_for("numbers", data, "hdmm15:prefix", EPSILONS, (*beside, "hdmm-pgm")),
        *cells_for("numbers", data, "hdmm15:range", ends, beside),
        *cells_for(
            "numbers",
            data,
            "halfspaces",
            ends,
            ("adaptive", "rap++", "independent", "aim", "gaussian-query"),
        ),
    ]


def quick(data: str) -> list[Cell]:
    """A subset of about 20 processor seconds on ADULT, loading included, so that two busy cores do
    it in two minutes: the default method at the ε of the headline, beside what is cheap.
    """
    cells = cells_for(
        "quick", data, "3way:64", (0.1, 1.0), ("adaptive", "gaussian", "independent", "zero")
    )
    cells += cells_for("quick", data, "3way:64", (1.0,), ("mst",))
    rap = {"rounds": 5, "queries_per_round": 5, "synthetic_rows": 100}
    return [*cells, Cell("quick", data, "3way:64", "rap", 0.1, settings=rap)]
