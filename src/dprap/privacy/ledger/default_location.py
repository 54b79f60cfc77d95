"""Where the ledger of a data set is kept when nobody says.

A budget belongs to a data set, so its ledger must be found again by whoever releases the same data,
whatever the output folder, the schema or the method.

* A table in a file: the folder `NAME.dprap` beside it. It travels with the file and is seen by
  everybody who uses it.
* A folder or a glob of files: beside the folder, or beside the folder of the glob's fixed part,
  likewise.
* A table in memory: a folder of the user's own (`$DPRAP_STATE`, else `$XDG_STATE_HOME/dprap`, else
  `~/.local/state/dprap`), under a digest of the table's content: column names and values, in any
  order. Schema, row order, and whether pandas, polars or Arrow holds the values do not matter. An
  edited table is another table.
* A database, a Spark data frame, or a path that this machine does not see: nobody knows a place
  that everybody would meet, so the user is asked for one.

The digest is keyed with a secret in the user's folder: a plain one would let whoever lists the
folder test guesses.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from dprap.errors import LedgerError
from dprap.privacy.ledger.chain import write_durably
from dprap.privacy.ledger.table_digest import content_digest
from dprap.sources.locate import LEDGER_SUFFIX, table_root

_NAME = "ledger.jsonl"


def default_ledger(table: Any, *, engine: str | None = None) -> Path:
    """The ledger of a private table.

    Args:
        table: The table in memory, or the path of a file, a folder or a glob.
        engine: The engine that reads it, if one was named.

    Returns:
        The path of the ledger's file; nothing is created but the key of the user's folder.

    Raises:
        LedgerError: If a database or Spark holds the table, or the user's folder cannot be used.

    """
    is_path = isinstance(table, str | Path) and "://" not in str(table) and engine != "postgres"
    if is_path and (engine != "spark" or table_root(table).exists()):
        return ledger_beside(table)
    if isinstance(table, str | Path) or type(table).__module__.startswith("pyspark."):
        raise LedgerError(
            "a table in a database or in Spark has no place for its ledger. Name a file that all"
            " runs on it will use: --ledger FILE."
        )
    return _in_state_folder(content_digest(table))


def ledger_beside(table: str | Path) -> Path:
    """The ledger of a table in files."""
    root = Path(os.path.realpath(table_root(table)))
    if not root.name:
        raise LedgerError(
            f"there is no place beside {table} for its ledger. Name one with --ledger FILE."
        )
    return root.with_name(root.name + LEDGER_SUFFIX) / _NAME


def named_ledger(file: str | Path) -> Path:
    """A ledger that a user names: by its own file, or by the table beside which it stands."""
    beside = ledger_beside(file)
    if beside.exists():
        return beside
    if Path(file).suffix.lower() in (".csv", ".tsv", ".parquet", ".pq") and Path(file).exists():
        raise LedgerError(
            f"{file} is a table without a ledger: there is none at {beside}. No run has charged it."
        )
    return Path(file)


def _in_state_folder(digest: bytes) -> Path:
    state = os.environ.get("DPRAP_STATE")
    base = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
    folder = Path(state) if state else base / "dprap"
    tables = folder / "tables"
    key_file = folder / "key"
    try:
        if not key_file.exists():
            if tables.exists() and any(tables.iterdir()):
                raise LedgerError(
                    f"{key_file} is gone, so the ledgers below {tables} cannot be found by their"
                    " tables. Restore it, or name the ledger: ledger= in Python."
                )
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _create(key_file, secrets.token_hex(32).encode())
        key = key_file.read_bytes()
    except OSError as error:
        raise LedgerError(
            f"cannot keep a ledger in {folder}: {error.strerror}. Name a file for it: ledger= in"
            " Python."
        ) from error
    return tables / hmac.new(key, digest, hashlib.sha256).hexdigest()[:32] / _NAME


def _create(file: Path, content: bytes) -> None:
    """Create a file whole, unless another process was faster: then its content stands."""
    mine = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    write_durably(mine, content)
    try:
        with suppress(FileExistsError):
            os.link(mine, file)
    finally:
        mine.unlink()
