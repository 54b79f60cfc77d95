"""Passwords in addresses reach no message, no later command and no list of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.driving import in_process

pytest.importorskip("psycopg", reason="psycopg is not installed; make test-engines installs it")

from dprap.address import split_secrets
from dprap.cli.secrets import passwords_taken
from dprap.errors import DataError, SettingsError
from dprap.runs.job import new_job, save_job
from dprap.runs.options import RunOptions
from dprap.schema import Schema

SECRET = "hunter2"  # noqa: S105
WRITTEN = [
    "hunter2",
    "hunter2#x",
    "x?hunter2",
    "x%40hunter2",
    "hunter2%25",
    "x@hunter2",
    "x/hunter2",
    "%zzhunter2",
    "hunter2:x",
]
COMMANDS = [
    ("synth", "{}", "--schema", "schema.yaml", "-e", "1", "--out", "out", "--table", "public.t"),
    ("synth", "{}", "--schema", "schema.yaml", "-e", "1", "--out", "out"),
    ("synth", "t.csv", "--schema", "schema.yaml", "-e", "1", "--out", "out", "--public", "{}"),
    ("schema", "draft", "{}", "-o", "draft.yaml"),
    ("schema", "check", "schema.yaml", "{}"),
    ("evaluate", "out", "{}"),
    ("plan", "{}", "--epsilon", "1"),
    ("no-such-command", "{}"),
    ("answer", "out", "a = 1", "{}"),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "mysql", "postgresq"])
def test_no_message_has_a_password(
    command: tuple[str, ...],
    scheme: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    (tmp_path / "schema.yaml").write_text("columns: {a: {type: boolean}}")
    for password in WRITTEN:
        address = f"{scheme}://ann:{password}@127.0.0.1:1/x"
        done = in_process(monkeypatch, capsys, *(part.format(address) for part in command))
        assert done.code != 0
        assert SECRET not in done.out + done.err
        assert "Traceback" not in done.err
        assert "PGPASSWORD" not in os.environ
    assert not any(
        SECRET.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )


@pytest.mark.parametrize("password", ["a#b", "#", "a?b", "a?b#c=d", "a:b"])
def test_signs_that_end_other_parts_of_an_address_end_no_password(password: str) -> None:
    clean, secrets = split_secrets(f"postgresql://ann:{password}@db/clinic?sslmode=require")
    assert secrets == {"password": password}
    assert clean == "postgresql://ann@db/clinic?sslmode=require"


def test_what_the_driver_says_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    from dprap.sources import postgres

    def fail(url: str, **_: object) -> None:
        raise psycopg.OperationalError(f'connection to "{url}" failed: no route')

    monkeypatch.setattr(psycopg, "connect", fail)
    with pytest.raises(DataError, match="cannot be reached") as caught:
        postgres._connect(f"postgresql://ann:{SECRET}@db/clinic")
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_job_file_keeps_no_password(tmp_path: Path) -> None:
    for password in ("hunter2", "hunter2#x", "x?hunter2", "x%40hunter2", "hunter2%25"):
        job = new_job(
            f"postgresql://ann:{password}@db/clinic?sslmode=require",
            Schema.of({"columns": {"a": {"type": "boolean"}}}),
            RunOptions.of(epsilon=1.0, ledger=tmp_path / "ledger.jsonl", database_table="public.t"),
            out=tmp_path / "out",
        )
        save_job(job, tmp_path / "out")
        kept = (tmp_path / "out.private" / "job.json").read_text()
        assert "postgresql://ann@db/clinic?sslmode=require" in kept
        assert SECRET not in kept


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_a_password_comes_out_as_it_was(password: str) -> None:
    from urllib.parse import quote

    clean, secrets = split_secrets(
        f"postgresql://ann:{quote(password, safe='')}@db/clinic?sslmode=verify-full"
    )
    assert (clean, secrets) == (
        "postgresql://ann@db/clinic?sslmode=verify-full",
        {"password": password},
    )


def test_other_secrets_are_refused() -> None:
    with pytest.raises(SettingsError), passwords_taken(["postgresql://db/x?sslpassword=hunter2"]):
        pass


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "old")
    arguments = ["synth", "postgresql://ann:new@db/x"]
    with passwords_taken(arguments):
        assert arguments == ["synth", "postgresql://ann@db/x"]
        assert os.environ["PGPASSWORD"] == "new"
    assert os.environ["PGPASSWORD"] == "old"


@pytest.mark.skipif(
    sys.platform != "linux", reason="the list of processes is covered on Linux alone"
)
def test_the_list_of_processes_does_not_show_it() -> None:
    code = (
        "import sys; from pathlib import Path; from dprap.cli.secrets import passwords_taken\n"
        "with passwords_taken(sys.argv): print(Path('/proc/self/cmdline').read_bytes(), sys.argv)"
    )
    command = [sys.executable, "-c", code, "synth", "postgresql://ann:hunter2@db/x", "--table", "t"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "hunter2" not in done.stdout
    assert "postgresql://ann@db/x" in done.stdout
    assert "*****" in done.stdout
