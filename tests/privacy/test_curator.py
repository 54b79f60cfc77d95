import threading
from fractions import Fraction

import numpy as np
import pytest
from tests.privacy.tables import ADD_REMOVE, DOMAIN, codes_of, curator_of, random_rows

from dprap.accounting import Budget, Neighbors
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import BudgetError, DataError, DprapError, SettingsError, WorkloadError
from dprap.privacy import Curator, Rows, Score
from dprap.privacy.open_candidates import Apart
from dprap.privacy.scores import MAX_COUNT
from dprap.queries import Custom, Marginal, Query, Range, Threshold
from dprap.sources import MemorySource

ROWS = random_rows(np.random.default_rng(1), DOMAIN, 400)
A, BC = Marginal(("a",)), Marginal(("b", "c"))


def test_fractions_of_the_budget_add_up_exactly():
    curator = curator_of(ROWS, rho=0.3)
    for _ in range(7):
        curator.measure([A], curator.rho / 7)
    assert curator.remaining == 0
    with pytest.raises(BudgetError, match="0 is left"):
        curator.measure([A], Fraction(1, 10**30))


def test_float_shares_may_overshoot_by_rounding_but_are_never_granted():
    curator = curator_of(ROWS, rho=0.3)
    for _ in range(3):
        curator.measure([A], 0.1)  # 0.1 + 0.1 + 0.1 > 0.3 in exact arithmetic of these floats
    assert curator.spent == Fraction(0.3)
    assert curator.remaining == 0


def test_overspending_is_refused_and_costs_nothing():
    curator = curator_of(ROWS, rho=0.3)
    curator.measure([A], 0.2)
    with pytest.raises(BudgetError, match="Nothing was charged"):
        curator.measure([A], 0.11)
    assert curator.spent == Fraction(0.2)
    curator.measure([A], 0.05)


@pytest.mark.parametrize("rho", [0, -0.1, float("nan"), float("inf"), "1", None])
def test_bad_charges(rho):
    curator = curator_of(ROWS)
    with pytest.raises(BudgetError, match="positive number"):
        curator.measure([A], rho)
    assert curator.spent == 0


def test_what_is_set_aside_cannot_be_planned_with():
    curator = curator_of(ROWS, rho=0.5)
    curator.set_aside(0.2)
    assert curator.rho == curator.remaining == Fraction(0.5) - Fraction(0.2)
    with pytest.raises(BudgetError):
        curator.measure([A], 0.4)
    curator.measure([A], curator.remaining)
    curator.set_aside(0)
    assert curator.remaining == Fraction(0.2)


@pytest.mark.parametrize("rho", [-0.1, 0.5, 0.6, float("nan")])
def test_all_of_the_budget_or_less_than_nothing_cannot_be_set_aside(rho):
    curator = curator_of(ROWS, rho=0.5)
    with pytest.raises(BudgetError, match="less than the whole budget"):
        curator.set_aside(rho)
    assert curator.remaining == curator.rho == Fraction(0.5)


def test_a_generator_cannot_outlive_the_budget():
    """`measure_all` is paid family by family; what is spent in between is not spent twice."""
    curator = curator_of(ROWS, rho=0.5)
    families = curator.measure_all([A, BC], 0.5)
    next(families)
    curator.measure([A], curator.remaining)
    with pytest.raises(BudgetError):
        next(families)
    assert curator.spent <= curator.rho


def test_the_curator_is_not_called_from_within_a_step():
    curator = curator_of(ROWS)

    def estimates():
        yield np.zeros(2)
        curator.measure([A], 0.1)

    with pytest.raises(SettingsError, match="middle of a step"):
        curator.select_queries([A, BC], estimates(), k=1, rho=0.1)
    assert curator.spent == 0
    curator.measure([A], 0.1)


def test_nor_from_two_threads_at_once():
    curator = curator_of(ROWS)
    inside, leave = threading.Event(), threading.Event()

    def estimates():
        inside.set()
        leave.wait(200)
        yield np.zeros(2)

    thread = threading.Thread(target=lambda: curator.select_queries([A], estimates(), k=1, rho=0.1))
    thread.start()
    inside.wait(200)
    with pytest.raises(SettingsError, match="other threads"):
        curator.measure([A], 0.1)
    leave.set()
    thread.join()
    assert curator.spent == Fraction(0.1)


