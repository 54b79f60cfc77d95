"""What the studio remembers of a table: who reviews it, imported metadata, the number of records,
the plan.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from dprap.studio.workspace import Table, Workspace

_LARGEST = 1 << 22


def read_json(path: Path) -> dict[str, Any]:
    """A mapping from a small file; an empty one where there is none or it is damaged.

    Links are not followed.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            kept = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file by a new one, whole or not at all, which only the steward can read."""
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def notes_of(workspace: Workspace, table: Table) -> dict[str, Any]:
    """What is remembered of a table."""
    return read_json(workspace.memory_of(table) / "notes.json")


def note_down(workspace: Workspace, table: Table, **changes: Any) -> dict[str, Any]:
    """Remember more of a table; None forgets."""
    kept = {
        key: value
        for key, value in (notes_of(workspace, table) | changes).items()
        if value is not None
    }
    write_whole(workspace.memory_of(table) / "notes.json", json.dumps(kept, indent=1).encode())
    return kept
