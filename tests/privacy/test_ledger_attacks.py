"""Ledgers that somebody removed, replaced, rolled back or forged, and the anchor that notices what
files cannot.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.privacy.tables import DOMAIN, REPLACE, curator_of, random_rows

from dprap.errors import BudgetError, LedgerError
from dprap.privacy import Ledger, read_ledger
from dprap.privacy.ledger import chain
from dprap.privacy.ledger.chain import ChainedFile
from dprap.privacy.ledger.stored_results import unpacked
from dprap.queries import Marginal
from dprap.runs.describe import _event, event_line

ROWS = random_rows(np.random.default_rng(0), DOMAIN, 60)
FIRST, SECOND = Marginal(("a",)), Marginal(("b", "c"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "books" / "data.ledger"


def spend(path, run="one", rho=0.125, *, finish=False, **options):
    with Ledger(path, neighbors=REPLACE, **options) as ledger:
        curator = curator_of(ROWS, ledger=ledger, run=run)
        (measured,) = curator.measure([FIRST], rho)
        if finish:
            curator.finish()
    return measured.counts.tolist()


def no_noise(monkeypatch):
    def never(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("dprap.privacy.verbs.measure.add_discrete_gaussian", never)


# While a run lasts


def unlink(path):
    path.unlink()


def replace(path):
    copy = path.with_name("copy")
    shutil.copy2(path, copy)
    copy.replace(path)


def move(path):
    path.rename(path.with_name("elsewhere"))


def remove_all(path):
    shutil.rmtree(path.parent)


def append(path):
    with path.open("ab") as file:
        file.write(b'{"body": {}}\n')


def cut(path):
    path.write_bytes(path.read_bytes()[:10])


def change_head(path):
    path.with_name(path.name + ".head").write_bytes(b"1 " + b"0" * 64 + b"\n")


@pytest.mark.parametrize("attack", [unlink, replace, move, remove_all, append, cut, change_head])
def test_a_ledger_touched_during_a_run_stops_it_before_the_next_draw(path, monkeypatch, attack):
    with Ledger(path, neighbors=REPLACE) as ledger:
        curator = curator_of(ROWS, ledger=ledger, run="one")
        curator.measure([FIRST], 0.125)
        attack(path)
        no_noise(monkeypatch)
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"removed, replaced or changed|Open it again"):
                curator.measure([SECOND], 0.125)
        assert ledger.may_hold("one")


def test_a_ledger_removed_while_its_line_is_written_is_noticed_before_the_draw(path, monkeypatch):
    with Ledger(path, neighbors=REPLACE) as ledger:
        curator = curator_of(ROWS, ledger=ledger, run="one")
        curator.measure([FIRST], 0.125)
        no_noise(monkeypatch)
        honest = os.fsync

        def fsync(descriptor):
            path.unlink(missing_ok=True)
            honest(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(LedgerError, match="removed, replaced or changed"):
            curator.measure([SECOND], 0.125)


def test_whoever_objects_before_a_charge_stops_it(path, monkeypatch):
    def object_to():
        raise KeyboardInterrupt

    no_noise(monkeypatch)
    with (
        pytest.raises(KeyboardInterrupt),
        Ledger(path, neighbors=REPLACE, before_charge=object_to) as ledger,
    ):
        curator_of(ROWS, ledger=ledger).measure([FIRST], 0.125)
    assert not path.parent.exists(), "a ledger that says nothing is not left behind"


# Runs that are given up


def test_abandoning_gives_back_what_was_not_charged(path):
    spend(path, "one", cap_rho=0.65)
    spent = read_ledger(path).spent_rho
    with Ledger(path, neighbors=None) as ledger:
        with pytest.raises(BudgetError, match="cap"):
            curator_of(ROWS, ledger=ledger, run="two", rho=0.4)
        assert ledger.abandon("on") == Fraction(1, 2) - spent
        with pytest.raises(LedgerError, match="is closed"):
            ledger.abandon("one")
        for wrong in ("two", "", "onee"):
            with pytest.raises(LedgerError, match="no run"):
                ledger.abandon(wrong)
    state = read_ledger(path)
    assert state.held_rho == state.spent_rho == spent
    assert state.runs["one"].abandoned
    spend(path, "two", rho=0.1)
    with (
        Ledger(path, neighbors=REPLACE) as ledger,
        pytest.raises(LedgerError, match="was abandoned"),
    ):
        curator_of(ROWS, ledger=ledger, run="one")


def test_a_finished_run_is_not_abandoned_and_may_be_replayed(path):
    first = spend(path, finish=True)
    with Ledger(path, neighbors=None) as ledger, pytest.raises(LedgerError, match="is closed"):
        ledger.abandon("one")
    assert spend(path) == first


def test_a_ledger_that_is_absent_is_not_created_by_looking(path):
    for options in ({"neighbors": None}, {"neighbors": REPLACE, "create": False}):
        with pytest.raises(LedgerError, match="cannot open"):
            Ledger(path, **options)
        assert not path.exists()


def test_a_ledger_opened_in_the_same_second_is_another(path, tmp_path):
    with (
        Ledger(path, neighbors=REPLACE) as one,
        Ledger(tmp_path / "other.ledger", neighbors=REPLACE) as other,
    ):
        other.require(other.head)
        with pytest.raises(LedgerError, match="is not the one"):
            other.require(one.head)


# The anchor


@pytest.fixture
def anchor(tmp_path):
    return tmp_path / "outside" / "anchor"


@pytest.fixture(autouse=True)
def outside(tmp_path):
    (tmp_path / "outside").mkdir()


NOTARY = """
import pathlib, sys
kept = pathlib.Path(sys.argv[1])
if sys.argv[2] == "put":
    kept.write_text(sys.stdin.read())
