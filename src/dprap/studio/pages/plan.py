"""Step 3: the plan.

What matters, how much privacy, and what follows: live, and without touching data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.responses import Response

from dprap.errors import DprapError, LedgerError
from dprap.runs import ledgers, outlook, schema_files
from dprap.runs.describe import plan_data
from dprap.runs.discover import plan_run
from dprap.runs.options import DEFAULTS, RunOptions
from dprap.studio import commands, forms
from dprap.studio.notes import note_down, notes_of
from dprap.studio.views import texts
from dprap.studio.visit import Visit

EPSILON = 1.0
_WEIGHTS = (0.0, 0.5, 1.0, 2.0, 4.0)
_MOST_QUESTIONS = 4


def show(visit: Visit) -> Response:
    """The plan as it was last saved, or the default one."""
    return _page(visit, _saved_form(visit))


def _page(
    visit: Visit, form: dict[str, Any], status: int = 200, errors: dict[str, str] | None = None
) -> Response:
    table = visit.table
    if not table.has_schema:
        return visit.show("plan_empty.html", step="plan", reason="no_schema")
    schema = schema_files.load_schema(table.schema)
    if schema.is_draft:
        return visit.show("plan_empty.html", step="plan", reason="draft")
    found = _figures(visit, form)
    return visit.show(
        "plan.html",
        status,
        step="plan",
        form=form,
        names=list(schema.columns),
        weights=_WEIGHTS,
        defaults=DEFAULTS,
        **(found | {"errors": found["errors"] | (errors or {})}),
    )


def figures(visit: Visit) -> Response:
    """What follows from the form: a part of the page, asked for while somebody moves a slider."""
    return visit.show("figures.html", names=[], **_figures(visit, visit.form))


def save(visit: Visit) -> Response:
    """Keep the plan, and go on to the run."""
    found = _figures(visit, visit.form)
    if found["errors"] or found["plan"] is None:
        return _page(visit, visit.form, 422)
    if _is_weighted(visit.form):
        outlook.save_workload(found["plan"].workload, visit.table.workload)
    kept = {key: value for key, value in visit.form.items() if key != "csrf"}
    note_down(visit.workspace, visit.table, plan=kept)
    return visit.to("run")


def _saved_form(visit: Visit) -> dict[str, Any]:
    notes = notes_of(visit.workspace, visit.table)
    form = {"epsilon": f"{EPSILON:g}", "neighbors": "replace", "kway": ""} | dict(
        notes.get("plan") or {}
    )
    if not form.get("records") and notes.get("records"):
        form["records"] = str(notes["records"])
    return form


def planned(visit: Visit) -> tuple[dict[str, Any], int | None] | None:
    """The options of the saved plan, and the number of records it was made for; None before there
    is one.
    """
    if not notes_of(visit.workspace, visit.table).get("plan"):
        return None
    form = _saved_form(visit)
    options, errors = _options(visit, form)
    return None if errors else (options, forms.records_of(form, texts()["forms"])[0])


def _options(visit: Visit, form: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    options, errors = forms.options_of(form, texts()["forms"])
    database = visit.workspace.database_of(visit.table)
    if database is not None:
        options["database_table"] = database[1]
        options["ledger"] = f"./{visit.table.stem}.dprap/ledger.jsonl"
    else:
        options.pop("ledger", None)
    if _is_weighted(form):
        for name in ("kway", "max_cells"):
            options.pop(name, None)
        options["workload"] = f"./{visit.table.workload.name}"
    return options, errors


def _is_weighted(form: dict[str, Any]) -> bool:
    return bool(form.get("target")) or any(weight != 1.0 for weight in _weights(form).values())


def _weights(form: dict[str, Any]) -> dict[int, float]:
    """The weights of columns by their position."""
    found = {}
    for key, value in form.items():
        if key.startswith("weight-"):
            try:
                found[int(key.removeprefix("weight-"))] = _WEIGHTS[int(value)]
            except (ValueError, IndexError):
                continue
    return found


def _figures(visit: Visit, form: dict[str, Any]) -> dict[str, Any]:
    """Everything that follows from the form: the plan, or what is wrong with which field."""
    said = texts()["forms"]
    options, errors = _options(visit, form)
    records, wrong = forms.records_of(form, said)
    errors |= wrong
    nothing = {"plan": None, "errors": errors, "command": None, "data": None}
    if errors:
        return nothing
    try:
        schema = schema_files.load_schema(visit.table.schema)
        names = list(schema.columns)
        weighted = options.pop("workload", None)
        if weighted is not None and form.get("kway"):
            options["kway"] = forms.whole(str(form["kway"]))
        plan = plan_run(schema, RunOptions(**options), records=records)
        if weighted is not None:
            by_name = {
                names[at]: weight for at, weight in _weights(form).items() if at < len(names)
            }
            workload = outlook.weighted_workload(plan, by_name, form.get("target") or None)
            options = {key: value for key, value in options.items() if key != "kway"}
            plan = plan_run(schema, RunOptions(**options, workload=workload), records=records)
            options["workload"] = weighted
        questions = [outlook.cell_outlook(plan, columns) for columns in _questions(form, names)]
        data = plan_data(plan)
        state = ledgers.state_at(ledger_path(visit))
    except (DprapError, ValueError) as error:
        message = error if isinstance(error, DprapError) else None
        return nothing | {
            "errors": forms.option_field(message) if message else {"kway": said["whole"]}
        }
    left = ledgers.left_of_cap(state)
    return {
        "plan": plan,
        "data": data,
        "errors": {},
        "beliefs": outlook.beliefs(plan.budget.epsilon),
        "questions": questions,
        "balance": ledgers.balance(state, plan.budget),
        "left": None if left is None else float(left),
        "command": commands.shown(commands.plan(visit.table, options, records)),
    }


def _questions(form: dict[str, Any], names: list[str]) -> list[tuple[str, ...]]:
    """The columns of which people want to know how good their counts will be; a single, a pair and
    a triple unasked.
    """
    asked = [form.get(f"about-{each}", "") for each in range(3)]
    chosen = tuple(dict.fromkeys(name for name in asked if name in names))
    standing = [names[:1], names[:2], names[:3]]
    found = [chosen] if chosen else []
    found += [tuple(each) for each in standing if tuple(each) not in found]
    return found[:_MOST_QUESTIONS]


def ledger_path(visit: Visit) -> Path:
    """Where the ledger of the table is.

    Raises:
        LedgerError: If a link leads elsewhere.

    """
    database = visit.table.folder / f"{visit.table.stem}.dprap" / "ledger.jsonl"
    path = database if visit.table.is_database else ledgers.ledger_of(visit.table.path)
    if path.is_symlink() or path.parent.is_symlink():
        raise LedgerError(texts()["ledger"]["is_link"])
    return path
