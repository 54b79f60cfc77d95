"""Step 1: the table. How it is read, its first records (private), and a first schema."""

from __future__ import annotations

from starlette.responses import Response

from dprap.errors import DprapError
from dprap.runs.schema_files import load_schema
from dprap.runs.tables import Preview, preview
from dprap.studio import commands, tasks
from dprap.studio.visit import Visit


def show(visit: Visit) -> Response:
    """The table."""
    table = visit.table
    task = tasks.last_task(visit.workspace, table)
    seen: Preview | None = None
    problem = None
    if not table.is_database:
        try:
            schema = load_schema(table.schema) if table.has_schema else None
            seen = preview(table.path, schema)
        except DprapError as error:
            problem = str(error).replace(f"{table.path}: ", "")
    has_schema = table.has_schema
    return visit.show(
        "table.html",
        step="table",
        seen=seen,
        problem=problem,
        task=task if task is not None and task.kind == "draft" else None,
        has_schema=has_schema,
        size=None if table.is_database else table.path.stat().st_size,
        database=visit.workspace.database_of(table),
        command=None
        if table.is_database
        else commands.shown(commands.draft(visit.workspace, table, force=table.own_schema.exists())),
    )


def draft(visit: Visit) -> Response:
    """Propose a schema, in a process of its own."""
    if visit.table.own_schema.is_symlink():
        visit.table.own_schema.unlink()  # or the draft would be written where the link leads
    arguments = commands.draft(visit.workspace, visit.table, force=True)
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