elif sys.argv[2] == "get":
    sys.stdout.write(kept.read_text() if kept.exists() else "")
else:
    sys.exit(3)
"""


@pytest.fixture(params=["file", "command"])
def place(request, tmp_path, anchor):
    """An anchor of either kind, and what a later opening must be told of it."""
    if request.param == "file":
        return str(anchor), None
    (tmp_path / "outside" / "notary.py").write_text(NOTARY)
    command = f"command:{sys.executable} '{tmp_path / 'outside' / 'notary.py'}' '{anchor}'"
    return command, command


def test_an_anchor_follows_every_charge(path, anchor, place):
    first, later = place
    spend(path, "one", anchor=first)
    heads = [anchor.read_text()]
    spend(path, "two", anchor=later)
    heads.append(anchor.read_text())
    charges = [
        json.loads(line)
        for line in path.read_text().splitlines()
        if json.loads(line)["kind"] == "charge"
    ]
    assert heads == [f"{charge['index'] + 1} {charge['hash']}\n" for charge in charges]


def test_an_older_copy_of_all_files_is_refused(path, tmp_path, place):
    first, later = place
    spend(path, "one", anchor=first)
    shutil.copytree(path.parent, tmp_path / "backup")
    spend(path, "two", anchor=later)
    shutil.rmtree(path.parent)
    shutil.copytree(tmp_path / "backup", path.parent)
    with pytest.raises(LedgerError, match="an older copy"):
        spend(path, "three", anchor=later)


def test_a_deleted_ledger_is_refused_and_not_begun_anew(path, place):
    spend(path, "one", anchor=place[0])
    shutil.rmtree(path.parent)
    with pytest.raises(LedgerError, match="was deleted"):
        spend(path, "two", anchor=place[0])
    assert not path.parent.exists()


def test_without_an_anchor_the_same_goes_unnoticed(path, tmp_path):
    """What the documentation says of restoring old copies, shown."""
    spend(path, "one")
    shutil.copytree(path.parent, tmp_path / "backup")
    spend(path, "two")
    shutil.rmtree(path.parent)
    shutil.copytree(tmp_path / "backup", path.parent)
    spend(path, "three")
    assert set(read_ledger(path).runs) == {"one", "three"}


def test_a_command_is_never_run_because_a_file_says_so(path, tmp_path):
    trap = tmp_path / "outside" / "trap"
    with contextlib.closing(ChainedFile.open(path)) as chain:
        body = {"version": 2, "cap_rho": None, "relation": "replace", "max_rows_per_person": 1}
        chain.append("open", body)
        chain.append("anchor", {"place": f"command:touch '{trap}'"})
    with pytest.raises(LedgerError, match="Name it"):
        spend(path)
    assert not list(trap.parent.iterdir())


@pytest.mark.parametrize(
    "content", [b"my notes", b"1 2 3\n", b"99999999999999 " + b"0" * 64, b"\xff" * 50]
)
def test_a_file_that_is_no_anchor_is_not_overwritten(path, anchor, content):
    anchor.write_bytes(content)
    with pytest.raises(LedgerError, match="something else"):
        spend(path, anchor=anchor)
    assert anchor.read_bytes() == content
    assert not path.exists()


@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_an_anchor_that_is_no_file_is_refused(path, anchor, kind):
    if kind == "device":
        anchor.symlink_to("/dev/zero")  # reading it would never end
    elif kind == "pipe":
        os.mkfifo(anchor)
    else:
        anchor.mkdir()
    with pytest.raises(LedgerError, match=r"is no file\. Name a file, or command:PROGRAM"):
        spend(path, anchor=anchor)
    assert not path.exists()


def test_an_anchor_that_is_gone_or_of_another_ledger_stops_spending(path, tmp_path, anchor):
    spend(path, "one", anchor=anchor)
    kept = anchor.read_bytes()
    anchor.unlink()
    with pytest.raises(LedgerError, match="is gone or empty"):
        spend(path, "two")
    spend(tmp_path / "others" / "data.ledger", "one", anchor=anchor)
    with pytest.raises(LedgerError, match="older copy"):
        spend(path, "two")
    moved = tmp_path / "outside" / "moved"
    with pytest.raises(LedgerError, match="copy it to the place"):
        spend(path, "two", anchor=moved)
    moved.write_bytes(kept)
    spend(path, "two", anchor=moved)
    assert read_ledger(path).anchor == str(moved)
    anchor.unlink()
    spend(path, "three")


def test_an_anchor_beside_its_ledger_is_refused(path):
    for place in (path.with_name("anchor"), path.parent / "deep" / "anchor"):
        with pytest.raises(LedgerError, match="Name a place outside"):
            spend(path, anchor=place)
    assert not path.exists()


@pytest.mark.parametrize(
    "command",
    ["command:", "command: ", "command:'", "command:/nonexistent/program", "command:false"],
)
def test_commands_that_fail_stop_before_anything_is_spent(path, command):
    with pytest.raises(LedgerError, match="anchor"):
        spend(path, anchor=command)
    assert not path.exists()


def test_an_anchor_that_cannot_be_written_does_not_close_a_ledger_for_good(path, tmp_path, anchor):
    spend(path, "one")
    for mistyped in (
        tmp_path / "no such folder" / "anchor",
        f"command:{sys.executable} -c 'import sys; sys.exit(sys.argv[1] != \"get\")'",
    ):
        with pytest.raises(LedgerError, match="anchor"):
            spend(path, "two", anchor=mistyped)
        assert read_ledger(path).anchor is None
    spend(path, "two")
    spend(path, "three", anchor=anchor)
    assert read_ledger(path).anchor == str(anchor)


def test_an_anchor_that_cannot_be_written_stops_before_the_draw(path, anchor, monkeypatch):
    with Ledger(path, neighbors=REPLACE, anchor=anchor) as ledger:
        curator = curator_of(ROWS, ledger=ledger, run="one")
        no_noise(monkeypatch)
        anchor.unlink()
        with pytest.raises(LedgerError, match="changed while"):
            curator.measure([FIRST], 0.125)
        ledger._anchor.write(ledger.head)
        monkeypatch.setattr(
            type(ledger._anchor), "write", lambda *_: (_ for _ in ()).throw(LedgerError("no"))
        )
        with pytest.raises(LedgerError, match="no"):
            curator.measure([FIRST], 0.125)
    monkeypatch.undo()
    # the charge stands without its draw, which is made now; the anchor lagged by one charge
    spend(path, "one")
    assert read_ledger(path).spent_rho == Fraction(1, 8)


def test_an_anchor_turned_back_by_two_charges_is_refused(path, anchor):
    spend(path, "one", anchor=anchor)
    old = anchor.read_bytes()
    spend(path, "two")
    anchor.write_bytes(old)
    spend(path, "three")  # one charge ahead: a crash may have come between the two
    anchor.write_bytes(old)
    with pytest.raises(LedgerError, match="is older than ledger"):
        spend(path, "four")


# Lines with right hashes


def good_records():
    """A run as the ledger writes it."""
    return [
        (
            "open",
            {
                "version": 2,
                "created": "x",
                "cap_rho": "1",
                "relation": "replace",
                "max_rows_per_person": 1,
            },
        ),
        (
            "run",
            {
                "run": "r",
                "rho": "1/2",
                "started": "x",
                "epsilon": 1.0,
                "delta": 1e-6,
                "data": "d",
                "domain": "e",
            },
        ),
        (
            "charge",
            {
                "run": "r",
                "step": 0,
                "verb": "measure",
                "digest": "d",
                "rho": "1/4",
                "event": {"of": [], "count": 0},
            },
        ),
        ("done", {"run": "r", "ended": "x"}),
    ]


def write(path, records):
    path.parent.mkdir(exist_ok=True)
    for file in path.parent.iterdir():
        file.unlink()
    with contextlib.closing(ChainedFile.open(path)) as lines:
        for kind, body in records:
            lines.append(kind, body)


def test_the_good_records_are_good(path):
    write(path, good_records())
    assert read_ledger(path).spent_rho == Fraction(1, 4)
    Ledger(path, neighbors=REPLACE).close()


FORGED = {
    "rho divided by zero": (1, {"rho": "1/0"}),
    "rho with an exponent": (1, {"rho": "1e999999999"}),
    "rho beyond a float": (1, {"rho": "9" * 4000}),
    "rho as a number": (1, {"rho": 0.5}),
    "rho negative": (2, {"rho": "-1/4"}),
    "rho in Arabic digits": (1, {"rho": "١"}),
    "rho with a space": (1, {"rho": " 1"}),
    "cap of nothing": (0, {"cap_rho": "1/0"}),
    "cap as a list": (0, {"cap_rho": []}),
    "version as text": (0, {"version": "2"}),
    "version true": (0, {"version": True}),
    "relation as a number": (0, {"relation": 1}),
    "run outside the folder": (1, {"run": "../../r"}),
    "run as a list": (1, {"run": ["r"]}),
    "epsilon as text": (1, {"epsilon": "one"}),
    "epsilon as a list": (1, {"epsilon": [1]}),
    "started with control characters": (1, {"started": "\x1b[31mred"}),
    "step as a fraction": (2, {"step": 0.0}),
    "step true": (2, {"step": False}),
    "step huge": (2, {"step": 10**30}),
    "verb as an object": (2, {"verb": {}}),
    "event as a list": (2, {"event": [1]}),
    "charge of nobody": (2, {"run": "s"}),
    "end of nobody": (3, {"run": "s"}),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_lines_are_refused(path, case):
    at, change = FORGED[case]
    records = good_records()
    records[at] = (records[at][0], records[at][1] | change)
    write(path, records)
    for use in (
        read_ledger,
        lambda path: Ledger(path, neighbors=REPLACE),
        lambda path: Ledger(path, neighbors=None),
    ):
        with pytest.raises(LedgerError):
            use(path)


@pytest.mark.parametrize("rho", ["9" * 4000, "1000000001"])
def test_a_charge_beyond_every_budget_is_refused_where_there_is_no_cap(path, rho):
    records = good_records()
    for at, change in ((0, {"cap_rho": None}), (1, {"rho": rho}), (2, {"rho": rho})):
        records[at] = (records[at][0], records[at][1] | change)
    write(path, records)
    with pytest.raises(LedgerError, match="lacks a right 'rho'"):
        read_ledger(path)


LINE = (
    '{"body": {"event": EVENT}, "hash": "HASH", "index": 3, "kind": "done", "previous": "PREVIOUS"}'
)


@pytest.mark.parametrize(
    "text",
    [
        *(
            LINE.replace("EVENT", event)
            for event in ("NaN", "1e999", "[" * 5000 + "]" * 5000, "1" * 5000)
        ),
        LINE.replace('{"event": EVENT}', "[]"),
        LINE.replace("EVENT", "1").replace('"done"', '["done"]'),
        LINE.replace("EVENT", "1").replace('"kind": "done", ', ""),
        LINE.replace("EVENT", "1").replace('"hash"', '"extra": 1, "hash"'),
    ],
    ids=lambda text: text[:30],
)
def test_lines_that_json_takes_and_we_do_not_write(path, text):
    write(path, good_records()[:3])
    previous = json.loads(path.read_text().splitlines()[-1])["hash"]
    text = text.replace("PREVIOUS", previous)
    with contextlib.suppress(ValueError, RecursionError):
        sealed = {name: value for name, value in json.loads(text).items() if name != "hash"}
        text = text.replace(
            "HASH", hashlib.sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest()
        )
    path.write_text(path.read_text() + text + "\n")
    for use in (read_ledger, lambda path: Ledger(path, neighbors=None)):
        with pytest.raises(LedgerError):
            use(path)


@pytest.mark.parametrize("change", [{"rho": "1/3"}, {"run": "other"}])
def test_a_line_that_was_sealed_anew_alone_is_noticed(path, change):
    """Its own hash is right, and the next line knows another one."""
    write(path, good_records())
    lines = path.read_bytes().splitlines()
    record = json.loads(lines[1])
    record["body"] |= change
    record["hash"] = chain._hash(record)
    lines[1] = chain._canonical(record)
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(LedgerError, match="damaged at line 3"):
        read_ledger(path)


class _Opened:
    """Leaves a file behind where somebody unpickles it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return self.path.touch, ()


