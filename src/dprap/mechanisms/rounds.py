"""T rounds of choosing and measuring K single queries: what `rap` and `rap++` have in common.

A run that may spend ρ on its rounds pays ρ/(2T) for the K picks of a round and ρ/(2T) for its K
measurements. A query that was measured is no candidate again; its answer is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dprap.accounting import Neighbors, QueryMeasurement
from dprap.accounting.stddev import stddev_for
from dprap.array_types import Answers
from dprap.errors import SettingsError
from dprap.mechanisms.outline import PlannedStep
from dprap.privacy import Curator
from dprap.workload import Workload

# JAX and what it compiles; a choice besides holds a score for each query.
_JAX = 5e8


def check_rounds(
    workload: Workload, rounds: int, queries_per_round: int, *, instead: str = ""
) -> None:
    """Refuse rounds that would choose more queries than the workload has; `instead` ends the
    advice.
    """
    asked = rounds * queries_per_round
    if asked > workload.queries:
        raise SettingsError(
            f"{rounds} rounds of {queries_per_round} queries select {asked:,}, but the workload has"
            f" {workload.queries:,}. Lower rounds or queries_per_round{instead}."
        )


def rounds_within(settings: Any, workload: Workload) -> Any:
    """Settings whose rounds choose no more queries than the workload has.

    A plan is checked with the codes that are declared. Intervals that a run has bought may be
    fewer, and what was paid for must not be lost for that: then rounds choose fewer queries.

    Args:
        settings: The settings of a method; those without rounds of queries stay as they are.
        workload: The workload over the codes that were bought.

    Returns:
        The settings.

    """
    rounds = getattr(settings, "rounds", None)
    each = getattr(settings, "queries_per_round", None)
    if rounds is None or each is None or rounds * each <= workload.queries:
        return settings
    return replace(
        settings,
        rounds=min(rounds, workload.queries),
        queries_per_round=max(workload.queries // rounds, 1),
    )


def planned_rounds(
    workload: Workload,
    rounds: int,
    queries_per_round: int,
    *,
    rho: Fraction,
    neighbors: Neighbors,
    evaluate: float,
    fit: float,
) -> list[PlannedStep]:
    """The steps of a plan: what all choices cost, and what all measurements cost.

    Args:
        workload: The queries to choose from.
        rounds: T.
        queries_per_round: K.
        rho: What all rounds may spend.
        neighbors: The neighbour relation, for the noise of a query.
        evaluate: Multiplications that answer the whole workload once.
        fit: Multiplications of all fits.

    Returns:
        Two steps, with half of rho each.

    """
    asked = rounds * queries_per_round
    label = f"choose {asked:,} of {workload.queries:,} queries, in {rounds} rounds"
    stddev = stddev_for(neighbors.query**2, rho / 2 / asked)
    return [
        PlannedStep(label, rho / 2, None, 0, rounds * evaluate, _JAX + 8.0 * workload.queries),
        PlannedStep("measure them", rho / 2, stddev, asked, fit),
    ]


def choose_and_measure(
    curator: Curator,
    workload: Workload,
    shares: Iterable[Answers],
    measured: Sequence[QueryMeasurement],
    *,
    records: float,
    k: int,
    rho: Fraction,
) -> list[QueryMeasurement]:
    """One round: choose the k worst-answered queries that were not measured yet, and measure them.

    Args:
        curator: Who charges rho for the picks and rho for the measurements.
        workload: The queries to choose from.
        shares: What the rows answer now, one array for each family of the workload.
        measured: What earlier rounds measured.
        records: The number of records, public or paid for.
        k: How many queries to choose.
        rho: The price of the picks, and again of the measurements.

    Returns:
        The k new measurements.

    """
    selected = curator.select_queries(
        workload.families,
        (each * np.float64(records) for each in shares),
        k=k,
        rho=rho,
        exclude=[item.query for item in measured],
    )
    return curator.measure_queries(selected, rho)
