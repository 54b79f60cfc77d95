"""Step 2: the schema. One card a column; what came from the data is marked until somebody vouches for it."""

from __future__ import annotations

import getpass
import hashlib
import json
import time
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from dprap.errors import DprapError, SchemaError, SettingsError
from dprap.runs import schema_files
from dprap.runs.outlook import bin_widths, end_labels, labels
from dprap.studio import commands, forms, tasks
from dprap.studio.gate import CSRF_FIELD
from dprap.studio.notes import note_down, notes_of
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
        return visit.show("schema_empty.html", 422, step="schema", errors={"": str(error)}, **values)
    mapping = schema.as_mapping()
    vouched = notes_of(visit.workspace, table).get("vouched", {})
    cards = [
        _card(schema, position, name, mapping["columns"][name], vouched) for position, name in enumerate(schema.columns)
    ]
    task = tasks.last_task(visit.workspace, table)
    is_check = task is not None and task.kind == "check"
    shown = {
        "step": "schema",
        "cards": cards,
        "version": schema_files.version_of(table.schema),
        "is_draft": schema.is_draft,
        "left": sum(not card["vouched"] for card in cards),
        "codes": schema.domain.onehot_size,
        "ignored": schema.ignore_columns,
        "constraints": [_constraint_text(each) for each in mapping.get("constraints", [])],
        "names": list(schema.columns),
        "task": task if is_check and task is not None and task.is_running else None,
        "checked": _checked(visit) if is_check and task is not None and not task.is_running else None,
        "by": _who(visit),
        "card_errors": {},
        "edited": None,
        "form": {},
        "command": commands.shown(commands.check(visit.workspace, table)[:-1]),
    }
    return visit.show("schema.html", status, **(shown | values))


def _card(
    schema: Any, position: int, name: str, column: Mapping[str, Any], vouched: Mapping[str, Any]
) -> dict[str, Any]:
    """What the card of a column shows."""
    record = vouched.get(name)
    current = isinstance(record, dict) and record.get("digest") == _digest(column)
    how, value = forms.bins_of(column)
    is_fine = name in schema.fine_columns
    shown = end_labels(schema, name) if is_fine else _fitting(labels(schema, name, _MOST_LABELS))
    return {
        "position": position,
        "name": name,
        "column": column,
        "kind": column["type"],
        "size": schema.columns[name].size,
        "labels": shown,
        "more": 0 if is_fine else schema.columns[name].size - len(shown),
        "is_fine": is_fine,
        "widths": bin_widths(schema, name, _MOST_BINS),
        "is_total": schema.columns[name].is_total,
        "policy": schema.columns[name].policy,
        "binning": how,
        "bin_value": value,
        "vouched": record if current else None,
    }


def _fitting(texts_of_codes: list[str]) -> list[str]:
    """As many labels as fit on about a line, and at least one."""
    lengths = accumulate(len(text) + 2 for text in texts_of_codes)
    return [text for text, end in zip(texts_of_codes, lengths, strict=True) if end <= _MOST_LETTERS] or texts_of_codes[
        :1
    ]


def column_form(visit: Visit) -> Response:
    """The form of one column for another type, before anything is saved."""
    schema = schema_files.load_schema(visit.table.schema)
    position = visit.request.path_params["column"]
    if position >= len(schema.columns):
        return refusal("gone", 404)
    name = list(schema.columns)[position]
    column = schema.as_mapping()["columns"][name]
    vouched = notes_of(visit.workspace, visit.table).get("vouched", {})
    card = _card(schema, position, name, column, vouched)
    kind = visit.form.get("type", "")
    if kind in forms.TYPES and kind != card["kind"]:
        card |= {"kind": kind, "policy": "error", "binning": "bins" if kind == "number" else "each", "bin_value": ""}
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
    because = visit.form.get("because", "").strip()
    if visit.form.get("do") == "vouch" and not because:
        errors["because"] = said["because"]
    if not errors:
        try:
            changed = schema_files.change_schema(table.schema, version, schema_files.replace_column(name, column))
        except schema_files.ChangedMeanwhileError as error:
            return _page(visit, 409, errors={"": str(error)})
        except SchemaError as error:
            errors = forms.by_field(error)
        else:
            if visit.form.get("do") == "vouch":
                _vouch(visit, {name: changed.as_mapping()["columns"][name]}, because)
            return visit.to("schema", f"#column-{position}")
    return _page(visit, 422, card_errors=errors, edited=position, form=visit.form)