def test_a_result_is_never_unpickled(tmp_path):
    content = io.BytesIO()
    np.savez(content, counts=np.array([_Opened(tmp_path / "opened")], dtype=object))
    with pytest.raises(LedgerError, match="damaged"):
        unpacked(content.getvalue())
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(
    ("written", "otherwise"),
    [('"run": "r"', '"run": "s", "run": "r"'), ('"run": "r"', '"run":"r"'), ('"r"', '"\\u0072"')],
)
def test_a_line_that_says_the_same_otherwise_is_refused(path, written, otherwise):
    """Whoever reads it with their eyes would see a run that the hash knows nothing of."""
    write(path, good_records())
    *lines, last = path.read_text().splitlines()
    path.write_text("\n".join([*lines, last.replace(written, otherwise, 1)]) + "\n")
    assert json.loads(path.read_text().splitlines()[-1]) == json.loads(last)
    with pytest.raises(LedgerError, match="damaged at line 4"):
        read_ledger(path)


@pytest.mark.parametrize(
    "file", ["../../secret.npz", "/etc/passwd", "r-00000-0000000000000000.npz", "", "a\0b"]
)
def test_a_result_cannot_name_another_file(path, file):
    records = good_records()[:3]
    write(path, [*records, ("result", {"run": "r", "step": 0, "file": file, "sha256": "0" * 64})])
    with pytest.raises(LedgerError, match=r"named after its charge|right 'file'"):
        read_ledger(path)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
