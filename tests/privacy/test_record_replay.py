"""Whatever a run shows, writes and charges follows from its noisy results: recorded on a table,
replayed on neighbours.
"""

import itertools

import numpy as np
import pytest
from tests.privacy.leaky import LEAKS
from tests.privacy.replay_cases import BASELINES, METHODS, Case, neighbours, table_of, usual_table
from tests.privacy.replaying import DivergenceError, Tape, difference, taped_run

from dprap.accounting import Neighbors, Relation
from dprap.errors import DataError
from dprap.privacy.verbs import measure
from dprap.runs.execute import execute

CASES = METHODS | BASELINES
RELATIONS = [Neighbors(relation, records) for relation in Relation for records in (1, 3)]
REPLACE = RELATIONS[0]


def combinations():
    """Every method, family, relation, rows per person and neighbour.

    Every method and family is quick with one relation and one neighbour by turns, but for rap,
    whose fit is compiled; `make test-audit` runs all.
    """
    for (at, (name, case)), (turn, neighbors) in itertools.product(
        enumerate(CASES.items()), enumerate(RELATIONS)
    ):
        for number, family in enumerate(case.families):
            for position, neighbour in enumerate(neighbours(neighbors)):
                in_turn = turn == (at + number) % 4 and position == (at + turn + number) % 4
                quick = in_turn and "rap" not in name
                label = (
                    f"{name}, {family}, {neighbors.relation.value} {neighbors.max_rows_per_person},"
                    f" {neighbour}"
                )
                marks = [] if quick else [pytest.mark.slow]
                yield pytest.param(case, family, neighbors, neighbour, id=label, marks=marks)


@pytest.mark.parametrize(("case", "family", "neighbors", "neighbour"), list(combinations()))
def test_neighbours_with_equal_noisy_results_look_alike(
    tmp_path, capfd, case, family, neighbors, neighbour
):
    plan = case.plan(family, neighbors)
    first = taped_run(plan, table_of(usual_table()), tmp_path / "first", capfd)
    other = table_of(neighbours(neighbors)[neighbour])
    second = taped_run(plan, other, tmp_path / "second", capfd, forced=first)
    assert difference(first, second) is None
    assert first.results
    assert [kind for kind, _ in first.ledger].count("result") == len(first.results)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * ("rap" in name)) for name in METHODS]
)
def test_one_record_and_two_look_alike_where_their_number_is_private(tmp_path, capfd, name):
    plan = METHODS[name].plan(METHODS[name].families[0], Neighbors(Relation.ADD_REMOVE))
    first = taped_run(plan, table_of(usual_table()[-1:]), tmp_path / "first", capfd)
    second = taped_run(plan, table_of(usual_table()[-2:]), tmp_path / "second", capfd, forced=first)
    assert difference(first, second) is None


def test_the_neighbours_are_neighbours():
    for neighbors in RELATIONS:
        for name, rows in neighbours(neighbors).items():
            moved = np.bincount(rows @ [120, 40, 1], minlength=240) - np.bincount(
                usual_table() @ [120, 40, 1], minlength=240
            )
            assert 0 < abs(moved).sum() <= neighbors.marginal_l1, name
            assert (moved.sum() == 0) == (neighbors.relation is Relation.REPLACE)


def test_adaptive_measures_coarse_marginals_here():
    """Of 100 runs one had no coarse pick, so four without any have a chance of about 10^-8."""
    runs = [
        execute(CASES["adaptive"].plan("marginal", REPLACE), table_of(usual_table()).taped(Tape()))
        for _ in range(4)
    ]
    assert any(
        measured.marginal.groups is not None
        for release in runs
        for measured in release.measurements
    )


@pytest.mark.parametrize(("leak", "shows_in"), LEAKS.items())
def test_a_leak_is_caught(tmp_path, capfd, leak, shows_in):
    plan = Case("tests.privacy.leaky", "Settings", {"leak": leak}, ()).plan("marginal", REPLACE)
    first = taped_run(plan, table_of(usual_table()), tmp_path / "first", capfd)
    again = taped_run(plan, table_of(usual_table()), tmp_path / "again", capfd, forced=first)
    assert difference(first, again) is None  # the leak, not the replay, makes the difference
    other = table_of(neighbours(REPLACE)["to a code that nobody had"])
    try:
        found = difference(first, taped_run(plan, other, tmp_path / "other", capfd, forced=first))
    except DivergenceError as divergence:
        found = str(divergence)
    assert found is not None
    assert found.startswith(f"{shows_in}:")


@pytest.mark.parametrize(
    "leak", ["the type of the numbers", "the number of cells", "a file that is left", "an error"]
)
def test_a_leak_of_the_private_side_is_caught(tmp_path, capfd, monkeypatch, leak):
    """The curator itself is at fault: it fits the form of a noisy result to the exact counts."""
    honest = measure.add_discrete_gaussian
    folders = [tmp_path / name for name in ("first", "again", "other")]

    def leaky(counts, *noise):
        noisy = honest(counts, *noise)
        if counts.size == 1 or counts[-1] != 1:
            return noisy
        if leak == "an error":
            raise DataError("a code is rare.")
        if leak == "a file that is left":
            (folders[2] / "rare").touch()
        return {
            "the type of the numbers": noisy.astype(np.int16),
            "the number of cells": noisy[:-1],
        }.get(leak, noisy)

    monkeypatch.setattr(measure, "add_discrete_gaussian", leaky)
    plan = Case("tests.privacy.leaky", "Settings", {"leak": "none"}, ()).plan("marginal", REPLACE)
    first = taped_run(plan, table_of(usual_table()), folders[0], capfd)
    assert (
        difference(first, taped_run(plan, table_of(usual_table()), folders[1], capfd, forced=first))
        is None
    )
    other = table_of(neighbours(REPLACE)["to a code that nobody had"])
    with pytest.raises((DivergenceError, DataError)):
        taped_run(plan, other, folders[2], capfd, forced=first)


def test_without_forced_results_two_runs_differ(tmp_path, capfd):
    """Noise of every run is its own: if two recordings were alike, the replay would show
    nothing.
    """
    plan = CASES["independent"].plan("marginal", REPLACE)
    tapes = [
        taped_run(plan, table_of(usual_table()), tmp_path / name, capfd)
        for name in ("first", "second")
    ]
    assert difference(*tapes) is not None
