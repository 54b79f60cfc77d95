"""Step 2: the schema.

One card a column; what came from the data is marked until somebody vouches for it.
"""

from __future__ import annotations

import getpass
import json
from datetime import UTC, date, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from dprap.errors import DprapError, SchemaError, SettingsError
from dprap.runs import schema_files
from dprap.runs.outlook import bin_widths, end_labels, labels
from dprap.studio import commands, forms, tasks
from dprap.studio.constraint_forms import constraint_text, declared_in
from dprap.studio.gate import CSRF_FIELD
from dprap.studio.notes import note_down, notes_of
from dprap.studio.pages.table import KNOWN, start_draft, table_names
from dprap.studio.uploads import Upload
from dprap.studio.views import texts
from dprap.studio.visit import Visit, endpoint, refusal

_MOST_LABELS = 24
_MOST_LETTERS = 110
_MOST_BINS = 200
_LARGEST_SCHEMA = 16 << 20
_FORMS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


def show(visit: Visit) -> Response:
    """The schema, card by card."""
    return _page(visit)


def _page(visit: Visit, status: int = 200, **values: Any) -> Response:
    table = visit.table
    if not table.has_schema:
        return visit.show("schema_empty.html", status, step="schema", **values)
    try:
        schema = schema_files.load_schema(table.schema)
    except SchemaError as error:
        return visit.show(
            "schema_empty.html", 422, step="schema", errors={"": str(error)}, **values
        )
    mapping = schema.as_mapping()
    cards = [_card(schema, position, name) for position, name in enumerate(schema.columns)]
    edited, kind = values.get("edited"), values.get("form", {}).get("type")
    if edited is not None and kind in forms.TYPES:
        cards[edited] |= forms.offered(kind)
    suggested = schema_files.suggested_constraints(table.schema) if schema.is_draft else []
    task = tasks.last_task(visit.workspace, table)
    is_check = task is not None and task.kind == "check"
    shown = {
        "step": "schema",
        "cards": cards,
        "version": schema_files.version_of(table.schema),
        "is_draft": schema.is_draft,
        "left": len(schema_files.unread_columns(schema)),
        "questions": sum(bool(card["note"] and card["note"].question) for card in cards),
        "codes": schema.domain.onehot_size,
        "ignored": {name: schema.draft_notes.get(name) for name in schema.ignore_columns},
        "discover": list(schema.discover),
        "suggested": [constraint_text(each) for each in suggested],
        "constraints": [constraint_text(each) for each in mapping.get("constraints", [])],
        "names": list(schema.columns),
        "task": task if is_check and task is not None and task.is_running else None,
        "checked": (
            _checked(visit) if is_check and task is not None and not task.is_running else None
        ),
        "by": _who(visit),
        "card_errors": {},
        "edited": None,
        "form": {},
        "command": commands.shown(commands.check(visit.workspace, table)[:-1]),
    }
    return visit.show("schema.html", status, **(shown | values))


def _card(schema: Any, position: int, name: str) -> dict[str, Any]:
    """What the card of a column shows."""
    column = schema.as_mapping()["columns"][name]
    how, value = forms.bins_of(column)
    is_fine = name in schema.fine_columns
    shown = end_labels(schema, name) if is_fine else _fitting(labels(schema, name, _MOST_LABELS))
    return {
        "position": position,
        "name": name,
        "column": column,
        **forms.offered(column["type"]),
        "size": schema.columns[name].size,
        "labels": shown,
        "more": 0 if is_fine else schema.columns[name].size - len(shown),
        "is_fine": is_fine,
        "widths": bin_widths(schema, name, _MOST_BINS),
        "is_total": schema.columns[name].is_total,
        "policy": schema.columns[name].policy,
        "binning": how,
        "bin_value": value,
        "note": schema.draft_notes.get(name),
        "from_data": schema_files.taken_from_data(schema, name),
        "vouched": schema.vouched.get(name),
    }


def _fitting(texts_of_codes: list[str]) -> list[str]:
    """As many labels as fit on about a line, and at least one."""
    lengths = accumulate(len(text) + 2 for text in texts_of_codes)
    return [
        text for text, end in zip(texts_of_codes, lengths, strict=True) if end <= _MOST_LETTERS
    ] or texts_of_codes[:1]