def test_a_failing_step_costs_nothing():
    curator = curator_of(ROWS)
    for bad in (
        lambda: curator.select_queries([A], [np.array([np.nan, 0.0])], k=1, rho=0.1),
        lambda: curator.select_queries([A], [np.zeros(3)], k=1, rho=0.1),
        lambda: curator.select_queries([A], [], k=1, rho=0.1),
        lambda: curator.select_queries([A], [np.zeros(2)], k=3, rho=0.1),
        lambda: curator.select_queries([A], [np.zeros(2)], k=0, rho=0.1),
        lambda: curator.select_queries([A], [np.zeros(2)], k=2, rho=0.1, exclude=[Query(A, 0)]),
        lambda: curator.select_queries([A], [np.zeros(2)], k=1, rho=0.1, exclude=[Query(BC, 0)]),
        lambda: curator.select_queries([A], [np.zeros(2)], k=1, rho=0.1, exclude=[Query(A, 2)]),
        lambda: curator.select([A], [np.zeros(2)], k=2, rho=0.1),
        lambda: curator.select([A], [np.zeros(2)], k=1, rho=0.1, score=Score(weights=[1.0, 2.0])),
        lambda: curator.certify([A], [np.zeros(2)], rho=0.1, confidence=1.0),
        lambda: curator.certify([A], [np.full(2, 1e30)], rho=0.1),
        lambda: curator.measure([], 0.1),
        lambda: curator.measure([Marginal(("nobody",))], 0.1),
        lambda: curator.measure([Threshold(("a", "b"), 1)], 0.1),
        lambda: curator.measure([A, BC], 0.1, shares=[1.0]),
        lambda: curator.measure([A, BC], 0.1, shares=[1.0, 0.0]),
        lambda: curator.measure_queries([Query(A, 2)], 0.1),
        lambda: curator.measure_queries([Query(A, -1)], 0.1),
    ):
        with pytest.raises((DprapError, ValueError)):
            bad()
        assert curator.spent == 0
        assert not curator._steps._state.charges, "the books know of no charge either"


class Lying(Marginal):
    """A family that weighs records a thousandfold: its sensitivity is not what the curator
    proves.
    """

    def answers(self, table):
        return 1000 * table


def test_unknown_kinds_of_queries_are_refused():
    curator = curator_of(ROWS)
    with pytest.raises(WorkloadError, match="sensitivity"):
        curator.measure_queries([Query(Lying(("a",)), 0)], 0.1)
    # a record lies in several of their cells, and the noise of a marginal would be too little
    for family in (Range.prefixes(("b", "c"), ("b",)), Threshold(("b", "c"), 1), Lying(("a",))):
        estimates = [np.zeros(family.size(DOMAIN))]
        with pytest.raises(WorkloadError, match="sensitivity"):
            curator.measure([family], 0.1)
        with pytest.raises(WorkloadError, match="sensitivity"):
            curator.select([family], estimates, k=1, rho=0.1)
    assert curator.spent == 0


def test_huge_marginals_are_refused_before_anything_is_allocated():
    domain = Domain.of({"x": 1000, "y": 1000, "z": 1000})
    curator = curator_of(random_rows(np.random.default_rng(0), domain, 5), domain=domain)
    for family in (
        Marginal(domain.names),
        Threshold(domain.names, 1),
        Range.prefixes(domain.names, ("x",)),
    ):
        with pytest.raises(WorkloadError, match="1,000,000,000 cells"):
            curator.prepare([family])
        with pytest.raises(WorkloadError, match="1,000,000,000 cells"):
            curator.select_queries([family], iter(()), k=1, rho=0.1)


def test_empty_table_and_large_delta():
    with pytest.raises(BudgetError, match="empty"):
        curator_of(ROWS[:0])
    with pytest.raises(BudgetError, match="below 1/n"):
        curator_of(ROWS, delta=1 / len(ROWS))
    # there n is private and cannot be compared with
    curator_of(ROWS, delta=1 / len(ROWS), neighbors=ADD_REMOVE)


