"""Step 5: the release.

Its report, questions, files, and the comparison behind a door marked NOT PRIVATE.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.responses import HTMLResponse, Response, StreamingResponse

from dprap.errors import DprapError, SettingsError
from dprap.runs import finished_release
from dprap.runs.describe import release_data
from dprap.studio import commands, tasks
from dprap.studio.gate import REPORT_POLICY
from dprap.studio.pages.plan import planned
from dprap.studio.views import texts
from dprap.studio.visit import Visit, refusal
from dprap.studio.workspace import Run

_CHUNK = 1 << 20
_MOST_LINES = 400
_MOST_BY = 3
_FILES = (
    "synthetic.parquet",
    "synthetic.csv",
    "release.json",
    "schema.yaml",
    "measurements.parquet",
    "relaxed.npz",
    "report.html",
)
"""What a release is made of; nothing else in its folder is handed out."""


def newest(visit: Visit) -> Response:
    """The newest release, or how to make one."""
    runs = [run for run in visit.workspace.runs(visit.table) if run.is_done]
    if not runs:
        return visit.show("release_empty.html", step="release")
    return visit.to("release", f"/{runs[0].key}")


def show(visit: Visit) -> Response:
    """A release."""
    run = _run(visit)
    return refusal("gone", 404) if run is None else _page(visit, run)


def _run(visit: Visit) -> Run | None:
    found = visit.workspace.run(visit.table, visit.request.path_params["run"])
    return found if found is not None and found.is_done else None


def _page(visit: Visit, run: Run, status: int = 200, **values: Any) -> Response:
    release = finished_release.load_release(run.out)
    files = [(number, name, (run.out / name).stat().st_size) for number, name in _present(run)]
    task = tasks.last_task(visit.workspace, visit.table)
    comparing = task is not None and task.kind == "evaluate" and task.out == run.out.name
    shown: dict[str, Any] = {
        "step": "release",
        "run": run,
        "runs": [each for each in visit.workspace.runs(visit.table) if each.is_done],
        "facts": release_data(release, run.out.name),
        "guarantee": release.guarantee,
        "accuracy": release.accuracy,
        "names": list(release.schema.columns),
        "files": files,
        "task": task if comparing and task is not None and task.is_running else None,
        "compare_errors": (
            task.errors() if comparing and task is not None and not task.is_running else []
        ),
        "has_comparison": _is_plain(finished_release.comparison_path(run.out)),
        "form": {},
        "answered": None,
        "command": commands.shown(["report", f"./{run.out.name}"]),
        "compare_command": commands.shown(
            commands.evaluate(visit.workspace, visit.table, {}, run.out)
        ),
    }
    return visit.show("release.html", status, **(shown | values))


def ask(visit: Visit) -> Response:
    """Answer a question from the release. It costs nothing."""
    run = _run(visit)
    if run is None:
        return refusal("gone", 404)
    question = _question(visit)
    by = tuple(
        dict.fromkeys(name for at in range(_MOST_BY) if (name := visit.form.get(f"by-{at}")))
    )
    errors, answered = {}, None
    try:
        release = finished_release.load_release(run.out)
        if any(name not in release.schema.columns for name in by):
            raise SettingsError(texts()["forms"]["which_column"])
        answered = finished_release.answer(release, question, by)
    except DprapError as error:
        errors["question"] = str(error)
    arguments = [
        "answer",
        f"./{run.out.name}",
        question,
        *(word for name in by for word in ("--by", name)),
    ]
    values: dict[str, Any] = {
        "answered": None if answered is None else _shown(answered),
        "errors": errors,
        "form": visit.form,
        "answer_command": None if answered is None else commands.shown(arguments),
    }
    if visit.request.headers.get("hx-request") == "true":
        return visit.show("answer.html", **values)
    return _page(visit, run, 422 if errors else 200, **values)


def _question(visit: Visit) -> str:
    """The question in words, or as the form's parts say it."""
    words = visit.form.get("question", "").strip()
    column, how, value = (visit.form.get(name, "").strip() for name in ("column", "how", "value"))
    if words or not column or not value or how not in ("=", "!=", "<", "<=", ">", ">=", "in"):
        return words
    return f"{_quoted(column)} {how} {value}"


