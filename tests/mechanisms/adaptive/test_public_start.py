"""A public table as a start: it helps where it is right, does little harm where it misleads, and
costs no privacy.
"""

from __future__ import annotations

import numpy as np
import pytest

from dprap.accounting import Budget, Neighbors, Relation
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.evaluate import evaluate
from dprap.mechanisms.adaptive import AdaptiveSettings, run
from dprap.mechanisms.adaptive.evidence import Evidence
from dprap.mechanisms.adaptive.public_start import fit_to_public, records_stood_for
from dprap.privacy import Curator
from dprap.public_table import PublicTable, count_public
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.blocks import Blocks
from dprap.sources import MemorySource
from dprap.workload import all_kway

DOMAIN = Domain.of({"a": 6, "b": 6, "c": 5, "d": 4, "e": 3})
WORKLOAD = all_kway(DOMAIN, 3)
FAST = AdaptiveSettings(synthetic_rows=60, steps=60, final_steps=120)
ROWS = 4000


def chain(seed: int, rows: int = ROWS) -> Codes:
    """Each column follows the one before."""
    generator = np.random.default_rng(seed)
    columns = [generator.binomial(5, 0.4, rows)]
    for size in DOMAIN.sizes[1:]:
        columns.append(
            np.where(
                generator.random(rows) < 0.7, columns[-1] % size, generator.integers(0, size, rows)
            )
        )
    return Codes.of(DOMAIN, dict(zip(DOMAIN.names, columns, strict=True)))


def reversed_columns() -> Codes:
    """Every second column upside down: other shares, and relations of the wrong sign."""
    codes = chain(1)
    turned = [
        size - 1 - column.astype(np.int64) if place % 2 else column
        for place, (column, size) in enumerate(zip(codes.columns, DOMAIN.sizes, strict=True))
    ]
    return Codes.of(DOMAIN, dict(zip(DOMAIN.names, turned, strict=True)))


def sorted_columns() -> Codes:
    """The right shares of every column, and relations as strong as can be: measured columns do not
    give it away.
    """
    return Codes(DOMAIN, tuple(np.sort(column) for column in chain(1).columns))


def public(codes: Codes) -> PublicTable:
    return count_public([codes.columns], WORKLOAD, name="census.csv")


def curator(epsilon: float, seed: int, relation: Relation = Relation.REPLACE) -> Curator:
    return Curator(
        MemorySource(chain(0)),
        budget=Budget.of(epsilon=epsilon, delta=1e-7),
        neighbors=Neighbors(relation),
        ledger=None,
        insecure_noise_seed=seed,
    )


def tv(epsilon: float, table: PublicTable | None) -> float:
    """Mean over two draws of noise."""
    errors = [
        evaluate(
            MemorySource(chain(0)),
            WORKLOAD,
            run(curator(epsilon, seed), WORKLOAD, FAST, seed=seed, public=table),
        )
        for seed in range(2)
    ]
    return float(np.mean([error.tv for error in errors]))


def test_a_table_from_the_same_population_helps_at_small_epsilon():
    assert tv(0.1, public(chain(1))) < 0.5 * tv(0.1, None)


@pytest.mark.parametrize("epsilon", [0.2, pytest.param(1.0, marks=pytest.mark.slow)])
def test_measurements_win_over_a_table_that_misleads(epsilon):
    alone = tv(epsilon, None)
    for misleading in (reversed_columns, sorted_columns):
        assert tv(epsilon, public(misleading())) < 1.5 * alone


@pytest.mark.parametrize("relation", Relation)
def test_nothing_is_spent_for_it(relation):
    keeper = curator(1.0, 0, relation)
    steps = AdaptiveSettings(synthetic_rows=8, steps=2, final_steps=2)
    result = run(keeper, WORKLOAD, steps, seed=0, public=public(chain(1, rows=50)))
    assert keeper.spent == keeper.budget.rho
    assert result.relaxed is not None


def test_a_workload_of_single_columns_starts_from_it_too():
    workload = all_kway(DOMAIN, 1)
    table = count_public([chain(1).columns], workload, name="census.csv")
    result = run(curator(0.1, 0), workload, FAST, seed=0, public=table)
    assert evaluate(MemorySource(chain(0)), workload, result).tv < 0.05


def test_rows_are_fitted_to_every_public_marginal_and_can_leave_them():
    prior = np.log(
        np.concatenate([np.full((size, 1), 1 / size, np.float32) for size in DOMAIN.sizes])
    )
    start = RelaxedDataset.from_logits(
        DOMAIN, prior + 0.3 * np.random.default_rng(0).gumbel(size=(DOMAIN.onehot_size, 80))
    )
    table = public(chain(1))
    result = fit_to_public(start, prior, table, AdaptiveSettings(final_steps=200))
    blocks = Blocks(DOMAIN, result.rows.probabilities)
    distances = [
        abs(blocks.shares(marginal) - shares).sum() / 2 for marginal, shares in table.shares.items()
    ]
    assert np.mean(distances) < 0.05
    assert result.steps == 200
    assert result.rows.logits.shape == start.logits.shape
    assert result.rows.logits.min() > -14, "no code is out of reach"


def test_the_pull_stands_for_no_more_records_than_the_table_has_and_fewer_where_it_is_off():
    def departing(place: int) -> list[Evidence]:
        return [
            Evidence(
                ("a",),
                np.ones(6),
                1.0,
                np.ones(6),
                np.tile(np.arange(20) == place, (10, 1)).astype(float),
            )
        ]

    table = public(chain(1, rows=100))
    assert records_stood_for(table, departing(0), 1e6) == pytest.approx(100, rel=1e-3)
    assert records_stood_for(public(chain(1)), departing(19), 1e6) == pytest.approx(10), (
        "the largest dispersion is 1e5"
    )