FIELDS = sorted({(at, name) for at, (_, body) in enumerate(good_records()) for name in body})


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    changes=st.lists(st.tuples(st.sampled_from(FIELDS), plain), min_size=1, max_size=3), event=plain
)
def test_whatever_a_line_holds_is_read_or_refused(path, changes, event):
    records = good_records()
    records[2][1]["event"] = {"of": event, "count": event, "stddev_counts": event}
    for (at, name), value in changes:
        records[at][1][name] = value
    write(path, records)
    try:
        state = read_ledger(path)
    except LedgerError:
        return
    for run in state.runs.values():
        float(run.planned_rho)
        for charge in run.charges.values():
            assert "\x1b" not in event_line(_event(charge))


@pytest.mark.parametrize(
    "kind", ["folder", "dot", "root", "pipe", "device", "long", "below a file"]
)
def test_what_is_no_file(path, tmp_path, kind, monkeypatch):
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "dot":
        monkeypatch.chdir(tmp_path)
        path = Path()
    elif kind == "root":
        path = Path("/")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "long":
        path = path.with_name("x" * 5000)
    else:
        path.write_text("")
        path = path / "ledger"
    for use in (
        read_ledger,
        lambda path: Ledger(path, neighbors=REPLACE),
        lambda path: Ledger(path, neighbors=None),
    ):
        with pytest.raises(LedgerError, match=r"cannot (open|read)"):
            use(path)


