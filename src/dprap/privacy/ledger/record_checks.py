"""What a record of a ledger must hold before anybody acts on it.

The hashes of a chain have no key, so anybody can write lines with right hashes. Every field that is
used later, as a number, as a part of a file name or on the screen, is therefore checked here, for
each kind of record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dprap.accounting.zcdp import MOST_RHO
from dprap.errors import LedgerError

# Version 2 says in each charge what was released (`event`), and knows abandoned runs and anchors. A
# ledger of version 1 lacks these and is otherwise the same, so it is read, and spent from, as it
# is.
VERSION = 2
READABLE_VERSIONS = (1, 2)

# Run names become parts of file names.
_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")

# Python turns no longer texts into integers, so no charge was ever written with more digits.
_RHO = re.compile(r"[0-9]{1,4300}(/[0-9]{1,4300})?", re.ASCII)

_LONGEST_TEXT = 4096


def check_run_name(run: str) -> None:
    """Refuse a name that cannot be a part of a file name."""
    if not _is_run(run):
        raise LedgerError(
            "a run's name is made of letters, digits, dots, dashes and underscores, at most 100 of"
            " them."
        )


def check_record(kind: Any, body: Any) -> None:
    """Raise LedgerError unless the record has all fields that its kind needs, each of the right
    form.
    """
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None or not isinstance(body, dict):
        raise LedgerError("a record is of no known kind.")
    if (
        kind == "open"
        and _is_whole(body.get("version"))
        and body["version"] not in READABLE_VERSIONS
    ):
        raise LedgerError(
            f"its format is version {body['version']}, and this dprap reads version {VERSION}. "
            "Use the dprap that wrote it."
        )
    for name, (is_right, needed) in fields.items():
        if not is_right(body[name]) if name in body else needed:
            raise LedgerError(f"a record of kind {kind} lacks a right {name!r}.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT and value.isprintable()


def _is_run(value: Any) -> bool:
    return isinstance(value, str) and _RUN_NAME.fullmatch(value) is not None


def _is_rho(value: Any) -> bool:
    if not isinstance(value, str) or not _RHO.fullmatch(value):
        return False
    try:
        return 0 < Fraction(value) <= MOST_RHO
    except ZeroDivisionError:
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_event(value: Any) -> bool:
    """Of an event only its part of δ is added up; the rest is shown."""
    if not isinstance(value, dict):
        return False
    taken = value.get("threshold_delta", 0.0)
    return _is_number(taken) and 0 <= taken < 1


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _or_none(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_right(value)


# For each kind and field: the test of its form, and whether it must be there.
_FIELDS: dict[str, dict[str, tuple[Callable[[Any], bool], bool]]] = {
    "open": {
        "version": (_is_whole, True),
        "relation": (_is_text, True),
        "max_rows_per_person": (_is_whole, True),
        "cap_rho": (_or_none(_is_rho), True),
        "created": (_is_text, False),
        "name": (_is_text, False),
    },
    "run": {
        "run": (_is_run, True),
        "rho": (_is_rho, True),
        "epsilon": (_is_number, False),
        "delta": (_is_number, False),
        "accounting": (_is_text, False),
        "domain": (_is_text, False),
        "data": (_is_text, False),
        "started": (_is_text, False),
    },
    "charge": {
        "run": (_is_run, True),
        "step": (_is_whole, True),
        "verb": (_is_text, True),
        "digest": (_is_text, True),
        "rho": (_is_rho, True),
        "event": (_is_event, False),
    },
    "result": {
        "run": (_is_run, True),
        "step": (_is_whole, True),
        "file": (_is_text, True),
        "sha256": (_is_sha256, True),
    },
    "done": {"run": (_is_run, True)},
    "abandon": {"run": (_is_run, True)},
    "anchor": {"place": (_is_text, True)},
}
