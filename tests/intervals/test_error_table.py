"""The error table: pooled quantiles, their lookup, and what a stranger may put into the file."""

import json

import numpy as np
import pytest

from dprap.errors import SettingsError
from dprap.mechanisms.adaptive.rules import Rules
from dprap.release.intervals.basis import Basis
from dprap.release.intervals.error_table import (
    LONG_FROM,
    ErrorClass,
    ErrorTable,
    Kind,
    Samples,
    read_error_table,
    table_of_samples,
)

CLASS = ErrorClass(Kind.CELL, 2, Basis.MEASURED)
LONG = (16, 16)


def apart(answers, reasons=10**6):
    """Numbers of what answers are off by, by turns."""
    return np.arange(answers) % reasons


def made(widening=None, reasons=10**6):
    rng = np.random.default_rng(0)
    sizes = 2.0 ** rng.uniform(0, 14, 60_000)
    stddev = 10 + np.sqrt(sizes)
    errors = np.abs(stddev * rng.standard_normal(len(sizes)))
    samples = {CLASS: Samples(sizes, errors, apart(len(sizes), reasons))}
    return table_of_samples([samples, samples], widening or {})


def test_half_widths_are_quantiles_of_the_errors_at_each_size_and_level():
    table = made()
    sizes = np.array([4.0, 100.0, 5_000.0])
    for level, z in ((0.95, 1.96), (0.8, 1.2816), (0.85, 1.4395)):
        found = table.half_widths(Kind.CELL, LONG, Basis.MEASURED, sizes, level)
        # an octave of sizes is taken together, over which the spread grows by up to a fifth
        np.testing.assert_allclose(found, z * (10 + np.sqrt(sizes)), rtol=0.12)


def test_intervals_from_few_errors_hold_a_further_one_as_often_as_they_say():
    # over 4,000 tables of 40 errors each: the share is off by more than .01 once in 10,000 times
    rng = np.random.default_rng(3)
    name = ErrorClass(Kind.CELL, 1, Basis.MEASURED)
    held = []
    for _ in range(4_000):
        errors = rng.exponential(1.0, 40)
        table = table_of_samples([{name: Samples(np.full(40, 9.0), errors, apart(40))}], {})
        (half,) = table.half_widths(Kind.CELL, (16,), Basis.MEASURED, np.array([9.0]), 0.95)
        held.append(1 - np.exp(-half))
    assert np.mean(held) == pytest.approx(0.95, abs=0.004)


def test_surprises_widen_the_sizes_they_were_seen_at():
    factors = np.ones(24)
    factors[8:] = 3.0
    plain, wide = made(), made({Basis.MEASURED: factors})
    sizes = np.array([8.0, 4_000.0])
    ratio = wide.half_widths(Kind.CELL, LONG, Basis.MEASURED, sizes, 0.95) / plain.half_widths(
        Kind.CELL, LONG, Basis.MEASURED, sizes, 0.95
    )
    np.testing.assert_allclose(ratio, [1.0, 3.0], rtol=1e-6)


def test_few_sets_of_columns_widen_as_a_t_distribution_does():
    sizes = np.array([100.0])
    many, few = (
        made(reasons=sets).half_widths(Kind.CELL, LONG, Basis.MEASURED, sizes, 0.95)
        for sets in (10**6, 3)
    )
    # two replicates of three sets each have five degrees of freedom
    assert few / many == pytest.approx(2.5706 / 1.9600, rel=1e-3)


@pytest.mark.parametrize(("held_out", "said"), [(7, False), (8, True)])
def test_few_relations_that_were_held_out_say_nothing_of_others(held_out, said):
    name = ErrorClass(Kind.CELL, 3, Basis.OUTSIDE)
    samples = Samples(np.full(500, 9.0), np.linspace(0, 1, 500), apart(500, held_out))
    table = table_of_samples([{name: samples}], {})
    half = table.half_widths(Kind.CELL, (16, 16, 16), Basis.OUTSIDE, np.array([9.0]), 0.95)
    assert (half is not None) == said


def test_it_is_the_sets_seen_at_a_size_that_are_few():
    sizes = np.repeat([8.0, 1_000.0], 3_000)
    errors = np.tile(np.abs(np.random.default_rng(1).standard_normal(3_000)), 2)
    # at the small size every error has a reason of its own, at the large one there are five
    reasons = np.concatenate([np.arange(3_000), 3_000 + np.arange(3_000) % 5])
    table = table_of_samples([{CLASS: Samples(sizes, errors, reasons)}], {})
    small, large = table.half_widths(Kind.CELL, LONG, Basis.MEASURED, np.unique(sizes), 0.95)
    assert large / small == pytest.approx(2.7764 / 1.9600, rel=0.01)


@pytest.mark.parametrize("size", [4.0, 1_000.0])
def test_a_size_of_which_two_sets_tell_is_taken_with_the_next(size):
    sizes = np.repeat([size, 64.0], 500)
    errors = np.repeat([1.0, 9.0], 500)
    reasons = np.concatenate([np.arange(500) % 2, 2 + np.arange(500)])
    table = table_of_samples([{CLASS: Samples(sizes, errors, reasons)}], {})
    (half,) = table.half_widths(Kind.CELL, LONG, Basis.MEASURED, np.array([size]), 0.95)
    assert half >= 9.0