def test_more_records_than_exact_scores_allow_are_refused():
    class Huge(MemorySource):
        rows = MAX_COUNT + 1

    budget = Budget.of_rho(1, delta=1e-30)
    with pytest.raises(DataError, match="limit of exact scores"):
        Curator(Huge(codes_of(DOMAIN, ROWS)), budget=budget, neighbors=ADD_REMOVE, ledger=None)


def test_the_number_of_records():
    assert curator_of(ROWS).n == len(ROWS)
    with pytest.raises(BudgetError, match="private under add-remove"):
        _ = curator_of(ROWS, neighbors=ADD_REMOVE).n


@pytest.mark.parametrize("neighbors", [Neighbors(), ADD_REMOVE])
def test_verbs_find_what_is_there(neighbors):
    """With plenty of budget the answers are the exact ones; false alarms below 1e-9 (noise of σ <
    0.01 on integers).
    """
    curator = curator_of(ROWS, neighbors=neighbors, rho=1e6)
    exact = np.bincount(ROWS[:, 1] * 4 + ROWS[:, 2], minlength=12)
    (measured,) = curator.measure([BC], 1e5)
    assert measured.counts.tolist() == exact.tolist()
    assert curator.measure([Marginal(())], 1e5)[0].counts.tolist() == [400]
    estimates = exact.astype(float)
    estimates[7] += 50
    estimates[3] -= 20.4
    assert curator.select_queries(
        [A, BC], [np.full(2, 200.0), estimates], k=2, rho=1e5, exclude=[Query(A, 0), Query(A, 1)]
    ) == [
        Query(BC, 7),
        Query(BC, 3),
    ]
    assert curator.select([A, BC], [np.bincount(ROWS[:, 0]) + 0.25, estimates], k=1, rho=1e5) == [1]
    certificate = curator.certify([BC], [estimates], rho=1e5)
    assert certificate.noisy_max_error_counts == pytest.approx(50, abs=0.1)
    assert 50 <= certificate.upper_bound_counts < 50.2
    assert certificate.queries == 12
    parts = list(curator.measure_all([A, BC], 2e5))
    assert [counts.tolist() for _, counts, _ in parts] == [
        np.bincount(ROWS[:, 0]).tolist(),
        exact.tolist(),
    ]


def test_shares_and_stated_noise():
    curator = curator_of(ROWS, rho=0.5)
    small, large = curator.measure([A, BC], 0.4, shares=[1, 3])
    assert large.rho == pytest.approx(0.3)
    assert small.stddev_counts == pytest.approx(np.sqrt(2 / (2 * 0.1)))
    assert large.stddev_counts == pytest.approx(np.sqrt(2 / (2 * 0.3)))
    (query,) = curator.measure_queries([Query(A, 0)], 0.1)
    assert query.stddev_counts == pytest.approx(np.sqrt(1 / 0.2))
    assert curator.remaining == 0


def test_custom_queries():
    family = Custom("share", ("a", "b"), lambda row: row["a"][1] * row["b"][0])
    curator = curator_of(ROWS, rho=1e6)
    (measured,) = curator.measure_queries([Query(family, 0)], 1e5)
    exact = int(((ROWS[:, 0] == 1) & (ROWS[:, 1] == 0)).sum())
    assert measured.count == pytest.approx(exact, abs=0.1)
    assert curator.certify(
        [family], [np.array([exact + 3.0])], rho=1e5
    ).noisy_max_error_counts == pytest.approx(3, abs=0.1)


class CountsOnly:
    """A source that only counts, like a database."""

    def __init__(self, source):
        self._source = source
        self.domain, self.rows = source.domain, source.rows

    def fingerprint(self):
        return self._source.fingerprint()

    def count(self, marginals):
        return self._source.count(marginals)


def test_custom_queries_on_a_source_that_only_counts():
    wide = Domain.of({"x": 1 << 10, "y": 1 << 10})
    for domain, columns, works in ((DOMAIN, ("a",), True), (wide, ("x", "y"), False)):
        rows = random_rows(np.random.default_rng(0), domain, 10)
        inner = curator_of(rows, domain=domain)._source
        curator = Curator(
            CountsOnly(inner),
            budget=Budget.of_rho(0.5, delta=1e-6),
            neighbors=Neighbors(),
            ledger=None,
        )
        family = Custom("first", columns, lambda row, column=columns[0]: row[column][0])
        if works:
            curator.measure_queries([Query(family, 0)], 0.1)
        else:
            with pytest.raises(WorkloadError, match="needs the records"):
                curator.measure_queries([Query(family, 0)], 0.1)
            assert curator.spent == 0


