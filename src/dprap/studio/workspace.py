"""The tables, schemas, runs and releases in one folder, and nothing outside of it.

Pages name things by keys: short keyed hashes of paths relative to the folder. A key is looked up
among what is really there, so no path ever comes from a request. Links (symbolic ones) are not
followed: what they point at may be outside.

The files are those of the command line. For a table `people.csv` they are `people.schema.yaml` (or
`schema.yaml`), `people.workload.yaml`, `people.csv.dprap/ledger.jsonl`, and for each run
`people-release/` and `people-release.private/`. The studio's own memory is in `.dprap-studio/`,
which nobody but the steward can read.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dprap.errors import DprapError, SettingsError
from dprap.runs.job import Job, load_job, private_folder
from dprap.studio.file_names import split_name

OWN_FOLDER = ".dprap-studio"
DATABASE_ENDING = ".database.json"
_RELEASE_FILE = "release.json"
_MOST_ENTRIES = 10_000


@dataclass(frozen=True)
class Table:
    """A private table: a file, or a note of where in a database it is."""

    key: str
    path: Path

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.path.parent

    @property
    def is_database(self) -> bool:
        """Whether the table is in a database."""
        return self.path.name.endswith(DATABASE_ENDING)

    @property
    def stem(self) -> str:
        """The name without its ending."""
        if self.is_database:
            return self.path.name.removesuffix(DATABASE_ENDING)
        found = split_name(self.path.name)
        return self.path.name[: len(self.path.name) - len(found[1])] if found else self.path.stem

    @property
    def own_schema(self) -> Path:
        """Where a new schema goes."""
        return self.folder / f"{self.stem}.schema.yaml"

    @property
    def schema(self) -> Path:
        """The schema: the table's own, or the folder's `schema.yaml` where the table has none."""
        shared = self.folder / "schema.yaml"
        return (
            shared
            if not os.path.lexists(self.own_schema) and _is_plain_file(shared)
            else self.own_schema
        )

    @property
    def has_schema(self) -> bool:
        """Whether there is a schema; a link is none."""
        return _is_plain_file(self.schema)

    @property
    def workload(self) -> Path:
        """The workload file."""
        return self.folder / f"{self.stem}.workload.yaml"


@dataclass(frozen=True)
class Run:
    """A run of a table that began: its output folder, there or not yet."""

    key: str
    out: Path
    job: Job
    is_done: bool


class Workspace:
    """One folder, which must exist."""

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve()
        if not self.root.is_dir():
            raise SettingsError(f"{folder} is not a folder. Give one to work in, or make it first.")
        self.own = self.root / OWN_FOLDER
        try:
            if self.own.is_symlink():
                raise SettingsError(
                    f"{self.own} is a link. Remove it: the studio keeps its memory there."
                )
            self.own.mkdir(mode=0o700, exist_ok=True)
            self.own.chmod(0o700)
            self._key = self._read_key()
        except OSError as error:
            raise SettingsError(
                f"cannot write to {folder}: {error.strerror}. Choose another folder."
            ) from None

    def _read_key(self) -> bytes:
        file = self.own / "key"
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return file.read_bytes()
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(32))
        return file.read_bytes()

    def key_of(self, path: Path) -> str:
        """The key by which pages name a path in the folder."""
        relative = os.fsencode(path.relative_to(self.root))
        return hmac.new(self._key, relative, hashlib.sha256).hexdigest()[:16]

    def tables(self) -> list[Table]:
        """The tables in the folder and in the folders directly below it."""
        found = [
            Table(self.key_of(path), path)
            for folder in [self.root, *self._folders(self.root)]
            for path in _plain_files(folder)
            if split_name(path.name) is not None or path.name.endswith(DATABASE_ENDING)
        ]
        return sorted(found, key=lambda table: (table.folder != self.root, str(table.path)))

    def table(self, key: str) -> Table | None:
        """The table of a key."""
        return next((table for table in self.tables() if hmac.compare_digest(table.key, key)), None)

    def runs(self, table: Table) -> list[Run]:
        """The runs of a table, the newest first."""
        found = []
        for entry in _entries(table.folder):
            out = table.folder / entry.name.removesuffix(".private")
            if (
                not (entry.name.endswith(".private") and entry.is_dir(follow_symlinks=False))
                or out.is_symlink()
            ):
                continue
            job = _job(out)
            if job is not None and self._is_of(job, table):
                changed = (private_folder(out) / "job.json").stat().st_mtime
                found.append((changed, Run(self.key_of(out), out, job, is_release(out))))
        return [run for _, run in sorted(found, key=lambda each: each[0], reverse=True)]

    def _is_of(self, job: Job, table: Table) -> bool:
        database = self.database_of(table)
        if database is not None:
            return (str(job.table), job.options.database_table) == database
        return str(job.table) == str(table.path)

    def run(self, table: Table, key: str) -> Run | None:
        """The run of a key."""
        return next((run for run in self.runs(table) if hmac.compare_digest(run.key, key)), None)

    def new_output(self, table: Table) -> Path:
        """A name for the next release that nothing has yet."""
        for number in range(1, _MOST_ENTRIES):
            out = table.folder / (f"{table.stem}-release" + (f"-{number}" if number > 1 else ""))
            taken = (out, private_folder(out), out.with_name(out.name + ".part"))
            if not any(os.path.lexists(path) for path in taken):
                return out
        raise SettingsError("this folder has too many releases. Move some of them away.")

    def new_folder(self, stem: str) -> Path:
        """A new folder for a table, which only the steward can read."""
        for number in range(1, _MOST_ENTRIES):
            folder = self.root / (stem + (f"-{number}" if number > 1 else ""))
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                continue
            except OSError as error:
                raise SettingsError(f"the folder cannot be written to: {error.strerror}.") from None
            return folder
        raise SettingsError("there are too many tables of this name. Rename the file.")

    def database_of(self, table: Table) -> tuple[str, str] | None:
        """Address and table name of a table in a database."""
        from dprap.studio.notes import read_json

        if not table.is_database:
            return None
        kept = read_json(table.path)
        return str(kept.get("address", "")), str(kept.get("table", ""))

    def memory_of(self, table: Table) -> Path:
        """The folder in which the studio keeps what it remembers of a table."""
        folder = self.own / table.key
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _folders(self, folder: Path) -> Iterator[Path]:
        for entry in _entries(folder):
            is_data = not entry.name.startswith((".", "_")) and "=" not in entry.name
            is_ours = not entry.name.endswith((".private", ".dprap", ".part"))
            if (
                is_data
                and is_ours
                and entry.is_dir(follow_symlinks=False)
                and not is_release(folder / entry.name)
            ):
                yield folder / entry.name


def _job(out: Path) -> Job | None:
    try:
        return None if (private_folder(out) / "job.json").is_symlink() else load_job(out)
    except (DprapError, OSError):
        return None  # no job, or one that `dprap resume` will complain about


def is_release(folder: Path) -> bool:
    """Whether a folder holds a finished release, and no link to anywhere else."""
    if folder.is_symlink() or not _is_plain_file(folder / _RELEASE_FILE):
        return False
    return not any(entry.is_symlink() for entry in _entries(folder))


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _plain_files(folder: Path) -> Iterator[Path]:
    for entry in _entries(folder):
        if not entry.name.startswith((".", "_")) and entry.is_file(follow_symlinks=False):
            yield folder / entry.name


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            found = [entry for entry, _ in zip(listing, range(_MOST_ENTRIES), strict=False)]
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)