def test_modelled_answers_over_more_columns_widen_by_the_relations_that_are_missing():
    def table(basis):
        name = ErrorClass(Kind.CELL, 3, basis)
        return table_of_samples(
            [{name: Samples(np.full(500, 9.0), np.linspace(0, 1, 500), apart(500))}], {}
        )

    for basis, times in ((Basis.PAIRS, 2.0), (Basis.OUTSIDE, np.sqrt(2))):
        three, four = (
            table(basis).half_widths(Kind.CELL, (16,) * k, basis, np.array([9.0]), 0.95)
            for k in (3, 4)
        )
        assert four / three == pytest.approx(times)


def test_tables_of_the_former_form_are_none(tmp_path):
    (tmp_path / "intervals.json").write_text('{"format_version": 1, "replicates": 2, "curves": []}')
    assert read_error_table(tmp_path / "intervals.json") is None


def test_short_columns_have_their_own_errors_where_enough_sets_tell_of_them():
    def half(shape, basis=Basis.MEASURED, *, sets=9, long_sets=9):
        """Errors of 3 of short columns, of 1 of others; nothing implied is short."""
        found = {
            ErrorClass(Kind.CELL, 2, each, short): Samples(
                np.full(200, 9.0), np.full(200, error), apart(200, of_class)
            )
            for short, each, error, of_class in (
                (True, Basis.MEASURED, 3.0, sets),
                (False, Basis.MEASURED, 1.0, long_sets),
                (False, Basis.IMPLIED, 1.0, long_sets),
            )
        }
        table = table_of_samples([found], {})
        return table.half_widths(Kind.CELL, shape, basis, np.array([9.0]), 0.5)[0]

    short, mixed = (15, 2), (2, 16)
    assert half(short) > 3
    assert half(mixed) < 2
    # what is implied is made of what was measured
    assert half(short, Basis.IMPLIED) == half(short)
    assert half(mixed, Basis.IMPLIED) < 2
    # too few sets of either tell nothing: all are one class then
    for few in ({"sets": 4}, {"long_sets": 4}):
        assert half(short, **few) == half(mixed, **few)


def test_tables_without_short_classes_are_read(tmp_path):
    plain = made().model_dump(mode="json") | {"format_version": 2}
    for curve in plain["curves"]:
        del curve["short"]
    (tmp_path / "intervals.json").write_text(json.dumps(plain))
    read = read_error_table(tmp_path / "intervals.json")
    sizes = np.array([9.0])
    (half,) = read.half_widths(Kind.CELL, (2, 2), Basis.MEASURED, sizes, 0.95)
    assert half == made().half_widths(Kind.CELL, LONG, Basis.MEASURED, sizes, 0.95)[0]


def test_long_columns_are_those_that_the_method_smooths():
    assert Rules().long_from_codes == LONG_FROM


def test_a_class_without_errors_takes_those_of_a_weaker_one_and_never_of_a_stronger_one():
    table = made()
    assert table.curve(Kind.CELL, 1, Basis.MEASURED) is not None
    assert table.curve(Kind.CELL, 3, Basis.MEASURED) is None
    assert table.curve(Kind.CELL, 2, Basis.MODEL) is None
    assert table.half_widths(Kind.MEAN, LONG, Basis.MEASURED, np.ones(1), 0.95) is None


@pytest.mark.parametrize("level", [0.0, 0.49, 0.995, 1.0, float("nan")])
def test_levels_that_were_not_calibrated_are_refused(level):
    with pytest.raises(SettingsError, match=r"between 0\.5 and 0\.99"):
        made().half_widths(Kind.CELL, LONG, Basis.MEASURED, np.ones(1), level)


def test_a_table_is_read_back_as_it_was(tmp_path):
    table = made()
    table.save(tmp_path / "intervals.json")
    assert read_error_table(tmp_path / "intervals.json") == table
    assert read_error_table(tmp_path / "none.json") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda plain: plain["curves"][0]["quantiles"].pop(),
        lambda plain: plain["curves"][0]["quantiles"][0].reverse(),
        lambda plain: plain["curves"][0]["sizes"].reverse(),
        lambda plain: plain["curves"][0]["sizes"].__setitem__(0, -1),
        lambda plain: plain["curves"][0]["quantiles"][0].__setitem__(0, 1e300),
        lambda plain: plain["curves"][0].__setitem__("basis", "guessed"),
        lambda plain: plain.__setitem__("curves", plain["curves"] * 200),
        lambda plain: plain.__setitem__("more", 1),
        lambda plain: plain.__setitem__("format_version", 4),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, damage):
    plain = made().model_dump(mode="json")
    damage(plain)
    path = tmp_path / "intervals.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(ValueError, match=r"intervals\.json"):
        read_error_table(path)


def test_infinities_are_refused(tmp_path):
    path = tmp_path / "intervals.json"
    path.write_text('{"format_version": 1, "replicates": 1, "curves": [], "x": Infinity}')
    with pytest.raises(ValueError, match=r"intervals\.json"):
        read_error_table(path)
    assert isinstance(made(), ErrorTable)
