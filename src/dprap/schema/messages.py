"""One-line messages from pydantic's errors: where in the schema, what is wrong, what to do."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from dprap.schema.columns import TYPE_NAMES

_TYPES = f"{', '.join(TYPE_NAMES[:-1])} or {TYPE_NAMES[-1]}"
_KINDS = {
    "extra_forbidden": "is not a known setting. Remove it or check its spelling",
    "missing": "is required. Add it",
    "union_tag_not_found": f"needs a type: {_TYPES}",
    "union_tag_invalid": f"has an unknown type. Use {_TYPES}",
}


def describe(error: ValidationError) -> str:
    """The first problem of a schema as one line; says how many more there are.

    Never quotes a value.

    A choice between types (text or integers) gives one error per alternative: they share a place
    and count once.
    """
    problems: dict[str, dict[str, Any]] = {}
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        problems.setdefault(_place(each["loc"]), dict(each))
    place, first = next(iter(problems.items()))
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place}{_text(first)}.{more}"


def _place(location: tuple[int | str, ...]) -> str:
    if len(location) >= 2 and location[0] == "columns":
        # columns, name, [type tag,] setting, ...
        setting = [str(step) for step in location[3:4]]
        return f"column {str(location[1])!r}: " + "".join(f"{step}: " for step in setting)
    if len(location) >= 2 and location[0] == "constraints" and isinstance(location[1], int):
        setting = [str(step) for step in location[3:4]]
        return f"constraint {location[1] + 1}: " + "".join(f"{step}: " for step in setting)
    return "".join(f"{step}: " for step in location[:1])


def _text(problem: dict[str, Any]) -> str:
    kind = problem["type"]
    if kind in _KINDS:
        return _KINDS[kind]
    message = str(problem["msg"])
    if kind == "value_error":
        return message.removeprefix("Value error, ").removesuffix(".")
    if kind.endswith(("string_type", "int_type")):
        return (
            "mixes types or has one that does not fit here. Quote text values (yes, no, on, off and"
            " dates in YAML too)"
        )
    return message[0].lower() + message[1:]
