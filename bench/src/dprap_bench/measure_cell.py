"""Run one cell and measure it.

NOT PRIVATE: the noise is seeded, and errors are taken against the exact answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dprap.datasets.benchmark import load_benchmark
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.evaluate import evaluate, exact_answers, published_answers
from dprap.mechanisms.result import MechanismResult
from dprap.queries import Halfspace
from dprap.relaxed import round_rows
from dprap.sources import MemorySource
from dprap.workload import Workload
from dprap_bench.cell import Cell
from dprap_bench.methods import bench_method
from dprap_bench.seeded import seeded_curator
from dprap_bench.synthetic import published_table
from dprap_bench.timing import timed
from dprap_bench.workloads import named_workload, pairs_below, unseen_marginals

Metrics = dict[str, float]

OVERSAMPLING = (1, 2, 5, 10, 20, 48)
_ADULT_TRAIN = 32_561
_LABEL = "income>50K"


@dataclass(frozen=True)
class Outcome:
    """What further measurements are taken of."""

    cell: Cell
    codes: Codes
    workload: Workload
    result: MechanismResult


def measure_cell(cell: Cell, data_dir: Path) -> Metrics:
    """Run the cell's method and return what was measured, by name."""
    codes = _table(cell, load_benchmark(cell.data, data_dir))
    workload = named_workload(cell.workload, codes.domain, rows=codes.rows)
    if cell.method == "none":
        return {"queries": float(workload.queries), "families": float(len(workload))}
    private = _head(codes, _ADULT_TRAIN) if "downstream" in cell.extras else codes
    source = MemorySource(private)
    method = bench_method(cell.method)
    # A graphical model takes marginals: of halfspaces it gets all pairs, and is judged by records
    # drawn from it.
    by_records = method.models and any(
        isinstance(family, Halfspace) for family in workload.families
    )
    asked = pairs_below(workload) if by_records else workload
    draws = (
        private.rows if by_records or {"downstream", "unseen", "rounding"} & set(cell.extras) else 0
    )
    settings = method.settings(cell.settings, synthetic_rows=draws)
    metrics: Metrics
    with timed() as metrics:
        curator = seeded_curator(
            source, epsilon=cell.epsilon, seed=cell.seed, relation=cell.relation
        )
        result = method.run(curator, asked, settings, seed=cell.seed)
    if "compilation" in cell.extras and cell.seed == 0:  # of other draws no costs are kept
        metrics |= _without_compilation(cell, source, workload, settings, metrics)
    if result.steps:
        metrics |= {
            "steps": float(result.steps),
            "cpu_seconds_per_step": metrics["cpu_seconds"] / result.steps,
        }
    errors = evaluate(
        source, workload, result.relaxed if by_records and result.relaxed is not None else result
    )
    metrics |= {
        "queries": float(errors.queries),
        "max": errors.max,
        "mean": errors.mean,
        "rmse": errors.rmse,
    }
    metrics |= {} if errors.tv is None else {"tv": errors.tv}
    outcome = Outcome(cell, codes, workload, result)
    for extra in cell.extras:
        metrics |= EXTRAS[extra](outcome) if extra in EXTRAS else {}
    return metrics


def _without_compilation(
    cell: Cell, source: MemorySource, workload: Workload, settings: Any, first: Metrics
) -> Metrics:
    """The same run once more, with its programs compiled: processor seconds of the run, and how
    much longer the first one took.
    """
    with timed() as again:
        curator = seeded_curator(
            source, epsilon=cell.epsilon, seed=cell.seed, relation=cell.relation
        )
        result = bench_method(cell.method).run(curator, workload, settings, seed=cell.seed)
    compiled = again["cpu_seconds"]
    return {
        "compiled_cpu_seconds": compiled,
        "compiled_cpu_seconds_per_step": compiled / max(result.steps, 1),
        "compilation_cpu_seconds": first["cpu_seconds"] - compiled,
    }


