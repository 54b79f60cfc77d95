"""One result: what was run, what was found, and where, when and with which versions it was
measured.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

Figures: TypeAlias = Mapping[str, float | None]
"""What was measured, by name."""

COSTS = (
    *("wall_seconds", "cpu_seconds", "peak_mb", "cpu_seconds_per_step"),
    *("compiled_cpu_seconds", "compiled_cpu_seconds_per_step", "compilation_cpu_seconds"),
)
"""Figures that depend on what else a process did before."""

_VERSIONS = ("dprap", "numpy", "jax", "opendp")


@dataclass(frozen=True)
class Record:
    """A measured cell of an experiment or study.

    Attributes:
        experiment: The experiment or study.
        key: A digest of the cell. Cells that several experiments share have the same key and are
            measured once.
        cell: What was run, in plain values.
        figures: What was found; empty where the cell has no result, and then `note` says why.
        date: The day, in UTC.
        machine: Processor, cores, system and Python, without the host's name.
        versions: Package to version.
        note: What a reader should know of this record.
    """

    experiment: str
    key: str
    cell: Mapping[str, Any]
    figures: Figures
    date: str
    machine: str
    versions: Mapping[str, str]
    note: str = ""

    @classmethod
    def of(
        cls, experiment: str, cell: Mapping[str, Any], figures: Figures, *, key: str, note: str = ""
    ) -> Record:
        """A record of something measured here and now; figures keep six digits, whole numbers all
        of theirs.
        """
        return cls(
            experiment,
            key,
            cell,
            {name: None if value is None else _kept(value) for name, value in figures.items()},
            dt.datetime.now(dt.UTC).date().isoformat(),
            machine(),
            {name: version(name) for name in _VERSIONS},
            note,
        )

    @property
    def failed(self) -> bool:
        """Whether the cell has no result."""
        return not self.figures

    def as_line(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> Record:
        """The record that a line holds."""
        return cls(**json.loads(line))


def _kept(value: float) -> float:
    return float(value) if float(value).is_integer() else float(f"{value:.6g}")


def key_of(cell: Mapping[str, Any]) -> str:
    """A digest of a cell in plain values."""
    return hashlib.blake2b(json.dumps(cell, sort_keys=True).encode(), digest_size=8).hexdigest()


def machine() -> str:
    """Processor and cores, without the host's name."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.partition(":")[2].strip()
            for line in cpuinfo.read_text().splitlines()
            if "model name" in line
        ]
        model = names[0] if names else model
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    )
