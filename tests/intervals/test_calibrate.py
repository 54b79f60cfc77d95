"""The bootstrap of a run: what it may touch, what it finds, and what surprises do to it."""

import inspect
from itertools import combinations, pairwise

import numpy as np
import pytest

from dprap.accounting.measurement import Measurement
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.mechanisms.result import Prediction
from dprap.queries import Marginal
from dprap.relaxed import cell_table
from dprap.release.intervals.basis import Basis, Grounds
from dprap.release.intervals.error_table import Kind
from dprap.release.release import Release
from dprap.runs.calibrate import _possible_truth, calibrate, widening_by_octave
from dprap.runs.error_samples import counted
from dprap.runs.execute import execute
from dprap.runs.hold_out import held_out
from dprap.runs.options import RunOptions
from dprap.runs.plan import Plan, make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.workload import Workload

SIZES = {"a": 3, "b": 4, "c": 5}
SETTINGS = {
    "synthetic_rows": 20,
    "steps": 20,
    "final_steps": 40,
    "picks": 3,
    "rounds": 1,
    "sweep_share": 0.0,
}


def planned(method="adaptive", epsilon=2.0, **options):
    schema = Schema.from_domain(SIZES)
    settings = SETTINGS if method == "adaptive" else {}
    given = RunOptions(
        epsilon=epsilon, delta=1e-6, kway=2, method=method, settings=settings, **options
    )
    return make_plan(schema, given, records=2_000)


def source():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, 2_000)
    b = np.where(rng.random(2_000) < 0.6, a, 3)
    return MemorySource(
        Codes.of(Schema.from_domain(SIZES).domain, {"a": a, "b": b, "c": rng.integers(0, 5, 2_000)})
    )


class Closable(MemorySource):
    """A private table that can be shut."""

    shut = False

    def count(self, marginals):
        assert not self.shut, "the private table was counted after the run had ended"
        return super().count(marginals)


def test_the_private_table_is_not_touched_after_the_budget_is_spent():
    private = Closable(source().codes)

    def told(progress):
        if progress.stage == "intervals":
            private.shut = True

    release = execute(planned(), private, insecure_noise_seed=1, progress=told)
    assert private.shut
    assert release.errors is not None


def test_nothing_private_can_be_handed_to_the_bootstrap():
    hints = inspect.get_annotations(calibrate, eval_str=True)
    assert [hints[name] for name in ("plan", "release")] == [Plan, Release]
    assert set(hints) == {"plan", "release", "predictions", "progress", "return"}


def test_errors_of_measured_columns_are_those_of_their_noise():
    # independent measures each column with σ and publishes it: the error is σ's but for the
    # projection
    release = execute(planned("independent"), source(), insecure_noise_seed=1)
    stddev = release.measurements[0].stddev_counts
    half = release.errors.half_widths(Kind.CELL, (4,), Basis.MEASURED, np.array([600.0]), 0.95)
    # some 36 errors: their 95% quantile lies between these but for less than one in a million
    assert half is None or 0.5 * stddev < half[0] < 5 * stddev


@pytest.mark.parametrize(
    ("method", "options"), [("gaussian", {}), ("adaptive", {"intervals": "no"})]
)
def test_without_rows_or_wish_there_is_no_table(method, options):
    assert execute(planned(method, **options), source(), insecure_noise_seed=1).errors is None


def predictions(excess, *, stddev=5.0, cells=4_000, size=200.0):
    rng = np.random.default_rng(1)
    expected = np.full(cells, size)
    counts = np.rint(expected + np.hypot(excess, stddev) * rng.standard_normal(cells)).astype(
        np.int64
    )
    return [Prediction(expected, Measurement(Marginal(("a",)), counts, stddev, 0.1))]