def column_form(visit: Visit) -> Response:
    """The form of one column for another type, before anything is saved."""
    schema = schema_files.load_schema(visit.table.schema)
    position = visit.request.path_params["column"]
    if position >= len(schema.columns):
        return refusal("gone", 404)
    name = list(schema.columns)[position]
    card = _card(schema, position, name)
    kind = visit.form.get("type", "")
    if kind in forms.TYPES and kind != card["kind"]:
        card |= {
            **forms.offered(kind),
            "policy": "error",
            "binning": "bins" if kind == "number" else "each",
            "bin_value": "",
        }
    version = schema_files.version_of(visit.table.schema)
    return visit.show("column_fields.html", card=card, version=version, card_errors={}, form={})


def save_column(visit: Visit) -> Response:
    """Save one card, and vouch for it where asked."""
    table, position = visit.table, visit.request.path_params["column"]
    said = texts()["forms"]
    schema = schema_files.load_schema(table.schema)
    names = list(schema.columns)
    if position >= len(names) or names[position] != visit.form.get("name"):
        raise schema_files.ChangedMeanwhileError(said["changed"])
    name, version = names[position], visit.form.get("version", "")
    if visit.form.get("do") == "drop":
        schema_files.change_schema(table.schema, version, schema_files.drop_column(name))
        return visit.to("schema")
    column, errors = forms.column_of(visit.form, schema.as_mapping()["columns"][name], said)
    because, is_accepted = visit.form.get("because", "").strip(), visit.form.get("do") == "vouch"
    if not errors:
        try:
            edited = schema_files.replace_column(name, column)(schema)
            if is_accepted and schema_files.taken_from_data(edited, name) and not because:
                return _page(
                    visit,
                    422,
                    card_errors={"because": said["because"]},
                    edited=position,
                    form=visit.form,
                )
            change = _accepting(visit, [name], because) if is_accepted else lambda changed: changed
            schema_files.change_schema(table.schema, version, lambda _: change(edited))
        except schema_files.ChangedMeanwhileError as error:
            return _page(visit, 409, errors={"": str(error)})
        except SchemaError as error:
            errors = forms.by_field(error)
        else:
            return visit.to("schema", f"#column-{position}")
    return _page(visit, 422, card_errors=errors, edited=position, form=visit.form)


def vouch_for_all(visit: Visit) -> Response:
    """Accept all columns that nobody has accepted yet, with one reason for what came from the
    data.
    """
    because = visit.form.get("because", "").strip()
    schema = schema_files.load_schema(visit.table.schema)
    left = schema_files.unread_columns(schema)
    if not because and any(schema_files.taken_from_data(schema, name) for name in left):
        return _page(visit, 422, errors={"because": texts()["forms"]["because"]})
    schema_files.change_schema(
        visit.table.schema, visit.form.get("version", ""), _accepting(visit, left, because)
    )
    return visit.to("schema", "#accept")


def accept(visit: Visit) -> Response:
    """Lift the draft once every column was accepted, and check the table."""
    schema = schema_files.load_schema(visit.table.schema)
    if schema.is_draft:
        if schema_files.unread_columns(schema):
            return _page(visit, 422, errors={"because": texts()["forms"]["not_all"]})
        schema_files.change_schema(
            visit.table.schema, visit.form.get("version", ""), schema_files.finish_review
        )
    return check(visit)


def check(visit: Visit) -> Response:
    """Check the table against the schema, in a process of its own."""
    if visit.table.is_database:
        return visit.to("plan")
    note_down(visit.workspace, visit.table, records=None)
    tasks.start(visit.workspace, visit.table, "check", commands.check(visit.workspace, visit.table))
    return visit.to("schema", "#check")


def add_constraint(visit: Visit) -> Response:
    """Declare what holds between two columns, or take a suggestion of the draft."""
    schema = schema_files.load_schema(visit.table.schema)
    if "suggestion" in visit.form:
        suggested = schema_files.suggested_constraints(visit.table.schema)
        position = visit.form["suggestion"]
        errors: forms.Errors = {}
        constraint = (
            suggested[int(position)]
            if position.isdigit() and int(position) < len(suggested)
            else {}
        )
        if not constraint:
            raise schema_files.ChangedMeanwhileError(texts()["forms"]["changed"])
    else:
        constraint, errors = declared_in(visit.form, schema)
    if not errors:
        try:
            made = schema_files.add_constraint(constraint)
            schema_files.change_schema(visit.table.schema, visit.form.get("version", ""), made)
        except SchemaError as error:
            errors[""] = str(error)
        else:
            return visit.to("schema", "#constraints")
    return _page(visit, 422, errors={"constraint": errors.get("", "")} | errors, form=visit.form)


