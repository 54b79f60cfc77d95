"""Measuring and choosing marginals over groups: as dear, as noisy and as strictly kept as those
without.
"""

import numpy as np
import pytest
from tests.privacy.tables import codes_of

from dprap.accounting import Budget, Neighbors
from dprap.domain import Domain
from dprap.errors import LedgerError, WorkloadError
from dprap.privacy import Curator, Ledger, Score
from dprap.queries import Marginal, Query
from dprap.sources import MemorySource

DOMAIN = Domain.of({"age": 6, "sex": 2})
BY_HALF = Marginal(("age", "sex"), ((0, 3), None))
BY_THIRD = Marginal(("age", "sex"), ((0, 2, 4), None))


def source() -> MemorySource:
    ages = np.repeat([0, 1, 3, 5], [4000, 1000, 2000, 3000])
    return MemorySource(codes_of(DOMAIN, np.stack([ages, ages % 2], axis=1)))


def curator(ledger: Ledger | None = None, run: str | None = None) -> Curator:
    seed = 0 if ledger is None else None
    budget = Budget.of(epsilon=1.0, delta=1e-9)
    return Curator(
        source(),
        budget=budget,
        neighbors=Neighbors(),
        ledger=ledger,
        run=run,
        insecure_noise_seed=seed,
    )


def test_counts_of_groups_with_the_noise_of_a_marginal():
    keeper = curator()
    coarse, plain = keeper.measure([BY_HALF, Marginal(("sex",))], keeper.remaining)
    assert coarse.stddev_counts == plain.stddev_counts
    exact = np.array([4000, 1000, 0, 5000])  # age in {0, 1, 2} and {3, 4, 5}, by sex
    assert np.abs(coarse.counts - exact).max() < 10 * coarse.stddev_counts
    assert keeper.remaining == 0


def test_groups_need_not_be_neighbours():
    keeper = curator()
    rare = Marginal(("age", "sex"), (((0,), (1, 3), (5, 2, 4)), None))
    (measured,) = keeper.measure([rare], keeper.remaining)
    exact = np.array([4000, 0, 0, 3000, 0, 3000])
    assert np.abs(measured.counts - exact).max() < 10 * measured.stddev_counts
    assert measured.by_codes(DOMAIN).marginal == Marginal(("sex",))
    with pytest.raises(WorkloadError, match="'age' has 6 codes"):
        curator().measure([Marginal(("age",), (((0,), (1,)),))], 0.01)


def test_choosing_compares_groups_with_their_estimates():
    keeper = curator()
    estimates = [np.array([4000.0, 1000, 0, 5000]), np.zeros(6)]
    chosen = keeper.select(
        [BY_HALF, BY_THIRD], estimates, k=1, rho=keeper.remaining, score=Score(cell=0.0, l1=1.0)
    )
    # 10,000 counts of error against none: a wrong pick has a chance below e^-100
    assert chosen == [1]


def test_what_it_says_of_codes_sums_the_groups_out():
    keeper = curator()
    (measured,) = keeper.measure([BY_THIRD], keeper.remaining)
    sexes = measured.by_codes(DOMAIN)
    assert sexes.marginal == Marginal(("sex",))
    np.testing.assert_array_equal(sexes.counts, measured.counts.reshape(3, 2).sum(axis=0))
    assert sexes.stddev_counts == pytest.approx(measured.stddev_counts * 3**0.5)


def test_groups_that_the_domain_does_not_have_are_refused_before_anything_is_spent():
    keeper = curator()
    with pytest.raises(WorkloadError, match="'age' has 6 codes"):
        keeper.measure([Marginal(("age",), ((0, 6),))], keeper.remaining)
    assert keeper.spent == 0


def test_a_subclass_is_not_taken_for_a_coarse_marginal():
    class Twice(Marginal):
        def answers(self, table):
            return 2 * super().answers(table)

    keeper = curator()
    with pytest.raises(WorkloadError, match="sensitivity of a Twice is not known"):
        keeper.measure([Twice(BY_HALF.columns, BY_HALF.groups)], keeper.remaining)


def test_a_run_with_other_groups_is_another_run(tmp_path):
    with Ledger(tmp_path / "ledger.jsonl", neighbors=Neighbors()) as ledger:
        keeper = curator(ledger)
        keeper.measure([BY_HALF], keeper.remaining / 2)
        again = curator(ledger, keeper.run)
        with pytest.raises(LedgerError, match="was something else"):
            again.measure([BY_THIRD], again.remaining / 2)


def test_single_queries_and_certificates_are_of_the_groups():
    keeper = curator()
    half = keeper.remaining / 2
    (measured,) = keeper.measure_queries([Query(BY_HALF, 3)], half)
    assert abs(measured.count - 5000) < 10 * measured.stddev_counts  # age in {3, 4, 5}, sex 1
    certificate = keeper.certify([BY_HALF], [np.array([4000.0, 1000, 700, 5000])], rho=half)
    assert certificate.queries == 4
    assert abs(certificate.noisy_max_error_counts - 700) < 10 * certificate.stddev_counts
    with pytest.raises(WorkloadError, match="no query number 4"):
        keeper.measure_queries([Query(BY_HALF, 4)], half)


def test_no_verb_takes_groups_that_the_domain_does_not_have():
    keeper = curator()
    bad = Marginal(("age",), ((0, 6),))
    verbs = [
        lambda: keeper.prepare([bad]),
        lambda: keeper.measure_queries([Query(bad, 0)], keeper.remaining),
        lambda: list(keeper.measure_all([bad], keeper.remaining)),
        lambda: keeper.select([bad], [np.zeros(2)], k=1, rho=keeper.remaining),
        lambda: keeper.certify([bad], [np.zeros(2)], rho=keeper.remaining),
    ]
    for verb in verbs:
        with pytest.raises(WorkloadError, match="'age' has 6 codes"):
            verb()
    assert keeper.spent == 0