def _table(cell: Cell, codes: Codes) -> Codes:
    if cell.columns is not None:
        domain = Domain(codes.domain.names[: cell.columns], codes.domain.sizes[: cell.columns])
        codes = Codes(domain, codes.columns[: cell.columns])
    if cell.rows is not None:
        codes = Codes(codes.domain, tuple(np.resize(column, cell.rows) for column in codes.columns))
    return codes


def _head(codes: Codes, rows: int) -> Codes:
    return Codes(codes.domain, tuple(column[:rows] for column in codes.columns))


def _records(outcome: Outcome, *, rows: int | None = None, oversample: int | None = None) -> Codes:
    relaxed = outcome.result.relaxed
    if relaxed is None:
        raise SettingsError(f"method {outcome.cell.method} makes no synthetic data to measure.")
    columns = round_rows(
        relaxed, outcome.cell.seed, rows=rows, oversample=oversample, method="independent"
    )
    return Codes(relaxed.domain, columns)


def _published(outcome: Outcome, rows: int) -> Codes:
    """The records that people would hold: drawn as a release draws them, or the method's own."""
    if bench_method(outcome.cell.method).models:
        return _records(outcome, rows=rows)
    return published_table(outcome.result, outcome.workload, rows=rows, seed=outcome.cell.seed)


def _rounding(outcome: Outcome) -> Metrics:
    """Maximum error after rounding each relaxed row several times, independently as in the
    paper.
    """
    source = MemorySource(outcome.codes)
    return {
        f"max_rounded_{times}": (
            evaluate(source, outcome.workload, _records(outcome, oversample=times)).max
        )
        for times in OVERSAMPLING
    }


def _unseen(outcome: Outcome) -> Metrics:
    """Errors of the synthetic data on marginals that were not in the workload."""
    if outcome.result.relaxed is None:
        raise SettingsError(f"method {outcome.cell.method} answers nothing beyond its workload.")
    others = unseen_marginals(outcome.workload, rows=outcome.codes.rows)
    errors = evaluate(MemorySource(outcome.codes), others, outcome.result.relaxed)
    return {
        "unseen_max": errors.max,
        "unseen_tv": errors.tv if errors.tv is not None else float("nan"),
    }


def _quantiles(outcome: Outcome) -> Metrics:
    """The distribution of absolute errors over all queries."""
    families = outcome.workload.families
    exact = exact_answers(MemorySource(outcome.codes), families)
    published = published_answers(outcome.result, families)
    errors = np.concatenate(
        [np.abs(np.ravel(p) - e) for e, p in zip(exact, published, strict=True)]
    )
    return {
        f"error_q{share:g}": float(np.quantile(errors, share))
        for share in (0.25, 0.5, 0.75, 0.9, 0.99, 0.999)
    }


def _downstream(outcome: Outcome) -> Metrics:
    """A gradient-boosted classifier of ADULT's income trained on synthetic records and tested on
    the real test file.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import accuracy_score, roc_auc_score

    test = Codes(
        outcome.codes.domain, tuple(column[_ADULT_TRAIN:] for column in outcome.codes.columns)
    )
    metrics: Metrics = {}
    real = _head(outcome.codes, _ADULT_TRAIN)
    for name, train in (("synthetic", _published(outcome, _ADULT_TRAIN)), ("real", real)):
        features, labels = _features(train)
        if len(np.unique(labels)) < 2:
            continue
        classifier = HistGradientBoostingClassifier(random_state=0).fit(features, labels)
        held_out, truth = _features(test)
        metrics[f"accuracy_{name}"] = float(accuracy_score(truth, classifier.predict(held_out)))
        metrics[f"auc_{name}"] = float(
            roc_auc_score(truth, classifier.predict_proba(held_out)[:, 1])
        )
    return metrics


def _features(codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    others = [
        column
        for name, column in zip(codes.domain.names, codes.columns, strict=True)
        if name != _LABEL
    ]
    return np.stack(others, axis=1).astype(np.float32), codes.column(_LABEL).astype(np.int64)


EXTRAS: dict[str, Callable[[Outcome], Metrics]] = {
    "rounding": _rounding,
    "unseen": _unseen,
    "quantiles": _quantiles,
    "downstream": _downstream,
}
"""Further measurements a cell may ask for."""