def vouch_for_all(visit: Visit) -> Response:
    """Vouch for all columns that nobody vouched for yet, with one reason."""
    because = visit.form.get("because", "").strip()
    if not because:
        return _page(visit, 422, errors={"because": texts()["forms"]["because"]})
    _require_version(visit)
    schema = schema_files.load_schema(visit.table.schema)
    vouched = notes_of(visit.workspace, visit.table).get("vouched", {})
    columns = schema.as_mapping()["columns"]
    missing = {
        name: column
        for name, column in columns.items()
        if not isinstance(vouched.get(name), dict) or vouched[name].get("digest") != _digest(column)
    }
    _vouch(visit, missing, because)
    return visit.to("schema", "#accept")


def accept(visit: Visit) -> Response:
    """Lift the draft once somebody has vouched for every column, and check the table."""
    schema = schema_files.load_schema(visit.table.schema)
    if schema.is_draft:
        vouched = notes_of(visit.workspace, visit.table).get("vouched", {})
        for name, column in schema.as_mapping()["columns"].items():
            if not isinstance(vouched.get(name), dict) or vouched[name].get("digest") != _digest(column):
                return _page(visit, 422, errors={"because": texts()["forms"]["not_all"]})
        _require_version(visit)
        words = {name: {key: word[key] for key in ("by", "because", "on")} for name, word in vouched.items()}
        change = schema_files.lift_draft(words)
        schema_files.change_schema(visit.table.schema, visit.form.get("version", ""), change)
    return check(visit)


def check(visit: Visit) -> Response:
    """Check the table against the schema, in a process of its own."""
    if visit.table.is_database:
        return visit.to("plan")
    note_down(visit.workspace, visit.table, records=None)
    tasks.start(visit.workspace, visit.table, "check", commands.check(visit.workspace, visit.table))
    return visit.to("schema", "#check")


def add_constraint(visit: Visit) -> Response:
    """Declare that values of two columns do not occur together."""
    said = texts()["forms"]
    columns = [visit.form.get(f"column_{side}", "") for side in ("a", "b")]
    conditions = [visit.form.get(f"values_{side}", "") for side in ("a", "b")]
    schema = schema_files.load_schema(visit.table.schema)
    errors = {}
    where: dict[str, Any] = {}
    for side, name, text in zip("ab", columns, conditions, strict=True):
        if name not in schema.columns:
            errors[f"column_{side}"] = said["which_column"]
            continue
        try:
            where[name] = _condition(schema.columns[name].type, text)
        except ValueError:
            errors[f"values_{side}"] = said["which_values"]
    if not errors and len(where) < 2:
        errors["column_b"] = said["two_columns"]
    if not errors:
        try:
            made = schema_files.add_constraint({"type": "forbid", "where": where})
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
    """Take a schema that is known already, in place of the one there is."""
    workspace, keys = request.app.state.workspace, request.app.state.keys
    found = workspace.table(request.path_params["table"])
    if found is None:
        return refusal("gone", 404)
    memory = workspace.memory_of(found) / "import"
    suffix: list[str] = []

    def target(file_name: str) -> Any:
        ending = "." + file_name.rpartition(".")[2].lower()
        if ending not in _FORMS:
            raise SettingsError(texts()["forms"]["schema_ending"])
        suffix.append(ending)
        memory.unlink(missing_ok=True)
        return memory

    taken = Upload(lambda name, value: name == CSRF_FIELD and keys.is_form_token(value), target, _LARGEST_SCHEMA)
    problem = None
    try:
        await taken.take(request.headers.get("content-type", ""), request.stream())
        if taken.path is None or not suffix:
            raise SettingsError(texts()["home"]["which_file"])
        schema = schema_files.read_schema(taken.path.read_bytes(), cast("Any", _FORMS[suffix[0]]))
        schema_files.save_schema(schema, found.own_schema)
    except DprapError as error:
        problem = str(error)
    finally:
        taken.discard()
    if not taken.fields:
        return refusal("origin")

    def answer(visit: Visit) -> Response:
        return visit.to("schema") if problem is None else _page(visit, 422, errors={"import": problem})

    request.scope["method"] = "GET"  # the form was checked as it came in
    return await endpoint(answer)(request)