# What lines say, and older ledgers


def test_lines_say_what_was_released(path):
    with Ledger(path, neighbors=REPLACE) as ledger:
        curator = curator_of(ROWS, ledger=ledger, run="one")
        curator.measure([FIRST, SECOND], 0.125)
        curator.select(
            [FIRST, SECOND], [np.zeros(2), np.zeros(DOMAIN.size_of(("b", "c")))], k=1, rho=0.1
        )
    measured, selected = (
        _event(charge) for charge in read_ledger(path).runs["one"].charges.values()
    )
    assert measured["of"] == [[["Marginal", ["a"]], "1/16"], [["Marginal", ["b", "c"]], "1/16"]]
    assert measured["stddev_counts"] == pytest.approx([4.0, 4.0])  # √2 / √(2 · 1/16)
    assert (
        event_line(measured) == 'measure, ρ = 0.125, σ = 4.0000: marginal "a", marginal "b" × "c"'
    )
    assert (selected["verb"], selected["picks"], selected["count"]) == ("select", 1, 2)


def test_a_ledger_of_version_1_is_read_and_spent_from(path):
    records = good_records()
    records[0][1]["version"] = 1
    del records[2][1]["event"]
    write(path, records)
    spend(path, "new")
    state = read_ledger(path)
    assert state.spent_rho == Fraction(3, 8)
    assert "not told" in event_line(_event(state.runs["r"].charges[0]))
