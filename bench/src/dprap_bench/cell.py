"""One cell of an experiment: a method on a workload of a data set at one budget, and what was measured about it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Cell:
    """What to run. `workload` is as in `dprap_bench.workloads`; `extras` names further measurements to take.

    `rows` and `columns` keep only so many records and columns of the data set (records are repeated if there are too few).
    """

    experiment: str
    data: str
    workload: str
    method: str
    epsilon: float = 1.0
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    relation: str = "replace"
    extras: tuple[str, ...] = ()
    rows: int | None = None
    columns: int | None = None

    @property
    def key(self) -> str:
        """A digest of everything but the experiment: cells that several experiments share run once."""
        facts = {name: value for name, value in self.as_dict().items() if name != "experiment"}
        return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=8).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The cell in plain values."""
        return asdict(self) | {"settings": dict(self.settings), "extras": list(self.extras)}

    def __str__(self) -> str:
        chosen = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.data} {self.workload} ε={self.epsilon:g} {self.method}{f'({chosen})' if chosen else ''} #{self.seed}"
