"""Step 4: the run.

Confirmed with the budget's sentence; it goes on without the browser and without the server.
"""

from __future__ import annotations

import hashlib
import time
from typing import Any

from starlette.responses import Response

from dprap.errors import DprapError, SettingsError
from dprap.runs import ledgers, schema_files
from dprap.runs.describe import plan_lines
from dprap.runs.discover import plan_run
from dprap.runs.options import RunOptions
from dprap.studio import commands, tasks
from dprap.studio.pages.plan import ledger_path, planned
from dprap.studio.views import texts
from dprap.studio.visit import Visit
from dprap.studio.workspace import Run

_RUNNING = ("synth", "resume")


def show(visit: Visit) -> Response:
    """What is about to be spent, or what is going on."""
    return _page(visit)


def _page(visit: Visit, status: int = 200, **values: Any) -> Response:
    task = tasks.last_task(visit.workspace, visit.table)
    task = task if task is not None and task.kind in _RUNNING else None
    runs = visit.workspace.runs(visit.table)
    common: dict[str, Any] = {
        "step": "run",
        "stopped": [run for run in runs if not run.is_done and not _is_under_way(run, task)],
        "task": task,
        "finished": _finished(runs, task),
    }
    if task is not None and task.is_running:
        known = common | _progress(visit, task) | {"command": commands.shown(list(task.arguments))}
        return visit.show("run_progress.html", status, **(known | values))
    return visit.show("run.html", status, **(common | _confirmation(visit) | values))


def _confirmation(visit: Visit) -> dict[str, Any]:
    """What the page asks to confirm: the plan that was saved, and what it adds to."""
    nothing: dict[str, Any] = {
        "sentence": None,
        "lines": [],
        "balance": [],
        "digest": "",
        "refused": None,
        "command": None,
    }
    if not visit.table.has_schema:
        return nothing
    saved = planned(visit)
    if saved is None:
        return nothing
    options, records = saved
    out = visit.workspace.new_output(visit.table)
    arguments = commands.synth(visit.workspace, visit.table, options, out)
    try:
        real = options | ({"workload": str(visit.table.workload)} if "workload" in options else {})
        plan = plan_run(
            schema_files.load_schema(visit.table.schema), RunOptions(**real), records=records
        )
        state = ledgers.state_at(ledger_path(visit))
    except DprapError as error:
        return nothing | {"refused": str(error)}
    said = texts()["run"]
    sentence = said["sentence"].format(
        epsilon=f"{plan.budget.epsilon:g}",
        delta=f"{plan.budget.delta:.2g}",
        rho=f"{float(plan.budget.whole_rho):.4g}",
        unit=(
            said["unit_record"] if plan.neighbors.max_rows_per_person == 1 else said["unit_person"]
        ),
    )
    return {
        "sentence": sentence,
        "lines": plan_lines(plan),
        "balance": ledgers.balance(state, plan.budget),
        "digest": _digest(visit, arguments),
        "refused": None,
        "command": commands.shown(arguments),
    }


def _digest(visit: Visit, arguments: list[str]) -> str:
    """Stands for exactly what was shown: the command, the schema and the workload."""
    seen = [
        *arguments,
        schema_files.version_of(visit.table.schema),
        schema_files.version_of(visit.table.workload),
    ]
    return hashlib.sha256("\0".join(seen).encode()).hexdigest()[:24]


def begin(visit: Visit) -> Response:
    """Start the run that was shown, if nothing has changed since."""
    if not visit.form.get("agree"):
        return _page(visit, 422, errors={"agree": texts()["run"]["must_agree"]})
    saved = planned(visit)
    if saved is None:
        raise SettingsError(texts()["run"]["no_plan"])
    ledger_path(visit)  # refuses a ledger elsewhere
    out = visit.workspace.new_output(visit.table)
    arguments = commands.synth(visit.workspace, visit.table, saved[0], out)
    if visit.form.get("digest") != _digest(visit, arguments):
        return _page(visit, 409, errors={"": texts()["run"]["changed"]})
    tasks.start(visit.workspace, visit.table, "synth", arguments, out=out.name)
    return visit.to("run")


def pause(visit: Visit) -> Response:
    """Ask the run to stop; it can be resumed."""
    tasks.stop(visit.workspace, visit.table)
    _wait(visit)
    return visit.to("run")


def resume(visit: Visit) -> Response:
    """Go on with a run that stopped."""
    run = visit.workspace.run(visit.table, visit.request.path_params["run"])
    if run is None or run.is_done:
        raise SettingsError(texts()["run"]["nothing_to_resume"])
    arguments = commands.resume(visit.workspace, visit.table, run.out)
    tasks.start(visit.workspace, visit.table, "resume", arguments, out=run.out.name)
    return visit.to("run")


def progress(visit: Visit) -> Response:
    """How far the run is: a part of the page, asked for again and again."""
    task = tasks.last_task(visit.workspace, visit.table)
    if task is not None and task.is_running and task.kind in _RUNNING:
        return visit.show("progress.html", **_progress(visit, task))
    runs = visit.workspace.runs(visit.table)
    done = next(
        (run for run in runs if task is not None and run.out.name == task.out and run.is_done), None
    )
    response = visit.show("progress.html", **_progress(visit, task))
    if done is not None:
        response.headers["HX-Redirect"] = f"/table/{visit.table.key}/release/{done.key}"
    else:
        response.headers["HX-Refresh"] = "true"
    return response


def _progress(visit: Visit, task: tasks.Task | None) -> dict[str, Any]:
    """How far a run is: the stage, ρ spent by the ledger's own account, and the time that is left,
    roughly.
    """
    known = None if task is None else task.progress()
    spent = None
    if task is not None:
        run = next(
            (each for each in visit.workspace.runs(visit.table) if each.out.name == task.out), None
        )
        try:
            state = ledgers.state_at(ledger_path(visit)) if run is not None else None
            spent = ledgers.spent_by(state, None if run is None else run.job.options.run)
        except DprapError:
            spent = None  # it is being written; the next look will see
    share = None if spent is None else min(1.0, spent[0] / spent[1])
    elapsed = 0.0 if task is None else max(0.0, time.time() - task.started)
    left = (
        None
        if known is None or share is None or not 0.05 < share < 1
        else known.seconds * (1 - share) / share
    )
    return {"known": known, "spent": spent, "share": share, "elapsed": elapsed, "remaining": left}


def _finished(runs: list[Run], task: tasks.Task | None) -> Run | None:
    """The release that the last task made."""
    return next(
        (run for run in runs if task is not None and run.out.name == task.out and run.is_done), None
    )


def _is_under_way(run: Run, task: tasks.Task | None) -> bool:
    return task is not None and task.is_running and task.out == run.out.name


def _wait(visit: Visit, seconds: float = 5.0) -> None:
    """Give a run that was asked to stop a moment to do so."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        task = tasks.last_task(visit.workspace, visit.table)
        if task is None or not task.is_running:
            return
        time.sleep(0.1)
