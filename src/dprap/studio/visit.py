"""One request for a page: what was asked, by which form, about which table; and how pages
answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dprap.errors import DprapError
from dprap.studio.gate import CSRF_FIELD, Keys
from dprap.studio.uploads import LONGEST_SILENCE
from dprap.studio.views import render, texts
from dprap.studio.workspace import Table, Workspace

_LARGEST_FORM = 4 << 20
_MOST_FIELDS = 20_000


@dataclass(frozen=True)
class Visit:
    """What a page needs to know of a request."""

    workspace: Workspace
    keys: Keys
    request: Request
    form: dict[str, str]
    """The fields of a form, or of the address for a page that is only looked at."""
    found: Table | None

    @property
    def table(self) -> Table:
        """The table of the page; only pages of a table ask."""
        if self.found is None:
            raise LookupError("page without a table")
        return self.found

    def show(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page or a part of one."""
        common: dict[str, Any] = {
            "csrf": self.keys.form_token(),
            "table": self.found,
            "errors": {},
            "command": None,
            "step": None,
        }
        return HTMLResponse(render(template, **(common | values)), status_code=status)

    def go(self, path: str) -> Response:
        """Lead to another page after a form was taken."""
        return RedirectResponse(path, status_code=303)

    def to(self, step: str, place: str = "") -> Response:
        """Lead to a step of the same table."""
        return self.go(f"/table/{self.table.key}/{step}{place}")


Page = Callable[[Visit], Response]


def endpoint(page: Page) -> Callable[[Request], Awaitable[Response]]:
    """A page as Starlette calls it: form read and checked, table found, refusals shown."""

    async def call(request: Request) -> Response:
        studio = request.app.state
        form = dict(request.query_params.items())
        if request.method == "POST":
            taken = await _form(request)
            if taken is None or not studio.keys.is_form_token(taken.get(CSRF_FIELD)):
                return refusal("origin")
            form = taken
        key = request.path_params.get("table")
        table = None if key is None else await run_in_threadpool(studio.workspace.table, key)
        if key is not None and table is None:
            return refusal("gone", 404)
        visit = Visit(studio.workspace, studio.keys, request, form, table)
        try:
            return await run_in_threadpool(page, visit)
        except DprapError as error:
            return visit.show(
                "problem.html", 422, message=str(error), title=texts()["problem"]["refused"]
            )

    return call


async def _form(request: Request) -> dict[str, str] | None:
    """The fields of a small form; None for anything else."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return None
    body = bytearray()
    stream = aiter(request.stream())
    try:
        while True:
            body += await asyncio.wait_for(anext(stream), LONGEST_SILENCE)
            if len(body) > _LARGEST_FORM:
                return None
    except StopAsyncIteration:
        pass
    except TimeoutError:
        return None
    try:
        fields = parse_qs(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=_MOST_FIELDS,
            errors="replace",
        )
    except ValueError:
        return None
    return {key: "\n".join(values) for key, values in fields.items()}


def refusal(reason: str, status: int = 403) -> Response:
    """A page that says why a request goes no further."""
    said = texts()["problem"]
    page = render("refused.html", title=said["refused"], message=said[reason])
    return HTMLResponse(page, status_code=status)
