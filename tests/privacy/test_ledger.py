import contextlib
import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from tests.privacy.tables import ADD_REMOVE, DOMAIN, REPLACE, curator_of, random_rows

from dprap.accounting import Budget, Neighbors, Relation
from dprap.errors import BudgetError, LedgerError
from dprap.privacy import Ledger, balance_lines, read_ledger
from dprap.privacy.ledger import chain
from dprap.privacy.ledger.chain import ChainedFile
from dprap.queries import Marginal

ROWS = random_rows(np.random.default_rng(0), DOMAIN, 60)
FIRST, SECOND = Marginal(("a",)), Marginal(("b", "c"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "books" / "data.ledger"


def two_steps(path, run="one", *, finish=False, cap_rho=None):
    with Ledger(path, neighbors=REPLACE, cap_rho=cap_rho) as ledger:
        curator = curator_of(ROWS, ledger=ledger, run=run)
        results = curator.measure([FIRST], 0.125) + curator.measure([SECOND], 0.25)
        if finish:
            curator.finish()
    return [measurement.counts.tolist() for measurement in results]


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


def test_order_and_content(path):
    two_steps(path, finish=True)
    kinds = [json.loads(line)["kind"] for line in lines_of(path)]
    assert kinds == ["open", "run", "charge", "result", "charge", "result", "done"]
    state = read_ledger(path)
    assert state.runs["one"].spent_rho == Fraction(3, 8) == state.spent_rho == state.held_rho
    assert state.runs["one"].done
    assert path.stat().st_mode & 0o077 == 0
    assert (path.with_name("data.ledger.results").stat().st_mode & 0o077) == 0


def test_replay_gives_the_same_bytes_and_spends_nothing(path):
    first = two_steps(path)
    size = path.stat().st_size
    assert two_steps(path) == first
    assert path.stat().st_size == size
    assert read_ledger(path).spent_rho == Fraction(3, 8)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_who_stops_a_run_while_noise_is_drawn_pays_once_and_sees_nothing(path, kind):
    """Progress is told between the charge and the result: the draw is lost, and made again under
    its charge.
    """

    def stop(done, of):
        told.append((done, of))
        if done == 1:
            raise kind

    told = []
    with Ledger(path, neighbors=REPLACE) as ledger:
        with pytest.raises(kind):
            curator_of(ROWS, ledger=ledger, run="one").measure([FIRST, SECOND], 0.125, watch=stop)
        assert told == [(0, 2), (1, 2)]
        assert [json.loads(line)["kind"] for line in lines_of(path)] == ["open", "run", "charge"]
        assert not list(path.parent.glob("*.results/*"))
    for _ in range(2):
        with Ledger(path, neighbors=REPLACE) as ledger:
            curator = curator_of(ROWS, ledger=ledger, run="one")
            told.append([each.counts.tolist() for each in curator.measure([FIRST, SECOND], 0.125)])
            assert curator.spent == ledger.state.spent_rho == Fraction(1, 8)
    assert told[-1] == told[-2]


def test_an_unfinished_run_holds_its_plan_and_a_finished_one_its_charges(path):
    two_steps(path, "one", cap_rho=1.0)
    assert read_ledger(path).held_rho == Fraction(1, 2)
    two_steps(path, "one", finish=True)
    assert read_ledger(path).held_rho == Fraction(3, 8)
    two_steps(path, "two", finish=True)
    with (
        Ledger(path, neighbors=REPLACE) as ledger,
        pytest.raises(BudgetError, match="left of its cap"),
    ):
        curator_of(ROWS, ledger=ledger, rho=0.3)
    assert read_ledger(path).spent_rho == Fraction(3, 4)


def test_cap_counts_runs_that_have_begun_meanwhile(path):
    with Ledger(path, neighbors=REPLACE, cap_rho=0.6) as ledger:
        one, two = curator_of(ROWS, ledger=ledger), curator_of(ROWS, ledger=ledger)
        one.measure([FIRST], 0.1)
        with pytest.raises(BudgetError, match="cap"):
            two.measure([FIRST], 0.1)
        assert ledger.state.spent_rho == Fraction(0.1)
        one.measure([SECOND], 0.1)  # the refusal left no line behind
    assert list(read_ledger(path).runs) == [one.run]


def test_a_run_that_never_charged_leaves_no_trace(path):
    with Ledger(path, neighbors=REPLACE, cap_rho=0.6) as ledger:
        curator_of(ROWS, ledger=ledger)
        curator_of(ROWS, ledger=ledger).finish()
    assert read_ledger(path).held_rho == 0
    assert len(lines_of(path)) == 1


def test_finished_runs_take_no_more(path):
    with Ledger(path, neighbors=REPLACE) as ledger:
        curator = curator_of(ROWS, ledger=ledger, run="one")
        (first,) = curator.measure([FIRST], 0.1)
        curator.finish()
        curator.finish()
        with pytest.raises(LedgerError, match="closed"):
            curator.measure([FIRST], 0.1)
        again = curator_of(ROWS, ledger=ledger, run="one")
        assert again.measure([FIRST], 0.1)[0].counts.tolist() == first.counts.tolist(), (
            "it may be replayed"
        )
        with pytest.raises(LedgerError, match="closed"):
            again.measure([SECOND], 0.1)
    assert read_ledger(path).spent_rho == Fraction(0.1)


def test_every_step_is_charged_once_and_in_turn_and_has_one_result(path):
    rho, result = Fraction(1, 10), {"0": np.array([3])}
    with Ledger(path, neighbors=REPLACE) as ledger:
        ledger.begin("one", Fraction(1), "data", {})
        with pytest.raises(LedgerError, match="Nothing was charged"):
            ledger.charge("one", 1, "measure", "0" * 64, rho, {})
        ledger.charge("one", 0, "measure", "0" * 64, rho, {})
        for step in (0, 2):
            with pytest.raises(LedgerError, match="Nothing was charged"):
                ledger.charge("one", step, "measure", "0" * 64, rho, {})
        with pytest.raises(LedgerError, match="a charge of its own"):
            ledger.store("one", 1, result)
        ledger.store("one", 0, result)
        with pytest.raises(LedgerError, match="a charge of its own"):
            ledger.store("one", 0, {"0": np.array([4])})
        assert ledger.result("one", 0)["0"].tolist() == [3]
    state = read_ledger(path)
    assert (state.spent_rho, len(state.runs["one"].results)) == (rho, 1)


def test_a_run_keeps_its_plan_whatever_its_promise_says(path):
    """Two parts of one promise, discovery and the rest, have the same ε and another ρ."""
    with Ledger(path, neighbors=REPLACE) as ledger:
        ledger.begin("one", Fraction(1, 2), "data", {"epsilon": 1.0})
        ledger.charge("one", 0, "measure", "0" * 64, Fraction(1, 8), {})
        with pytest.raises(LedgerError, match="began with other data or parameters"):
            ledger.begin("one", Fraction(3, 4), "data", {"epsilon": 1.0})


def test_what_unfinished_runs_hold_is_in_the_sum(path):
    with Ledger(path, neighbors=REPLACE) as ledger:
        ledger.begin("one", Fraction(1, 2), "data", {})
        ledger.charge("one", 0, "measure", "0" * 64, Fraction(1, 8), {})
    budget = Budget.of_rho(Fraction(1, 4), delta=1e-6)
    before, after = balance_lines(read_ledger(path), budget)
    assert "1 run before spent or hold ρ = 0.5," in before
    assert "the sum is ρ = 0.75," in after


def test_whoever_is_told_to_restore_is_told_what_goes_unnoticed(path):
    two_steps(path)
    path.write_bytes(path.read_bytes().replace(b"measure", b"treasure", 1))
    with pytest.raises(LedgerError, match="an older one goes unnoticed without an anchor"):
        read_ledger(path)


def test_what_others_put_beside_a_new_ledger_stays(tmp_path):
    path = tmp_path / "new" / "ledger.jsonl"
    with pytest.raises(BudgetError), Ledger(path, neighbors=REPLACE):
        (path.parent / "thesis.txt").write_text("years of work")
        raise BudgetError("enough.")
    assert [each.name for each in path.parent.iterdir()] == ["thesis.txt"]


def test_no_charge_is_nothing_or_less(path):
    with Ledger(path, neighbors=REPLACE) as ledger:
        ledger.begin("one", Fraction(1), "data", {})
        for rho in (Fraction(0), Fraction(-1, 10)):
            with pytest.raises(BudgetError, match="Nothing was charged"):
                ledger.charge("one", 0, "measure", "0" * 64, rho, {})
        ledger.charge("one", 0, "measure", "0" * 64, Fraction(3, 4), {})
        with pytest.raises(BudgetError, match="does not fit into what is left"):
            ledger.charge("one", 1, "measure", "0" * 64, Fraction(1, 2), {})
    assert read_ledger(path).spent_rho == Fraction(3, 4)


@pytest.mark.parametrize("change", ["rho", "delta", "data", "domain"])
def test_resuming_with_other_data_or_parameters_is_refused(path, change):
    two_steps(path)
    rows, rho, delta, domain = ROWS, 0.5, 1e-6, DOMAIN
    if change == "rho":
        rho = 0.4
    elif change == "delta":
        delta = 1e-7
    elif change == "data":
        rows = ROWS.copy()
        rows[0, 0] = 1 - rows[0, 0]
    else:
        domain = type(DOMAIN).of({"a": 2, "b": 3, "c": 5})
    with (
        Ledger(path, neighbors=REPLACE) as ledger,
        pytest.raises(LedgerError, match="other data or parameters"),
    ):
        curator_of(rows, ledger=ledger, run="one", rho=rho, delta=delta, domain=domain)


def test_replaying_other_steps_is_refused(path):
    two_steps(path)
    for step in (
        lambda curator: curator.measure([SECOND], 0.125),
        lambda curator: curator.measure([FIRST], 0.1),
        lambda curator: curator.measure([FIRST, FIRST], 0.125),
        lambda curator: curator.select([FIRST], [np.zeros(2)], k=1, rho=0.125),
    ):
        with (
            Ledger(path, neighbors=REPLACE) as ledger,
            pytest.raises(LedgerError, match="something else"),
        ):
            step(curator_of(ROWS, ledger=ledger, run="one"))
    assert read_ledger(path).spent_rho == Fraction(3, 8)


def damage_cases():
    def edit(lines):
        return [lines[0], lines[1].replace(b'"rho": "1/2"', b'"rho": "1/4"'), *lines[2:]]

    def edit_charge(lines):
        return [*lines[:2], lines[2].replace(b'"1/8"', b'"1/9"'), *lines[3:]]

    return {
        "edited plan": edit,
        "edited charge": edit_charge,
        "extra space": lambda lines: [lines[0].replace(b'": ', b'":  ', 1), *lines[1:]],
        "garbage": lambda lines: [*lines[:2], b"\x00\xff garbage\n", *lines[3:]],
        "not an object": lambda lines: [*lines[:2], b"[1, 2]\n", *lines[3:]],
        "empty line": lambda lines: [*lines[:2], b"\n", *lines[2:]],
        "reordered": lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
        "line removed": lambda lines: lines[:2] + lines[3:],
        "line doubled": lambda lines: [*lines[:3], lines[2], *lines[3:]],
        "last line removed": lambda lines: lines[:-1],
        "last two removed": lambda lines: lines[:-2],
        "all removed": lambda lines: lines[:0],
        "all but the first removed": lambda lines: lines[:1],
        "cut in the last line": lambda lines: [*lines[:-1], lines[-1][:40]],
        "cut before the last newline": lambda lines: [*lines[:-1], lines[-1][:-1]],
        "something appended": lambda lines: [*lines, b"tail"],
    }


@pytest.mark.parametrize("case", damage_cases())
def test_damage_is_refused(path, case):
    two_steps(path)
    damaged = b"".join(damage_cases()[case](lines_of(path)))
    path.write_bytes(damaged)
    for use in (read_ledger, lambda path: Ledger(path, neighbors=REPLACE)):
        with pytest.raises(LedgerError):
            use(path)
    assert path.read_bytes() == damaged, "a refused ledger is left as it is"


@pytest.mark.parametrize(
    "head", [None, b"", b"nonsense", b"\xff\xfe", b"3 abc", b"6 " + b"0" * 64, b"99 " + b"0" * 64]
)
def test_head_file_missing_or_wrong(path, head):
    two_steps(path)
    head_file = path.with_name("data.ledger.head")
    head_file.unlink() if head is None else head_file.write_bytes(head)
    with pytest.raises(LedgerError, match="head file"):
        Ledger(path, neighbors=REPLACE)


def test_rollback_with_matching_head_is_noticed_by_its_results(path):
    """An older copy of ledger and head put back in place: the results of later charges give it
    away.
    """
    with Ledger(path, neighbors=REPLACE) as ledger:
        curator_of(ROWS, ledger=ledger, run="zero").measure([FIRST], 0.1)
    old = {file: file.read_bytes() for file in (path, path.with_name("data.ledger.head"))}
    two_steps(path)
    for file, content in old.items():
        file.write_bytes(content)
    with pytest.raises(LedgerError, match="shortened or replaced"):
        Ledger(path, neighbors=REPLACE)


def test_removed_ledger_is_noticed_by_its_results(path):
    two_steps(path)
    path.unlink()
    path.with_name("data.ledger.head").unlink()
    with pytest.raises(LedgerError, match="shortened or replaced"):
        Ledger(path, neighbors=REPLACE)


def test_changed_or_missing_result_is_refused(path):
    two_steps(path)
    result = sorted(path.with_name("data.ledger.results").iterdir())[0]
    content = result.read_bytes()
    for change in (content[:-1], content.replace(b"\x00", b"\x01", 1), b"", None):
        result.unlink(missing_ok=True)
        if change is not None:
            result.write_bytes(change)
        with pytest.raises(LedgerError, match=r"changed|cannot be read"):
            read_ledger(path)
        for use in ("resume the run", "start another"):
            with (
                pytest.raises(LedgerError, match=r"changed|cannot be read"),
                Ledger(path, neighbors=REPLACE) as ledger,
            ):
                curator_of(
                    ROWS, ledger=ledger, run="one" if use == "resume the run" else "two"
                ).measure([FIRST], 0.125)


@pytest.mark.parametrize(
    "content", [b"my notes", b"{}", b"a,b\n1,2\n", b'{"body": 1}', b'{"kind": "open"}\n']
)
def test_other_files_are_neither_taken_nor_destroyed(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        Ledger(path, neighbors=REPLACE)
    assert path.read_bytes() == content


def test_torn_last_line_never_took_effect(path):
    two_steps(path)
    intact = path.read_bytes()
    path.write_bytes(intact + b'{"body": {"digest": "12')
    assert read_ledger(path).spent_rho == Fraction(3, 8)
    Ledger(path, neighbors=REPLACE).close()
    assert path.read_bytes() == intact


def test_newer_version_is_refused(path):
    with contextlib.closing(ChainedFile.open(path)) as opened:
        opened.append(
            "open", {"version": 3, "cap_rho": None, "relation": "replace", "max_rows_per_person": 1}
        )
    with pytest.raises(LedgerError, match="version 3"):
        read_ledger(path)


@pytest.mark.parametrize(
    "records",
    [
        [("run", {"run": "x", "rho": "1"})],
        [("open", {"version": 1}), ("open", {"version": 1})],
        [("open", {"version": 1}), ("charge", {"run": "x", "step": 0, "rho": "1"})],
        [("open", {"version": 1}), ("run", {"run": "x", "rho": "abc"})],
        [
            ("open", {"version": 1}),
            ("run", {"run": "x", "rho": "1"}),
            ("run", {"run": "x", "rho": "1"}),
        ],
        [
            ("open", {"version": 1}),
            ("run", {"run": "x", "rho": "1"}),
            ("charge", {"run": "x", "step": 0, "rho": "2"}),
        ],
        [
            ("open", {"version": 1}),
            ("run", {"run": "x", "rho": "1"}),
            ("charge", {"run": "x", "step": 0, "rho": "-1"}),
        ],
        [
            ("open", {"version": 1}),
            ("run", {"run": "x", "rho": "1"}),
            ("charge", {"run": "x", "step": 1, "rho": "1"}),
        ],
        [
            ("open", {"version": 1}),
            ("run", {"run": "x", "rho": "1"}),
            ("result", {"run": "x", "step": 0}),
        ],
        [("open", {"version": 1, "cap_rho": "1/2"}), ("run", {"run": "x", "rho": "1"})],
        [("open", {"version": None})],
        [("open", {"version": 1}), ("party", {"run": "x"})],
        [
            ("open", {"version": 1}),
            ("run", {"run": "x", "rho": "1"}),
            ("charge", {"run": "x", "step": 0, "rho": "1/4"}),
            ("charge", {"run": "x", "step": 0, "rho": "1/4"}),
        ],
        [
            ("open", {"version": 1}),
            ("run", {"run": "x", "rho": "1"}),
            ("done", {"run": "x"}),
            ("charge", {"run": "x", "step": 0, "rho": "1/4"}),
        ],
        [
            ("open", {"version": 1}),
            ("run", {"run": "x", "rho": "1"}),
            ("done", {"run": "x"}),
            ("abandon", {"run": "x"}),
        ],
    ],
)
def test_sealed_nonsense_is_refused(path, records):
    """Records with right hashes in a wrong order or with wrong content; they lack no field."""
    write_records(path, records)
    with pytest.raises(LedgerError):
        read_ledger(path)


def write_records(path, records):
    """A ledger of these records; what they leave out is as it should be."""
    fields = {
        "open": {"relation": "replace", "max_rows_per_person": 1, "cap_rho": None},
        "charge": {"verb": "measure", "digest": "0" * 64},
        "result": {"file": "x", "sha256": "0" * 64},
    }
    opened = ChainedFile.open(path)
    for kind, body in records:
        opened.append(kind, fields.get(kind, {}) | body)
    opened.close()


def test_the_same_records_in_order_are_read(path):
    records = [
        ("open", {"version": 1, "cap_rho": "1"}),
        ("run", {"run": "x", "rho": "1"}),
        ("charge", {"run": "x", "step": 0, "rho": "1/4"}),
        ("charge", {"run": "x", "step": 1, "rho": "3/4"}),
        ("done", {"run": "x"}),
    ]
    write_records(path, records)
    assert read_ledger(path).spent_rho == 1


@pytest.mark.parametrize("neighbors", [ADD_REMOVE, Neighbors(Relation.REPLACE, 2)])
def test_other_relation_is_refused(path, neighbors):
    two_steps(path)
    with pytest.raises(LedgerError, match="different relations"):
        Ledger(path, neighbors=neighbors)


def test_cap_stands(path):
    two_steps(path, cap_rho=0.75)
    Ledger(path, neighbors=REPLACE).close()
    Ledger(path, neighbors=REPLACE, cap_rho=Fraction(3, 4)).close()
    with pytest.raises(LedgerError, match="cap"):
        Ledger(path, neighbors=REPLACE, cap_rho=2.0)


@pytest.mark.parametrize("cap", [0, -1.0, float("nan"), float("inf")])
def test_bad_cap(path, cap):
    with pytest.raises(BudgetError, match="cap"):
        Ledger(path, neighbors=REPLACE, cap_rho=cap)
    assert not path.exists()


def test_held_by_another_process(path):
    program = (
        "import sys; from dprap.accounting import Neighbors; from dprap.privacy import Ledger;"
        " ledger = Ledger(sys.argv[1], neighbors=Neighbors()); print('open', flush=True);"
        " sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout.readline() == "open\n"
        with pytest.raises(LedgerError, match="in use"):
            Ledger(path, neighbors=REPLACE)
        assert read_ledger(path).spent_rho == 0, "reading needs no lock"
        child.stdin.close()
    Ledger(path, neighbors=REPLACE).close()


@pytest.mark.parametrize("run", ["../up", "", "a/b", ".hidden", "x" * 101, "a\nb"])
def test_run_names_cannot_leave_the_folder(path, run):
    with Ledger(path, neighbors=REPLACE) as ledger, pytest.raises(LedgerError, match="name"):
        ledger.begin(run, Fraction(1), "data", {})


def test_unusable_places(tmp_path):
    with pytest.raises(LedgerError, match="cannot open"):
        Ledger(tmp_path, neighbors=REPLACE)
    with pytest.raises(LedgerError, match="cannot read"):
        read_ledger(tmp_path / "absent")


@pytest.mark.parametrize("failing", ["write", "fsync", "head"])
def test_a_disk_that_fails_stops_everything(path, monkeypatch, failing):
    """No noise is drawn when the charge could not be written, and the ledger is usable again when
    the disk is.
    """
    ledger = Ledger(path, neighbors=REPLACE)
    curator = curator_of(ROWS, ledger=ledger, run="one")

    def fail(*_):
        raise OSError(28, "No space left on device")

    def never(*_):
        raise AssertionError("noise was drawn without a durable charge")

    with monkeypatch.context() as patch:
        patch.setattr("dprap.privacy.verbs.measure.add_discrete_gaussian", never)
        if failing == "write":
            patch.setattr(ledger._chain, "_file", HalfFull(ledger._chain._file))
        elif failing == "fsync":
            patch.setattr(os, "fsync", fail)
        else:
            patch.setattr(chain, "write_durably", fail)
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"No space|Open it again"):
                curator.measure([FIRST], 0.125)
    with pytest.raises(LedgerError, match="Open it again"):
        curator.measure([FIRST], 0.125)
    ledger.close()
    two_steps(path)
    assert read_ledger(path).spent_rho == Fraction(3, 8)


class HalfFull:
    """A file that takes ten bytes and then has no more room."""

    def __init__(self, file):
        self._file, self._room = file, 10

    def write(self, data):
        if not self._room:
            raise OSError(28, "No space left on device")
        written = self._file.write(data[: self._room])
        self._room = 0
        return written

    def __getattr__(self, name):
        return getattr(self._file, name)


def test_closed_ledger_refuses(path):
    ledger = Ledger(path, neighbors=REPLACE)
    curator = curator_of(ROWS, ledger=ledger)
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        curator.measure([FIRST], 0.1)


def test_seeded_noise_is_refused(path):
    with (
        Ledger(path, neighbors=REPLACE) as ledger,
        pytest.raises(LedgerError, match="protects nobody"),
    ):
        curator_of(ROWS, ledger=ledger, seed=1)


def test_the_ledger_tells_nothing_about_the_data(path, tmp_path):
    """Same steps on neighbouring tables: lines before the first result differ in times and keyed
    digests alone.
    """
    other = ROWS.copy()
    other[0] = (other[0] + 1) % DOMAIN.sizes
    texts = []
    for name, rows in (("one", ROWS), ("other", other)):
        file = tmp_path / name / "data.ledger"
        with Ledger(file, neighbors=REPLACE) as ledger:
            curator = curator_of(rows, ledger=ledger, run="run")
            curator.measure([FIRST, SECOND], 0.25)
        texts.append(lines_of(file))
        results = [
            entry.stat().st_size for entry in file.with_name("data.ledger.results").iterdir()
        ]
        texts[-1].append(b"%d" % results[0])
    assert [len(line) for line in texts[0]] == [len(line) for line in texts[1]]
    public = [
        [
            {
                key: value
                for key, value in json.loads(line)["body"].items()
                if key not in ("created", "started", "data", "name")
            }
            for line in lines[:3]
        ]
        for lines in texts
    ]
    assert public[0] == public[1]
    digests = {json.loads(lines[1])["body"]["data"] for lines in texts}
    with Ledger(tmp_path / "third" / "data.ledger", neighbors=REPLACE) as ledger:
        digests.add(curator_of(ROWS, ledger=ledger, run="run")._steps._state.facts["data"])
    assert len(digests) == 3, (
        "the same table has another digest under another key: guesses cannot be tested"
    )


def test_losing_the_key_only_stops_resuming(path):
    two_steps(path)
    path.with_name("data.ledger.key").unlink()
    with Ledger(path, neighbors=REPLACE) as ledger:
        with pytest.raises(LedgerError, match="key file"):
            curator_of(ROWS, ledger=ledger, run="one")
        curator_of(ROWS, ledger=ledger, run="two").measure([FIRST], 0.1)


def test_reading_while_a_run_writes(path):
    program = (
        "import sys; from fractions import Fraction; from dprap.accounting import Neighbors; from"
        " dprap.privacy import Ledger\nwith Ledger(sys.argv[1], neighbors=Neighbors()) as ledger:\n"
        "    ledger.begin('r', Fraction(1), '', {})\n    print('open', flush=True)\n    for step in"
        " range(100): ledger.charge('r', step, 'verb', 'd', Fraction(1, 100), {})\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "open\n"
        while child.poll() is None:
            assert 0 <= read_ledger(path).spent_rho <= 1
    assert child.returncode == 0
    assert read_ledger(path).spent_rho == 1