def test_surprises_beyond_those_of_the_repetitions_widen_and_noise_does_not():
    assert widening_by_octave(predictions(30.0), predictions(10.0))[7] == pytest.approx(
        3.0, rel=0.1
    )
    assert widening_by_octave(predictions(10.0), predictions(30.0))[7] == 1.0
    assert widening_by_octave(predictions(0.0), predictions(0.0))[7] < 1.5
    assert (widening_by_octave([], []) == 1.0).all()


def test_a_part_of_the_workload_lacks_pairs_of_columns_and_triples_whose_pairs_it_has():
    domain = Domain.of(dict.fromkeys("abcdefgh", 2))
    families = tuple(
        Marginal(columns) for columns in combinations("abcdefgh", 3) if "h" not in columns
    )
    workload = Workload(domain, families, tuple(range(1, len(families) + 1)))
    part = held_out(workload, np.random.default_rng(1), known=bool)
    assert set(part.families) < set(families)
    assert all(
        workload.weights[families.index(each)] == weight
        for each, weight in zip(part, part.weights, strict=True)
    )
    grounds = Grounds.of([], part)
    lost = [pair for pair in combinations("abcdefg", 2) if grounds.basis_of(pair) is Basis.OUTSIDE]
    assert lost
    whole = [
        f.columns
        for f in families
        if f not in part.families and not any(set(p) <= set(f.columns) for p in lost)
    ]
    assert whole  # all their pairs are in others
    assert len(part) >= 0.4 * len(workload)
    few = Workload(domain, families[:3])
    assert held_out(few, np.random.default_rng(1), known=bool) is None


def test_pairs_that_the_release_knows_are_held_out_first():
    domain = Domain.of(dict.fromkeys("abcdefghijklmnop", 2))
    families = tuple(Marginal(pair) for pair in combinations("abcdefghijklmnop", 2))
    known = {("a", "b"), ("c", "d"), ("g", "p")}
    for seed in range(5):
        part = held_out(
            Workload(domain, families), np.random.default_rng(seed), known=known.__contains__
        )
        assert not known & {each.columns for each in part.families}


def test_relations_that_the_workload_lacks_are_less_sure_than_those_it_has():
    # a to e are copies of each other but for noise; the workload has a chain of pairs, and lacks a
    # with e
    rng = np.random.default_rng(5)
    columns = {"a": rng.integers(0, 4, 4_000)}
    for before, name in pairwise("abcdef"):
        columns[name] = np.where(
            rng.random(4_000) < 0.5, columns[before], rng.integers(0, 4, 4_000)
        )
    schema = Schema.from_domain(dict.fromkeys(columns, 4))
    pairs = [
        Marginal(pair)
        for pair in combinations(columns, 2)
        if pair not in (("a", "e"), ("b", "f"), ("a", "f"))
    ]
    given = RunOptions(
        epsilon=10.0,
        delta=1e-6,
        workload=Workload(schema.domain, tuple(pairs)),
        settings=SETTINGS | {"picks": 12},
    )
    source = MemorySource(Codes.of(schema.domain, columns))
    release = execute(make_plan(schema, given, records=4_000), source, insecure_noise_seed=1)
    size = np.array([300.0])
    known, unknown = (
        release.errors.half_widths(Kind.CELL, (4, 4), basis, size, 0.95)
        for basis in (Basis.MEASURED, Basis.OUTSIDE)
    )
    assert unknown > known
    assert release.grounds.basis_of(("a", "e")) is Basis.OUTSIDE
    # of means in groups that nobody looked at nothing is said
    assert release.errors.half_widths(Kind.MEAN, (4, 4), Basis.OUTSIDE, size, 0.95) is None


def one_marginal(neighbors="replace"):
    """A release of a table that one marginal answers: a long column and two short ones."""
    rng = np.random.default_rng(2)
    sizes = {"group": 2, "value": 100, "known": 2}
    columns = {name: rng.integers(0, size, 5_000) for name, size in sizes.items()}
    schema = Schema.from_domain(sizes)
    given = RunOptions(epsilon=1.0, delta=1e-6, kway=3, neighbors=neighbors)
    source = MemorySource(Codes.of(schema.domain, columns))
    return execute(make_plan(schema, given, records=5_000), source, insecure_noise_seed=1)


