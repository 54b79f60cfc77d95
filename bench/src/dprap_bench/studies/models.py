"""Models trained on records of each method, tested on ADULT's test file: gradient boosting and
logistic regression.

Three targets: income above 50,000, married, and more than 40 hours a week. All methods see the
training records alone, at the same ε. `adaptive` and AIM answer all pairs; `rap++` all pairs, and
halfspaces of the numeric columns by income. `real` trains on the training records themselves,
without privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes
from dprap.queries import Halfspace
from dprap.relaxed import round_rows
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway
from dprap_bench.cell import StudyCell
from dprap_bench.methods import bench_method
from dprap_bench.record import Figures
from dprap_bench.seeded import seeded_curator
from dprap_bench.workloads import NUMERIC

# Records of ADULT's training file, which come first.
_TRAIN = 32_561

TARGETS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "income": ("income>50K", lambda codes: codes == 1),
    "married": ("marital-status", lambda codes: codes == 0),  # the first code is Married-civ-spouse
    "hours": ("hours-per-week", lambda codes: codes >= 40),  # code 0 is one hour
}
"""What is predicted: a column, and which of its codes count."""

METHODS = ("real", "adaptive", "rap++", "aim", "independent")
SEEDS = tuple(range(9000, 9003))


def cells(seeds: int | None) -> list[StudyCell]:
    """Every method at ε = 1."""
    return [
        StudyCell("models", {"method": method, "epsilon": 1.0, "seed": seed})
        for seed in SEEDS[:seeds]
        for method in METHODS
        if method != "real" or seed == SEEDS[0]
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """The area under the ROC curve of both models for each target."""
    codes = load_benchmark("adult", data_dir)
    real, test = _part(codes, slice(0, _TRAIN)), _part(codes, slice(_TRAIN, None))
    train = real if facts["method"] == "real" else _synthetic(real, facts)
    figures: dict[str, float | None] = {}
    for target, (column, positive) in TARGETS.items():
        for model in ("boosting", "logistic"):
            figures[f"{target}_{model}_auc"] = _auc(model, train, test, column, positive)
    return figures


def _part(codes: Codes, rows: slice) -> Codes:
    return Codes(codes.domain, tuple(column[rows] for column in codes.columns))


def _synthetic(real: Codes, facts: Mapping[str, Any]) -> Codes:
    workload, method, seed = all_kway(real.domain, 2), bench_method(facts["method"]), facts["seed"]
    if facts["method"] == "rap++":
        halfspaces = Halfspace((*NUMERIC, "income>50K"), by=("income>50K",), count=20_000)
        workload = Workload(real.domain, (*workload.families, halfspaces))
    curator = seeded_curator(MemorySource(real), epsilon=facts["epsilon"], seed=seed)
    result = method.run(curator, workload, method.settings({}, synthetic_rows=real.rows), seed=seed)
    assert result.relaxed is not None  # noqa: S101 - all of these methods make records
    return Codes(
        real.domain, round_rows(result.relaxed, seed, rows=real.rows, method="independent")
    )


def _auc(
    model: str, train: Codes, test: Codes, column: str, positive: Callable[[np.ndarray], np.ndarray]
) -> float | None:
    """Of a model that sees codes: boosting as numbers, logistic regression numbers as numbers and
    one-hot codes else.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    names = [name for name in train.domain.names if name != column]
    labels = positive(train.column(column))
    if labels.all() or not labels.any():
        return None

    def features(codes: Codes) -> np.ndarray:
        return np.stack([codes.column(name) for name in names], axis=1).astype(np.float64)

    classifier: Any = HistGradientBoostingClassifier(random_state=0)
    if model == "logistic":
        numeric = [place for place, name in enumerate(names) if name in NUMERIC]
        others = [place for place, name in enumerate(names) if name not in NUMERIC]
        onehot = OneHotEncoder(handle_unknown="ignore")
        prepared = ColumnTransformer(
            [("numbers", StandardScaler(), numeric), ("codes", onehot, others)]
        )
        classifier = make_pipeline(prepared, LogisticRegression(max_iter=300))
    classifier.fit(features(train), labels)
    return float(
        roc_auc_score(positive(test.column(column)), classifier.predict_proba(features(test))[:, 1])
    )