def drop_constraint(visit: Visit) -> Response:
    """Take a constraint back."""
    change = schema_files.drop_constraint(visit.request.path_params["position"])
    schema_files.change_schema(visit.table.schema, visit.form.get("version", ""), change)
    return visit.to("schema", "#constraints")


async def import_file(request: Request) -> Response:
    """Take what is known already: a schema of dprap replaces the one there is, metadata of other
    tools win in a new draft.
    """
    workspace, keys = request.app.state.workspace, request.app.state.keys
    found = workspace.table(request.path_params["table"])
    if found is None:
        return refusal("gone", 404)
    memory = workspace.memory_of(found)

    def target(file_name: str) -> Any:
        ending = "." + file_name.rpartition(".")[2].lower()
        if ending not in (*_FORMS, *schema_files.METADATA_ENDINGS):
            raise SettingsError(texts()["forms"]["schema_ending"])
        path = memory / f"{KNOWN}{ending}"
        path.unlink(missing_ok=True)
        return path

    taken = Upload(
        lambda name, value: name == CSRF_FIELD and keys.is_form_token(value),
        target,
        _LARGEST_SCHEMA,
    )
    problem, is_metadata = None, False
    try:
        await taken.take(request.headers.get("content-type", ""), request.stream())
        if taken.path is None:
            raise SettingsError(texts()["home"]["which_file"])
        is_metadata = _is_metadata(taken.path)
        if is_metadata:
            schema_files.check_known(
                taken.path, table_names(found.path) if not found.is_database else []
            )
        else:
            schema = schema_files.read_schema(
                taken.path.read_bytes(), cast("Any", _FORMS[taken.path.suffix])
            )
            schema_files.save_schema(schema, found.own_schema)
    except DprapError as error:
        problem = str(error)
    finally:
        if not is_metadata or problem is not None:
            taken.discard()
    if not taken.fields:
        return refusal("origin")

    def answer(visit: Visit) -> Response:
        if problem is not None:
            return _page(visit, 422, errors={"import": problem})
        if is_metadata and taken.path is not None:
            note_down(visit.workspace, visit.table, known=taken.path.name)
            return start_draft(visit)
        return visit.to("schema")

    request.scope["method"] = "GET"  # the form was checked as it came in
    return await endpoint(answer)(request)


def _is_metadata(path: Path) -> bool:
    """Whether a file is of another tool: it has no columns as schemas of dprap have them."""
    if path.suffix not in _FORMS:
        return True
    try:
        schema_files.read_schema(path.read_bytes(), cast("Any", _FORMS[path.suffix]))
    except SchemaError:
        return path.suffix in schema_files.METADATA_ENDINGS and schema_files.is_known(path)
    return False


def _accepting(visit: Visit, names: list[str], because: str) -> schema_files.Change:
    """The change by which whoever looks at the page accepts columns; their name is remembered."""
    who = _who(visit)
    note_down(visit.workspace, visit.table, by=who)
    return schema_files.accept_columns(names, by=who, because=because or "-", on=_today())


def _today() -> date:
    return datetime.now(tz=UTC).date()


def _who(visit: Visit) -> str:
    """Who vouches: the name in the form, or the last one given for this table, or the user of this
    machine.
    """
    given = visit.form.get("by", "").strip()
    return given or str(notes_of(visit.workspace, visit.table).get("by") or "") or _user()


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return str(texts()["schema"]["somebody"])


def _checked(visit: Visit) -> dict[str, Any]:
    """What the last check found; its number of records is remembered for the plan."""
    task = tasks.last_task(visit.workspace, visit.table)
    try:
        found = json.loads(task.result()) if task is not None else {}
    except ValueError:
        found = {}
    if not isinstance(found, dict) or "problems" not in found:
        errors = [] if task is None else task.errors()
        return {
            "problems": errors or [texts()["schema"]["check_failed"]],
            "notes": [],
            "records": None,
        }
    if (
        found.get("records")
        and notes_of(visit.workspace, visit.table).get("records") != found["records"]
    ):
        note_down(visit.workspace, visit.table, records=found["records"])
    return found
