"""A run on disk: what `synth` was asked to do, kept beside its output so that `resume` can go on.

For an output directory OUT, the folder OUT.private holds job.json. It stays on the private side: it is needed to resume,
and it must not be published. The ledger stands elsewhere, with the data set (`dprap.privacy.ledger.place`).

Paths in job.json are relative to OUT.private, so that a folder which holds table, ledger and output may be moved.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprap.cli.output import progress_display, reading_display
from dprap.errors import DprapError, LedgerError, SettingsError

if TYPE_CHECKING:
    from dprap.cli.stopping import Stop
    from dprap.plan import Plan
    from dprap.privacy import Ledger
    from dprap.release import Release
    from dprap.schema import Schema
    from dprap.sources import CountSource

# Version 2 has relative paths, and the head of the ledger.
_VERSION = 2
_PATHS_IN_OPTIONS = ("workload_file", "public")


@dataclass(frozen=True)
class Job:
    """Everything needed to carry a run out, again if need be; `ledger` is None for seeded noise alone."""

    out: Path
    table: str
    schema: dict[str, Any]
    options: dict[str, Any]
    run: str
    ledger: str | None
    rows: int | None
    table_format: str
    insecure_noise_seed: int | None = None
    public_digest: str | None = None
    ledger_head: tuple[int, str] = (0, "")
    """The last line of the ledger when the run began: by it the ledger is known again."""

    @property
    def private_folder(self) -> Path:
        """Where the job is kept."""
        return private_folder(self.out)


def private_folder(out: Path) -> Path:
    """The private companion of an output directory."""
    out = Path(os.path.realpath(out))
    return out.with_name(out.name + ".private")


def refuse_if_begun(job: Job) -> None:
    """Raise SettingsError if an earlier run for the same output was kept for resuming."""
    folder = job.private_folder
    # a folder without a job is what a process left that died before it could spend anything
    if (folder / "job.json").exists() or (folder / "ledger.jsonl").exists():
        raise SettingsError(
            f"{folder} exists: an earlier run for this output began there. Go on with it by `dprap resume {job.out}`, "
            "or choose another --out."
        )


def save_job(job: Job) -> None:
    """Keep a job for resuming."""
    from dprap.address import without_secrets
    from dprap.privacy.ledger.chain import write_durably

    folder = job.private_folder
    kept = asdict(job) | {"version": _VERSION, "table": _relative(without_secrets(job.table), folder)}
    del kept["out"], kept["insecure_noise_seed"]
    kept["ledger"] = _relative(job.ledger, folder)
    kept["options"] |= {name: _relative(job.options[name], folder) for name in _PATHS_IN_OPTIONS}
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_durably(folder / "job.json", (json.dumps(kept, indent=2) + "\n").encode())
    except OSError as error:
        raise SettingsError(f"cannot write to {folder}: {error.strerror}.") from error


def load_job(out: Path) -> Job:
    """The job of an output directory."""
    folder = private_folder(out)
    path = folder / "job.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise SettingsError(f"there is no run to resume for {out}: {path} cannot be read.") from None
    except ValueError as error:
        raise LedgerError(f"{path} is damaged, so the run cannot be resumed.") from error
    try:
        if kept.pop("version", 1) != _VERSION:
            raise LedgerError(f"{path} was written by another version of dprap. Resume the run with that version.")
        kept["table"] = _absolute(kept["table"], folder)
        kept["ledger"] = _absolute(kept["ledger"], folder)
        kept["options"] |= {name: _absolute(kept["options"][name], folder) for name in _PATHS_IN_OPTIONS}
        count, last_hash = kept.pop("ledger_head")
        return Job(out=out, ledger_head=(int(count), str(last_hash)), **kept)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(f"{path} is damaged, so the run cannot be resumed.") from error


def _relative(path: str | None, folder: Path) -> str | None:
    return path if path is None or "://" in path else os.path.relpath(path, folder)


def _absolute(path: str | None, folder: Path) -> str | None:
    return path if path is None or "://" in path else os.path.normpath(folder / path)


def forget(job: Job) -> None:
    """Remove what is kept for resuming."""
    (job.private_folder / "job.json").unlink(missing_ok=True)
    with suppress(OSError):  # something of somebody else's is in it
        job.private_folder.rmdir()


def open_job(job: Job, stop: Stop, *, quiet: bool) -> tuple[Schema, CountSource, Plan]:
    """Encode the table and decide everything that needs no private data."""
    from dprap.cli.options import neighbors_from_options, plan_from_options, source_from_options
    from dprap.release.output import check_output
    from dprap.schema import Schema

    schema = Schema.of(job.schema)
    schema.require_reviewed()
    check_output(job.out, schema, rows=job.rows, table_format=job.table_format)
    neighbors = neighbors_from_options(job.options)
    with reading_display(quiet=quiet) as progress:
        source = source_from_options(job.table, schema, job.options, neighbors, stop.watched(progress))
    stop.check()
    public_rows = source.rows if neighbors.rows_are_public else None
    plan = plan_from_options(schema, job.options, rows=public_rows)
    if job.public_digest is not None and plan.public is not None and plan.public.facts.digest != job.public_digest:
        raise SettingsError(
            f"the public table {plan.public.facts.name} has changed since the run began. Put the old one back, and "
            "resume again."
        )
    # Where the number of records is private, whether a table of so many fits must not show.
    check_output(job.out, schema, rows=job.rows or public_rows, table_format=job.table_format)
    return schema, source, plan


def carry_out(job: Job, source: CountSource, plan: Plan, ledger: Ledger | None, stop: Stop, *, quiet: bool) -> Release:
    """Run, or go on with, a job and write its release."""
    from dprap.run import execute

    with progress_display(quiet=quiet) as progress:
        release = execute(
            plan,
            source,
            ledger=ledger,
            run=job.run,
            insecure_noise_seed=job.insecure_noise_seed,
            progress=stop.watched(progress),
            table_rows=job.rows,
        )
        try:
            return release.save(job.out, rows=job.rows, format=job.table_format)
        except DprapError as error:
            if ledger is None:
                raise
            raise type(error)(
                f"{error} The run is paid for and kept: `dprap resume {job.out}`, with other --rows or --format if need "
                "be, writes it without spending."
            ) from error


def with_ledger_at(job: Job, ledger: Path | None) -> Job:
    """A job whose ledger was moved; LedgerError if it is not where it should be, before anything is read."""
    if ledger is not None:
        job = replace(job, ledger=os.path.realpath(ledger))
    if not os.path.isfile(str(job.ledger)):  # noqa: PTH113 - takes paths of any length
        raise LedgerError(
            f"the ledger of this run is not at {str(job.ledger)[:200]}, so nothing was spent. Bring it back (is a share not "
            f"mounted, a folder moved?), or say where it is: `dprap resume {job.out} --ledger FILE`."
        )
    return job
