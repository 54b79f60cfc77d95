"""RAP's pair (T, K): the paper runs a grid and reports the best pair, which is choosing by looking.

The grid is run on some draws. The pair with the smallest median is then run on other draws, which judge: what a table
shows is theirs, so that the luck of the draws that chose is not in it.
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


def with_whole_grid(cells: list[Cell]) -> list[Cell]:
    """The same with RAP at all 25 pairs (T, K) of the paper wherever it is run, those with few queries first."""
    whole: list[Cell] = []
    completed: set[tuple[str, str]] = set()
    for cell in cells:
        whole.append(cell)
        # What is measured beside the error belongs to the few pairs that experiments share.
        plain = replace(cell, settings={}, extras=())
        if cell.method != "rap" or "synthetic_rows" in cell.settings or (cell.experiment, plain.key) in completed:
            continue
        completed.add((cell.experiment, plain.key))
        alike = [each for each in cells if each.experiment == cell.experiment]
        there = [each.settings for each in alike if replace(each, settings={}, extras=()).key == plain.key]
        grid = [{"rounds": rounds, "queries_per_round": k} for rounds, k in sorted(PAPER_GRID, key=math.prod)]
        whole += [replace(plain, settings=settings) for settings in grid if settings not in there]
    return whole


def at_chosen_pair(cells: list[Cell], records: Iterable[Record]) -> list[Cell]:
    """The cells of RAP alone, at the pair with the smallest median error among the records that choose."""
    errors: dict[str, dict[tuple[int, int], dict[int, float]]] = {}
    for record in records:
        facts = record.cell
        if facts["method"] != "rap" or record.failed or facts["seed"] >= JUDGING:
            continue
        if set(facts["settings"]) == {"rounds", "queries_per_round"}:
            pair = (facts["settings"]["rounds"], facts["settings"]["queries_per_round"])
            draws = errors.setdefault(_problem(facts), {}).setdefault(pair, {})
            draws[facts["seed"]] = float(record.figures["max"] or 0)
    chosen: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        if cell.method != "rap" or "synthetic_rows" in cell.settings:
            continue
        tried = errors.get(_problem(cell.as_dict()))
        if tried is not None:
            rounds, queries = min(tried, key=lambda pair: median(tried[pair].values()))
            # A pair of the grid has no extras; the experiment's own pairs come first and say what is measured beside.
            problem = (cell.experiment, _problem(cell.as_dict()))
            settings = {"rounds": rounds, "queries_per_round": queries}
            chosen.setdefault(problem, replace(cell, settings=settings))
    return list(chosen.values())


def _problem(facts: Mapping[str, Any]) -> str:
    return key_of({name: facts[name] for name in ("data", "workload", "relation", "epsilon", "rows", "columns")})
