"""The noisy results of a ledger: arrays in `NAME.results/`, each named after its charge and sealed
by its SHA-256.

The name holds the run, the step and the first 16 digits of the charge's hash, so a file belongs to
one charge of one chain. The chain holds the SHA-256 of the content.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from dprap.errors import LedgerError
from dprap.privacy.ledger.chain import RESTORE, write_durably
from dprap.privacy.ledger.state import LedgerState

Arrays = dict[str, np.ndarray]

# What reading a cut or edited array file may raise.
_DAMAGE = (ValueError, KeyError, EOFError, OSError, BadZipFile)


def results_folder(path: Path) -> Path:
    """Where the results of a ledger are kept."""
    return path.with_name(path.name + ".results")


def check_results(path: Path, state: LedgerState) -> None:
    """Refuse results that were changed or lost, and results that no charge paid for.

    The last kind shows that an older or shorter ledger was put in place of the one that paid.
    """
    for run in state.runs.values():
        for result in run.results.values():
            read_result(path, result)
    seals = {charge["seal"][:16] for run in state.runs.values() for charge in run.charges.values()}
    folder = results_folder(path)
    found = {
        file.name.removesuffix(".part").removesuffix(".npz")[-16:] for file in folder.glob("*.npz*")
    }
    if not found <= seals:
        raise LedgerError(
            f"{folder.name} holds results that ledger {path} knows no charge for: the ledger was"
            f" shortened or replaced. {RESTORE}"
        )


def read_result(path: Path, result: dict[str, Any]) -> bytes:
    """The content of a result, if it is the one that the chain sealed."""
    file = results_folder(path) / str(result["file"])
    try:
        content = file.read_bytes()
    except OSError as error:
        raise LedgerError(
            f"ledger {path}: result {file.name} cannot be read: {error.strerror}. {RESTORE}"
        ) from error
    if hashlib.sha256(content).hexdigest() != result["sha256"]:
        raise LedgerError(
            f"ledger {path}: result {file.name} was changed. Nothing more will be spent. {RESTORE}"
        )
    return content


def packed(arrays: Arrays) -> bytes:
    """Arrays as the content of a result file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpacked(content: bytes) -> Arrays:
    """The arrays of a result file; LedgerError if it is damaged."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except _DAMAGE as error:
        raise LedgerError(f"a stored result is damaged. {RESTORE}") from error


def write_result(path: Path, name: str, content: bytes) -> None:
    """Write a result; it is durable when this returns."""
    file = results_folder(path) / name
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_durably(file, content)
    except OSError as error:
        raise LedgerError(f"cannot write {file}: {error.strerror}.") from error
