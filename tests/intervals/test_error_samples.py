"""Errors of a repetition: sums of boxes, how many sets are looked at, and which of them are off for
reasons of their own.
"""

import numpy as np
import pytest

from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.relaxed import RelaxedDataset
from dprap.release.hidden_codes import hidden_codes, hidden_errors
from dprap.release.intervals.basis import Basis, Grounds
from dprap.release.intervals.error_table import ErrorClass, Kind
from dprap.runs.error_samples import Replicate, ranges, sample_errors


def slow_ranges(estimated, true, rng, many):
    """Boxes and unions of two, cell by cell."""
    shape = np.array(estimated.shape)
    low, last = np.sort(rng.integers(0, shape, (2, 2 * many, len(shape))), axis=0)
    boxes = [
        {cell for cell in np.ndindex(*shape) if (a <= cell).all() and (cell <= b).all()}
        for a, b in zip(low, last, strict=True)
        if ((b + 1 - a) < shape).all()
    ]
    found = []
    for at in range(0, len(boxes) - 1, 2):
        first, second = boxes[at : at + 2]
        cells = first | second if len(first) == 1 or at % 4 == 0 else first
        if 1 < len(cells) < estimated.size:
            size = sum(estimated[cell] for cell in cells)
            found.append((size, abs(size - sum(true[cell] for cell in cells)), len(cells)))
    return np.array(found).reshape(-1, 3).T


@pytest.mark.parametrize("shape", [(2,), (9,), (2, 2), (5, 4), (1, 3), (2, 2, 2), (3, 4, 2)])
def test_sums_of_boxes_are_those_of_their_cells(shape):
    rng = np.random.default_rng(0)
    true = rng.poisson(3.0, shape).astype(np.float64)
    estimated = np.abs(true + rng.standard_normal(shape))
    fast = ranges(estimated, true, np.random.default_rng(4), 30)
    slow = slow_ranges(estimated, true, np.random.default_rng(4), 30)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def sampled(columns, lacking=()):
    """Errors where the workload has all pairs of columns but some, and nothing but columns was
    measured.
    """
    names = [f"c{place:02d}" for place in range(columns)]
    domain = Domain.of(dict.fromkeys(names, 2))
    rng = np.random.default_rng(1)
    rows = RelaxedDataset(domain, np.full((2 * columns, 3), 0.5, np.float32), np.full(3, 1 / 3))
    truth = Codes.of(domain, {name: rng.integers(0, 2, 200) for name in names})
    alone = frozenset(frozenset({name}) for name in names)
    pairs = {
        frozenset({one, other})
        for place, one in enumerate(names)
        for other in names[place + 1 :]
        if (one, other) not in lacking
    }
    grounds = Grounds(alone, alone, frozenset(pairs))
    return sample_errors(
        Replicate(rows, 200.0, grounds),
        truth,
        lambda basis, columns: basis.modelled and len(columns) <= 3,
        np.random.default_rng(2),
    )


def test_of_small_sets_more_are_looked_at():
    # 120 pairs of four cells are cheap: four times as many as of large sets, 24
    found = sampled(16)[ErrorClass(Kind.CELL, 2, Basis.MODEL, short=True)]
    assert len(np.unique(found.reasons)) == 96


def test_outside_of_the_workload_lacking_pairs_are_counted():
    lacking = [("c00", "c01"), ("c02", "c03"), ("c04", "c05")]
    found = sampled(8, lacking)
    # 18 sets of three columns lack one of three pairs
    triples = found[ErrorClass(Kind.CELL, 3, Basis.OUTSIDE, short=True)]
    assert len(triples.sizes) == 18 * 8
    assert len(np.unique(triples.reasons)) == 3
    pairs = found[ErrorClass(Kind.CELL, 2, Basis.OUTSIDE, short=True)]
    assert len(np.unique(pairs.reasons)) == 3


def test_hidden_codes_of_many_groups_are_those_of_each():
    rng = np.random.default_rng(5)
    counts, values = rng.gamma(0.5, 200.0, (20, 7)), np.arange(7.0)
    noise = rng.uniform(10, 100, 20)
    each = [
        0.0 if (found := hidden_codes(one, group, values)) is None else found.error
        for one, group in zip(noise, counts, strict=True)
    ]
    np.testing.assert_allclose(hidden_errors(noise, counts, values), each)
