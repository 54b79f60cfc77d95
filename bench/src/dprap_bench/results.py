"""A folder of results: one file of records for each experiment or study, `NAME.jsonl`, one record a
line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from dprap_bench.record import Record

COLUMNS = (
    *(
        "key",
        "experiment",
        "data",
        "workload",
        "method",
        "settings",
        "epsilon",
        "relation",
        "rows",
        "columns",
        "seed",
    ),
    *("metric", "value", "note", "version", "date", "machine"),
)
"""Columns of the tidy table."""


class Results:
    """Files that grow by whole records, so that an interrupted run goes on where it stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def records(self, experiments: Iterable[str] | None = None) -> Iterator[Record]:
        """All records, or those of some experiments, in the order they were measured in."""
        names = (
            sorted(path.stem for path in self.folder.glob("*.jsonl"))
            if experiments is None
            else dict.fromkeys(experiments)
        )
        for name in names:
            for line in _whole_lines(self._path(name)).split("\n")[:-1]:
                yield Record.from_line(line)

    def add(self, record: Record) -> None:
        """Append a record, in place of one that a killed run left unfinished; it is on the disk
        when this returns.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(record.experiment)
        whole = len(_whole_lines(path).encode())
        with path.open("ab") as file:
            file.truncate(whole)
            file.write((record.as_line() + "\n").encode())
            file.flush()
            os.fsync(file.fileno())

    def forget(self, unwanted: Callable[[Record], bool]) -> None:
        """Drop some records; a file that loses any is replaced as a whole."""
        for path in sorted(self.folder.glob("*.jsonl")):
            records = list(self.records([path.stem]))
            kept = [record for record in records if not unwanted(record)]
            if len(kept) < len(records):
                draft = path.with_suffix(".draft")
                draft.write_text(
                    "".join(record.as_line() + "\n" for record in kept), encoding="utf-8"
                )
                draft.replace(path)

    def table(self, experiments: Iterable[str]) -> pd.DataFrame:
        """Records of the paper's kind of cell as a tidy table: one row for every metric of every
        cell.

        A cell without a result has one row, with the metric `failed`.
        """
        rows = [row for record in self.records(experiments) for row in _rows(record)]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def _path(self, experiment: str) -> Path:
        return self.folder / f"{experiment}.jsonl"


def _whole_lines(path: Path) -> str:
    """A file's text up to its last line end: what follows was being written when a run was
    killed.
    """
    text = path.read_bytes() if path.exists() else b""
    return text[: text.rfind(b"\n") + 1].decode("utf-8")


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    facts = {name: value for name, value in record.cell.items() if name in COLUMNS}
    facts |= {"key": record.key, "experiment": record.experiment, "note": record.note}
    facts |= {"settings": json.dumps(record.cell["settings"], sort_keys=True)}
    facts |= {"version": record.versions["dprap"], "date": record.date, "machine": record.machine}
    for metric, value in (record.figures or {"failed": 1.0}).items():
        yield facts | {"metric": metric, "value": value}
