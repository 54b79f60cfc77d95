"""Quantile edges and histograms bought with budget: close to the truth, and never more than post-processing."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dprap.accounting import Budget, Measurement, Neighbors, Relation
from dprap.encoding import decode, encode
from dprap.encoding.codes import Codes
from dprap.encoding.quantiles import measured_histogram, quantile_edges, rebin
from dprap.errors import SchemaError, SettingsError
from dprap.privacy import Curator, Ledger, read_ledger
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources import MemorySource

FINE = Schema.of(
    {
        "columns": {
            "income": {"type": "number", "min": 0, "max": 100_000, "bins": 1000, "nullable": True, "out_of_domain": "clip"},
            "age": {"type": "integer", "min": 0, "max": 119},
        }
    }
)  # fmt: skip
INCOME, AGE = FINE.columns["income"], FINE.columns["age"]


def measurement(counts: list[int] | np.ndarray, name: str = "age") -> Measurement:
    return Measurement(Marginal((name,)), np.asarray(counts, dtype=np.int64), 1.0, 0.1)


def incomes(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    values = rng.lognormal(9, 0.8, rows)
    return pa.table({"income": pa.array(values, mask=rng.random(rows) < 0.1), "age": rng.integers(0, 120, rows)})


def test_noiseless_quantiles_are_those_of_the_grid() -> None:
    table = incomes(50_000)
    counts = MemorySource(encode(table, FINE)).count([Marginal(("income",))])[0].dense()
    edges = quantile_edges(measurement(counts, "income"), INCOME, 10)
    assert edges[0] == 0
    assert edges[-1] == 100_000
    assert len(edges) == 11
    truth = np.nanquantile(table["income"].to_numpy(), np.arange(1, 10) / 10)
    assert np.abs(np.array(edges[1:-1]) - truth).max() <= 100  # one fine bin


def test_integers_and_repeated_values() -> None:
    counts = np.zeros(120, dtype=np.int64)
    counts[[18, 40]] = [900, 100]
    edges = quantile_edges(measurement(counts), AGE, 4)
    assert list(edges) == sorted(set(edges))
    rebinned = rebin(FINE, "age", edges)
    assert rebinned.columns["age"].regular == len(edges) - 1
    assert rebinned.columns["income"] == INCOME


@pytest.mark.parametrize("bins", [1, 7, 120])
@pytest.mark.parametrize("seed", range(20))
def test_any_noise_gives_valid_edges(bins: int, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 10.0 ** (seed % 5), 120).astype(np.int64) - 5 * (seed % 2)
    edges = quantile_edges(measurement(noise), AGE, bins)
    assert 2 <= len(edges) <= bins + 1
    assert rebin(FINE, "age", edges).columns["age"].regular == len(edges) - 1


def test_only_noise_falls_back_to_the_grid() -> None:
    assert quantile_edges(measurement(np.full(120, -3)), AGE, 4) == (0, 30, 60, 90, 119)


def test_bought_with_budget_and_charged(tmp_path: Path) -> None:
    """Two runs on one ledger: the fine column is measured for a part of the cap, the rest is left for the release."""
    table = incomes(20_000)
    neighbors = Neighbors(Relation.REPLACE)
    budget = Budget.of(epsilon=0.5, delta=1e-9)
    with Ledger(tmp_path / "l.ledger", neighbors=neighbors, cap_rho=budget.rho * 3) as ledger:
        curator = Curator(MemorySource(encode(table, FINE)), budget=budget, neighbors=neighbors, ledger=ledger)
        (noisy,) = curator.measure([Marginal(("income",))], curator.remaining)
        curator.finish()
        edges = quantile_edges(noisy, INCOME, 8)
        coarse = rebin(FINE, "income", edges, histogram=measured_histogram(noisy, INCOME))
        second = Curator(MemorySource(encode(table, coarse)), budget=budget, neighbors=neighbors, ledger=ledger)
        second.measure([Marginal(("income",))], second.remaining)
        second.finish()
    assert read_ledger(tmp_path / "l.ledger").spent_rho == Fraction(budget.rho) * 2
    truth = np.nanquantile(table["income"].to_numpy(), np.arange(1, 8) / 8)
    # σ = √2/√(2ρ) ≈ 80 records per fine bin, so a cumulative count is off by 80·√1000 ≈ 2,500 of 18,000 at the far end;
    # the inner quantiles lie within the first 300 bins: 4σ ≈ 5,500 records. Only gross errors fail here.
    assert np.abs(np.array(edges[1:4]) - truth[:3]).max() < 8000


def test_decoding_follows_the_measured_histogram() -> None:
    counts = np.zeros(121, dtype=np.int64)[:120]
    counts[[5, 70]] = [100, 300]
    counts[7] = -50
    coarse = rebin(FINE, "age", (0, 60, 119), histogram=measured_histogram(measurement(counts), AGE))
    codes = Codes.of(coarse.domain, {"income": np.zeros(2000, int), "age": np.repeat([0, 1], 1000)})
    ages = decode(codes, coarse, seed=0)["age"].to_numpy()
    assert set(ages[:1000]) == {5}
    assert set(ages[1000:]) == {70}


def test_refusals() -> None:
    with pytest.raises(SettingsError, match="quantile bins"):
        quantile_edges(measurement(np.ones(120)), AGE, 0)
    with pytest.raises(SettingsError, match="one-way"):
        quantile_edges(measurement(np.ones(7)), AGE, 3)
    with pytest.raises(SchemaError, match="'sex'"):
        rebin(FINE, "sex", (0, 1))