def test_what_a_mechanism_is_told_cannot_be_changed():
    curator = curator_of(ROWS)
    for name in ("budget", "neighbors", "rho", "spent", "remaining", "n", "domain"):
        with pytest.raises(AttributeError):
            setattr(curator, name, None)


def test_returned_arrays_are_copies():
    curator = curator_of(ROWS, rho=1e6)
    (first,) = curator.measure([A], 1e5)
    first.counts[:] = -1
    assert curator.measure([A], 1e5)[0].counts.tolist() == np.bincount(ROWS[:, 0]).tolist()


def test_seeded_noise_is_marked():
    first, second = (curator_of(ROWS, seed=3) for _ in range(2))
    assert not first.private
    assert curator_of(ROWS).private
    assert (
        first.measure([BC], 0.1)[0].counts.tolist() == second.measure([BC], 0.1)[0].counts.tolist()
    )


def test_neighbouring_tables_fail_alike():
    """Errors about settings say the same on neighbouring tables, whatever the data."""
    other = ROWS.copy()
    other[0] = (other[0] + 1) % DOMAIN.sizes
    for bad in (
        lambda curator: curator.measure([A], 9.0),
        lambda curator: curator.select_queries([A], [np.full(2, np.inf)], k=1, rho=0.1),
        lambda curator: curator.select([A, BC], [np.zeros(2), np.full(12, 2.0**39)], k=1, rho=0.1),
        lambda curator: curator.measure([Marginal(("zip",))], 0.1),
    ):
        messages = []
        for rows in (ROWS, other):
            with pytest.raises(DprapError) as caught:
                bad(curator_of(rows))
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


def test_candidates_in_rows_are_scored_as_one_by_one_and_again_in_the_next_step():
    """Rows, single estimates, groups and sizes mixed: the same picks by the same noise, whichever
    way they come.
    """
    domain = Domain.of({"a": 3, "b": 3, "c": 3, "d": 2})
    generator = np.random.default_rng(0)
    source = MemorySource(
        Codes.of(domain, {name: generator.integers(0, domain.size(name), 500) for name in domain})
    )
    pairs = (Marginal(tuple(columns)) for columns in ("ab", "ac", "bc", "ad"))
    candidates = (*pairs, Marginal(("a", "d"), ((0, 1), None)))
    answers = [generator.random(each.size(domain)) * 100 for each in candidates]
    in_rows = [Rows(np.stack(answers[:3])), Rows(answers[3][None]), answers[4]]
    score = Score(cell=0.0, l1=1.0, summed_cells=[2, 4, 2, 3, 4])

    def picks(estimates):
        keeper = Curator(
            source,
            budget=Budget.of(epsilon=5.0, delta=1e-6),
            neighbors=Neighbors(),
            ledger=None,
            insecure_noise_seed=3,
        )
        return [
            keeper.select(candidates, estimates, k=2, rho=keeper.rho / 8, score=score)
            for _ in range(3)
        ]

    assert picks(in_rows) == picks(answers)
    too_wide = [Rows(np.zeros((3, 10))), *in_rows[1:]]
    for wrong in (
        in_rows[:2],
        [*in_rows, answers[4]],
        [Rows(np.zeros((5, 9)))],
        [Rows(np.zeros((0, 9)))],
        too_wide,
    ):
        with pytest.raises((SettingsError, WorkloadError)):
            picks(wrong)


@pytest.mark.parametrize("records", [10, 100_000])
def test_what_the_caller_does_with_warnings_of_numpy_stops_no_step(records):
    """A weight that vanishes sets a flag, and whether one does depends on exact counts."""
    curator = curator_of(np.zeros((records, 3), dtype=np.int64), rho=5.0)
    marginals = (A, Marginal(("b",)), Marginal(("c",)))
    estimates = [np.zeros(DOMAIN.size(marginal.columns[0])) for marginal in marginals]
    estimates[0][0] = records
    with np.errstate(all="raise"):
        picked = curator.select(marginals, estimates, k=1, rho=curator.rho / 2, apart=Apart())
    assert picked[0] != 0 or records == 10
