"""What is recorded and replayed: methods with tiny settings, query families, and hostile
neighbours.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from tests.privacy.replaying import WatchedSource
from tests.privacy.tables import codes_of

from dprap.accounting import Neighbors, Relation
from dprap.domain import Domain
from dprap.queries import Custom, Halfspace, Marginal, Range, Threshold
from dprap.relaxed.jax.mixed import AnnealingSettings
from dprap.relaxed.jax.projection import ProjectionSettings
from dprap.runs.options import RunOptions
from dprap.runs.plan import Plan, make_plan
from dprap.schema import Schema
from dprap.workload import Workload, all_kway

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 40})
SCHEMA = Schema.from_domain(dict(zip(DOMAIN.names, DOMAIN.sizes, strict=True)))
UNIQUE, ABSENT = 38, 39
# Codes of column c: one that a single record has, and one that no record has.

FULLEST = (0, 0, 0)


def usual_table() -> np.ndarray:
    """64 records, a power of two: half of them alike, one with a code of its own, and a code that
    nobody has.
    """
    generator = np.random.default_rng(1)
    rows = np.stack([generator.integers(0, size, 64) for size in (2, 3, UNIQUE)], axis=1)
    rows[:32] = FULLEST
    rows[-1] = (1, 2, UNIQUE)
    return rows


def _moved_to(record: tuple[int, ...]) -> Callable[[np.ndarray, int], np.ndarray]:
    def moved(rows: np.ndarray, records: int) -> np.ndarray:
        changed = rows.copy()
        changed[40 : 40 + records] = record
        return changed

    return moved


def _last_moved(rows: np.ndarray, records: int) -> np.ndarray:
    changed = rows.copy()
    changed[-records:] = FULLEST
    return changed


def _emptied(rows: np.ndarray, records: int) -> np.ndarray:
    """The records of the fullest cell go to the absent code."""
    changed = rows.copy()
    changed[:records] = (1, 2, ABSENT)
    return changed


def _with(record: tuple[int, ...]) -> Callable[[np.ndarray, int], np.ndarray]:
    return lambda rows, records: np.concatenate([rows, np.tile(record, (records, 1))])


REPLACED: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "to a code that nobody had": _moved_to((1, 2, ABSENT)),
    "to the fullest cell": _moved_to(FULLEST),
    "the only one with its code": _last_moved,
    "from the fullest cell to the emptiest": _emptied,
}
ADDED_OR_REMOVED: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "added with a code that nobody had": _with((1, 2, ABSENT)),
    "added to the fullest cell": _with(FULLEST),
    "removed, the only one with its code": lambda rows, records: rows[:-records],
    "removed from the fullest cell": lambda rows, records: rows[records:],
}


def neighbours(neighbors: Neighbors) -> dict[str, np.ndarray]:
    """Hostile neighbours of the usual table by name; one person's records change, all that a person
    may have.
    """
    changes = REPLACED if neighbors.relation is Relation.REPLACE else ADDED_OR_REMOVED
    return {
        name: change(usual_table(), neighbors.max_rows_per_person)
        for name, change in changes.items()
    }


def table_of(rows: np.ndarray) -> WatchedSource:
    """The table as the curator gets it."""
    return WatchedSource(codes_of(DOMAIN, rows))


def _later_c(row: dict[str, Any]) -> Any:
    return jnp.stack([row["a"][1] * row["c"][20:].sum(), row["c"][ABSENT]])


FAMILIES = {
    "marginal": all_kway(DOMAIN, 2),
    "threshold": Workload(DOMAIN, (Threshold(("a", "b", "c"), 2), Threshold(("b", "c"), 1))),
    "range": Workload(
        DOMAIN,
        (
            Range.prefixes(("a", "c"), ("a", "c")),
            Range(("b", "c"), {"c": "all"}),
            Range(("c",), {"c": [(3, ABSENT)]}),
        ),
    ),
    "halfspace": Workload(
        DOMAIN, (Halfspace(("a", "b", "c"), by=("a",), count=40), Marginal(("a", "b")))
    ),
    "custom": Workload(DOMAIN, (Custom("later c", ("a", "c"), _later_c), Marginal(("a", "b")))),
}


@dataclass(frozen=True)
class Audited:
    """A mechanism as `execute` knows it."""

    name: str
    run: Callable[..., Any]

    @property
    def takes_constraints(self) -> bool:
        """Whether `run` takes what cannot occur."""
        return "constraints" in inspect.signature(self.run).parameters

    @property
    def takes_order(self) -> bool:
        """Whether `run` takes how many codes of each column have an order."""
        return "ordered" in inspect.signature(self.run).parameters


@dataclass(frozen=True)
class Case:
    """A mechanism with its settings, and the families that it answers."""

    module: str
    settings_class: str
    settings: dict[str, Any]
    families: tuple[str, ...]

    def plan(self, family: str, neighbors: Neighbors) -> Plan:
        """The plan of a run on the usual table or on its neighbour.

        At ε = 10 selections follow the table closely.
        """
        options = RunOptions(
            epsilon=10.0,
            delta=1e-5,
            neighbors=neighbors,
            workload=FAMILIES[family],
            method="independent",
        )
        plan = make_plan(SCHEMA, options, records=64)
        module = importlib.import_module(self.module)
        settings = getattr(module, self.settings_class)(**self.settings)
        return replace(plan, method=Audited(self.module, module.run), settings=settings)  # type: ignore[arg-type]


CELLS = ("marginal", "threshold", "range")
ALL = (*CELLS, "custom")
_SHORT = {"synthetic_rows": 8, "projection": ProjectionSettings(max_steps=20)}
_PLUS = {
    "rounds": 2,
    "queries_per_round": 3,
    "synthetic_rows": 8,
    "fit": AnnealingSettings(levels=2, steps=3),
}
_ADAPTIVE = {"rounds": 3, "synthetic_rows": 16, "steps": 5, "final_steps": 5}

METHODS = {
    "adaptive": Case("dprap.mechanisms.adaptive", "AdaptiveSettings", _ADAPTIVE, CELLS),
    "rap": Case(
        "dprap.mechanisms.rap", "RapSettings", {"rounds": 2, "queries_per_round": 2, **_SHORT}, ALL
    ),
    "rap once": Case("dprap.mechanisms.rap", "RapSettings", {"rounds": 1, **_SHORT}, ALL),
    "gaussian": Case("dprap.mechanisms.gaussian", "GaussianSettings", {}, CELLS),
    "gaussian by query": Case(
        "dprap.mechanisms.gaussian", "GaussianSettings", {"per": "query"}, CELLS
    ),
    "rap++": Case("dprap.mechanisms.rap_plus", "RapPlusSettings", _PLUS, ("halfspace",)),
    "independent": Case("dprap.mechanisms.independent", "IndependentSettings", {}, ALL),
    "every verb": Case("tests.privacy.every_verb", "Settings", {}, (*ALL, "halfspace")),
}

_BENCH = "dprap_bench.mechanisms"
_ONE = ("marginal",)
BASELINES = {
    "mwem": Case(f"{_BENCH}.mwem", "MwemSettings", {"rounds": 2, "passes": 2}, _ONE),
    "fem": Case(f"{_BENCH}.fem", "FemSettings", {"rounds": 2, "samples": 2}, _ONE),
    "dualquery": Case(
        f"{_BENCH}.dualquery", "DualQuerySettings", {"rounds": 3, "samples": 2}, _ONE
    ),
    "hdmm": Case(f"{_BENCH}.hdmm", "HdmmSettings", {}, CELLS),
    "hdmm, graphical": Case(
        f"{_BENCH}.hdmm", "HdmmSettings", {"inference": "graphical", "iterations": 10}, _ONE
    ),
    "aim": Case(f"{_BENCH}.aim", "AimSettings", {"iterations": 5, "last_iterations": 5}, CELLS),
    "mst": Case(f"{_BENCH}.mst", "MstSettings", {"iterations": 5}, CELLS),
}
