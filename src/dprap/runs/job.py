"""A run on disk: what it was asked to do, kept beside its output so that it can be resumed.

For an output directory OUT, the folder OUT.private holds job.json. It stays on the private side: it
is needed to resume, and it must not be published. The ledger stands elsewhere, with the data set
(`dprap.privacy.ledger.default_location`).

Paths in job.json are relative to OUT.private, so that a folder which holds table, ledger and output
may be moved. A table in memory is not kept: whoever resumes hands it over again, and the ledger
knows whether it is the same one.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dprap.address import refuse_other_addresses, without_secrets
from dprap.errors import DprapError, LedgerError, SettingsError
from dprap.privacy import default_ledger
from dprap.privacy.ledger.chain import write_durably
from dprap.privacy.ledger.record_checks import check_run_name
from dprap.public_table import refuse_same_table
from dprap.runs.option_values import absolute, real, relative
from dprap.runs.options import SETTING_FLAGS, RunOptions
from dprap.runs.options import VERSION as OPTIONS_VERSION
from dprap.schema import Schema
from dprap.sources.locate import table_root, would_read

# Version 3 keeps the options of a run by their own names; version 2 those of the command line.
# Version 1 had no head of the ledger, by which a ledger is known again, so its runs cannot be
# resumed.
_VERSION = 3


@dataclass(frozen=True)
class Job:
    """Everything needed to carry a run out, again if need be.

    Args:
        table: The private table: an object in memory, a path, or an address.
        schema: Its schema.
        options: What the user says about the run. Its `ledger` is a path, False for none, or None
            until the ledger of a table in memory is looked up; its `run` is a name.
        out: The directory for the release; None where the caller keeps the release in memory.
        public_digest: The digest of the public table when the run began.
        queries_digest: The digest of the custom functions' tables when the run began.
        ledger_head: The last line of the ledger when the run began: by it the ledger is known
            again. None for a new run.
    """

    table: Any
    schema: Schema
    options: RunOptions
    out: Path | None = None
    public_digest: str | None = None
    queries_digest: str | None = None
    ledger_head: tuple[int, str] | None = None

    @property
    def is_resumed(self) -> bool:
        """Whether the run began earlier."""
        return self.ledger_head is not None


def new_job(table: Any, schema: Schema, options: RunOptions, *, out: Path | None = None) -> Job:
    """A run that has not begun.

    Raises:
        SettingsError: If the public table is the private one, no file can have the name of a path,
            or what is written would get in the way of the table or of itself.
        LedgerError: If nobody knows where the ledger of this table is, or no run can have the name.
    """
    if options.run is not None:
        check_run_name(options.run)
    refuse_other_addresses(table, options.engine)
    table = real(table)
    refuse_same_table(table, options.public)
    ledger: Any = options.ledger
    if options.insecure_noise_seed is not None:
        ledger = False
    elif ledger is None and (
        isinstance(table, str | Path) or type(table).__module__.startswith("pyspark.")
    ):
        ledger = default_ledger(table, engine=options.engine)
    ledger = real(ledger)
    _refuse_places(table, out, ledger)
    options = options.but(
        ledger=ledger,
        run=None if ledger is False else options.run or uuid.uuid4().hex,
        workload=real(options.workload),
        public=real(options.public),
    )
    return Job(table, schema, options, out)


def _refuse_places(table: Any, out: Path | None, ledger: Any) -> None:
    """Raise SettingsError if what a run writes gets in the way of the table, or of itself."""
    is_path = isinstance(table, str | Path) and "://" not in str(table)
    for what, place in (("the release", out), ("the ledger", ledger)):
        if is_path and isinstance(place, str | Path) and would_read(table, place):
            raise SettingsError(
                f"{what} at {place} would be read as a part of the table. Choose a place outside"
                f" {table_root(table)}."
            )
    # a folder that exists is refused as such
    is_new = out is not None and not os.path.exists(out)  # noqa: PTH110 (names too long for Path)
    if is_new and isinstance(ledger, str) and Path(ledger).is_relative_to(real(out)):
        raise SettingsError(
            f"the ledger {ledger} lies in the folder of the release, which does not exist before"
            " the run ends. Choose another place for one of them."
        )


def with_ledger(job: Job) -> Job:
    """A job that says where its ledger is.

    For a table in memory that takes a digest of its content.
    """
    if job.options.ledger is not None:
        return job
    return replace(
        job,
        options=job.options.but(ledger=str(default_ledger(job.table, engine=job.options.engine))),
    )


def private_folder(out: Path) -> Path:
    """The private companion of an output directory."""
    out = Path(real(out))
    return out.with_name(out.name + ".private")


def refuse_if_begun(out: Path, names: Sequence[str] = ("job.json", "ledger.jsonl")) -> None:
    """Raise SettingsError if an earlier run for the same output was kept for resuming, by one of
    these files.
    """
    folder = private_folder(out)
    # a folder without a job is what a process left that died before it could spend anything
    if not any(os.path.exists(folder / name) for name in names):  # noqa: PTH110 - takes paths of any length
        return
    if os.path.exists(out):  # noqa: PTH110
        raise SettingsError(
            f"{out} is complete: an earlier run wrote it. Choose another folder for a new one."
        )
    raise SettingsError(
        f"{folder} exists: an earlier run for this output began there. Go on with it by `dprap"
        f" resume {out}` (in Python dprap.resume({str(out)!r})), or choose another folder."
    )


def save_job(job: Job, out: Path) -> None:
    """Keep a job for resuming."""
    folder = private_folder(out)
    try:
        kept = json.dumps(
            {
                "version": _VERSION,
                "table": (
                    relative(without_secrets(str(job.table)), folder)
                    if isinstance(job.table, str | Path)
                    else None
                ),
                "schema": job.schema.as_mapping(),
                "options": job.options.as_plain(folder),
                "public_digest": job.public_digest,
                "queries_digest": job.queries_digest,
                "ledger_head": job.ledger_head,
            },
            indent=2,
        )
    except TypeError:
        raise SettingsError(
            "the settings hold an object, which cannot be kept for resuming. Give numbers, texts"
            " and mappings."
        ) from None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_durably(folder / "job.json", (kept + "\n").encode())
    except OSError as error:
        raise SettingsError(f"cannot write to {folder}: {error.strerror}.") from error


def forget(out: Path) -> None:
    """Remove what is kept for resuming."""
    folder = private_folder(out)
    (folder / "job.json").unlink(missing_ok=True)
    with suppress(OSError):  # something of somebody else's is in it
        folder.rmdir()


def is_complete(out: Path, changes: dict[str, Any]) -> bool:
    """Whether there is nothing to resume.

    SettingsError if the release is to be written in another way now.
    """
    if not out.exists():
        return False
    if changes.keys() & {"rows", "table_format"}:
        raise SettingsError(
            f"{out} is complete. Move it away to write it again with other rows or format."
        )
    return True


def job_to_resume(out: Path, *, table: Any = None, changes: dict[str, Any]) -> Job:
    """The job of an output directory, to go on with.

    Args:
        out: The directory of the run that stopped.
        table: Where the private table is now, if it was moved; the table itself, if it is in
            memory.
        changes: Options that differ now: `rows`, `table_format`, `ledger`, `anchor`.

    Returns:
        The job, whose ledger exists.

    Raises:
        SettingsError: If there is no run to resume, or its table is needed.
        LedgerError: If the job is damaged or of another version, or the ledger is not where it
            should be.
    """
    job = load_job(out)
    if "ledger" in changes:
        changes = changes | {"ledger": real(changes["ledger"])}
    options = job.options.but(**changes)
    if not os.path.isfile(str(options.ledger)):  # noqa: PTH113 - takes paths of any length
        raise LedgerError(
            f"the ledger of this run is not at {str(options.ledger)[:200]}, so nothing was spent."
            " Bring it back (is a share not mounted, a folder moved?), or say where it is: `dprap"
            f" resume {out} --ledger FILE`."
        )
    if table is None and job.table is None:
        raise SettingsError(
            f"the table of {out} was in memory. Hand it over again, in Python by"
            f" dprap.resume({str(out)!r}, table=…), or name a file that has it by --data."
        )
    return replace(job, options=options, table=job.table if table is None else real(table))


def load_job(out: Path) -> Job:
    """The job of an output directory, as it was kept."""
    folder = private_folder(out)
    path = folder / "job.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise SettingsError(
            f"there is no run to resume for {out}: {path} cannot be read."
        ) from None
    except ValueError as error:
        raise LedgerError(f"{path} is damaged, so the run cannot be resumed.") from error
    try:
        if kept.get("version") == 2:
            kept = _from_version_2(kept)
        versions = range(1, OPTIONS_VERSION + 1)
        known = kept.get("version") == _VERSION and kept["options"]["version"] in versions
        job = _from_plain(kept, out, folder) if known else None
    except (ValueError, TypeError, KeyError, AttributeError, DprapError) as error:
        raise LedgerError(f"{path} is damaged, so the run cannot be resumed.") from error
    if job is None:
        raise LedgerError(
            f"{path} was written by another version of dprap. Resume the run with that version."
        )
    return job


def _from_plain(kept: dict[str, Any], out: Path, folder: Path) -> Job:
    options = RunOptions.from_plain(kept["options"], folder)
    if not options.run or not options.ledger:
        raise KeyError("run", "ledger")
    count, last_hash = kept["ledger_head"]
    digest = kept["public_digest"]
    # files of the first version know no code of the user's own
    queries_digest = kept["queries_digest"] if kept["options"]["version"] > 1 else None
    return Job(
        table=None if kept["table"] is None else absolute(kept["table"], folder),
        schema=Schema.of(kept["schema"]),
        options=options,
        out=out,
        public_digest=None if digest is None else str(digest),
        queries_digest=None if queries_digest is None else str(queries_digest),
        ledger_head=(int(count), str(last_hash)),
    )


def _from_version_2(kept: dict[str, Any]) -> dict[str, Any]:
    """A job file of version 2 in the form of version 3."""
    options = dict(kept["options"])
    settings = {name: options.pop(name, None) for name in SETTING_FLAGS}
    options |= {
        "version": 1,
        "workload": options.pop("workload_file"),
        "settings": {name: value for name, value in settings.items() if value is not None},
        **{name: kept[name] for name in ("rows", "table_format", "run", "ledger")},
    }
    return kept | {"version": _VERSION, "options": options}
