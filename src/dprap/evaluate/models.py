"""Models trained on a published table, tested on private records that they have not seen.

NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dprap.errors import SchemaError, SettingsError
from dprap.evaluate.records_by_value import TableValues

# Columns of more codes than the library's histograms have bins are given as numbers.
_MOST_CATEGORIES = 255
# A target of more classes has too few records of each to judge a model by.
_MOST_CLASSES = 10
_TEST_SHARE = 0.3
_MOST_TRAINING = 50_000


@dataclass(frozen=True)
class ModelComparison:
    """Gradient boosting for one target. NOT PRIVATE.

    Args:
        target: The column that is predicted from all others.
        score: `AUC` for classes (one against the rest, mean over classes), `R²` for numbers.
        trained_on_published: The score on private records of a model trained on the published
            table.
        trained_on_private: That of a model trained on as many other private records.
    """

    target: str
    score: Literal["AUC", "R²"]
    trained_on_published: float
    trained_on_private: float


def default_target(values: TableValues) -> str | None:
    """The last column with two to ten codes and no order, where most tables have what they
    predict.
    """
    columns = values.schema.columns.items()
    fit = [
        name
        for name, column in columns
        if not column.is_ordered and 1 < column.size <= _MOST_CLASSES
    ]
    return fit[-1] if fit else None


def compare_models(
    private: TableValues, published: TableValues, targets: Sequence[str], *, seed: int = 0
) -> list[ModelComparison]:
    """Train on each table, test on the same private records.

    Args:
        private: The private table.
        published: The published table.
        targets: The columns to predict, one after the other.
        seed: Seed of the split and of the models.

    Returns:
        A comparison for each target.

    Raises:
        SettingsError: If scikit-learn is not installed.
        SchemaError: If a target is not a column, or has too many values without an order.

    """
    for target in targets:
        if target not in private.schema.columns:
            raise SchemaError(
                f"column {target!r}: is named as a target and not in the schema. Check its name."
            )
    order = np.random.default_rng(seed).permutation(private.codes.rows)
    test = order[: int(_TEST_SHARE * len(order))]
    training = order[len(test) :][:_MOST_TRAINING]
    other = np.random.default_rng(seed).permutation(published.codes.rows)[: len(training)]
    return [_compare(private, published, target, test, training, other, seed) for target in targets]


def _compare(
    private: TableValues,
    published: TableValues,
    target: str,
    test: np.ndarray,
    training: np.ndarray,
    other: np.ndarray,
    seed: int,
) -> ModelComparison:
    is_number = target in private.numbers and target in published.numbers
    column = private.schema.columns[target]
    if not is_number and column.size > _MOST_CLASSES:
        raise SchemaError(
            f"column {target!r}: has {column.size} values without an order, and a target may have"
            f" {_MOST_CLASSES}."
        )
    tables = [
        _features(values, published if values is private else private, target)
        for values in (private, published)
    ]
    goals = [
        values.numbers[target] if is_number else values.codes.column(target)
        for values in (private, published)
    ]
    scores = []
    for which, records in ((1, other), (0, training)):
        known = np.isfinite(goals[which][records])
        model = _model(private, target, is_number=is_number, seed=seed)
        model.fit(tables[which][records][known], goals[which][records][known])
        there = np.isfinite(goals[0][test])
        scores.append(
            _score(model, tables[0][test][there], goals[0][test][there], is_number=is_number)
        )
    return ModelComparison(target, "R²" if is_number else "AUC", *scores)


def _features(values: TableValues, beside: TableValues, target: str) -> np.ndarray:
    """All columns but the target, as numbers where both tables have them, else as codes."""
    found = []
    for name in values.schema.columns:
        if name != target:
            is_number = name in values.numbers and name in beside.numbers
            found.append(
                values.numbers[name] if is_number else values.codes.column(name).astype(np.float64)
            )
    return np.stack(found, axis=1)


def _model(values: TableValues, target: str, *, is_number: bool, seed: int) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    except ImportError:
        raise SettingsError(
            "models need an extra package. Run: pip install 'dprap[evaluate]'."
        ) from None
    columns = values.schema.columns
    is_category = [
        not columns[name].is_ordered and columns[name].size <= _MOST_CATEGORIES
        for name in columns
        if name != target
    ]
    kind = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier
    return kind(categorical_features=is_category, random_state=seed)


def _score(model: Any, features: np.ndarray, goal: np.ndarray, *, is_number: bool) -> float:
    if is_number:
        return float(model.score(features, goal)) if len(goal) > 1 else float("nan")
    from sklearn.metrics import roc_auc_score

    classes = list(model.classes_)
    probabilities = model.predict_proba(features)
    scores = []
    for code in np.unique(goal):
        is_code = goal == code
        if 0 < is_code.sum() < len(goal):
            of_code = (
                probabilities[:, classes.index(code)] if code in classes else np.zeros(len(goal))
            )
            scores.append(roc_auc_score(is_code, of_code))
    return float(np.mean(scores)) if scores else float("nan")
