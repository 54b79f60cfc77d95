"""Studies beside the paper's experiments: one module each, measured by the same runner into the
same records.

A study is a module with `cells(seeds)`, what to measure, and `measure(facts, data_dir)`, which
measures one cell in a process of its own. A study may show its kept records in a `table(records)`
of its own. NOT PRIVATE: noise is seeded and errors are exact.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from dprap.errors import SettingsError
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures

STUDIES = {
    "adaptive": "error, time and memory of the default mechanism, over ε, workloads and tables",
    "adaptive_ablation": "what each lever of the adaptive mechanism does",
    "adaptive_rows": "what the adaptive mechanism costs after counting, on small and large tables",
    "adaptive_rules": "what each rule of the adaptive mechanism is worth, on three tables",
    "certificate_coverage": "how often the accuracy certificate's bound holds",
    "counting": "how fast each engine counts",
    "interval_coverage": "how often the intervals of answers hold the truth, and how wide they are",
    "models": "models trained on synthetic records of two mixed tables, for six targets, by method",
    "pairs": "what all pairs of 60 columns cost before any noise, by part",
    "privacy_primitives": "counting, noise and selection, each beside a peer",
    "rap_accuracy": "maximum error, time and steps of RAP on the paper's workloads",
    "rap_departures": "what each departure of RAP from the paper's settings does",
    "rap_rounding": "what rounding to whole records adds to the maximum error of RAP",
    "regression_coverage": "how often intervals of regressions on several tables hold the truth",
    "rap_step": "what one optimiser step of RAP costs, by part",
    "regimes": "the published table against independent columns and Gaussian noise, in 80 regimes",
    "scale": "processor time and memory on large tables and workloads, against their targets",
    "targets": "what a target does for models of it, and what it costs, on three tables",
    "studio_pages": "what a page of the studio costs, and what an upload holds in memory",
}
"""The studies and what each shows; a study's module has its name."""


class Study(Protocol):
    """What a study's module offers."""

    def cells(self, seeds: int | None) -> list[StudyCell]:
        """What to measure, with at most `seeds` noise seeds where there are any."""
        ...

    def measure(self, facts: Mapping[str, Any], data_dir: Path) -> Figures:
        """The figures of one cell."""
        ...


def study_named(name: str) -> Study:
    """The study of that name."""
    if name not in STUDIES:
        raise SettingsError(f"there is no study {name!r}. The studies are: {', '.join(STUDIES)}.")
    return cast("Study", importlib.import_module(f"dprap_bench.studies.{name}"))
