"""Settings of a column from the few facts that all sources have: a kind of value, a list,
bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def column_settings(
    kind: str | None,
    *,
    values: Sequence[Any] | None = None,
    low: Any = None,
    high: Any = None,
    nullable: bool = False,
    description: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Settings of a column, as far as they are known; those that are None are left out.

    Numbers get no bins: a run finds intervals by itself, and equal bins would spread zeros and long
    tails evenly.
    """
    settings: dict[str, Any] = {}
    if values is not None and len(values) > 0 and kind != "boolean":
        whole = all(type(value) is int for value in values)
        settings = {
            "type": "categorical",
            "values": list(values) if whole else [str(value) for value in values],
        }
    elif kind is not None:
        settings = {"type": kind}
        if (
            low is not None
            and high is not None
            and kind in ("integer", "number", "date", "datetime")
        ):
            settings |= {"min": low, "max": high}
    settings |= {name: value for name, value in more.items() if value is not None}
    if nullable:
        settings["nullable"] = True
    if description:
        settings["description"] = str(description)
    return settings
