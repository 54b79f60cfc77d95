"""The first page: the tables of the folder, and ways to bring one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dprap.errors import DprapError, SettingsError
from dprap.runs.addresses import address_to_keep
from dprap.runs.first_records import write_example
from dprap.studio.file_names import safe_stem, split_name
from dprap.studio.gate import CSRF_FIELD
from dprap.studio.notes import write_whole
from dprap.studio.tasks import last_task
from dprap.studio.uploads import Upload
from dprap.studio.views import texts
from dprap.studio.visit import Visit, refusal
from dprap.studio.workspace import DATABASE_ENDING, Table, Workspace

EXAMPLE_ROWS = 20_000


def show(visit: Visit) -> Response:
    """The tables of the folder."""
    return _home(visit)


def _home(visit: Visit, status: int = 200, **values: object) -> Response:
    rows = [(table, _state(visit.workspace, table)) for table in visit.workspace.tables()]
    shown = {"rows": rows, "folder": visit.workspace.root.name, "form": {}} | values
    return visit.show("home.html", status, **shown)


def _state(workspace: Workspace, table: Table) -> str:
    """How far a table is: the name of a text, and of the step to go on with."""
    task = last_task(workspace, table)
    if task is not None and task.is_running and task.kind in ("synth", "resume"):
        return "running"
    runs = workspace.runs(table)
    if any(not run.is_done for run in runs):
        return "stopped"
    if runs:
        return "released"
    return "described" if table.has_schema else "new"


def add_example(visit: Visit) -> Response:
    """Write the invented table, to try things with."""
    folder = visit.workspace.new_folder("example")
    path = folder / "people.csv"
    write_example(path, EXAMPLE_ROWS)
    path.chmod(0o600)
    return visit.go(f"/table/{visit.workspace.key_of(path)}/table")


def add_database(visit: Visit) -> Response:
    """Note down where in a database a table is. Nobody is asked yet, and no password is kept."""
    said = texts()["home"]
    name = safe_stem(visit.form.get("name", ""))
    address, inner = (
        visit.form.get("address", "").strip(),
        visit.form.get("database_table", "").strip(),
    )
    errors = {}
    try:
        address = address_to_keep(address)
    except SettingsError as error:
        errors["address"] = str(error)
        address = ""
    if not name:
        errors["name"] = said["name_missing"]
    if not inner:
        errors["database_table"] = said["inner_missing"]
    if errors:
        return _home(visit, 422, errors=errors, form=visit.form | {"address": address})
    path = visit.workspace.new_folder(name) / f"{name}{DATABASE_ENDING}"
    write_whole(path, json.dumps({"address": address, "table": inner}).encode())
    return visit.go(f"/table/{visit.workspace.key_of(path)}/table")


async def upload(request: Request) -> Response:
    """Take a table's file, as it streams in."""
    workspace, keys = request.app.state.workspace, request.app.state.keys
    made: list[Path] = []

    def target(file_name: str) -> Path:
        name = split_name(file_name)
        if name is None:
            said = texts()["home"]
            raise SettingsError(said["which_file"] if not file_name else said["which_ending"])
        made.append(workspace.new_folder(name[0]))
        return made[0] / f"{name[0]}{name[1]}"

    def admit(name: str, value: str) -> bool:
        return name == CSRF_FIELD and keys.is_form_token(value)

    taken = Upload(admit, target)
    try:
        await taken.take(request.headers.get("content-type", ""), request.stream())
        if taken.path is None:
            raise SettingsError(texts()["home"]["which_file"])
        if taken.written == 0:
            taken.discard()
            raise SettingsError(texts()["home"]["empty_file"])
    except asyncio.CancelledError:
        for folder in made:
            _remove_empty(folder)
        raise
    except DprapError as error:
        for folder in made:
            await run_in_threadpool(_remove_empty, folder)
        if not taken.fields:
            return refusal("origin")
        visit = Visit(workspace, keys, request, {}, None)
        message = str(error)
        return await run_in_threadpool(lambda: _home(visit, 422, errors={"file": message}))
    return RedirectResponse(f"/table/{workspace.key_of(taken.path)}/table", status_code=303)


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
