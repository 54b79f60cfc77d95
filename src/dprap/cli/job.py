"""A run on disk: what `synth` was asked to do, kept beside its output so that `resume` can go on.

For an output directory OUT, the folder OUT.private holds job.json and (unless another was named) the ledger. It stays on the private
side: it is needed to resume and to prove what was spent, and it must not be published.
"""

from __future__ import annotations

import json
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprap.cli.output import note, progress_display, reading_display
from dprap.errors import LedgerError, SettingsError

if TYPE_CHECKING:
    from dprap.plan import Plan
    from dprap.release import Release
    from dprap.schema import Schema
    from dprap.sources import CountSource

_LEDGER = "ledger.jsonl"


@dataclass(frozen=True)
class Job:
    """Everything needed to carry a run out, again if need be."""

    table: str
    schema: dict[str, Any]
    options: dict[str, Any]
    run: str
    ledger: str | None
    ledger_cap_rho: float | None
    out: str
    rows: int | None
    table_format: str
    insecure_noise_seed: int | None
    public_digest: str | None = None

    @property
    def out_path(self) -> Path:
        """Where the release goes."""
        return Path(self.out)

    @property
    def private_folder(self) -> Path:
        """Where the job and its ledger are kept."""
        return private_folder(self.out_path)

    @property
    def ledger_path(self) -> Path:
        """The ledger to charge."""
        return Path(self.ledger) if self.ledger else self.private_folder / _LEDGER


def private_folder(out: Path) -> Path:
    """The private companion of an output directory."""
    return out.with_name(out.name + ".private")


def save_job(job: Job) -> None:
    """Keep a job for resuming."""
    from dprap.address import without_secrets
    from dprap.privacy.chain import write_durably

    folder = job.private_folder
    # a folder without these is what a process left that died before it could spend anything
    if (folder / "job.json").exists() or (folder / _LEDGER).exists():
        raise SettingsError(
            f"{folder} exists: an earlier run for this output began there. Go on with it by `dprap resume {job.out}`, "
            "or choose another --out."
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = asdict(job) | {"table": without_secrets(job.table)}
        write_durably(folder / "job.json", (json.dumps(kept, indent=2) + "\n").encode())
    except OSError as error:
        raise SettingsError(f"cannot write to {folder}: {error.strerror}.") from error


def forget_unless_spent(job: Job) -> None:
    """Remove what is kept for resuming, if nothing was charged: then there is nothing to resume."""
    if not _is_charged(job):
        (job.private_folder / "job.json").unlink(missing_ok=True)
        if job.ledger is None:
            for left in job.private_folder.glob(f"{_LEDGER}*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        with suppress(OSError):  # something of somebody else's is in it
            job.private_folder.rmdir()


def _is_charged(job: Job) -> bool:
    from dprap.privacy import read_ledger

    path = job.ledger_path
    try:
        return path.exists() and job.run in read_ledger(path).runs
    except LedgerError:
        # a shared ledger that was damaged before this run says nothing of it; a ledger of its own may have been emptied
        return job.ledger is None or job.run.encode() in path.read_bytes()


def load_job(out: Path) -> Job:
    """The job of an output directory."""
    path = private_folder(out) / "job.json"
    try:
        return Job(**json.loads(path.read_text(encoding="utf-8")))
    except OSError:
        raise SettingsError(f"there is no run to resume for {out}: {path} cannot be read.") from None
    except (ValueError, TypeError) as error:
        raise LedgerError(f"{path} is damaged, so the run cannot be resumed.") from error


def open_job(job: Job, *, quiet: bool) -> tuple[Schema, CountSource, Plan]:
    """Encode the table and decide everything that needs no private data."""
    from dprap.cli.options import neighbors_from_options, plan_from_options, source_from_options
    from dprap.schema import Schema

    schema = Schema.of(job.schema)
    schema.require_reviewed()
    neighbors = neighbors_from_options(job.options)
    with reading_display(quiet=quiet) as progress:
        source = source_from_options(job.table, schema, job.options, neighbors, progress)
    plan = plan_from_options(schema, job.options, rows=source.rows if neighbors.rows_are_public else None)
    if job.public_digest is not None and plan.public is not None and plan.public.facts.digest != job.public_digest:
        raise SettingsError(
            f"the public table {plan.public.facts.name} has changed since the run began. Put the old one back, and resume again."
        )
    return schema, source, plan


def carry_out(job: Job, source: CountSource, plan: Plan, *, quiet: bool) -> Release:
    """Run, or go on with, a job and write its release."""
    from dprap.privacy import Ledger
    from dprap.run import execute

    with progress_display(quiet=quiet) as progress, _stopping_says_how_to_resume(job):
        if job.insecure_noise_seed is not None:
            release = execute(
                plan, source, insecure_noise_seed=job.insecure_noise_seed, progress=progress, table_rows=job.rows
            )
        else:
            with Ledger(job.ledger_path, neighbors=plan.neighbors, cap_rho=job.ledger_cap_rho) as ledger:
                release = execute(plan, source, ledger=ledger, run=job.run, progress=progress, table_rows=job.rows)
        return release.save(job.out_path, rows=job.rows, format=job.table_format)


@contextmanager
def _stopping_says_how_to_resume(job: Job) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into a clean stop with a way on."""
    in_main = threading.current_thread() is threading.main_thread()
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler) if in_main else None
    try:
        yield
    except KeyboardInterrupt:
        if job.insecure_noise_seed is None:
            note(f"stopped. Nothing is lost and nothing will be spent twice: go on with `dprap resume {job.out}`.")
        raise SystemExit(130) from None
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, previous)
