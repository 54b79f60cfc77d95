"""Processor time and memory of a process together with those it starts, read from /proc."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from dprap_bench.timing import peak_mb

TICKS = os.sysconf("SC_CLK_TCK")


class ProcessFamily:
    """Peak memory and processor time of this process and, where it starts others, of all that
    descend from it.
    """

    def __init__(self, *, has_children: bool) -> None:
        self._sampled_mb = 0.0
        self._ticks: dict[int, int] = {}
        if has_children:
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.sample()
            time.sleep(0.5)

    def sample(self) -> None:
        """Look once."""
        pages = 0
        for pid in descendants(os.getpid()):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            self._ticks[pid] = int(fields[11]) + int(fields[12])
            pages += int(fields[21])
        self._sampled_mb = max(self._sampled_mb, pages * os.sysconf("SC_PAGE_SIZE") / 2**20)

    def peak_mb(self) -> float:
        """The most memory held so far."""
        return max(self._sampled_mb, peak_mb())

    def cpu_seconds(self) -> float:
        """Processor seconds so far."""
        self.sample()
        return sum(self._ticks.values()) / TICKS


def descendants(root: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    found, added = {root}, {root}
    while added:
        added = {pid for pid, parent in parents.items() if parent in added} - found
        found |= added
    return found
