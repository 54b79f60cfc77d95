"""Which address leads to which page."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from dprap.studio.gate import Gate, Keys
from dprap.studio.pages import home, ledger, plan, release, run, schema, table
from dprap.studio.visit import Page, endpoint, refusal
from dprap.studio.workspace import Workspace

_STATIC = Path(__file__).parent / "static"
_KINDS = {
    "studio.css": "text/css",
    "studio.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

_PAGES: tuple[tuple[str, str, Page], ...] = (
    ("GET", "/", home.show),
    ("POST", "/example", home.add_example),
    ("POST", "/database", home.add_database),
    ("GET", "/table/{table}/table", table.show),
    ("GET", "/table/{table}/task", table.progress),
    ("POST", "/table/{table}/draft", table.draft),
    ("POST", "/table/{table}/form", table.write),
    ("GET", "/table/{table}/schema", schema.show),
    ("GET", "/table/{table}/schema/{column:int}/form", schema.column_form),
    ("POST", "/table/{table}/schema/{column:int}", schema.save_column),
    ("POST", "/table/{table}/schema/vouch", schema.vouch_for_all),
    ("POST", "/table/{table}/schema/accept", schema.accept),
    ("POST", "/table/{table}/schema/check", schema.check),
    ("POST", "/table/{table}/schema/constraint", schema.add_constraint),
    ("POST", "/table/{table}/schema/constraint/{position:int}/drop", schema.drop_constraint),
    ("GET", "/table/{table}/plan", plan.show),
    ("POST", "/table/{table}/plan/figures", plan.figures),
    ("POST", "/table/{table}/plan", plan.save),
    ("GET", "/table/{table}/run", run.show),
    ("GET", "/table/{table}/run/progress", run.progress),
    ("POST", "/table/{table}/run", run.begin),
    ("POST", "/table/{table}/run/pause", run.pause),
    ("POST", "/table/{table}/run/{run}/resume", run.resume),
    ("GET", "/table/{table}/release", release.newest),
    ("GET", "/table/{table}/release/{run}", release.show),
    ("POST", "/table/{table}/release/{run}/ask", release.ask),
    ("GET", "/table/{table}/release/{run}/report", release.report),
    ("GET", "/table/{table}/release/{run}/file/{file:int}", release.download),
    ("GET", "/table/{table}/release/{run}/all.zip", release.download_all),
    ("POST", "/table/{table}/release/{run}/compare", release.compare),
    ("GET", "/table/{table}/release/{run}/comparison", release.comparison),
    ("GET", "/table/{table}/ledger", ledger.show),
    ("POST", "/table/{table}/ledger/abandon", ledger.abandon),
)


def studio(workspace: Workspace, keys: Keys, hosts: frozenset[str]) -> Starlette:
    """The application for one folder and one server."""
    app = Starlette(
        routes=[
            *(Route(path, endpoint(page), methods=[method]) for method, path, page in _PAGES),
            Route("/upload", home.upload, methods=["POST"]),
            Route("/table/{table}/schema/import", schema.import_file, methods=["POST"]),
            Route("/static/{name}", _static),
        ],
        middleware=[Middleware(Gate, keys=keys, hosts=hosts, refused=refusal)],
        exception_handlers={404: _not_found, 405: _not_found, 500: _failed},
    )
    app.state.workspace, app.state.keys = workspace, keys
    return app


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _KINDS:
        return refusal("gone", 404)
    return FileResponse(
        _STATIC / name, media_type=_KINDS[name], headers={"cache-control": "private, max-age=3600"}
    )


async def _not_found(_: Request, __: Exception) -> Response:
    return refusal("gone", 404)


async def _failed(_: Request, __: Exception) -> Response:
    return refusal("failed", 500)
