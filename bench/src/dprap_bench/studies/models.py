"""Models trained on records of each method, tested on other records: gradient boosting and logistic
regression, three targets each on two mixed tables.

* `adult`: the raw training and test file of Adult, with a header line, as `raw/adult-train.csv` and
  `raw/adult-test.csv` in the data folder.
* `loans`: 16 columns of LOANS, nine of them numeric; every fourth record is kept for the test.

All methods see the training records alone, at the same ε, δ = 1/n² and accounting. `adaptive` is
told the public bounds of a number and nothing else, and publishes its table. AIM, `rap++` and
independent columns need bins, and `adaptive, bins` has the same ones. Workloads are all pairs, for
`rap++` with halfspaces of the numeric columns by the first target. `real` trains on the training
records themselves, without privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dprap
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes, decode, encode
from dprap.queries import Halfspace
from dprap.relaxed import round_rows
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway
from dprap_bench.cell import StudyCell
from dprap_bench.methods import bench_method
from dprap_bench.record import Figures
from dprap_bench.seeded import seeded_curator

METHODS = ("real", "adaptive", "adaptive, bins", "rap++", "aim", "independent")
SEEDS = tuple(range(9100, 9103))
_HALFSPACES = 20_000

Positive = Callable[[pd.Series], pd.Series]

# Numbers of the raw Adult table: bounds that its documentation or common sense gives, and bins that
# a careful person would choose.
_ADULT_NUMBERS: dict[str, tuple[int, int, list[int]]] = {
    "age": (17, 90, [17, *range(20, 90, 5), 91]),
    "fnlwgt": (0, 1_500_000, [*range(0, 400_000, 20_000), 500_000, 700_000, 1_500_001]),
    "education-num": (1, 16, list(range(1, 18))),
    "capital-gain": (0, 99_999, [0, 1, 2000, 3000, 4000, 5000, 7000, 10_000, 20_000, 100_000]),
    "capital-loss": (0, 4_999, [0, 1, 1000, 1500, 1700, 1900, 2100, 2500, 5000]),
    "hours-per-week": (1, 99, [1, 10, 20, 25, 30, 35, 40, 41, 45, 50, 51, 55, 60, 61, 70, 100]),
}
_LOANS_NUMBERS = (
    *("loan_amnt", "int_rate", "installment", "annual_inc", "dti"),
    *("open_acc", "revol_bal", "total_acc", "total_rec_int"),
)
_LOANS_WORDS = (
    *("term", "grade", "emp_length", "home_ownership"),
    *("verification_status", "loan_status", "purpose"),
)
# LOANS has a hundred codes for a number: five of them make a bin.
_LOANS_BIN = 5


@dataclass(frozen=True)
class Task:
    """A table to learn from, in two parts, its schemas, and what is predicted."""

    train: pd.DataFrame
    test: pd.DataFrame
    bounds: Schema
    bins: Schema
    numbers: tuple[str, ...]
    targets: Mapping[str, tuple[str, Positive]]


def cells(seeds: int | None) -> list[StudyCell]:
    """Every method on both tables at ε = 1."""
    return [
        StudyCell("models", {"data": data, "method": method, "epsilon": 1.0, "seed": seed})
        for seed in SEEDS[:seeds]
        for data in ("adult", "loans")
        for method in METHODS
        if method != "real" or seed == SEEDS[0]
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """The area under the ROC curve of both models for each target."""
    task = adult_task(data_dir) if facts["data"] == "adult" else loans_task(data_dir)
    train = _records(task, facts)
    return {
        f"{target}_{model}_auc": area_under_curve(model, train, task, column, positive)
        for target, (column, positive) in task.targets.items()
        for model in ("boosting", "logistic")
    }


def adult_task(data_dir: Path) -> Task:
    """The raw table of Adult in its published parts."""
    train, test = (
        pd.read_csv(data_dir / "raw" / f"adult-{part}.csv") for part in ("train", "test")
    )
    train, test = (frame.rename(columns=str.strip) for frame in (train, test))
    words: dict[str, Any] = {
        name: {"type": "categorical", "values": sorted(set(train[name]) | set(test[name]))}
        for name in map(str, train.columns)
        if name not in _ADULT_NUMBERS
    }
    bounds = {
        name: {"type": "integer", "min": low, "max": high}
        for name, (low, high, _) in _ADULT_NUMBERS.items()
    }
    bins = {
        name: {"type": "integer", "edges": edges} for name, (_, _, edges) in _ADULT_NUMBERS.items()
    }
    targets: dict[str, tuple[str, Positive]] = {
        "income": ("income-per-year", lambda values: values == ">50K"),
        "professional": (
            "occupation",
            lambda values: values.isin(["Exec-managerial", "Prof-specialty"]),
        ),
        "hours": ("hours-per-week", lambda values: values > 40),
    }
    return _task(train, test, words, bounds, bins, targets)


def loans_task(data_dir: Path) -> Task:
    """Some columns of LOANS, every fourth record kept for the test."""
    codes = load_benchmark("loans", data_dir)
    names = (*_LOANS_NUMBERS, *_LOANS_WORDS)
    table = pd.DataFrame({name: codes.column(name).astype(np.int64) for name in names})
    held_out = np.arange(len(table)) % 4 == 3
    sizes = dict(zip(codes.domain.names, codes.domain.sizes, strict=True))
    words: dict[str, Any] = {
        name: {"type": "categorical", "values": list(range(sizes[name]))} for name in _LOANS_WORDS
    }
    bounds = {
        name: {"type": "integer", "min": 0, "max": sizes[name] - 1} for name in _LOANS_NUMBERS
    }
    bins = {
        name: {"type": "integer", "edges": [*range(0, sizes[name] - 1, _LOANS_BIN), sizes[name]]}
        for name in _LOANS_NUMBERS
    }
    targets: dict[str, tuple[str, Positive]] = {
        "repaid": ("loan_status", lambda values: values == 3),
        "mortgage": ("home_ownership", lambda values: values == 0),
        "verified": ("verification_status", lambda values: values == 0),
    }
    train, test = (table[part].reset_index(drop=True) for part in (~held_out, held_out))
    return _task(train, test, words, bounds, bins, targets)


def _task(
    train: pd.DataFrame,
    test: pd.DataFrame,
    words: Mapping[str, Any],
    bounds: Mapping[str, Any],
    bins: Mapping[str, Any],
    targets: Mapping[str, tuple[str, Positive]],
) -> Task:
    schema, coarse = (Schema.of({"columns": {**each, **words}}) for each in (bounds, bins))
    return Task(train, test, schema, coarse, tuple(bounds), targets)


def _records(task: Task, facts: Mapping[str, Any]) -> pd.DataFrame:
    """What the models are trained on."""
    method, epsilon, seed = facts["method"], facts["epsilon"], facts["seed"]
    if method == "real":
        return task.train
    if method.startswith("adaptive"):
        release = dprap.synthesize(
            task.train,
            task.bins if method.endswith("bins") else task.bounds,
            epsilon=epsilon,
            delta=1 / len(task.train) ** 2,
            accounting="tight",
            kway=2,
            intervals="no",
            certificate_share=0,
            insecure_noise_seed=seed,
        )
        return pd.DataFrame(release.table())
    return _by_codes(task, method, epsilon, seed)


def _by_codes(task: Task, name: str, epsilon: float, seed: int) -> pd.DataFrame:
    """Records of a method that sees the codes of bins."""
    codes = encode(task.train, task.bins)
    workload, method = all_kway(codes.domain, 2), bench_method(name)
    if name == "rap++":
        label = next(iter(task.targets.values()))[0]
        halfspaces = Halfspace((*task.numbers, label), by=(label,), count=_HALFSPACES)
        workload = Workload(codes.domain, (*workload.families, halfspaces))
    curator = seeded_curator(MemorySource(codes), epsilon=epsilon, seed=seed)
    settings = method.settings({}, synthetic_rows=codes.rows)
    result = method.run(curator, workload, settings, seed=seed)
    assert result.relaxed is not None  # noqa: S101 - all of these methods make records
    drawn = round_rows(result.relaxed, seed, rows=codes.rows, method="independent")
    table = decode(Codes(codes.domain, drawn), task.bins, seed=seed)
    return pd.DataFrame(table.to_pandas())


def area_under_curve(
    model: str, train: pd.DataFrame, task: Task, column: str, positive: Positive
) -> float | None:
    """Of a model that sees numbers as numbers, and words as numbers (boosting) or one-hot."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    labels = positive(train[column])
    if labels.all() or not labels.any():
        return None
    numbers = [name for name in task.numbers if name != column]
    words = [name for name in task.bounds.columns if name not in (*task.numbers, column)]
    if model == "boosting":
        encoder: Any = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        scaler: Any = "passthrough"
        classifier: Any = HistGradientBoostingClassifier(random_state=0)
    else:
        encoder, scaler = OneHotEncoder(handle_unknown="ignore"), StandardScaler()
        classifier = LogisticRegression(max_iter=300)
    prepared = ColumnTransformer([("numbers", scaler, numbers), ("words", encoder, words)])
    fitted = make_pipeline(prepared, classifier).fit(train[[*numbers, *words]], labels)
    scores = fitted.predict_proba(task.test[[*numbers, *words]])[:, 1]
    return float(roc_auc_score(positive(task.test[column]), scores))
