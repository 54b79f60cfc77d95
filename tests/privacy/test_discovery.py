"""Paid discovery: thresholds, sensitivity, hostile values, replay, and runs that stop anywhere."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.privacy.hostile_values import BERLIN, Label, Liar

import dprap
from dprap.accounting import Accounting, Budget, Measurement, Neighbors, Relation
from dprap.accounting.measurement import FoundValues
from dprap.encoding import encode
from dprap.errors import BudgetError, DataError, LedgerError, SchemaError, SettingsError
from dprap.privacy import Curator, Ledger, balance_lines, read_ledger
from dprap.privacy.discovery import log_tail, threshold_for
from dprap.privacy.person_bound import PersonColumn, bound_mask
from dprap.queries import Marginal
from dprap.runs.discover import bounds_of, discover, open_for_discovery, shares_by_need
from dprap.runs.options import RunOptions
from dprap.schema import Schema
from dprap.schema.discover import (
    LONGEST_TEXT,
    MOST_VALUES,
    DiscoverColumn,
    grid_edges,
    is_candidate,
    listed_column,
)
from dprap.sources.touched_values import touched_in
from dprap.sources.unknown_columns import open_discovery

ZIP = Schema.of({"columns": {"zip": {"type": "categorical", "domain": "discover"}}})
RELATIONS = [Neighbors(relation, rows) for relation in Relation for rows in (1, 3)]


def tail(stddev, at_least):
    """P(N ≥ m) by adding weights up."""
    reach = int(40 * stddev) + 2
    weights = {x: math.exp(-(x**2) / (2 * stddev**2)) for x in range(-reach, reach + 1)}
    return math.fsum(weights[x] for x in range(at_least, reach + 1)) / math.fsum(weights.values())


@pytest.mark.parametrize("stddev", [0.3, 0.7, 1.0, 3.0, 17.3, 200.0])
def test_the_bound_on_the_tail_is_one_and_is_near(stddev):
    for at_least in (1, 2, int(3 * stddev) + 1, int(6 * stddev) + 1):
        exact = tail(stddev, at_least)
        if exact > 1e-300:
            assert exact <= math.exp(log_tail(stddev, at_least)) * (1 + 1e-9)
            if at_least > 2 * stddev:
                assert math.exp(log_tail(stddev, at_least)) <= 1.3 * exact


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
@pytest.mark.parametrize(("stddev", "delta"), [(1.5, 1e-6), (40.0, 1e-10), (700.0, 1e-14)])
def test_thresholds_are_the_smallest_that_the_argument_allows(neighbors, stddev, delta):
    rows = neighbors.max_rows_per_person
    threshold = threshold_for(stddev, delta, neighbors)
    assert rows * tail(stddev, threshold - rows) <= delta
    # no more than what the bound, within 1.3 of the tail, gives away
    assert rows * tail(stddev, threshold - rows - 1 - math.ceil(stddev / 10)) > delta


def curator_of(source, *, rho_share, threshold_delta, delta, neighbors, ledger=None, run=None):
    budget, _ = Budget.of(epsilon=1.0, delta=delta).split(
        rho_share, threshold_delta=threshold_delta
    )
    return Curator(source, budget=budget, neighbors=neighbors, ledger=ledger, run=run)


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_values_that_one_person_has_are_published_as_rarely_as_delta_says(neighbors):
    """Many values stand for many tables with one such value.

    False alarms below 1e-8: 6 standard deviations each way.
    """
    rows, many, delta = neighbors.max_rows_per_person, 20_000, 0.09
    frame = pd.DataFrame({"zip": np.repeat([f"v{number}" for number in range(many)], rows)})
    source = open_discovery(frame, ZIP)
    budget = Budget.of(epsilon=0.3, delta=0.2).split(0.9, threshold_delta=delta)[0]
    # the number of records is public under replace, where so large a δ is refused; the sensitivity
    # is what counts here
    curator = Curator(
        source, budget=budget, neighbors=Neighbors(Relation.ADD_REMOVE, rows), ledger=None
    )
    curator._neighbors = neighbors
    found = curator.discover_values(["zip"], curator.remaining, delta=delta)[0]
    allowed = delta / rows
    assert len(found.values) <= many * allowed + 6 * math.sqrt(many * allowed)
    expected = many * tail(found.stddev_counts, found.threshold_counts - rows)
    assert abs(len(found.values) - expected) <= 6 * math.sqrt(expected)
    assert expected > 0.3 * many * allowed
    assert found.stddev_counts == pytest.approx(
        math.sqrt(neighbors.marginal_l2_squared / (2 * found.rho))
    )


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_neighbours_differ_by_no_more_than_the_argument_says(neighbors):
    generator = np.random.default_rng(5)
    rows = neighbors.max_rows_per_person
    reached = 0.0
    for _ in range(60):
        values = generator.choice(["a", "b", "c", "d", None], 12).astype(object)
        other = values.copy()
        if neighbors.relation is Relation.REPLACE:
            other[:rows] = generator.choice(["a", "z", None])
        else:
            other = other[rows:]
        one, two = (
            dict(zip(*open_discovery(pd.DataFrame({"zip": each}), ZIP).present("zip"), strict=True))
            for each in (values, other)
        )
        change = sum((one.get(value, 0) - two.get(value, 0)) ** 2 for value in {*one, *two})
        assert change <= neighbors.marginal_l2_squared
        reached = max(reached, change / neighbors.marginal_l2_squared)
        for here, there in ((one, two), (two, one)):
            alone = [value for value in here if value not in there]
            assert len(alone) <= rows
            assert all(here[value] <= rows for value in alone)
    assert reached > 0.5


def test_records_beyond_the_bound_do_not_count():
    frame = pd.DataFrame({"zip": ["x"] * 50 + ["y"] * 2, "who": ["eve"] * 50 + ["ann", "bob"]})
    drop = bound_mask(Neighbors(Relation.ADD_REMOVE, 2), PersonColumn("who", "drop"))
    source = open_discovery(frame, ZIP, person_column="who", kept=drop)
    assert source.present("zip")[0] == ["x", "y"]
    assert source.present("zip")[1].tolist() == [2, 2]
    refuse = bound_mask(Neighbors(Relation.REPLACE, 2), PersonColumn("who"))
    with pytest.raises(DataError, match="somebody has more records than"):
        open_discovery(frame, ZIP, person_column="who", kept=refuse)
    with pytest.raises(SettingsError, match="person column"):
        bound_mask(Neighbors(Relation.REPLACE, 2), None)


HOSTILE = [
    "x" * 100_000, "x" * (LONGEST_TEXT + 1), b"bytes", "\ud800", 10**400, -(10**19), float("nan"), float("inf"), True,
    None, Liar(), "nul\0", "other", "(other)", "(none)", "", " ", "é\u202e", "'; DROP TABLE", "=1+1", (1, 2), 1.5,
    Label("label"), pd.Timestamp("2020-01-01", tz=BERLIN), np.int64(7), "7",
]  # fmt: skip


def test_hostile_values_end_in_a_schema_that_reads_them():
    frame = pd.DataFrame(
        {"zip": pd.Series(HOSTILE * 400, dtype=object), "n": pd.Series(HOSTILE * 400, dtype=object)}
    )
    schema = Schema.of(
        {
            "columns": {
                "zip": {"type": "categorical", "domain": "discover", "nullable": False},
                "n": {"type": "number", "domain": "discover"},
            }
        }
    )
    wanted = open_for_discovery(
        frame, schema, RunOptions(epsilon=2.0, discover_share=0.9), lambda *_: None
    )
    found = discover(wanted, ledger=None, run=None)
    values = found.columns["zip"].values
    assert {"nul\0", "other", "(other)", "7", "'; DROP TABLE"} <= set(values)
    assert all(is_candidate(value) for value in values)
    assert found.columns["zip"].other not in values
    assert Schema.of(found.as_mapping()) == found
    assert found.is_total
    codes = encode(frame, found)
    assert codes.rows == len(frame)
    with pytest.raises(SchemaError, match="text or integers"):
        open_discovery(pa.table({"zip": pa.array([1.5])}), ZIP)
    with pytest.raises(SchemaError, match="binary"):
        open_discovery(pa.table({"zip": pa.array([b"x"])}), ZIP)


def test_texts_that_are_no_utf8_go_to_the_rest():
    """As Parquet files may hold them; both discovery and the check before a run once ended in a
    traceback.
    """
    data, ends = b"Rome" * 600 + b"Ro\xff", np.append(np.arange(0, 2401, 4), 2403).astype(np.int32)
    texts = pa.Array.from_buffers(pa.string(), 601, [None, pa.py_buffer(ends), pa.py_buffer(data)])
    number = {"type": "integer", "min": 0, "max": 9, "nullable": True, "out_of_domain": "null"}
    table = pa.table({"zip": texts, "n": texts})
    wanted = open_for_discovery(
        table.select(["zip"]), ZIP, RunOptions(epsilon=2.0, discover_share=0.9), lambda *_: None
    )
    found = discover(wanted, ledger=None, run=None)
    assert found.columns["zip"].values == ("Rome",)
    assert encode(table.select(["zip"]), found).columns[0].tolist() == [0] * 600 + [1]
    for kind in (pa.string(), pa.string_view()):
        touched = touched_in(
            table.set_column(1, "n", texts.cast(kind)), Schema.of({"columns": {"n": number}})
        )
        assert "100.0%" in touched.findings(0.01, quoting=True)[0]


def test_typed_integers_are_integers_and_texts_are_texts(tmp_path):
    numbers = pa.table({"zip": pa.array([10115, 2**63 + 5, 5] * 300, pa.uint64())})
    options = RunOptions(epsilon=2.0, discover_share=0.9)
    found = discover(
        open_for_discovery(numbers, ZIP, options, lambda *_: None), ledger=None, run=None
    )
    assert found.columns["zip"].values == (5, 10115)
    assert found.columns["zip"].other == -1
    assert encode(numbers, found).rows == 900
    path = tmp_path / "t.csv"
    path.write_text("zip\n" + "00501\n501\n" * 400)
    found = discover(open_for_discovery(path, ZIP, options, lambda *_: None), ledger=None, run=None)
    assert found.columns["zip"].values == ("00501", "501")


def test_a_record_lies_in_one_cell_of_a_grid_and_has_one_value_at_most():
    columns = {
        "pay": {"type": "number", "domain": "discover"},
        "zip": {"type": "categorical", "domain": "discover"},
    }
    frame = pd.DataFrame({"pay": [0.5, 1.5, 1.5, None, 3e20], "zip": ["a", "b", "a", None, "a"]})
    source = open_discovery(pa.Table.from_pandas(frame), Schema.of({"columns": columns}))
    cells = source.count([Marginal(("pay",))])[0].dense()
    assert sorted(cells[cells != 0].tolist()) == [1, 1, 1, 2]
    values, counts = source.present("zip")
    assert (values, counts.tolist()) == (["a", "b"], [3, 1])


def test_only_what_reaches_the_threshold_leaves():
    """A value of one person appears with a probability of δ/10: three hundred, twice, raise a false
    alarm with one below 10^-10. At the usual δ = 1/n² that was one in 3,000.
    """
    options = RunOptions(epsilon=1.0, delta=1e-12)
    frame = pd.DataFrame(
        {"zip": [*["common"] * 5000, *(f"person {number}" for number in range(300))]}
    )
    wanted = open_for_discovery(frame, ZIP, options, lambda *_: None)
    found = discover(wanted, ledger=None, run=None)
    assert found.columns["zip"].values == ("common",)
    paid = found.discovered["zip"]
    assert paid.rho == pytest.approx(float(wanted.budget.rho))
    assert paid.delta <= wanted.budget.threshold_delta
    nothing = discover(
        open_for_discovery(frame[5000:], ZIP, options, lambda *_: None),
        ledger=None,
        run=None,
    )
    assert nothing.columns["zip"].values == ("(none)",)
    assert encode(frame, nothing).column("zip").tolist() == [1] * len(frame)


def test_bounds_hold_nearly_all_records():
    generator = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "pay": np.round(generator.lognormal(10, 0.8, 20_000), 2),
            "delta": generator.normal(0, 30, 20_000),
        }
    )
    schema = Schema.of(
        {"columns": {name: {"type": "number", "domain": "discover"} for name in frame}}
    )
    wanted = open_for_discovery(frame, schema, RunOptions(epsilon=1.0), lambda *_: None)
    assert wanted.budget.threshold_delta == 0
    found = discover(wanted, ledger=None, run=None)
    for name, column in found.columns.items():
        assert ((frame[name] < column.min) | (frame[name] > column.max)).mean() <= 0.01
        assert column.max <= 100 * frame[name].max()
    assert found.columns["pay"].min >= 0


def test_noise_far_from_the_records_moves_no_bound():
    """A count of five standard deviations is noise once in a thousand columns: it may move a bound
    by a cell or two, and not to the end of the grid.
    """
    edges = grid_edges("number")
    body = int(np.searchsorted(edges, 1000.0))

    def bounds(**noise: float) -> tuple[float, float]:
        counts = np.zeros(len(edges) - 1)
        counts[body] = 5_000.0
        for place, count in noise.items():
            counts[{"first": 0, "near": body + 2, "last": -1}[place]] = count
        found = Measurement(Marginal(("pay",)), counts, stddev_counts=10.0, rho=0.1)
        return bounds_of(DiscoverColumn(type="number"), found)

    alone = bounds()
    assert bounds(first=50.0) == bounds(last=50.0) == alone
    assert bounds(near=50.0) == (alone[0], edges[body + 4])
    assert bounds(first=90.0)[0] == edges[0]
    assert bounds(last=90.0)[1] == edges[-1]


def test_one_promise_covers_discovery_and_the_run():
    whole = Budget.of(epsilon=1.0, delta=1e-9)
    first, rest = whole.split(0.2, threshold_delta=1e-10)
    assert first.rho + rest.rho == first.whole_rho == rest.whole_rho < whole.rho
    assert (rest.epsilon, rest.delta) == (1.0, 1e-9)
    # the rest alone is small enough for zCDP's conversion, the whole is not: picks must be priced
    # by the whole
    assert rest.rho < Budget.of(epsilon=1.0, delta=9e-10, accounting=Accounting.TIGHT).rho
    assert rest.proof is Accounting.EXACT
    charge = rest.rho / 10
    assert rest.pick_rho(charge) < charge
    with pytest.raises(BudgetError):
        Budget(1.0, 1e-9, whole.rho, Accounting.EXACT, threshold_delta=1e-10)
    with pytest.raises(BudgetError):
        Budget(
            1.0, 1e-9, rest.rho, Accounting.EXACT, other_rho=first.rho * 2, threshold_delta=1e-10
        )
    with pytest.raises(BudgetError):
        whole.split(0.2, threshold_delta=1e-9)


def test_thresholds_take_no_more_of_delta_than_was_set_apart():
    source = open_discovery(pd.DataFrame({"zip": ["a"] * 9}), ZIP)
    curator = curator_of(
        source, rho_share=0.5, threshold_delta=1e-10, delta=1e-9, neighbors=Neighbors()
    )
    with pytest.raises(BudgetError, match="more of delta"):
        curator.discover_values(["zip"], curator.remaining / 2, delta=2e-10)
    curator.discover_values(["zip"], curator.remaining / 2, delta=1e-10)
    with pytest.raises(BudgetError, match="more of delta"):
        curator.discover_values(["zip"], curator.remaining, delta=1e-10)
    # less than nothing would give back what the first call took
    with pytest.raises(BudgetError, match="more of delta"):
        curator.discover_values(["zip"], curator.remaining, delta=-5e-11)
    with pytest.raises(BudgetError, match="more of delta"):
        curator.discover_values(["zip"], curator.remaining, delta=5e-11)


def test_what_cannot_be_discovered_is_refused_before_anything_is_spent(tmp_path):
    frame = pd.DataFrame({"zip": ["a"] * 99, "b": [1] * 99})
    with pytest.raises(SettingsError, match="in memory and in files alone"):
        open_discovery("postgresql://host/db", ZIP)
    with pytest.raises(SchemaError, match="not in the schema"):
        open_discovery(frame, ZIP)
    with pytest.raises(SchemaError, match="'zip': its domain is to be discovered, and the table"):
        open_discovery(frame.rename(columns={"zip": "Zip"}), ZIP)
    with pytest.raises(SchemaError, match="is a boolean column"):
        Schema.of({"columns": {"b": {"type": "boolean"}}}).asking_for(["b"])
    ledger = tmp_path / "ledger.jsonl"
    known = {
        "columns": {
            "zip": {"type": "categorical", "domain": "discover"},
            "b": {"type": "integer", "min": 2, "max": 3},
        }
    }
    for given in ({}, {"discover_share": 1.5}, {"method": "nonsense"}):
        with pytest.raises((DataError, SettingsError, BudgetError)):
            dprap.synthesize(frame, known, epsilon=1.0, ledger=ledger, **given)
    assert not ledger.exists()
    with pytest.raises(BudgetError, match="left of its cap"):
        # enough for discovery, not for the run after it
        synthesize(small_table(), tmp_path, ledger_cap_rho=0.05)
    assert not read_ledger(ledger).runs


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"schema": {"type": "integer", "min": 0, "max": 5, "nullable": True, "out_of_domain": "clip"}}, "Nothing was spent"),
        ({"rows": 10**12}, "hours to draw"),
        ({"person_column": "who", "max_rows_per_person": 2, "files": True}, "in memory only"),
        ({"settings": {"synthetic_rows": 10**6}, "method": "adaptive"}, "too large to be read"),
    ],
    ids=["check", "rows", "person", "size"],
)  # fmt: skip
def test_what_stops_the_run_after_discovery_is_known_before_it(tmp_path, given, message):
    """Each of them once stopped a run that had paid for its discovery."""
    given = dict(given)
    table = pd.DataFrame({"zip": ["A", "B"] * 1500, "b": range(3000), "who": np.arange(3000) // 2})
    column = given.pop("schema", {"type": "integer", "min": 0, "max": 2999, "width": 100})
    schema = {
        "columns": {"zip": {"type": "categorical", "domain": "discover"}, "b": column},
        "ignore_columns": [] if "person_column" in given else ["who"],
    }
    if given.pop("files", False):
        (tmp_path / "t").mkdir()
        table.to_csv(tmp_path / "t" / "a.csv", index=False)
        table = tmp_path / "t"
    ledger = tmp_path / "ledger.jsonl"
    with pytest.raises((DataError, SettingsError), match=message):
        dprap.synthesize(table, schema, epsilon=1.0, ledger=ledger, **given)
    assert not ledger.exists()


def test_a_workload_too_large_for_what_was_found_gives_way(tmp_path):
    """Discovery is paid for, so that it must lead to a release."""
    table = pd.DataFrame({name: np.arange(60_000) % 300 for name in "ab"}).astype(str)
    schema = {"columns": {name: {"type": "categorical", "domain": "discover"} for name in "ab"}}
    options = {
        "kway": 2,
        "discover_share": 0.5,
        "method": "independent",
        "ledger": tmp_path / "ledger.jsonl",
    }
    release = dprap.synthesize(table, schema, epsilon=3.0, max_cells=50, intervals="no", **options)
    assert release.schema.domain.sizes > (200, 200)
    assert {len(family.columns) for family in release.workload.families} == {1}


def test_what_is_said_before_spending_counts_the_thresholds_of_the_run_itself(tmp_path):
    budget = Budget.of(epsilon=1.0, delta=1e-6).split(0.1, threshold_delta=1e-7)[0]
    synthesize(small_table(), tmp_path)
    state = read_ledger(tmp_path / "ledger.jsonl")
    said = " ".join(balance_lines(state, budget))
    assert f"add {state.threshold_delta + 1e-7:.3g} to δ" in said


SCHEMA = {
    "columns": {
        "zip": {"type": "categorical", "domain": "discover"},
        "sex": {"type": "categorical", "values": ["f", "m"]},
        "pay": {"type": "integer", "domain": "discover"},
    }
}


def small_table():
    generator = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "zip": generator.choice(["A", "B", "C"], 3000, p=[0.6, 0.39, 0.01]),
            "sex": generator.choice(["f", "m"], 3000),
            "pay": generator.integers(1000, 9000, 3000),
        }
    )


def synthesize(table, folder, **more):
    return dprap.synthesize(
        table,
        SCHEMA,
        epsilon=2.0,
        discover_share=0.5,
        method="independent",
        intervals="no",
        out=folder / "out",
        ledger=folder / "ledger.jsonl",
        **more,
    )


class Stopped(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("verb", ["charge", "store", "finish"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("nth", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_run_that_stops_in_discovery_spends_and_draws_nothing_twice(
    tmp_path, monkeypatch, verb, after, nth
):
    table, honest, calls = small_table(), getattr(Ledger, verb), []

    def stopping(self, *arguments):
        calls.append(verb)
        if len(calls) - 1 == nth and not after:
            raise Stopped
        result = honest(self, *arguments)
        if len(calls) - 1 == nth:
            raise Stopped
        return result

    monkeypatch.setattr(Ledger, verb, stopping)
    with pytest.raises(Stopped):
        synthesize(table, tmp_path)
    monkeypatch.undo()
    ledger = tmp_path / "ledger.jsonl"
    stored = {} if not ledger.exists() else _results(ledger)
    if verb == "charge" and nth == 0 and not after:
        assert not ledger.exists()  # nothing was spent, so there is nothing to resume
        return
    release = dprap.resume(tmp_path / "out", table=table)
    again = _results(ledger)
    assert all((again[name] == content) for name, content in stored.items())
    state = read_ledger(ledger)
    assert len(state.runs) == 2
    assert state.spent_rho <= sum((run.planned_rho for run in state.runs.values()), Fraction(0))
    assert all(run.done for run in state.runs.values())
    first = next(name for name in state.runs if name.endswith(".discovery"))
    assert [charge["verb"] for charge in state.runs[first].charges.values()] == [
        "discover_values",
        "measure",
    ]
    assert set(release.schema.discovered) == {"zip", "pay"}
    assert release.privacy.discovery_rho == pytest.approx(release.privacy.rho_planned / 2)
    assert state.threshold_delta == pytest.approx(release.privacy.delta / 10)


def _results(ledger):
    folder = ledger.with_name(ledger.name + ".results")
    return {file.name: file.read_bytes() for file in folder.glob("*.npz")}


def test_a_run_is_not_resumed_on_other_values(tmp_path, monkeypatch):
    table = small_table()
    monkeypatch.setattr(Ledger, "finish", lambda *_: (_ for _ in ()).throw(Stopped))
    with pytest.raises(Stopped):
        synthesize(table, tmp_path)
    monkeypatch.undo()
    table.loc[0, "zip"] = "Z"
    with pytest.raises(LedgerError, match="other data"):
        dprap.resume(tmp_path / "out", table=table)


def test_neighbours_with_equal_noisy_results_look_alike(tmp_path, monkeypatch, capfd):
    """Recorded on a table, replayed on one with a value that only one person has and a wage beyond
    all others.
    """
    table, honest, tape = small_table(), Ledger.store, []
    other = table.copy()
    other.loc[7, ["zip", "pay"]] = ["only Eve's", 10**9]
    shown = []
    for name, each in (("first", table), ("second", other)):
        (tmp_path / name).mkdir()
        results = iter(list(tape))

        def store(self, run, step, arrays, results=results, name=name):
            arrays = arrays if name == "first" else next(results)
            tape.append(arrays)
            honest(self, run, step, arrays)

        monkeypatch.setattr(Ledger, "store", store)
        release = synthesize(each, tmp_path / name, run="run")
        state = read_ledger(tmp_path / name / "ledger.jsonl")
        events = [charge["event"] for run in state.runs.values() for charge in run.charges.values()]
        published = pd.read_parquet(tmp_path / name / "out" / "synthetic.parquet")
        shown.append(
            (
                release.schema.as_mapping(),
                release.privacy,
                events,
                published.to_csv(),
                capfd.readouterr().out,
            )
        )
        assert b"only Eve" not in b"".join(
            file.read_bytes() for file in (tmp_path / name).rglob("*") if file.is_file()
        )
    assert shown[0] == shown[1]


def test_labels_for_the_rest_are_never_values():
    column = ZIP.discover["zip"]
    assert listed_column(column, [-1, -2, 5], whole=True)["other"] == -3
    assert listed_column(column, [], whole=True) == {**column.declared, "values": [0], "other": -1}
    many = [str(number) for number in range(MOST_VALUES)]
    Schema.of({"columns": {"zip": listed_column(column, many, whole=False)}})


def test_no_mechanism_could_find_values_of_half_as_many_records():
    """docs/privacy.md: group privacy of zCDP bounds how rare a found value may be; the threshold is
    below twice that.
    """
    rho, delta = 0.05 * 0.01536, 0.1 / 48_842**2
    log_delta = math.log(1 / delta)
    least = 1 + max(
        math.sqrt((log_delta - math.log(2) * a / (a - 1)) / (a * rho))
        for a in np.linspace(1.05, 3, 400)
    )
    threshold = threshold_for(1 / math.sqrt(rho), delta, Neighbors())
    assert 147 < least < 149
    assert least < threshold < 1.65 * least


def test_names_without_counts_would_cost_nearly_as_much():
    """docs/privacy.md: whether counts reach the threshold costs 93% of the noisy counts themselves.

    One value gains a record and another loses one, each where that costs most at an order α; zCDP
    asks for the largest of all orders.
    """
    from scipy.special import logsumexp
    from scipy.stats import norm

    rho, delta = 0.05 * 0.01536, 0.1 / 48_842**2
    orders = np.geomspace(1.01, 2000, 200)[:, None]

    def divergence(log_p, log_q):
        powers = [orders * p + (1 - orders) * q for p, q in zip(log_p, log_q, strict=True)]
        return (logsumexp(powers, axis=0) / (orders - 1)).max(axis=1)

    def cost(stddev):
        threshold = 1 + stddev * norm.isf(delta)
        away = (threshold - np.arange(1, int(threshold + 9 * stddev))) / stddev
        fewer, more = ((norm.logsf(part), norm.logcdf(part)) for part in (away[:-1], away[1:]))
        both = divergence(more, fewer) + divergence(fewer, more)
        return float((both / orders[:, 0]).max()), threshold

    stddev = 1 / math.sqrt(rho)
    assert 0.92 < cost(stddev)[0] / rho < 0.935
    dearer, threshold = cost(0.96 * stddev)
    assert dearer > rho
    assert threshold > 225


def test_a_plan_says_which_values_will_be_found_and_the_share_that_rarer_ones_need():
    schema = Schema.of(
        {"columns": {"sex": {"type": "categorical", "values": ["f", "m"]}}, "ignore_columns": []}
    )
    plan = dprap.plan(schema.asking_for(["zip"]), epsilon=1.0, records=48_842)
    discovery = plan.discovery
    assert plan.budget.other_rho == discovery.split()[0].rho
    half, nearly_all = discovery.found_from()
    assert (half, nearly_all) == (237, 297)  # 6.1σ + 1 and 1.645σ more, σ = 1/√ρ = 36
    assert discovery.share_for(nearly_all) == pytest.approx(0.05, rel=0.01)
    assert discovery.share_for(182) == pytest.approx(0.133, abs=0.002)
    assert discovery.share_for(20) is None
    assert "categories of 297 records (0.61%) in 95% of all runs" in repr(plan)
    assert "of 0.1% of the records all of ρ is too little" in repr(plan)


def test_values_are_found_as_often_as_the_plan_says():
    """The two counts of the plan, in 200 runs; each share is off by more than 5 standard deviations
    once in a million.
    """
    discovery = dprap.plan(ZIP, epsilon=1.0, records=20_000).discovery
    counts = discovery.found_from()
    rest = 20_000 - sum(counts)
    table = pd.DataFrame({"zip": np.repeat(["half", "nearly", "rest"], [*counts, rest])})
    wanted = open_for_discovery(table, ZIP, RunOptions(epsilon=1.0), lambda *_: None)
    assert wanted.plan == discovery
    runs = [
        discover(wanted, ledger=None, run=None, insecure_noise_seed=seed).columns["zip"].values
        for seed in range(200)
    ]
    assert abs(sum("half" in found for found in runs) - 100) < 36
    assert abs(sum("nearly" in found for found in runs) - 190) < 16


def found(column, *counts):
    return FoundValues(column, tuple(map(str, counts)), 10.0, 60, 0.1, 1e-9, counts)


def test_the_second_look_goes_to_columns_that_lack_records():
    first = [found("all", 600, 410), found("most", 900), found("few", 700, 100)]
    assert shares_by_need(first, 1000) == [0, Fraction(1, 3), Fraction(2, 3)]
    assert shares_by_need(first, None) == [0, Fraction(110, 320), Fraction(210, 320)]
    assert shares_by_need([found("a", 1000), found("b", 1001)], 1000) == [Fraction(1, 2)] * 2


def test_two_looks_find_what_one_does_not_and_stay_within_the_budget(tmp_path):
    """With equal shares the threshold would be 420 records, and no value of `rare` but the first
    would be found.
    """
    generator = np.random.default_rng(4)
    rare = generator.permutation(
        np.repeat([f"v{number}" for number in range(9)], [17_200, *[350] * 8])
    )
    table = pd.DataFrame(
        {"rare": rare, **{name: generator.choice(["x", "y"], 20_000) for name in "abc"}}
    )
    schema = Schema.of(
        {"columns": {name: {"type": "categorical", "domain": "discover"} for name in table}}
    )
    wanted = open_for_discovery(table, schema, RunOptions(epsilon=1.0), lambda *_: None)
    with Ledger(tmp_path / "ledger.jsonl", neighbors=Neighbors()) as ledger:
        columns = discover(wanted, ledger=ledger, run="r").columns
    assert len(columns["rare"].values) >= 4
    assert all(columns[name].values == ("x", "y") for name in "abc")
    state = read_ledger(tmp_path / "ledger.jsonl")
    assert state.spent_rho <= wanted.budget.rho
    assert state.threshold_delta <= wanted.budget.threshold_delta
    assert [charge["verb"] for charge in state.runs["r.discovery"].charges.values()].count(
        "discover_values"
    ) >= 2
