"""Step 6: the ledger. All runs of a data set, what is left, and whether the files are intact."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from dprap.errors import DprapError, LedgerError
from dprap.runs import ledgers
from dprap.runs.describe import event_line, ledger_data
from dprap.studio import commands, tasks
from dprap.studio.pages.plan import ledger_path
from dprap.studio.views import texts
from dprap.studio.visit import Visit


def show(visit: Visit) -> Response:
    """The runs of the ledger and what they spent; every line and every stored result is checked
    where asked.
    """
    if visit.form.get("closed"):
        return _page(visit, told=texts()["ledger"]["closed"])
    return _verified(visit) if visit.form.get("verify") else _page(visit)


def _page(visit: Visit, status: int = 200, **values: Any) -> Response:
    shown: dict[str, Any] = {
        "step": "ledger",
        "data": None,
        "left": None,
        "told": None,
        "can_abandon": False,
    }
    path = visit.table.path
    try:
        path = ledger_path(visit)
        state = ledgers.state_at(path)
    except DprapError as error:
        return visit.show(
            "ledger.html", 422, **(shown | {"errors": {"": _without_path(error, path)}} | values)
        )
    if state is not None:
        task = tasks.last_task(visit.workspace, visit.table)
        data = ledger_data(state, events=True)
        for run in data["runs"]:
            run["lines"] = [event_line(event) for event in run["events"]]
        left = ledgers.left_of_cap(state)
        shown |= {
            "data": data,
            "left": None if left is None else float(left),
            "can_abandon": task is None or not task.is_running,
        }
    name = (
        path.relative_to(visit.table.folder)
        if path.is_relative_to(visit.table.folder)
        else path.name
    )
    shown["command"] = commands.shown(["ledger", "show", f"./{name}"])
    return visit.show("ledger.html", status, **(shown | values))


def _verified(visit: Visit) -> Response:
    path = ledger_path(visit)
    try:
        state = ledgers.verified(path)
    except DprapError as error:
        return _page(visit, 422, errors={"verify": _without_path(error, path)})
    charges = sum(len(run.charges) for run in state.runs.values())
    return _page(
        visit, told=texts()["ledger"]["intact"].format(runs=len(state.runs), charges=charges)
    )


def abandon(visit: Visit) -> Response:
    """Close an unfinished run for good."""
    task = tasks.last_task(visit.workspace, visit.table)
    if task is not None and task.is_running:
        raise LedgerError(texts()["ledger"]["busy"])
    if not visit.form.get("agree"):
        return _page(visit, 422, errors={"abandon": texts()["ledger"]["must_agree"]})
    ledgers.abandon(ledger_path(visit), visit.form.get("run", ""))
    return visit.to("ledger", "?closed=yes")


def _without_path(error: DprapError, path: object) -> str:
    return str(error).replace(str(path), "").replace("  ", " ")
