"""Bad, wide and odd tables through the command line: one clear line or a whole release, and nothing
spent on a refusal.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.cli.driving import Done, in_process
from tests.sources.bad_files import BAD_FILES

from dprap.schema import Schema

Run = Callable[..., Done]
PLACES = {
    "region": {"type": "categorical", "values": ["north", "south"]},
    "age": {"type": "integer", "min": 0, "max": 99},
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: in_process(monkeypatch, capsys, *arguments)


def synth(run: Run, table: str, *options: str, out: str = "out") -> Done:
    given = ("--schema", "schema.yaml", "-e", "1", "--yes", "--quiet", "--out", out)
    return run("synth", table, *given, *options)


def assert_refused(done: Done, folder: Path) -> None:
    assert done.code == 3
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert not list(folder.glob("out*"))  # no release, no ledger


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused_in_one_line(run: Run, tmp_path: Path, name: str) -> None:
    Schema.of({"columns": PLACES}).save(tmp_path / "schema.yaml")
    (tmp_path / name).write_bytes(BAD_FILES[name])
    for options in ((), ("--engine", "files")):
        done = synth(run, name, *options)
        assert_refused(done, tmp_path)
        assert "calc" not in done.err
        assert "SUM" not in done.err


def test_damaged_files_are_read_or_refused(run: Run, tmp_path: Path) -> None:
    """Bytes cut or overwritten anywhere, in both engines."""
    Schema.of({"columns": PLACES}).save(tmp_path / "schema.yaml")
    table = pa.table({"region": ["north", "south"] * 50, "age": list(range(100))})
    rng = np.random.default_rng(0)
    refused = 0
    for number in range(24):
        kind = ("csv", "parquet")[number % 2]
        path = tmp_path / f"t.{kind}"
        pq.write_table(table, path) if kind == "parquet" else pyarrow.csv.write_csv(table, path)
        content = bytearray(path.read_bytes())
        at = int(rng.integers(len(content)))
        junk = rng.bytes(8)
        path.write_bytes(
            content[:at] if number % 3 == 0 else content[:at] + junk + content[at + len(junk) :]
        )
        engine = ("memory", "files")[number // 2 % 2]
        options = (
            "--method",
            "independent",
            "--kway",
            "1",
            "--engine",
            engine,
            "--insecure-noise-seed",
            "0",
        )
        done = synth(run, path.name, *options, out=f"made-{number}")
        if done.code:
            assert_refused(done, tmp_path)
            refused += 1
    assert refused > 4


ODD = {
    'say "hi"': {
        "type": "categorical",
        "values": ["=1+1", "+a", "@b", 'q"uote', "new\nline", "com,ma"],
    },
    "straße, 街": {"type": "categorical", "values": ["ä", "街", "'; DROP TABLE t; --", "%s", "$1"]},
    "select": {"type": "integer", "min": 0, "max": 3},
    "a.b `c`": {"type": "boolean", "nullable": True},
    " spaced ": {"type": "categorical", "values": ["only"]},
    "constant": {"type": "integer", "min": 7, "max": 7},
}


def odd_table(rows: int, seed: int = 0) -> pa.Table:
    """Names with spaces, quotes, dots, keywords and other scripts; a constant; texts like formulas
    and SQL.
    """
    rng = np.random.default_rng(seed)
    columns = {
        name: pa.array(rng.choice(settings["values"], rows).tolist())
        for name, settings in ODD.items()
        if settings["type"] == "categorical"
    }
    columns["select"] = pa.array(rng.integers(0, 4, rows))
    columns["a.b `c`"] = pa.array(
        [None if flag > 1 else bool(flag) for flag in rng.integers(0, 3, rows)]
    )
    columns["constant"] = pa.array(np.full(rows, 7))
    return pa.table({name: columns[name] for name in ODD})


def wide_table(rows: int, columns: int = 110) -> tuple[pa.Table, Schema]:
    rng = np.random.default_rng(0)
    sizes = [2 + i % 5 if i else 1 for i in range(columns)]
    table = pa.table({f"column {i}": rng.integers(0, size, rows) for i, size in enumerate(sizes)})
    return table, Schema.from_domain({f"column {i}": size for i, size in enumerate(sizes)})


CODES = [f"C{i:05d}" for i in range(50_000)]


def large_table(rows: int) -> tuple[pa.Table, Schema]:
    """A 50,000-value code by its first letters, the same by a top list, and a 1001-value zip
    code.
    """
    rng = np.random.default_rng(0)
    codes = [CODES[i] for i in (50_000 * rng.random(rows) ** 3).astype(int)]
    groups: dict[str, list[str]] = {}
    for code in CODES:
        groups.setdefault(code[:3], []).append(code)
    schema = Schema.of(
        {
            "columns": {
                "code": {"type": "categorical", "groups": groups},
                "code again": {"type": "categorical", "values": CODES[:300], "other": "rest"},
                "zip": {"type": "integer", "min": 0, "max": 1000},
            }
        }
    )
    return (
        pa.table({"code": codes, "code again": codes, "zip": rng.integers(0, 1001, rows)}),
        schema,
    )


@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        ("csv", "files"),
        ("parquet", "memory"),
        pytest.param("csv", "memory", marks=pytest.mark.slow),
        pytest.param("parquet", "files", marks=pytest.mark.slow),
    ],
)
def test_odd_names_from_table_to_report(run: Run, tmp_path: Path, kind: str, engine: str) -> None:
    table = odd_table(500)
    Schema.of({"columns": ODD}).save(tmp_path / "schema.yaml")
    (
        pq.write_table(table, tmp_path / "t.parquet")
        if kind == "parquet"
        else pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    )
    done = synth(run, f"t.{kind}", "--kway", "2", "--engine", engine, "--format", "csv")
    assert done == Done(0, "", "")
    made = pyarrow.csv.read_csv(
        tmp_path / "out" / "synthetic.csv",
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
    )
    assert made.column_names == list(ODD)
    assert set(made['say "hi"'].to_pylist()) <= set(ODD['say "hi"']["values"])
    assert set(made["constant"].to_pylist()) == {7}
    answered = run("answer", "out", "select in 1..2", "--by", "straße, 街", "--json")
    assert answered.code == 0
    assert json.loads(answered.out)["count"] == pytest.approx(250, abs=150)
    assert run("report", "out").code == 0
    assert "街" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("made", "options"),
    [
        pytest.param(
            wide_table,
            ("--marginals", "12", "--set", "steps=10", "--set", "final_steps=10"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            large_table,
            ("--method", "independent", "--max-cells", "60000"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_wide_and_large_tables_from_table_to_report(
    run: Run, tmp_path: Path, made: Callable, options: tuple[str, ...]
) -> None:
    table, schema = made(2000)
    schema.save(tmp_path / "schema.yaml")
    pq.write_table(table, tmp_path / "t.parquet")
    done = synth(
        run, "t.parquet", "--kway", "2", "--engine", "files", "--intervals", "no", *options
    )
    assert done == Done(0, "", "")
    synthetic = pq.read_table(tmp_path / "out" / "synthetic.parquet")
    assert synthetic.column_names == table.column_names
    assert synthetic.num_rows == 2000
    assert run("answer", "out", "", "--by", table.column_names[-1]).code == 0
    assert run("report", "out").code == 0
