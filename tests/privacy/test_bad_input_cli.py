"""Every kind of bad input through the command line: a line or two, no traceback, a code that is not
0, nothing spent.
"""

import json
import os

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.cli.driving import in_process

from dprap.accounting import Neighbors
from dprap.privacy import Ledger, read_ledger
from dprap.schema import Schema

PRIVATE = "8675309"
COLUMNS = {
    "age": {"type": "integer", "min": 0, "max": 99},
    "price": {"type": "number", "min": 0, "max": 10, "bins": 10},
    "city": {"type": "categorical", "values": ["Rome", "Oslo"]},
}
GOOD = pa.table(
    {"age": [30, 40, 50] * 10, "price": [1.5, 2.5, 9.0] * 10, "city": ["Rome", "Oslo", "Rome"] * 10}
)


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run `dprap` in a folder with a good table and its schema."""
    pa.parquet.write_table(GOOD, tmp_path / "good.parquet")
    Schema.of({"columns": COLUMNS}).save(tmp_path / "schema.yaml")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        done = in_process(monkeypatch, capsys, *arguments)
        return done.code, done.out, done.err

    return run


def synth(table="good.parquet", **options):
    given = {
        "epsilon": "1",
        "schema": "schema.yaml",
        "method": "independent",
        "kway": "1",
        "out": "out",
        **options,
    }
    return (
        "synth",
        table,
        "--quiet",
        *(
            part
            for name, value in given.items()
            if value
            for part in (f"--{name.replace('_', '-')}", value)
        ),
    )


def snapshot(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def assert_refused(cli, folder, arguments, code, message):
    before = snapshot(folder)
    found, out, err = cli(*arguments)
    assert (found, out) == (code, "")
    assert message in err
    assert 1 <= err.count("\n") <= 2
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert PRIVATE not in err
    assert snapshot(folder) == before


def changed(name, values):
    return GOOD.set_column(GOOD.column_names.index(name), name, pa.array(values))


TABLES = {
    "empty": (GOOD.slice(0, 0), "no records"),
    "missing column": (
        GOOD.drop_columns(["city"]),
        "column 'city': is in the schema and not in the table",
    ),
    "extra column": (
        GOOD.append_column("ssn", GOOD["age"]),
        "column 'ssn': is in the table and not in the schema",
    ),
    "wrong dtype": (changed("age", ["x" + PRIVATE] * 30), "column 'age'"),
    "wrong nested dtype": (changed("age", [[1]] * 30), "column 'age'"),
    "nan": (changed("price", [float("nan")] * 30), "column 'price': has missing values"),
    "inf": (changed("price", [float("inf")] * 30), "column 'price'"),
    "null": (changed("city", [None] * 30), "column 'city': has missing values"),
    "out of bounds": (changed("age", [int(PRIVATE)] * 30), "column 'age'"),
    "out of list": (changed("city", [PRIVATE] * 30), "column 'city'"),
}


@pytest.mark.parametrize("case", TABLES)
def test_bad_parquet_tables(cli, tmp_path, case):
    table, message = TABLES[case]
    pa.parquet.write_table(table, tmp_path / "bad.parquet")
    assert_refused(cli, tmp_path, synth("bad.parquet"), 3, message)


FILES = {
    "no bytes": ("bad.csv", b"", "is empty"),
    "header only": ("bad.csv", b"age,price,city\n", "no records"),
    "duplicate names": (
        "bad.csv",
        b"age,price,city,age\n1,1,Rome,2\n",
        "column 'age': the table has it more than once",
    ),
    "mixed types": ("bad.csv", b"age,price,city\n30,1,Rome\nx8675309,2,Oslo\n", "column 'age'"),
    "nan in text": ("bad.csv", b"age,price,city\n30,nan,Rome\n", "column 'price'"),
    "ragged": ("bad.csv", b"age,price,city\n30,1,Rome\n8675309\n", "more or fewer fields"),
    "not text": ("bad.csv", b"age,price,city\n30,1,\xff\xfe\n", "UTF-8"),
    "not parquet": ("bad.parquet", b"8675309" * 20, "cannot be read"),
    "unknown kind": ("bad.sas", b"8675309", "unknown kind of file"),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_files(cli, tmp_path, case):
    name, content, message = FILES[case]
    (tmp_path / name).write_bytes(content)
    assert_refused(cli, tmp_path, synth(name), 3, message)


def test_a_truncated_file(cli, tmp_path):
    content = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(content[: len(content) // 2])
    assert_refused(cli, tmp_path, synth("cut.parquet"), 3, "cannot be read")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission(cli, tmp_path):
    (tmp_path / "locked.csv").write_bytes(b"age\n1\n")
    (tmp_path / "locked.csv").chmod(0)
    code, _, err = cli(*synth("locked.csv"))
    assert code == 3
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"epsilon": "0"}, 4, "epsilon must be a positive number"),
        ({"epsilon": "-1"}, 4, "epsilon must be a positive number"),
        ({"epsilon": "inf"}, 4, "epsilon must be a positive number"),
        ({"delta": "0"}, 4, "delta must lie strictly between 0 and 1"),
        ({"delta": "0.0334"}, 4, "is not below 1/n"),  # 1/n = 0.0333
        ({"neighbors": "add-remove"}, 4, "delta must be given"),
        ({"ledger_cap": "-1"}, 4, "cap"),
        ({"schema": "nope.yaml"}, 3, "nope.yaml"),
        ({"kway": "4"}, 3, "k must be between 1"),
    ],
    ids=str,
)
def test_bad_options(cli, tmp_path, options, code, message):
    assert_refused(cli, tmp_path, synth(**options), code, message)


def test_a_marginal_over_an_unknown_column(cli, tmp_path):
    (tmp_path / "w.json").write_text(json.dumps([["age", "height"]]))
    assert_refused(cli, tmp_path, synth(kway=None, workload="w.json"), 3, "height")


def test_a_marginal_with_a_billion_cells_is_refused_with_its_size(cli, tmp_path):
    Schema.from_domain({"a": 1000, "b": 1000, "c": 1000}).save(tmp_path / "big.yaml")
    pa.parquet.write_table(pa.table({name: [1, 2, 3] for name in "abc"}), tmp_path / "big.parquet")
    (tmp_path / "w.json").write_text(json.dumps([["a", "b", "c"]]))
    arguments = synth("big.parquet", schema="big.yaml", kway=None, workload="w.json")
    assert_refused(cli, tmp_path, arguments, 3, "1,000,000,000 cells")


@pytest.fixture
def ledger(cli, tmp_path):
    """A ledger that one run was charged to."""
    assert cli(*synth(out="first", ledger="books.jsonl", ledger_cap="0.1"))[0] == 0
    return tmp_path / "books.jsonl"


def test_over_the_cap_of_a_new_ledger(cli, tmp_path):
    code, out, err = cli(*synth(ledger="new.jsonl", ledger_cap="1e-9"))
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert "left of its cap" in err
    state = read_ledger(tmp_path / "new.jsonl")
    assert (state.spent_rho, state.runs) == (0, {})
    assert not (tmp_path / "out.private").exists()


def test_over_the_cap(cli, tmp_path, ledger):
    assert_refused(cli, tmp_path, synth(epsilon="9", ledger="books.jsonl"), 4, "left of its cap")


@pytest.mark.parametrize(
    "damage", ["edited", "cut line", "cut lines", "no head", "garbage", "emptied"]
)
def test_a_damaged_ledger(cli, tmp_path, ledger, damage):
    content = ledger.read_bytes()
    if damage == "no head":
        (tmp_path / "books.jsonl.head").unlink()
    else:
        ledger.write_bytes(
            {
                "edited": content.replace(b'"step": 0', b'"step": 7'),
                "cut line": content[:-20],
                "cut lines": content[: content.rindex(b"\n", 0, -1) + 1],
                "garbage": b"\x00\xff" * 40 + b"\n",
                "emptied": b"",
            }[damage]
        )
    assert_refused(cli, tmp_path, synth(epsilon="0.1", ledger="books.jsonl"), 4, "books.jsonl")


def test_a_ledger_held_by_another(cli, tmp_path):
    with Ledger(tmp_path / "held.jsonl", neighbors=Neighbors()):
        assert_refused(cli, tmp_path, synth(ledger="held.jsonl"), 4, "another process")
