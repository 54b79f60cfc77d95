"""What people write into forms, as columns of a schema and options of a run; errors by the field
they belong to.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from dprap.errors import DprapError
from dprap.runs.options import ABOUT

Form = Mapping[str, Any]
Errors = dict[str, str]

TYPES = ("categorical", "boolean", "integer", "number", "date", "datetime")
POLICIES = {
    "categorical": ("error", "other", "null"),
    "boolean": ("error", "null"),
    "integer": ("error", "clip", "null"),
    "number": ("error", "clip", "null"),
    "date": ("error", "clip", "null"),
    "datetime": ("error", "clip", "null"),
}
# Where a type has no form; the schema refuses what does not fit.
ANY_POLICY = ("error", "clip", "null")
UNITS = {
    "date": ("day", "week", "month", "quarter", "year"),
    "datetime": ("second", "minute", "hour", "day", "week", "month", "quarter", "year"),
}
BINNING = ("each", "bins", "width", "edges")
# What the form of each type asks for; everything else that a column says is left as it is.
_ASKED = {
    "categorical": ("values", "other"),
    "boolean": (),
    "integer": ("min", "max", "bins", "width", "edges", "spacing"),
    "number": ("min", "max", "bins", "width", "edges", "spacing", "decimals"),
    "date": ("min", "max", "unit", "width"),
    "datetime": ("min", "max", "unit", "width", "timezone"),
}
_COMMON = ("type", "description", "nullable", "null_values", "out_of_domain")
_SETTING = re.compile(r"^column '.*?': (\w+): (.*)$", re.DOTALL)


def offered(kind: str) -> dict[str, Any]:
    """What the form of a column offers: its type, and what it may be changed to.

    A type that has no form of its own stays, and with it all that a form does not ask for.
    """
    return {
        "kind": kind,
        "types": TYPES if kind in TYPES else (*TYPES, kind),
        "units": UNITS.get(kind, ()),
        "policies": POLICIES.get(kind, ANY_POLICY),
    }


def whole(text: str) -> int:
    """A whole number."""
    return int(text.strip().replace(" ", "").replace("_", ""))


def number(text: str) -> float | int:
    """A number; whole ones stay whole."""
    plain = text.strip().replace(" ", "")
    try:
        return int(plain)
    except ValueError:
        return float(plain)


def lines(text: str) -> list[str]:
    """The lines of a text area, without empty ones."""
    return [line.strip() for line in text.replace("\r", "").split("\n") if line.strip()]


def column_of(
    form: Form, before: Mapping[str, Any], texts: Mapping[str, str]
) -> tuple[dict[str, Any], Errors]:
    """A column as the form describes it.

    Args:
        form: The fields.
        before: The column as it was; what the form does not ask for is kept while the type is the
            same.
        texts: What to say of a field that is not a number.

    Returns:
        The column's mapping, and what is wrong with which field.
    """
    kind = str(form.get("type", ""))
    if kind not in TYPES and kind != before.get("type"):
        return dict(before), {"type": texts["type"]}
    errors: Errors = {}
    asked = (*_COMMON, *_ASKED.get(kind, ()))
    column = (
        {key: value for key, value in before.items() if key not in asked}
        if before.get("type") == kind
        else {}
    )
    column = {"type": kind} | column

    def put(name: str, read: Callable[[str], Any], message: str) -> None:
        text = str(form.get(name, "")).strip()
        if text:
            try:
                column[name] = read(text)
            except (ValueError, OverflowError):
                errors[name] = message

    put("description", str, "")
    if kind == "categorical":
        _put_values(form, before, column)
    elif kind in ("integer", "number"):
        read, message = (whole, texts["whole"]) if kind == "integer" else (number, texts["number"])
        put("min", read, message)
        put("max", read, message)
        _put_bins(form, column, errors, read, message, texts)
        if kind == "number":
            put("decimals", whole, texts["whole"])
    elif kind in UNITS:
        put("min", str, "")
        put("max", str, "")
        put("unit", str, "")
        put("width", whole, texts["whole"])
        if kind == "datetime":
            put("timezone", str, "")
    if form.get("nullable"):
        column["nullable"] = True
    nulls = str(form.get("null_values", ""))
    if nulls.strip() or "null_values" in before:
        column["null_values"] = sorted({"", *(word.strip() for word in nulls.split(","))})
    policy = str(form.get("out_of_domain", ""))
    if policy in POLICIES.get(kind, ANY_POLICY) and policy != (
        "other" if column.get("other") else "error"
    ):
        column["out_of_domain"] = policy
    return column, errors


def _put_values(form: Form, before: Mapping[str, Any], column: dict[str, Any]) -> None:
    if "groups" in column:
        return  # groups of values are kept as the file has them
    values: list[Any] = lines(str(form.get("values", "")))
    if all(isinstance(value, int) for value in before.get("values") or [""]):
        with contextlib.suppress(ValueError):
            values = [whole(value) for value in values]
    column["values"] = values
    other = str(form.get("other", "")).strip()
    if other:
        column["other"] = other


def _put_bins(
    form: Form,
    column: dict[str, Any],
    errors: Errors,
    read: Callable[[str], Any],
    message: str,
    texts: Mapping[str, str],
) -> None:
    how, text = str(form.get("binning", "")), str(form.get("bin_value", "")).strip()
    if how not in BINNING[1:]:
        return
    try:
        if how == "edges":
            column["edges"] = [read(each) for each in re.split(r"[;,\n]+", text) if each.strip()]
            column.pop("min", None)
            column.pop("max", None)
        else:
            column[how] = whole(text) if how == "bins" else read(text)
    except ValueError:
        errors["bin_value"] = texts["whole"] if how == "bins" else message
    if form.get("spacing") == "log" and how == "bins":
        column["spacing"] = "log"


def bins_of(column: Mapping[str, Any]) -> tuple[str, str]:
    """How a column's form shows its bins: the choice, and its value."""
    if "edges" in column:
        return "edges", ", ".join(_plain(each) for each in column["edges"])
    for how in ("bins", "width"):
        if column.get(how) is not None:
            return how, _plain(column[how])
    return "each", ""


