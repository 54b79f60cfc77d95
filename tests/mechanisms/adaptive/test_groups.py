"""Groups of codes: how they are made, which candidates they give, and that they show what single codes cannot."""

import numpy as np
import pytest

from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.evaluate import evaluate
from dprap.mechanisms.adaptive import AdaptiveSettings, mechanism, run
from dprap.mechanisms.adaptive.groups import group_starts, with_groups
from dprap.mechanisms.adaptive.schedule import Schedule
from dprap.privacy import Budget, Curator, Neighbors
from dprap.queries import Coarse, Marginal
from dprap.sources import MemorySource
from dprap.workload import all_kway

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
def test_codes_are_merged_until_a_group_is_large_enough_and_large_codes_stay_alone(shares, least, starts):
    assert group_starts(np.array(shares), least) == starts


def schedule_of(domain: Domain, pick_resolution: float) -> Schedule:
    plain, whole = all_kway(domain, 2), all_kway(domain, len(domain))
    return Schedule(tuple(plain), closure=whole.closure(smallest=2), pick_resolution=pick_resolution)


def test_candidates_are_the_plain_ones_and_those_that_groups_make_coarse_enough():
    domain = Domain.of({"x": 64, "sex": 2, "ill": 2})
    shares = [np.full(size, 1 / size) for size in domain.sizes]
    eighths = tuple(range(0, 64, 8))
    found = with_groups(schedule_of(domain, 64.0), domain, shares)
    assert found[:3] == tuple(all_kway(domain, 2))
    assert set(found[3:]) == {
        Coarse(("x", "sex"), (eighths, None)),
        Coarse(("x", "ill"), (eighths, None)),
        Coarse(("x", "sex", "ill"), (eighths, None, None)),
    }
    assert len(with_groups(schedule_of(domain, 9.0), domain, shares)) == 5, "12 cells of three columns are too many"
    assert len(with_groups(schedule_of(domain, 64.0**2), domain, shares)) == 3, "nothing is merged"
    assert len(with_groups(schedule_of(domain, 0.9), domain, shares)) == 3, "a column in one group says nothing"


def test_no_group_without_a_long_column():
    short = Domain.of({"a": 15, "b": 15})
    assert with_groups(schedule_of(short, 4.0), short, [np.full(15, 1 / 15)] * 2) == (Marginal(("a", "b")),)


def test_a_broad_relation_below_the_noise_of_single_cells_is_learned(monkeypatch):
    generator = np.random.default_rng(0)
    x = generator.integers(0, 64, 20_000)
    y = np.clip(x + generator.integers(-16, 17, 20_000), 0, 63)
    source = MemorySource(Codes.of(DOMAIN, {"x": x, "y": y, "sex": generator.integers(0, 2, 20_000)}))
    workload = all_kway(DOMAIN, 2)

    def tv() -> float:
        budget = Budget.of(epsilon=0.2, delta=1e-9)
        keeper = Curator(source, budget=budget, neighbors=Neighbors(), ledger=None, insecure_noise_seed=1)
        settings = AdaptiveSettings(synthetic_rows=60, steps=60, final_steps=100)
        return evaluate(source, workload, run(keeper, workload, settings, seed=0)).tv

    with_them = tv()
    monkeypatch.setattr(mechanism, "with_groups", lambda schedule, *_: schedule.candidates)
    without = tv()
    assert with_them < 0.85 * without