def _vouch(visit: Visit, columns: Mapping[str, Mapping[str, Any]], because: str) -> None:
    vouched = notes_of(visit.workspace, visit.table).get("vouched", {})
    word = {"by": _who(visit), "because": because, "on": time.strftime("%Y-%m-%d", time.gmtime())}
    new = {name: word | {"digest": _digest(column)} for name, column in columns.items()}
    note_down(visit.workspace, visit.table, vouched=vouched | new, by=_who(visit))


def _who(visit: Visit) -> str:
    """Who vouches: the name in the form, or the last one given for this table, or the user of this machine."""
    given = visit.form.get("by", "").strip()
    return given or str(notes_of(visit.workspace, visit.table).get("by") or "") or _user()


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return str(texts()["schema"]["somebody"])


def _require_version(visit: Visit) -> None:
    if visit.form.get("version", "") != schema_files.version_of(visit.table.schema):
        raise schema_files.ChangedMeanwhileError(texts()["forms"]["changed"])


def _digest(column: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(column, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _checked(visit: Visit) -> dict[str, Any]:
    """What the last check found; its number of records is remembered for the plan."""
    task = tasks.last_task(visit.workspace, visit.table)
    try:
        found = json.loads(task.result()) if task is not None else {}
    except ValueError:
        found = {}
    if not isinstance(found, dict) or "problems" not in found:
        errors = [] if task is None else task.errors()
        return {"problems": errors or [texts()["schema"]["check_failed"]], "notes": [], "records": None}
    if found.get("records") and notes_of(visit.workspace, visit.table).get("records") != found["records"]:
        note_down(visit.workspace, visit.table, records=found["records"])
    return found


def _condition(kind: str, text: str) -> Any:
    """Values of a column as a constraint writes them: a list, or `low..high` for columns with an order."""
    low, dots, high = text.strip().partition("..")
    if dots and kind != "categorical":
        read = forms.number if kind in ("integer", "number") else str
        ends = {"min": low.strip(), "max": high.strip()}
        return {key: read(value) for key, value in ends.items() if value}
    values = [each.strip() for each in text.replace("\n", ",").split(",") if each.strip()]
    if not values:
        raise ValueError
    if kind == "boolean":
        return [{"true": True, "false": False}[each.lower()] for each in values]
    return [forms.number(each) for each in values] if kind in ("integer", "number") else values


def _constraint_text(constraint: Mapping[str, Any]) -> str:
    said = texts()["schema"]
    if constraint["type"] == "forbid":
        parts = []
        for name, condition in constraint["where"].items():
            if isinstance(condition, dict):
                shown = f"{condition.get('min', '')}..{condition.get('max', '')}"
            else:
                shown = ", ".join("null" if each is None else str(each) for each in condition)
            parts.append(f"{name} = {shown}")
        return cast("str", said["forbidden"]).format(what=cast("str", said["and"]).join(parts))
    return cast("str", said["determined"]).format(source=constraint.get("from", ""), target=constraint.get("to", ""))
