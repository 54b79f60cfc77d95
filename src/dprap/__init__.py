"""Publish statistics and a synthetic table under differential privacy.

>>> import dprap
>>> release = dprap.synthesize(
...     dprap.datasets.example(300, seed=0),
...     dprap.datasets.example_schema(),
...     epsilon=1.0,
...     kway=1,
...     method="independent",
... )
>>> len(release.table(rows=5))
5
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dprap.lazy_imports import imported_when_used
from dprap.version import __version__

if TYPE_CHECKING:
    from dprap import datasets, queries
    from dprap.accounting import Budget, Neighbors
    from dprap.api import marginals, plan, resume, synthesize
    from dprap.encoding import draft_schema
    from dprap.privacy import Curator, Ledger
    from dprap.queries import Custom, Marginal
    from dprap.release import Release, load
    from dprap.release.intervals.combine import combine
    from dprap.schema import Schema
    from dprap.synthesizer import Synthesizer
    from dprap.workload import Workload

# Imported when first used, so that `import dprap` and `dprap --help` do not wait for JAX.
_from_home = imported_when_used(
    __name__,
    {
        "Budget": "dprap.accounting",
        "Curator": "dprap.privacy",
        "Custom": "dprap.queries",
        "Ledger": "dprap.privacy",
        "Marginal": "dprap.queries",
        "Neighbors": "dprap.accounting",
        "Release": "dprap.release",
        "Schema": "dprap.schema",
        "Synthesizer": "dprap.synthesizer",
        "Workload": "dprap.workload",
        "combine": "dprap.release.intervals.combine",
        "draft_schema": "dprap.encoding",
        "load": "dprap.release",
        "marginals": "dprap.api",
        "plan": "dprap.api",
        "resume": "dprap.api",
        "synthesize": "dprap.api",
    },
)

__all__ = [
    "Budget",
    "Curator",
    "Custom",
    "Ledger",
    "Marginal",
    "Neighbors",
    "Release",
    "Schema",
    "Synthesizer",
    "Workload",
    "__version__",
    "combine",
    "datasets",
    "draft_schema",
    "load",
    "marginals",
    "plan",
    "queries",
    "resume",
    "synthesize",
]


def __getattr__(name: str) -> Any:
    if name in ("datasets", "queries"):
        return importlib.import_module(f"dprap.{name}")
    return _from_home(name)


def __dir__() -> list[str]:
    return sorted(__all__)
