"""Tied codes are carried as one number: the same rows as if all codes were carried."""

from __future__ import annotations

import numpy as np
import pytest

from dprap.domain import Domain
from dprap.queries import Marginal, Query
from dprap.relaxed.jax import projection
from dprap.relaxed.jax.projection import ProjectionSettings, QueryTargets, fit_queries
from dprap.relaxed.jax.start import initialise
from dprap.relaxed.jax.tied import TiedRows
from dprap.relaxed.rows import RelaxedDataset

DOMAIN = Domain.of({"wide": 120, "small": 3, "broad": 90})
FAMILY = Marginal(("wide", "small", "broad"))


def _query(*codes: int) -> Query:
    return Query(FAMILY, int(np.ravel_multi_index(codes, DOMAIN.shape_of(FAMILY.columns))))


QUERIES = [_query(0, 0, 0), _query(5, 1, 0), _query(7, 2, 80), _query(0, 1, 3)]
WANTED = [0.3, 0.1, 0.2, 0.05]


def _read() -> np.ndarray:
    return np.asarray(QueryTargets.of(DOMAIN, QUERIES, WANTED).batch.coordinates)


def test_rows_come_back_whole_from_what_is_kept_and_what_is_tied() -> None:
    rows = initialise(DOMAIN, 50, 0).probabilities
    tied = TiedRows.of(rows, DOMAIN, _read())
    # The columns of 120 and 90 codes shrink, the one of 3 does not.
    assert tied.counts[1] == 0
    assert min(tied.counts[0], tied.counts[2]) >= 45
    np.testing.assert_array_equal(tied.whole(tied.kept, tied.tied), rows)


def test_coordinates_that_are_read_are_found_among_the_kept() -> None:
    rows = initialise(DOMAIN, 50, 0).probabilities
    tied = TiedRows.of(rows, DOMAIN, _read())
    inside = _read() < DOMAIN.onehot_size
    np.testing.assert_array_equal(tied.kept[tied.coordinates[inside]], rows[_read()[inside]])
    assert (tied.coordinates[~inside] == tied.domain.onehot_size).all()


def test_rows_without_ties_stay_as_they_are() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(DOMAIN.onehot_size), 20).T.astype(np.float32)
    tied = TiedRows.of(rows, DOMAIN, _read())
    assert not tied.counts.any()
    assert tied.domain == DOMAIN


@pytest.mark.parametrize("rounds", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_projection_moves_tied_codes_as_it_would_move_each(
    monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    """Answers that ask for less of a code raise the others of its column, those that were zero
    too.
    """
    settings = ProjectionSettings(max_steps=12, window=4)

    def fitted() -> RelaxedDataset:
        rows = initialise(DOMAIN, 50, 0)
        for first in range(rounds):
            targets = QueryTargets.of(DOMAIN, QUERIES[first:], WANTED[first:])
            rows = fit_queries(rows, targets, settings).rows
        return rows

    with_ties = fitted()
    whole = TiedRows.of
    monkeypatch.setattr(
        projection.TiedRows,
        "of",
        lambda rows, domain, read, **_: whole(rows, domain, read, shrinks=False),
    )
    np.testing.assert_allclose(with_ties.probabilities, fitted().probabilities, atol=2e-6)
    # The tied codes did move.
    assert (with_ties.block("wide").min(axis=0) > 0).any()
