"""Step 1: the table. How it is read, its first records (private), and a first schema."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response

from dprap.errors import DprapError
from dprap.runs.first_records import Preview, is_csv, preview
from dprap.runs.schema_files import load_schema
from dprap.studio import commands, tasks
from dprap.studio.notes import note_down, notes_of
from dprap.studio.views import texts
from dprap.studio.visit import Visit

KNOWN = "known"
"""The name, without its ending, of the metadata that somebody imported for a table."""


def show(visit: Visit, status: int = 200, errors: dict[str, str] | None = None) -> Response:
    """The table."""
    table = visit.table
    task = tasks.last_task(visit.workspace, table)
    given = _written(visit)
    seen: Preview | None = None
    problem = None
    if not table.is_database:
        try:
            schema = load_schema(table.schema) if table.has_schema else None
            seen = preview(table.path, schema, csv=given)
        except DprapError as error:
            problem = str(error).replace(f"{table.path}: ", "")
    has_schema = table.has_schema
    form = None if seen is None or seen.form is None else seen.form.model_dump()
    return visit.show(
        "table.html",
        status,
        step="table",
        errors=errors or {},
        form=visit.form if errors else form if form is not None else given,
        is_csv=form is not None or bool(given) or is_csv(table.path),
        seen=seen,
        problem=problem,
        task=task if task is not None and task.kind == "draft" else None,
        has_schema=has_schema,
        size=None if table.is_database else table.path.stat().st_size,
        database=visit.workspace.database_of(table),
        command=(
            None
            if table.is_database
            else commands.shown(
                commands.draft(
                    visit.workspace,
                    table,
                    given,
                    known=_known(visit),
                    force=table.own_schema.exists(),
                )
            )
        ),
    )


def write(visit: Visit) -> Response:
    """Take what the steward says about how a CSV file is written; empty fields are recognised."""
    given: dict[str, str | int] = {
        name: text for name in ("delimiter", "encoding") if (text := visit.form.get(name))
    }
    lines = visit.form.get("skip_lines", "").strip()
    if lines:
        if not (lines.isascii() and lines.isdigit() and len(lines) < 5):
            return show(visit, 422, {"skip_lines": texts()["forms"]["whole"]})
        given["skip_lines"] = int(lines)
    try:
        preview(visit.table.path, None, csv=given)
    except DprapError as error:
        return show(visit, 422, {"csv": str(error).replace(f"{visit.table.path}: ", "")})
    note_down(visit.workspace, visit.table, csv=given or None)
    return visit.to("table")


def _known(visit: Visit) -> Path | None:
    """The metadata that somebody imported for this table, if they are still there."""
    name = notes_of(visit.workspace, visit.table).get("known")
    path = visit.workspace.memory_of(visit.table) / str(name)
    return (
        path if isinstance(name, str) and name.startswith(f"{KNOWN}.") and path.is_file() else None
    )


def _written(visit: Visit) -> dict[str, str | int]:
    """What the steward said about how the file is written."""
    kept = notes_of(visit.workspace, visit.table).get("csv")
    return kept if isinstance(kept, dict) else {}


def draft(visit: Visit) -> Response:
    """Propose a schema, in a process of its own."""
    return start_draft(visit)


def table_names(path: Path) -> list[str]:
    """The names of a table's columns."""
    return list(preview(path, None).names)


def start_draft(visit: Visit) -> Response:
    """Propose a schema; what is known from elsewhere wins over the data."""
    if visit.table.own_schema.is_symlink():
        visit.table.own_schema.unlink()  # or the draft would be written where the link leads
    arguments = commands.draft(
        visit.workspace, visit.table, _written(visit), known=_known(visit), force=True
    )
    tasks.start(visit.workspace, visit.table, "draft", arguments)
    return visit.to("table")


def progress(visit: Visit) -> Response:
    """Whether a draft or a check is still going on: a part of a page, asked for again and again."""
    task = tasks.last_task(visit.workspace, visit.table)
    if task is not None and task.is_running:
        return visit.show("task.html", task=task)
    response = visit.show("task.html", task=task)
    if task is not None and task.kind == "draft" and not task.errors():
        response.headers["HX-Redirect"] = f"/table/{visit.table.key}/schema"
    else:
        response.headers["HX-Refresh"] = "true"
    return response
