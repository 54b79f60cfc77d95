"""Whether a release can be written where and as it is asked for: everything that can be known
before it is paid for.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dprap.arguments import as_one_of
from dprap.errors import SettingsError
from dprap.release.draw_records import MOST_ROWS_HELD
from dprap.schema import Schema

# What is in memory of a table: for each of its records a relaxed row, a random point and a place in
# the order, and for each column two copies of the code while it is drawn.
_BYTES_A_RECORD = 32
_BYTES_A_VALUE = 4

# Larger tables take days to draw, and say no more than smaller ones.
_MOST_ROWS = 10**10
_SECONDS_A_MILLION_ROWS = 2

# A release without its table: noisy measurements and the relaxed rows.
_LEAST_FREE_BYTES = 1 << 20


def check_output(directory: Path, schema: Schema, *, rows: int | None, table_format: str) -> None:
    """Refuse an output that cannot be written.

    Args:
        directory: Where the release goes; it must not exist.
        schema: The schema of the synthetic table.
        rows: Rows of the synthetic table, if that is known and public.
        table_format: `parquet` or `csv`.

    Raises:
        SettingsError: If the directory exists or cannot be made, the table is too large for memory
            or disk, or the format cannot be written.
    """
    _check_format(schema, table_format)
    try:
        if directory.exists() or directory.is_symlink():
            raise SettingsError(
                f"{directory} exists already. Choose another directory, or remove it first."
            )
        parent = next(folder for folder in directory.absolute().parents if folder.exists())
    except OSError as error:
        raise SettingsError(
            f"cannot write to {str(directory)[:60]}…: {error.strerror}. Choose another directory."
        ) from None
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise SettingsError(
            f"cannot write to {directory}: {parent} is no folder that you may write to."
        )
    if rows is not None:
        check_rows(rows, schema)
    _check_space(parent, schema, rows, table_format)


def check_rows(rows: int, schema: Schema) -> None:
    """Refuse a table that does not fit into this machine's memory."""
    if rows < 1:
        raise SettingsError(f"a table needs at least one row; {rows} asked for.")
    if rows > _MOST_ROWS:
        hours = rows * _SECONDS_A_MILLION_ROWS // 10**6 // 3600
        raise SettingsError(
            f"a table of {_shown(rows)} rows takes about {_shown(hours)} hours to draw. Ask for at"
            f" most {_MOST_ROWS:,} rows."
        )
    needed = min(rows, MOST_ROWS_HELD) * (_BYTES_A_RECORD + _BYTES_A_VALUE * len(schema.columns))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise SettingsError(
            f"a table of {_shown(rows)} rows takes about {_shown(needed >> 30)} GB of memory, and"
            f" this machine has {memory >> 30}. Ask for fewer rows."
        )


def _shown(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than 10^15"


def _check_format(schema: Schema, table_format: str) -> None:
    as_one_of(table_format, "the format of the table", ("parquet", "csv"))
    if table_format == "csv":
        from dprap.encoding.write_tables import require_writable

        require_writable(schema)


def _check_space(folder: Path, schema: Schema, rows: int | None, table_format: str) -> None:
    # A value in a CSV file takes at least its delimiter and a character; Parquet may take next to
    # nothing.
    table = 2 * (rows or 0) * len(schema.columns) if table_format == "csv" else 0
    free = shutil.disk_usage(folder).free
    if free < table + _LEAST_FREE_BYTES:
        raise SettingsError(
            f"{folder} has {free / 2**20:,.0f} MB free, and the release takes at least "
            f"{(table + _LEAST_FREE_BYTES) / 2**20:,.0f}. Make room, or choose another directory."
        )