def test_sums_of_many_cells_of_one_marginal_are_known_to_be_less_sure_than_its_cells():
    """Of a sum over a hundred cells the noise is ten times that of a cell. One repetition saw six
    such sums beside hundreds of cells, took all together, and found an eighth of the noise.
    """
    release = one_marginal()
    (measured,) = release.measurements
    noise = measured.stddev_counts
    # n is public, so the four sums have three quarters of the variance, the two half of it
    of_four = release.interval(Marginal(("group", "known")))[0].standard_error
    of_two = release.interval(Marginal(("group",)))[0].standard_error
    assert 0.7 < of_four / (noise * np.sqrt(100 * 3 / 4)) < 2
    assert 0.7 < of_two / (noise * np.sqrt(200 / 2)) < 2


def test_a_possible_truth_departs_from_cells_by_chance_also_where_each_cell_is_a_row():
    """A mean square over its expectation is 1 for independent records, .1 for rounded shares."""
    release = one_marginal()
    drawn = _possible_truth(release, release.relaxed, 0)
    columns = release.schema.domain.names
    expected = 5_000 * np.asarray(cell_table(release.relaxed, columns)).ravel()
    departures = (counted(drawn, columns).ravel() - expected) ** 2 / np.maximum(expected, 1e-3)
    assert 0.6 < departures[expected > 2].mean() < 1.5


def test_the_number_of_records_is_as_sure_as_its_noise_where_it_is_private():
    release = one_marginal("add-remove")
    total = next(item for item in release.measurements if not item.marginal.columns)
    interval = release.ask("").interval
    assert interval.estimate == pytest.approx(release.rows)
    assert interval.standard_error == pytest.approx(total.stddev_counts)
    assert one_marginal().ask("").interval.standard_error == 0


def test_columns_that_were_not_measured_together_are_named(caplog):
    release = execute(planned("independent", intervals="no"), source(), insecure_noise_seed=1)
    next(release.tables(2, columns=("a", "b")))
    assert "the relation of a with b was not measured" in caplog.text
    caplog.clear()
    next(release.tables(2, columns=("a",)))
    assert not caplog.records


@pytest.mark.slow
def test_tables_differ_by_the_noise_of_what_was_measured():
    release = execute(planned("independent"), source(), insecure_noise_seed=1)
    shares = [np.bincount(np.asarray(table["c"]), minlength=5) for table in release.tables(16)]
    stddev = release.measurements[-1].stddev_counts
    # 80 cells with 15 degrees of freedom each: their mean variance is within a third of the true
    # one
    assert 0.6 * stddev < np.std(shares, axis=0, ddof=1).mean() < 1.5 * stddev


def test_any_statistic_has_an_interval_as_wide_as_its_noise():
    release = execute(planned("independent", intervals="no"), source(), insecure_noise_seed=1)
    found = release.statistic_interval(
        lambda each: 2_000 * float(each.shares(Marginal(("c",)))[0][0]), columns=["c"]
    )
    assert found.basis is Basis.MEASURED
    # twenty draws: their standard deviation is within a factor of 2.2 but for one in a million
    assert (
        release.measurements[-1].stddev_counts / 2.2
        < found.standard_error
        < 2.2 * release.measurements[-1].stddev_counts
    )


def test_tables_are_refused_where_nothing_is_known_of_the_noise():
    release = execute(planned("gaussian"), source(), insecure_noise_seed=1)
    with pytest.raises(SettingsError, match="gives answers, not rows"):
        next(release.tables(2))
    with pytest.raises(SettingsError, match="at least 2"):
        next(
            execute(planned("independent", intervals="no"), source(), insecure_noise_seed=1).tables(
                1
            )
        )
