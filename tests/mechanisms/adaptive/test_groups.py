"""Groups of codes: how they are made, which candidates they give, and that they show what single
codes cannot.
"""

from fractions import Fraction

import numpy as np
import pytest

from dprap.accounting import Budget, Neighbors
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.evaluate import evaluate
from dprap.mechanisms.adaptive import AdaptiveSettings, Rules, run
from dprap.mechanisms.adaptive.choosing import choose
from dprap.mechanisms.adaptive.groups import group_starts, is_broad, with_groups
from dprap.mechanisms.adaptive.spending_steps import Choose, Pool
from dprap.privacy import Curator
from dprap.privacy.open_candidates import OpenCandidates
from dprap.queries import Marginal
from dprap.sources import MemorySource
from dprap.workload import all_kway

RULES = Rules()
DOMAIN = Domain.of({"x": 64, "y": 64, "sex": 2})


@pytest.mark.parametrize(
    ("shares", "least", "starts"),
    [
        ([0.25, 0.25, 0.25, 0.25], 0.5, (0, 2)),
        ([0.25, 0.25, 0.25, 0.25], 0.25, None),
        ([0.9, 0.02, 0.03, 0.05], 0.1, (0, 1)),
        ([0.04, 0.04, 0.8, 0.04, 0.04, 0.04], 0.1, (0, 2, 3)),
        ([0.04, 0.04, 0.04, 0.8, 0.08], 0.1, (0, 3, 4)),
        ([0.5, 0.5], 1.1, (0,)),
    ],
)
def test_codes_are_merged_until_a_group_is_large_enough_and_large_codes_stay_alone(
    shares, least, starts
):
    assert group_starts(np.array(shares), least) == starts


def candidates(
    domain: Domain, shares: list[np.ndarray], pick_resolution: float
) -> tuple[Marginal, ...]:
    """Of a workload with one marginal over all columns; only pairs are candidates over single
    codes.
    """
    workload = all_kway(domain, len(domain))
    plain = tuple(all_kway(domain, 2))
    return with_groups(
        Pool(plain, workload.closure(smallest=2), pick_resolution, {}), workload, RULES, shares
    )


def test_candidates_are_the_plain_ones_and_those_that_groups_make_coarse_enough():
    domain = Domain.of({"x": 64, "sex": 2, "ill": 2})
    shares = [np.full(size, 1 / size) for size in domain.sizes]
    eighths = tuple(range(0, 64, 8))
    found = candidates(domain, shares, 64.0)
    assert found[:3] == tuple(all_kway(domain, 2))
    assert set(found[3:]) == {
        Marginal(("x", "sex"), (eighths, None)),
        Marginal(("x", "ill"), (eighths, None)),
        Marginal(("x", "sex", "ill"), (eighths, None, None)),
    }
    assert len(candidates(domain, shares, 9.0)) == 5, "12 cells of three columns are too many"
    assert len(candidates(domain, shares, 64.0**2)) == 3, "nothing is merged"
    assert len(candidates(domain, shares, 0.9)) == 3, "a column in one group says nothing"


def test_no_group_without_a_long_column():
    short = Domain.of({"a": 15, "b": 15})
    assert candidates(short, [np.full(15, 1 / 15)] * 2, 4.0) == (Marginal(("a", "b")),)


def test_the_workloads_own_marginals_of_four_columns_take_part_in_few_groups_a_column():
    domain = Domain.of({"a": 8, "b": 8, "c": 3, "d": 2})
    even = np.full(8, 1 / 8)
    shares = [even, np.array([0.65, *[0.05] * 7]), np.array([0.3, 0.3, 0.4]), np.array([0.1, 0.9])]
    # 81 is the fourth power of 3: groups have a third of the records, or what is left.
    (broad,) = [found for found in candidates(domain, shares, 81.0) if is_broad(found, RULES)]
    assert broad == Marginal(("a", "b", "c", "d"), ((0, 3, 6), (0, 1), (0, 2), None))
    assert not any(is_broad(found, RULES) for found in candidates(domain, shares, 12.0)), (
        "16 cells are more than 12"
    )
    three = Domain.of({"a": 8, "b": 8, "c": 3})
    assert not any(is_broad(found, RULES) for found in candidates(three, shares[:3], 81.0)), (
        "pairs of columns show three as well"
    )


def test_broad_marginals_take_part_in_the_first_half_of_a_round():
    domain = Domain.of({"a": 8, "b": 8, "c": 8, "d": 8, "e": 2, "f": 2})
    halves = Marginal(("a", "b", "c", "d"), ((0, 4),) * 4)
    others = [Marginal(("a", "e")), Marginal(("b", "f"))]
    rules = []

    class Watched:
        def __init__(self):
            self.domain = domain

        def stddev_of_marginal(self, _):
            return 1.0

        def select(self, *_, k, apart, **__):
            rules.append((k, apart))
            return list(range(k))

    def offers(picks: int, *, of: list[Marginal]) -> list[bool]:
        estimates = [np.zeros(found.size(domain)) for found in of]
        step = Choose(Pool((), (), 1.0, {}), picks, Fraction(1), Fraction(1))
        choose(Watched(), of, estimates, step, AdaptiveSettings())
        asked, apart = rules.pop()
        assert asked == picks
        turns = OpenCandidates(of, apart)
        others = [place for place, marginal in enumerate(of) if marginal != halves]
        return [of.index(halves) in turns.open_after(others[:number]) for number in range(picks)]

    assert offers(1, of=[halves, *others]) == [True]
    assert offers(2, of=[halves, *others]) == [True, False]
    assert offers(3, of=[halves, *others]) == [True, True, True], "at last nothing else is left"


def test_a_broad_relation_below_the_noise_of_single_cells_is_learned():
    generator = np.random.default_rng(0)
    x = generator.integers(0, 64, 20_000)
    y = np.clip(x + generator.integers(-16, 17, 20_000), 0, 63)
    source = MemorySource(
        Codes.of(DOMAIN, {"x": x, "y": y, "sex": generator.integers(0, 2, 20_000)})
    )
    workload = all_kway(DOMAIN, 2)

    def tv(rules: Rules) -> float:
        budget = Budget.of(epsilon=0.2, delta=1e-9)
        keeper = Curator(
            source, budget=budget, neighbors=Neighbors(), ledger=None, insecure_noise_seed=1
        )
        settings = AdaptiveSettings(synthetic_rows=60, steps=60, final_steps=100, rules=rules)
        return evaluate(source, workload, run(keeper, workload, settings, seed=0)).tv

    assert tv(RULES) < 0.85 * tv(Rules(group_codes=False, broad_from_columns=None))
