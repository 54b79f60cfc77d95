"""Results as a tidy table: one row for every metric of every cell, with where, when and by which version it was measured."""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from dprap_bench.cell import Cell
from dprap.version import __version__

COLUMNS = (
    *("key", "experiment", "data", "workload", "method", "settings", "epsilon", "relation", "rows", "columns", "seed"),
    *("metric", "value", "note", "version", "date", "machine"),
)


class Results:
    """A CSV file that grows by whole cells, so that an interrupted run goes on where it stopped."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def finished(self) -> set[tuple[str, str]]:
        """(experiment, key) of the cells already there, failed ones included."""
        if not self.path.exists():
            return set()
        table = pd.read_csv(self.path, usecols=["experiment", "key"], dtype=str)
        return set(zip(table["experiment"], table["key"], strict=True))

    def metrics_of(self, key: str) -> dict[str, float]:
        """What another experiment measured about the same cell."""
        if not self.path.exists():
            return {}
        table = pd.read_csv(self.path, dtype={"key": str})
        same = table[(table["key"] == key) & (table["metric"] != "failed")]
        return dict(zip(same["metric"], same["value"].astype(float), strict=True))

    def forget(self, keys: Iterable[str]) -> None:
        """Drop the results of some cells in every experiment that has them, because their method has changed."""
        if self.path.exists() and (gone := set(keys)):
            table = pd.read_csv(self.path, dtype=str, keep_default_na=False)
            table[~table["key"].isin(gone)].to_csv(self.path, index=False, lineterminator="\n")

    def add(self, cell: Cell, metrics: dict[str, float], note: str = "") -> None:
        """Append a cell's metrics; a cell that failed has the single metric `failed`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not self.path.exists()
        with self.path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerows(self._rows(cell, metrics or {"failed": 1.0}, note))
            file.flush()
            os.fsync(file.fileno())

    def _rows(self, cell: Cell, metrics: dict[str, float], note: str) -> Iterable[dict[str, Any]]:
        facts = {name: value for name, value in cell.as_dict().items() if name in COLUMNS}
        facts |= {"key": cell.key, "settings": json.dumps(dict(cell.settings), sort_keys=True), "note": note}
        facts |= {"version": __version__, "machine": machine()}
        facts |= {"date": dt.datetime.now(dt.UTC).date().isoformat()}
        for metric, value in metrics.items():
            yield facts | {"metric": metric, "value": f"{value:.6g}"}

    def read(self) -> pd.DataFrame:
        """All results."""
        return pd.read_csv(self.path, dtype={"key": str})


def machine() -> str:
    """Processor and cores, without the host's name."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
