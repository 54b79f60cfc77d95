"""What is measured: cells of the paper's experiments, and cells of studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dprap_bench.record import key_of


@dataclass(frozen=True)
class Cell:
    """A method on a workload of a data set at one budget.

    `workload` is as in `dprap_bench.workloads`; `extras` names further measurements to take. `rows`
    and `columns` keep only so many records and columns of the data set (records are repeated if
    there are too few).
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
        """A digest of everything but the experiment: cells that several experiments share run
        once.
        """
        return key_of(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The cell in plain values, without the experiment."""
        facts = asdict(self) | {"settings": dict(self.settings), "extras": list(self.extras)}
        return {name: value for name, value in facts.items() if name != "experiment"}

    def __str__(self) -> str:
        chosen = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return (
            f"{self.data} {self.workload} ε={self.epsilon:g}"
            f" {self.method}{f'({chosen})' if chosen else ''} #{self.seed}"
        )


@dataclass(frozen=True)
class StudyCell:
    """A cell of a study, whose module measures it: `facts` says what, in plain values."""

    experiment: str
    facts: Mapping[str, Any]

    @property
    def key(self) -> str:
        """A digest of the study and the facts."""
        return key_of({"study": self.experiment, **self.facts})

    def as_dict(self) -> dict[str, Any]:
        """The facts."""
        return dict(self.facts)

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.facts.items())


AnyCell = Cell | StudyCell
