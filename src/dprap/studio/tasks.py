"""Commands of dprap in processes of their own, which outlive the server.

A task writes what it says to files in the studio's memory of its table. While it lives it holds a
lock, which it got from the server as an open file: so another server, started later, knows whether
the task goes on, without trusting a process number. A table has one task at a time, so its ledger
has one run at a time (the ledger's own lock sees to others).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dprap.errors import LedgerError
from dprap.studio.notes import read_json, write_whole
from dprap.studio.views import texts
from dprap.studio.workspace import Table, Workspace

_TAIL_BYTES = 1 << 16
_PROGRESS = re.compile(r"^\s*([0-9.]+) s  (\S+) (\d+)/(\d+)(?: (.*))?$")
_ERROR = re.compile(r"^error: (.*)$")


@dataclass(frozen=True)
class Task:
    """The last task of a table."""

    kind: str
    """draft, check, synth, resume or evaluate."""
    arguments: tuple[str, ...]
    out: str
    """The name of what it writes."""
    started: float
    is_running: bool
    pid: int
    folder: Path

    def said(self) -> str:
        """The end of what the task wrote for people."""
        return _tail(self.folder / "stderr")

    def result(self) -> str:
        """What the task wrote for programs."""
        return _tail(self.folder / "stdout")

    def errors(self) -> list[str]:
        """The errors it ended with; a word of ours where it ended without one."""
        said = self.said()
        found = [match[1] for line in said.splitlines() if (match := _ERROR.match(line))]
        is_told = found or self.is_running or "stopped." in said or self.has_result
        return found if is_told else [texts()["problem"]["crashed"]]

    @property
    def has_result(self) -> bool:
        """Whether it wrote what it was started for."""
        return bool(self.result().strip()) or (self.kind == "draft" and "draft of" in self.said())

    def progress(self) -> Progress | None:
        """How far it is."""
        found = [match for line in self.said().splitlines() if (match := _PROGRESS.match(line))]
        if not found:
            return None
        seconds, stage, done, total, detail = found[-1].groups()
        return Progress(float(seconds), stage, int(done), int(total), detail or "")


@dataclass(frozen=True)
class Progress:
    """A line of progress of a run, as the command line writes it."""

    seconds: float
    stage: str
    done: int
    total: int
    detail: str


_starting = threading.Lock()
"""Held while a task begins, so that nobody stops it by the number of the one before."""
_children: list[subprocess.Popen[bytes]] = []
"""What this server started, so that it can be waited for."""


def last_task(workspace: Workspace, table: Table) -> Task | None:
    """The last task of a table, if there was one."""
    _reap()
    folder = workspace.memory_of(table)
    kept = read_json(folder / "task.json")
    try:
        return Task(
            kind=str(kept["kind"]),
            arguments=tuple(map(str, kept["arguments"])),
            out=str(kept["out"]),
            started=float(kept["started"]),
            is_running=_is_locked(folder),
            pid=int(kept["pid"]),
            folder=folder,
        )
    except (KeyError, TypeError, ValueError):
        return None


def start(
    workspace: Workspace, table: Table, kind: str, arguments: list[str], *, out: str = ""
) -> None:
    """Start a command of dprap in the table's folder.

    Raises:
        LedgerError: If the table has a task already.

    """
    with _starting:
        _start(workspace, table, kind, arguments, out)


def _start(workspace: Workspace, table: Table, kind: str, arguments: list[str], out: str) -> None:
    _reap()
    folder = workspace.memory_of(table)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LedgerError(
                "something is running on this table already. Wait for it, or stop it first."
            ) from None
        with _fresh(folder / "stdout") as stdout, _fresh(folder / "stderr") as stderr:
            child = subprocess.Popen(  # noqa: S603 - dprap itself, with arguments that are options or names of ours
                [sys.executable, "-c", "from dprap.cli import main; main()", *arguments],
                cwd=table.folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(lock,),
                start_new_session=True,  # Ctrl-C in the server's terminal is not meant for the run
            )
        _children.append(child)
        kept: dict[str, Any] = {
            "kind": kind,
            "arguments": arguments,
            "out": out,
            "started": time.time(),
        }
        write_whole(folder / "task.json", json.dumps(kept | {"pid": child.pid}).encode())
    finally:
        os.close(lock)  # the child holds it now, or nobody


def stop(workspace: Workspace, table: Table) -> None:
    """Ask the task of a table to end; a run stops so that it can be resumed."""
    with _starting:
        task = last_task(workspace, table)
    if task is not None and task.is_running:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(task.pid, signal.SIGTERM)


def _is_locked(folder: Path) -> bool:
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _fresh(path: Path) -> Any:
    path.unlink(missing_ok=True)
    return os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb"
    )


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _reap() -> None:
    _children[:] = [child for child in _children if child.poll() is None]
