"""The noise that each verb really draws is what its charge asks for: never less, and hardly more.

What is asked for is written here once more, by the formulas of docs/privacy.md: σ = Δ₂/√(2ρ) for
measurements and η = √(2ρ)/Δ for picks, with the sensitivities of each relation, times the rows that
a person may have.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tests.privacy.tables import DOMAIN, codes_of, random_rows

from dprap.accounting import Accounting, Budget, Neighbors, Relation
from dprap.accounting.stddev import stddev_for
from dprap.privacy import Curator, Score, discovery
from dprap.privacy.open_candidates import Apart
from dprap.privacy.verbs import certify, measure, select
from dprap.queries import GRID, Custom, Marginal, Query
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.sources.unknown_columns import open_discovery

RELATIONS = [Neighbors(relation, rows) for relation in Relation for rows in (1, 3)]
A, BC = Marginal(("a",)), Marginal(("b", "c"))
HALF = Custom("half", ("a", "b"), lambda row: row["a"][0] * 0.5)
ROWS = random_rows(np.random.default_rng(0), DOMAIN, 50)
TIGHT = Budget.of(epsilon=1.0, delta=1e-6, accounting=Accounting.TIGHT)


class Drawn:
    """What the verbs drew: scales of noise, and temperatures of picks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scales: list[float] = []
        self.etas: list[float] = []
        self.noise = 0
        for module in (measure, certify, discovery):
            monkeypatch.setattr(module, "add_discrete_gaussian", self._add)
        monkeypatch.setattr(select, "pick_top", lambda _, *, k, eta, **__: self._pick(k, eta))
        monkeypatch.setattr(select, "pick_in_turn", lambda _, *, k, eta, **__: self._pick(k, eta))

    def _add(self, counts: np.ndarray, stddev: float, _: object) -> np.ndarray:
        self.scales.append(stddev)
        return counts + self.noise

    def _pick(self, k: int, eta: float) -> list[int]:
        self.etas.append(eta)
        return list(range(k))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    return Drawn(monkeypatch)


def _curator(neighbors: Neighbors, budget: Budget = TIGHT) -> Curator:
    return Curator(
        MemorySource(codes_of(DOMAIN, ROWS)), budget=budget, neighbors=neighbors, ledger=None
    )


def _is_noise_for(scale: float, l2_squared: int, rho: Fraction, units: int = 1) -> bool:
    """Whether σ²·2ρ is Δ₂² or a little more, in exact arithmetic."""
    paid = Fraction(scale) ** 2 * 2 * rho / units**2
    return l2_squared <= paid <= l2_squared * (1 + Fraction(1, 10**12))


def _is_pick_for(eta: float, sensitivity: int, rho: Fraction) -> bool:
    cost = (Fraction(eta) * sensitivity) ** 2 / 2
    return rho * (1 - Fraction(1, 10**12)) <= cost <= rho


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_measurements(neighbors: Neighbors, drawn: Drawn) -> None:
    r = neighbors.max_rows_per_person
    of_marginal = r**2 * (2 if neighbors.relation is Relation.REPLACE else 1)
    curator = _curator(neighbors)
    rho = curator.rho / 7
    curator.measure([A, BC], rho, shares=[1, 3])
    assert _is_noise_for(drawn.scales[0], of_marginal, rho / 4)
    assert _is_noise_for(drawn.scales[1], of_marginal, rho * 3 / 4)
    drawn.scales.clear()
    curator.measure_queries([Query(A, 0), Query(BC, 3), Query(HALF, 0)], rho)
    assert _is_noise_for(min(drawn.scales), r**2, rho / 3)
    assert _is_noise_for(max(drawn.scales), r**2, rho / 3, GRID)
    drawn.scales.clear()
    list(curator.measure_all([BC, HALF], rho))
    assert _is_noise_for(drawn.scales[0], r**2, rho / 13)
    assert _is_noise_for(drawn.scales[1], r**2, rho / 13, GRID)
    drawn.scales.clear()
    curator.certify([A], [np.zeros(2)], rho=rho)
    assert _is_noise_for(drawn.scales[0], r**2, rho, 16)
    assert curator.spent == 4 * rho


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_picks(neighbors: Neighbors, drawn: Drawn) -> None:
    r = neighbors.max_rows_per_person
    of_sum = r * (2 if neighbors.relation is Relation.REPLACE else 1)
    curator = _curator(neighbors)
    rho = curator.rho / 9
    estimates = [np.zeros(2), np.zeros(12)]
    # 16 steps of an estimate, 64 of a factor, 1024 of a weight
    for score, moves in (
        (Score(), 64 * r),
        (Score(cell=1.0, l1=0.5), 64 * r + 32 * of_sum),
        (Score(cell=0.0, l1=1.0, weights=[1.0, 0.25]), 64 * of_sum),
        (Score(cell=0.0, l1=1.0, summed_cells=[1, 1]), 64 * r),
        (Score(cell=0.0, l1=1.0, summed_cells=[1, 2]), 64 * of_sum),
    ):
        for apart in (None, Apart()):
            curator = _curator(neighbors)
            curator.select([A, BC], estimates, k=2, rho=rho, score=score, apart=apart)
            assert _is_pick_for(drawn.etas.pop(), 1024 * 16 * moves, rho / 2)
    curator.select_queries([A, HALF], [np.zeros(2), np.zeros(1)], k=3, rho=rho)
    assert _is_pick_for(drawn.etas.pop(), r, rho / 3)


