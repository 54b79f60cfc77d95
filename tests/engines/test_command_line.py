"""The command line on PostgreSQL and Spark: whole runs, a connection lost on the way, resuming,
passwords.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cli.driving import Done, in_process
from tests.engines.test_postgres import store
from tests.sources.test_command_line import ODD, large_table, odd_table, wide_table

from dprap.privacy import read_ledger
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources.postgres import PostgresSource

pytestmark = pytest.mark.filterwarnings("ignore")
Run = Callable[..., Done]
QUICK = ("--method", "independent", "--kway", "1")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: in_process(monkeypatch, capsys, *arguments)


@pytest.fixture
def admin(postgres_url: str) -> Any:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


def synth(run: Run, table: str, *options: str) -> Done:
    always = (
        "--schema",
        "schema.yaml",
        "-e",
        "1",
        "--yes",
        "--quiet",
        "--out",
        "out",
        "--ledger",
        "books.jsonl",
    )
    return run("synth", table, *always, *options)


def odd_inputs(folder: Path, admin: Any) -> None:
    Schema.of({"columns": ODD}).save(folder / "schema.yaml")
    store(admin, odd_table(300), "odd_names")


def test_postgres_from_table_to_report(
    run: Run, tmp_path: Path, postgres_url: str, admin: Any
) -> None:
    odd_inputs(tmp_path, admin)
    assert synth(run, postgres_url, "--table", "public.odd_names", "--kway", "2") == Done(0, "", "")
    assert pq.read_table(tmp_path / "out" / "synthetic.parquet").column_names == list(ODD)
    assert run("answer", "out", "select in 1..2", "--by", "straße, 街").code == 0
    assert run("report", "out").code == 0
    assert run("evaluate", "out", postgres_url, "--table", "public.odd_names").code == 0


@pytest.mark.parametrize("made", [wide_table, large_table])
def test_wide_and_large_tables_in_postgres(
    run: Run, tmp_path: Path, postgres_url: str, admin: Any, made: Callable
) -> None:
    table, schema = made(500)
    schema.save(tmp_path / "schema.yaml")
    store(admin, table, "wide_or_large")
    assert synth(run, postgres_url, "--table", "public.wide_or_large", *QUICK) == Done(0, "", "")
    assert pq.read_table(tmp_path / "out" / "synthetic.parquet").num_rows == 500


@pytest.mark.parametrize(
    "made", [lambda rows: (odd_table(rows), Schema.of({"columns": ODD})), wide_table, large_table]
)
def test_spark_from_table_to_report(run: Run, tmp_path: Path, spark: Any, made: Callable) -> None:
    table, schema = made(300)
    schema.save(tmp_path / "schema.yaml")
    pq.write_table(table, tmp_path / "t.parquet")
    assert synth(run, "t.parquet", "--engine", "spark", *QUICK).code == 0
    assert pq.read_table(tmp_path / "out" / "synthetic.parquet").column_names == table.column_names
    assert run("report", "out").code == 0


def cut_off_at(monkeypatch: pytest.MonkeyPatch, admin: Any, call: int) -> None:
    """Let the server end the session of a source when it counts for the n-th time."""
    count, calls = PostgresSource.count, 0

    def counting(source: PostgresSource, marginals: Sequence[Marginal]) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            admin.execute(
                "SELECT pg_terminate_backend(%s, 5000)", [source.connection.info.backend_pid]
            )
        return count(source, marginals)

    monkeypatch.setattr(PostgresSource, "count", counting)


def paid_total_first(folder: Path) -> tuple[str, ...]:
    """Options of a run under add-remove: the total is paid for first, and the workload lacks
    columns that are counted after it.
    """
    (folder / "workload.yaml").write_text("- [select, constant]\n")
    relation = ("--neighbors", "add-remove", "--delta", "1e-9")
    return ("--table", "public.odd_names", *relation, "--workload", "workload.yaml")


def test_a_connection_lost_before_the_first_charge_leaves_nothing(
    run: Run, tmp_path: Path, postgres_url: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd_inputs(tmp_path, admin)
    cut_off_at(monkeypatch, admin, 1)
    done = synth(run, postgres_url, "--table", "public.odd_names")
    assert done.code == 3
    assert "lost" in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.glob("out*"))


def test_a_connection_lost_after_a_charge_can_be_resumed_unless_the_table_changed(
    run: Run, tmp_path: Path, postgres_url: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd_inputs(tmp_path, admin)
    options = paid_total_first(tmp_path)
    with monkeypatch.context() as patch:
        cut_off_at(patch, admin, 2)
        done = synth(run, postgres_url, *options)
    assert done.code == 3
    assert "lost" in done.err
    ledger = tmp_path / "books.jsonl"
    spent = read_ledger(ledger).spent_rho
    assert spent > 0
    admin.execute("INSERT INTO odd_names SELECT * FROM odd_names LIMIT 1")
    refused = run("resume", "out", "--quiet")
    assert refused.code == 4
    assert refused.err.count("\n") == 1
    assert read_ledger(ledger).spent_rho == spent
    store(admin, odd_table(300), "odd_names")
    assert run("resume", "out", "--quiet").code == 0
    assert pq.read_table(tmp_path / "out" / "synthetic.parquet").num_rows > 0


def test_a_cancelled_query_charges_nothing(
    run: Run, tmp_path: Path, postgres_url: str, admin: Any
) -> None:
    Schema.from_domain({"a": 2}).save(tmp_path / "schema.yaml")
    admin.execute(
        "DROP VIEW IF EXISTS slow; DROP TABLE IF EXISTS few; CREATE TABLE few AS SELECT 1 AS a"
    )
    admin.execute("CREATE VIEW slow AS SELECT a FROM few, pg_sleep(30)")
    address = f"{postgres_url}?options=-c%20statement_timeout%3D100"
    done = synth(run, address, "--table", "public.slow", *QUICK)
    assert done.code == 3
    assert "cancelled" in done.err
    assert not list(tmp_path.glob("out*"))


# as they are, and as they stand in an address
PASSWORDS = [
    ("hunter2", "hunter2"),
    ("hunter#2", "hunter#2"),
    ("hunter?2", "hunter?2"),
    ("hunter@%/2", "hunter%40%25%2F2"),
]


@pytest.mark.parametrize(("password", "written"), PASSWORDS)
def test_a_password_is_used_and_not_kept(
    run: Run,
    tmp_path: Path,
    postgres_url: str,
    admin: Any,
    monkeypatch: pytest.MonkeyPatch,
    password: str,
    written: str,
) -> None:
    odd_inputs(tmp_path, admin)
    admin.execute(
        "DROP OWNED BY keeper" if _has_role(admin, "keeper") else "CREATE ROLE keeper LOGIN"
    )
    admin.execute(
        f"ALTER ROLE keeper PASSWORD '{password}'; GRANT SELECT ON odd_names TO keeper".encode()
    )
    with_password = postgres_url.replace("dprap@", f"keeper:{written}@")
    options = paid_total_first(tmp_path)
    with monkeypatch.context() as patch:
        cut_off_at(patch, admin, 2)
        lost = synth(run, with_password, *options)
        assert lost.code == 3
        assert "hunter" not in lost.out + lost.err
    kept = (tmp_path / "out.private" / "job.json").read_text()
    assert "hunter" not in kept
    assert json.loads(kept)["table"] == postgres_url.replace("dprap@", "keeper@")
    refused = run("resume", "out", "--quiet")
    assert refused.code == 3
    assert "PGPASSWORD" in refused.err
    assert "hunter" not in refused.err
    monkeypatch.setenv("PGPASSWORD", password)
    assert run("resume", "out", "--quiet").code == 0
    assert not any(b"hunter" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def _has_role(admin: Any, name: str) -> bool:
    return admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone() is not None
