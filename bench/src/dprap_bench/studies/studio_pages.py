"""What a page of the studio costs on the example once warm, and what an upload holds in memory.

CPU seconds, the least of a few repetitions: the machine may be busy. Pages are asked for in this
process, without a network and a browser. An upload is a form that is made as it is read, so that
memory is the studio's alone.
"""

from __future__ import annotations

import asyncio
import resource
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from dprap.datasets import example_schema
from dprap.runs.carry_out import Observer, carry_out
from dprap.runs.first_records import write_example
from dprap.runs.job import new_job
from dprap.runs.options import RunOptions
from dprap.studio.gate import Keys, cookie_name
from dprap.studio.routes import studio
from dprap.studio.uploads import Upload
from dprap.studio.workspace import Workspace
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.timing import least_cpu_seconds

HOST = "127.0.0.1:1"
PAGES = ("home", "table", "schema", "plan", "run", "release", "ledger")
UPLOADS_MB = (64, 2_000)
_CHUNK = b"0123456789,abcdefghijklmnopqrstuvwxyz,42\n" * 1600
_HEAD = (
    b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nok\r\n'
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\n\r\n'
)


def cells(seeds: int | None) -> list[StudyCell]:  # noqa: ARG001 - there is no noise in a page
    """Each page, and uploads of two sizes."""
    facts: list[dict[str, Any]] = [{"page": page} for page in PAGES]
    facts += [{"upload_mb": megabytes} for megabytes in UPLOADS_MB]
    return [StudyCell("studio_pages", each) for each in facts]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:  # noqa: ARG001 - the table is made up
    """One page, or one upload."""
    with tempfile.TemporaryDirectory() as folder:
        if "upload_mb" in facts:
            return upload(Path(folder), facts["upload_mb"])
        return page(Path(folder), facts["page"])


def page(folder: Path, name: str) -> Figures:
    """A page of the example, which has a finished release."""
    table = folder / "people.csv"
    write_example(table, 20_000)
    example_schema().save(folder / "people.schema.yaml")
    options = RunOptions(epsilon=1.0, method="independent", kway=2)
    carry_out(new_job(table, example_schema(), options, out=folder / "people-release"), Observer())
    workspace, keys = Workspace(folder), Keys()
    app = studio(workspace, keys, frozenset((HOST,)))
    cookie = f"{cookie_name(HOST)}={keys.exchange(keys.token)}"
    found = workspace.table(workspace.key_of(table.resolve()))
    assert found is not None  # noqa: S101 - it was written above
    run = workspace.runs(found)[0]
    path = (
        "/"
        if name == "home"
        else f"/table/{found.key}/{name}" + (f"/{run.key}" if name == "release" else "")
    )

    def ask() -> None:
        status = asyncio.run(_ask(app, path, cookie))
        assert status == 200  # noqa: S101 - a refusal would be fast and mean nothing

    ask()
    return {"cpu_seconds": least_cpu_seconds(ask, 10)}


async def _ask(app: Any, path: str, cookie: str) -> int:
    statuses = []
    headers = [(b"host", HOST.encode()), (b"cookie", cookie.encode())]
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("192.0.2.1", 1),
        "server": ("127.0.0.1", 1),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        statuses.extend([message["status"]] if message["type"] == "http.response.start" else [])

    await app(scope, receive, send)
    return int(statuses[0])


def upload(folder: Path, megabytes: int) -> Figures:
    """A file of some size; memory is what the process held more than before."""

    async def sent() -> AsyncIterator[bytes]:
        yield _HEAD
        for _ in range(megabytes * 1_000_000 // len(_CHUNK)):
            yield _CHUNK
        yield b"\r\n--x--\r\n"

    taken = Upload(
        lambda name, value: (name, value) == ("csrf", "ok"), lambda _: folder / "big.csv"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    asyncio.run(taken.take("multipart/form-data; boundary=x", sent()))
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "megabytes_written": taken.written / 1e6,
        "megabytes_held_more": (after.ru_maxrss - before) / 1024,
        "cpu_seconds": after.ru_utime + after.ru_stime,
    }