def test_picks_cost_more_under_exact_accounting(drawn: Drawn) -> None:
    budget = Budget.of(epsilon=1.0, delta=1e-6)
    curator = _curator(Neighbors(), budget)
    curator.select([A, BC], [np.zeros(2), np.zeros(12)], k=2, rho=budget.rho / 5)
    curator.select_queries([A], [np.zeros(2)], k=2, rho=budget.rho / 5)
    priced = budget.pick_rho(budget.rho / 10)
    assert priced < budget.rho / 10
    assert _is_pick_for(drawn.etas[0], 1024 * 16 * 64, priced)
    assert _is_pick_for(drawn.etas[1], 1, priced)


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_discovery(neighbors: Neighbors, drawn: Drawn) -> None:
    columns = {name: {"type": "categorical", "domain": "discover"} for name in ("x", "y")}
    source = open_discovery(
        pd.DataFrame({"x": ["a"] * 50, "y": ["b"] * 50}), Schema.of({"columns": columns})
    )
    budget = TIGHT.split(0.5, threshold_delta=1e-7)[0]
    curator = Curator(source, budget=budget, neighbors=neighbors, ledger=None)
    found = curator.discover_values(["x", "y"], budget.rho, delta=1e-7)
    r = neighbors.max_rows_per_person
    of_marginal = r**2 * (2 if neighbors.relation is Relation.REPLACE else 1)
    assert all(_is_noise_for(scale, of_marginal, budget.rho / 2) for scale in drawn.scales)
    assert len(drawn.scales) == 2
    assert sum(Fraction(each.delta) for each in found) <= Fraction(1e-7)
    at_least = discovery.threshold_for(drawn.scales[0], 1e-7 / 2, neighbors)
    assert all(each.threshold_counts >= at_least for each in found)


def test_only_noisy_counts_leave(drawn: Drawn) -> None:
    """With noise of one known size, every published number has it."""
    exact, shifted = _published(drawn, 0), _published(drawn, 40 * GRID)
    steps = [40 * GRID] * 14 + [40] + [40 * GRID] * 12 + [40 * GRID / 16] + [40 * GRID] * 2
    assert np.subtract(shifted, exact).tolist() == steps


def _published(drawn: Drawn, noise: int) -> list[float]:
    """Numbers of all verbs: of 2 + 12 cells, 1 custom query, 12 cells, a certificate, 2 values."""
    drawn.noise = noise
    curator = _curator(Neighbors())
    rho = curator.rho / 9
    found = [count for each in curator.measure([A, BC], rho) for count in each.counts]
    found += [each.count for each in curator.measure_queries([Query(HALF, 0)], rho)]
    found += [count for _, counts, _ in curator.measure_all([BC], rho) for count in counts]
    found.append(curator.certify([A], [np.zeros(2)], rho=rho).noisy_max_error_counts)
    column = {"x": {"type": "categorical", "domain": "discover"}}
    table = pd.DataFrame({"x": ["a"] * 30_000 + ["b"] * 20_000})
    source = open_discovery(table, Schema.of({"columns": column}))
    budget = TIGHT.split(0.5, threshold_delta=1e-12)[0]
    discoverer = Curator(source, budget=budget, neighbors=Neighbors(), ledger=None)
    (values,) = discoverer.discover_values(["x"], budget.rho, delta=1e-12)
    return [*found, *values.noisy_counts]


@pytest.mark.parametrize("l2_squared", [1, 2, 9, 18, 10**6 + 1])
def test_noise_is_rounded_up(l2_squared: int) -> None:
    generator = np.random.default_rng(l2_squared)
    for rho in generator.uniform(1e-9, 3, 300):
        assert _is_noise_for(stddev_for(l2_squared, float(rho)), l2_squared, Fraction(float(rho)))