def _quoted(name: str) -> str:
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _shown(answered: Any) -> dict[str, Any]:
    """A count as rows with bars, a number of another kind as a table of texts."""
    if not hasattr(answered, "groups"):
        header, lines, remarks = answered.cells()
        return {
            "header": header,
            "labels": len(answered.figures[0].values) if answered.figures else 0,
            "lines": lines[:_MOST_LINES],
            "remarks": remarks,
            "left_out": max(0, len(lines) - _MOST_LINES),
        }
    data = answered.as_data()
    groups = answered.groups[:_MOST_LINES]
    largest = max((group.share for group in groups), default=1.0) or 1.0
    rows = []
    for group in groups:
        error = group.certified_error
        low, high = interval_of(group, answered.rows)
        rows.append(
            {
                "values": group.values,
                "count": group.count,
                "share": group.share,
                "measured": group.measured,
                "bar": group.share / largest if answered.by else group.share,
                "low": (
                    None if low is None else low / answered.rows / (largest if answered.by else 1)
                ),
                "high": (
                    None if high is None else high / answered.rows / (largest if answered.by else 1)
                ),
                "interval": None if low is None else (low, high),
                "certified": error,
            }
        )
    remarks = list(answered.lines()[len(answered.groups) + 1 + bool(answered.by) :])
    return {
        "data": data,
        "header": None,
        "rows": rows,
        "remarks": remarks,
        "by": answered.by,
        "left_out": len(answered.groups) - len(rows),
    }


def interval_of(group: Any, rows: int) -> tuple[float | None, float | None]:
    """Where the truth lies, as far as the release says: its own interval where it has one, else the
    certificate's.
    """
    interval = getattr(group, "interval", None)
    if interval is not None and interval.low is not None:
        return float(interval.low), float(interval.high)
    if group.certified_error is None:
        return None, None
    return max(0.0, group.count - group.certified_error), min(
        float(rows), group.count + group.certified_error
    )


def report(visit: Visit) -> Response:
    """The release's own page, in a sandbox."""
    run = _run(visit)
    if run is None:
        return refusal("gone", 404)
    path = run.out / "report.html"
    if not _is_plain(path):
        finished_release.write_report_of(finished_release.load_release(run.out), path)
    return HTMLResponse(_read(path), headers={"content-security-policy": REPORT_POLICY})


def download(visit: Visit) -> Response:
    """One file of the release."""
    run = _run(visit)
    number = visit.request.path_params["file"]
    if run is None or number not in dict(_present(run)):
        return refusal("gone", 404)
    name = _FILES[number]
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "content-security-policy": "sandbox",
    }
    return StreamingResponse(
        _chunks(run.out / name), media_type="application/octet-stream", headers=headers
    )


def download_all(visit: Visit) -> Response:
    """All files of the release in one archive, which is made as it is read."""
    run = _run(visit)
    if run is None:
        return refusal("gone", 404)
    headers = {
        "content-disposition": 'attachment; filename="release.zip"',
        "content-security-policy": "sandbox",
    }
    return StreamingResponse(_archive(run), media_type="application/zip", headers=headers)


def compare(visit: Visit) -> Response:
    """Compare the release with the private table, in a process of its own. NOT PRIVATE."""
    run = _run(visit)
    if run is None:
        return refusal("gone", 404)
    if not visit.form.get("agree"):
        return _page(visit, run, 422, errors={"agree": texts()["release"]["must_agree"]})
    saved = planned(visit)
    options = {} if saved is None else saved[0]
    arguments = commands.evaluate(visit.workspace, visit.table, options, run.out)
    tasks.start(visit.workspace, visit.table, "evaluate", arguments, out=run.out.name)
    return visit.to("release", f"/{run.key}#compare")


def comparison(visit: Visit) -> Response:
    """The page of the comparison. NOT PRIVATE."""
    run = _run(visit)
    path = None if run is None else finished_release.comparison_path(run.out)
    if path is None or not _is_plain(path):
        return refusal("gone", 404)
    return HTMLResponse(_read(path), headers={"content-security-policy": REPORT_POLICY})


def _present(run: Run) -> list[tuple[int, str]]:
    return [(number, name) for number, name in enumerate(_FILES) if _is_plain(run.out / name)]


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _read(path: Path) -> bytes:
    return b"".join(_chunks(path))


def _chunks(path: Path) -> Iterator[bytes]:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


class _Pipe:
    """Takes what an archive writes, for whoever reads it."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, data: bytes, /) -> int:
        """Take a part."""
        self.content += data
        return len(data)

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def taken(self) -> bytes:
        """What was written since the last time."""
        found = bytes(self.content)
        self.content.clear()
        return found


def _archive(run: Run) -> Iterator[bytes]:
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for _, name in _present(run):
            with archive.open(f"release/{name}", "w", force_zip64=True) as entry:
                for chunk in _chunks(run.out / name):
                    entry.write(chunk)
                    yield pipe.taken()
    yield pipe.taken()