def _plain(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def by_field(error: DprapError) -> Errors:
    """A refusal of a column, under the setting that it names, or under the empty name."""
    found = _SETTING.match(str(error))
    if found is None:
        return {"": re.sub(r"^column '.*?': ", "", str(error))}
    name = "bin_value" if found[1] in ("bins", "width", "edges") else found[1]
    return {name: found[2]}


# Options of the plan's form, and how their text is read.
_FLOATS = ("epsilon", "delta", "certificate_share", "ledger_cap_rho")
_WHOLE = ("max_rows_per_person", "kway", "rows", "max_cells", "seed")
_WORDS = ("neighbors", "person_column", "excess", "method", "accounting", "table_format", "ledger")


def options_of(form: Form, texts: Mapping[str, str]) -> tuple[dict[str, Any], Errors]:
    """Options of a run as the form gives them, without empty ones, and what is wrong with which
    field.
    """
    options: dict[str, Any] = {}
    errors: Errors = {}
    for names, read, message in (
        (_FLOATS, _float, texts["number"]),
        (_WHOLE, whole, texts["whole"]),
    ):
        for name in names:
            text = str(form.get(name, "")).strip()
            if text:
                try:
                    options[name] = read(text)
                except (ValueError, OverflowError):
                    errors[name] = message
    for name in _WORDS:
        text = str(form.get(name, "")).strip()
        if text:
            options[name] = text
    if "epsilon" not in options:
        errors.setdefault("epsilon", texts["epsilon"])
    return options, errors


def _float(text: str) -> float:
    return float(number(text))


def option_field(error: DprapError) -> Errors:
    """A refusal of options, under the field that its message names, or under the empty name."""
    message = str(error)
    for name, about in ABOUT.items():
        if about.flag is not None and re.search(
            rf"(?<![\w-]){re.escape(about.flag)}(?![\w-])", message
        ):
            return {name: message}
    for name in ("delta", "epsilon"):
        if message.startswith(name):
            return {name: message}
    return {"": message}


def records_of(form: Form, texts: Mapping[str, str]) -> tuple[int | None, Errors]:
    """The number of records, if it was given."""
    text = str(form.get("records", "")).strip()
    if not text:
        return None, {}
    try:
        found = whole(text.replace(",", ""))
    except ValueError:
        return None, {"records": texts["whole"]}
    return (found, {}) if found >= 1 else (None, {"records": texts["whole"]})
