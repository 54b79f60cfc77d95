"""Halfspaces count the records that satisfy their inequalities, by exact arithmetic, and come from
a public seed.
"""

import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Halfspace, Marginal
from dprap.queries.halfspace import POINT_UNITS
from dprap.relaxed import RelaxedDataset, answers, uniform_weights
from dprap.workload import Workload

DOMAIN = Domain.of({"age": 7, "sex": 2, "hours": 5, "pay": 4})
COLUMNS = ("age", "sex", "hours", "pay")
FAMILIES = [
    Halfspace(COLUMNS, by=("sex",), count=300),
    Halfspace(COLUMNS, by=("sex",), count=300, shape="prefix", seed=3),
    Halfspace(
        ("hours", "age"), count=50, points=((-9, -3, 0, 60_000, None), (0, 1, 2, 3, 4, 5, 6))
    ),
    Halfspace(("pay",), count=5, shape="prefix"),
]


def records(rows: int = 700) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(size, size=rows) for size in DOMAIN.sizes]


def counted_one_by_one(family: Halfspace, codes: list[np.ndarray]) -> list[int]:
    """The same by loops over whole numbers of Python, which have no rounding."""
    points, planes = family.points_of(DOMAIN), family.planes(DOMAIN)
    values = list(np.ndindex(*DOMAIN.shape_of(family.by)))
    total = np.zeros((family.count, len(values)), dtype=int)
    for record in zip(*(column.tolist() for column in codes), strict=True):
        row = dict(zip(DOMAIN.names, record, strict=True))
        x = [points[name][row[name]] for name in family.numeric]
        if None in x:
            continue
        y = values.index(tuple(row[name] for name in family.by))
        for query, (normals, offsets) in enumerate(
            zip(planes.normals.tolist(), planes.offsets.tolist(), strict=True)
        ):
            sums = [sum(int(w) * p for w, p in zip(normal, x, strict=True)) for normal in normals]
            total[query, y] += all(s >= int(b) for s, b in zip(sums, offsets, strict=True))
    return total.ravel().tolist()


@pytest.mark.parametrize(
    "family",
    [
        # counted one by one in Python, which takes a second for the first two
        pytest.param(each, id=str(each), marks=[pytest.mark.slow] if at == 0 else [])
        for at, each in enumerate(FAMILIES)
    ],
)
def test_counts_are_those_of_whole_numbers(family):
    codes = records()
    own = [codes[DOMAIN.position(name)] for name in family.columns]
    found = family.counts(DOMAIN, own)
    assert found.dtype == np.int64
    assert found.tolist() == counted_one_by_one(family, codes)
    assert len(found) == family.size(DOMAIN)
    # a record counts alike wherever it stands, and whoever stands beside it
    one_by_one = sum(family.counts(DOMAIN, [column[[at]] for column in own]) for at in range(100))
    assert one_by_one.tolist() == family.counts(DOMAIN, [column[:100] for column in own]).tolist()


def test_planes_are_whole_numbers_from_the_seed():
    family = FAMILIES[0]
    normals, offsets = family.planes(DOMAIN)
    assert (normals == np.rint(normals)).all()
    assert np.abs(offsets).max() < 2**53
    # the stream stays as it is
    assert normals[:2, 0].tolist() == [[885.0, -505.0, -104.0], [-430.0, 924.0, 95.0]]
    lengths = np.linalg.norm(normals[:, 0], axis=1)
    assert np.abs(lengths - 1024).max() < 2
    assert (
        Halfspace(COLUMNS, by=("sex",), count=300, seed=1).planes(DOMAIN).normals != normals
    ).any()
    prefixes = FAMILIES[1].planes(DOMAIN).normals
    assert ((prefixes != 0).sum(axis=2) == 1).all()
    assert (prefixes.sum(axis=1) != 0).sum(axis=1).tolist() == [2] * 300


def test_rows_that_are_records_are_answered_exactly_and_others_nearly():
    codes = records()
    probabilities = np.zeros((DOMAIN.onehot_size, 700), dtype=np.float32)
    for offset, column in zip(DOMAIN.offsets, codes, strict=True):
        probabilities[offset + column, np.arange(700)] = 1
    rows = RelaxedDataset(DOMAIN, probabilities, uniform_weights(700))
    family = FAMILIES[0]
    truth = family.counts(DOMAIN, codes) / 700
    np.testing.assert_allclose(next(iter(answers(rows, [family]))), truth, atol=1e-6)
    blurred = RelaxedDataset(DOMAIN, 0.999 * probabilities + 0.001 / 7, uniform_weights(700))
    # 100,000 drawn records have a standard error of at most .0016, and few of them are blurred
    assert np.abs(next(iter(answers(blurred, [family]))) - truth).max() < 0.01


def test_a_workload_has_marginals_of_up_to_three_columns_for_halfspaces():
    workload = Workload(DOMAIN, (FAMILIES[0],))
    assert workload.queries == 600
    assert max(len(marginal.columns) for marginal in workload.closure()) == 3
    assert Marginal(("age", "hours", "pay")) in workload.closure()


def test_points_are_checked():
    with pytest.raises(WorkloadError, match="within"):
        Halfspace(("pay",), points=((0, 1, 2, POINT_UNITS + 1),))
    with pytest.raises(WorkloadError, match="'pay' has 4 codes"):
        Halfspace(("pay",), points=((0, 1),)).counts(DOMAIN, [np.array([0])])


def test_a_column_of_many_values_beside_halfspaces_takes_little_memory():
    domain = Domain.of({"age": 9, "code": 100_000})
    family = Halfspace(("age", "code"), by=("code",), count=3)
    ages, codes = np.arange(300) % 9, np.arange(300) * 333
    with resource_limit(2 << 30):
        found = family.counts(domain, [ages, codes]).reshape(3, -1)
    planes = family.planes(domain)
    points = np.array(family.points_of(domain)["age"])
    for age, code in zip(ages, codes, strict=True):
        assert (
            found[:, code].tolist()
            == (planes.normals[:, 0, 0] * points[age] >= planes.offsets[:, 0]).tolist()
        )
    assert found.sum() == found[:, codes].sum()


def test_more_halfspaces_than_a_release_can_hold_are_refused():
    domain = Domain.of({"age": 9, "code": 100_000})
    family = Halfspace(("age", "code"), by=("code",), count=1_000_000)
    with pytest.raises(WorkloadError, match="100,000,000,000 queries; the limit is"):
        Workload(domain, (family,))


@contextmanager
def resource_limit(bytes_more):
    """Refuse this process more memory than it has and so much beside."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + bytes_more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
