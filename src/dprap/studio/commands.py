"""The command lines of dprap that the studio runs, and shows.

They run in the table's folder, with paths relative to it: a name that begins with a dash or holds
blanks is written `./-name`, so that it can never be taken for an option.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dprap.runs.options import ABOUT, DEFAULTS, PLANNED
from dprap.studio.workspace import Table, Workspace


def shown(arguments: list[str]) -> str:
    """A command line as somebody would type it."""
    return shlex.join(["dprap", *arguments])


def table_argument(workspace: Workspace, table: Table) -> str:
    """How a command names the table."""
    database = workspace.database_of(table)
    return f"./{table.path.name}" if database is None else database[0]


def draft(
    workspace: Workspace,
    table: Table,
    csv: Mapping[str, Any],
    *,
    known: Path | None = None,
    force: bool,
) -> list[str]:
    """Propose a schema; `csv` is what the steward said about how a CSV file is written, `known` is
    metadata of other tools.
    """
    return [
        *(
            "schema",
            "draft",
            table_argument(workspace, table),
            "--output",
            f"./{table.own_schema.name}",
        ),
        *(f"--{name.replace('_', '-')}={value}" for name, value in csv.items()),
        *([] if known is None else ["--known", f"./{os.path.relpath(known, table.folder)}"]),
        *(["--force"] if force else []),
    ]


def check(workspace: Workspace, table: Table) -> list[str]:
    """Check the table against its schema."""
    return ["schema", "check", f"./{table.schema.name}", table_argument(workspace, table), "--json"]


def plan(table: Table, options: Mapping[str, Any], records: int | None) -> list[str]:
    """Show what a run would do."""
    given = {name: value for name, value in options.items() if name in PLANNED}
    counted = [] if records is None else ["--records", str(records)]
    return ["plan", f"./{table.schema.name}", *flags(given), *counted]


def synth(workspace: Workspace, table: Table, options: Mapping[str, Any], out: Path) -> list[str]:
    """Spend the budget."""
    place = ["--schema", f"./{table.schema.name}", "--out", f"./{out.name}"]
    return ["synth", table_argument(workspace, table), *place, *flags(options), "--yes"]


def resume(workspace: Workspace, table: Table, out: Path) -> list[str]:
    """Go on with a run, on this very table."""
    data = [] if table.is_database else ["--data", table_argument(workspace, table)]
    return ["resume", f"./{out.name}", *data]


def evaluate(
    workspace: Workspace, table: Table, options: Mapping[str, Any], out: Path
) -> list[str]:
    """Compare a release with the table."""
    reading = {
        name: options[name]
        for name in ("database_table", "person_column", "excess")
        if name in options
    }
    return ["evaluate", f"./{out.name}", table_argument(workspace, table), *flags(reading)]


def flags(options: Mapping[str, Any]) -> list[str]:
    """Options of a run as flags, without those that have their default."""
    found: list[str] = []
    for name, value in options.items():
        if name == "settings":
            for setting, given in (value or {}).items():
                found += ["--set", f"{setting}={json.dumps(given)}"]
        elif value is not None and value != DEFAULTS.get(name):
            flag = ABOUT[name].flag
            if flag is not None:
                # one word, so that a value that begins with a dash is a value
                found.append(f"{flag}={_text(value)}")
    return found


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
