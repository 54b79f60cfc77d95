"""RAP's pair (T, K): the paper runs a grid and reports the best pair, which is choosing by looking.

The grid is run on some draws. The pair with the smallest median is then run on other draws, which
judge: what a table shows is theirs, so that the luck of the draws that chose is not in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import median
from typing import Any

from dprap_bench.cell import Cell
from dprap_bench.published import PAPER_GRID
from dprap_bench.record import Record, key_of

JUDGING = 9000
"""Draws with this noise seed or a larger one judge; nothing is chosen by them."""


GRID_ROWS = 100
"""Relaxed rows n' of the grid: a tenth of the time, and the error has no trend in n' from 100 rows
on (experiment 5).
"""


def whole_grid(cells: list[Cell], *, most_queries: int | None = None) -> list[Cell]:
    """RAP at all 25 pairs (T, K) of the paper, for every problem of the cells; pairs with few
    queries first. With `most_queries`, pairs that select more queries than that are left out.
    """
    pairs = [pair for pair in PAPER_GRID if math.prod(pair) <= (most_queries or math.inf)]
    problems = {
        _problem(cell.as_dict()): replace(cell, experiment="grid", extras=())
        for cell in cells
        if cell.method == "rap" and "synthetic_rows" not in cell.settings
    }
    return [
        replace(
            cell,
            settings={"rounds": rounds, "queries_per_round": queries, "synthetic_rows": GRID_ROWS},
        )
        for cell in problems.values()
        for rounds, queries in sorted(pairs, key=math.prod)
    ]


def at_chosen_pair(cells: list[Cell], records: Iterable[Record]) -> list[Cell]:
    """The cells of RAP alone, at the pair with the smallest median error among the records that
    choose.

    Pairs are compared at one number of relaxed rows: that at which most pairs were run, the larger
    of two.
    """
    errors: dict[str, dict[int, dict[tuple[int, int], dict[int, float]]]] = {}
    for record in records:
        facts = record.cell
        if facts["method"] != "rap" or record.failed or facts["seed"] >= JUDGING:
            continue
        settings = {"synthetic_rows": _USUAL_ROWS, **facts["settings"]}
        pair = (settings["rounds"], settings["queries_per_round"])
        by_rows = errors.setdefault(_problem(facts), {}).setdefault(settings["synthetic_rows"], {})
        by_rows.setdefault(pair, {})[facts["seed"]] = float(record.figures["max"] or 0)
    chosen: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        problem = _problem(cell.as_dict())
        if cell.method != "rap" or "synthetic_rows" in cell.settings or problem not in errors:
            continue
        _, tried = max(errors[problem].items(), key=lambda found: (len(found[1]), found[0]))
        rounds, queries = min(tried, key=lambda pair: median(tried[pair].values()))
        # The experiment's first pair says what is measured beside the error.
        settings = {"rounds": rounds, "queries_per_round": queries}
        chosen.setdefault((cell.experiment, problem), replace(cell, settings=settings))
    return list(chosen.values())


# What RAP has where nothing is said.
_USUAL_ROWS = 1000


def _problem(facts: Mapping[str, Any]) -> str:
    return key_of(
        {
            name: facts[name]
            for name in ("data", "workload", "relation", "epsilon", "rows", "columns")
        }
    )
