"""Inputs that ask a release: questions as text, conditions as Python values."""

from __future__ import annotations

import datetime as dt
import functools
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.mutate import HOSTILE_TEXTS, HOSTILE_VALUES, mutated_text
from tests.release.made import made_release

from dprap.release import Release
from dprap.release.conditions import code_weights
from dprap.release.statistics_answers import answer
from dprap.schema import Schema

QUESTIONS = [
    "age in 3..8 and sex = F", "hired >= 2020-03 or hired is null", '"state of birth" in {Oslo, "Rome"}', "not (smoker = true and age < 4)",
    "hired in 2020..2021-02", "age != 3", "sex is not null", "age in ..8", "hired not in 2020-01-01..", "smoker = false or sex = M", "",
    "mean age by sex where smoker = true", "quantile 0.9 of age where age > 2", "correlation of age and hired", "histogram age by smoker", "median hired",
    "sum of age", "share by sex, smoker where age in 3..8", "count where hired is null", "stddev age",
]  # fmt: skip
PIECES = [
    " and ", " or ", " not ", " in ", " is ", "null", "(", ")", "{", "}", ",", "..", "=", "!=", "<", ">=", "age", "sex", "hired", "smoker",
    "`state of birth`", "2020-02-30", "2021", "0000", "9999", "9999-12", "north", "12", "-1", "1e3", "5.0", "١٢", "１２", "true",
    "mean ", "quantile ", "0.5", "٠.٥", "1_0", "nan", "correlation of ", " by ", " where ", "histogram ", "median ", "sum ", "share", "count ",
]  # fmt: skip
VALUES = [
    *HOSTILE_VALUES, (1, 3), (None, 5), (3, 1), (None, None), (1,), [1, 2], {3}, [], np.int64(3), np.float64("nan"), np.datetime64("2020-05-05"),
    np.datetime64("NaT"), Decimal("1E+30"), b"F", "F", "north", dt.date(2020, 5, 5), object,
]  # fmt: skip
# columns of every type, for conditions
SCHEMA = Schema.of(
    {
        "columns": {
            "age": {"type": "integer", "min": 0, "max": 11, "width": 4},
            "pay": {"type": "number", "min": 0, "max": 8, "width": 0.5, "decimals": 2},
            "sex": {"type": "categorical", "values": ["F", "M"], "nullable": True},
            "job": {"type": "categorical", "groups": {"a": [1, 2], "b": [3]}},
            "ok": {"type": "boolean"},
            "day": {"type": "date", "min": "0001-01-01", "max": "9999-12-31", "unit": "year"},
            "at": {"type": "datetime", "min": "2024-01-01T00:00:00Z", "max": "2024-12-31T00:00:00Z", "timezone": "Europe/Berlin", "unit": "week"},
            "wall": {"type": "datetime", "min": "0001-01-01T00:00:00", "max": "9999-12-31T00:00:00", "unit": "year"},
        }
    }
)  # fmt: skip


@functools.cache
def release(*, relaxed: bool) -> Release:
    """The release that is asked."""
    return made_release(relaxed=relaxed)


def question(rng: random.Random, folder: Path) -> None:
    """A question, broken down by columns."""
    text = rng.choice(QUESTIONS)
    kind = rng.randrange(6)
    if kind == 0:
        text = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 30)))
    elif kind == 1:
        text = rng.choice(["not ", "("]) * rng.choice([1, 5, 3000]) + text
    elif kind == 2:
        words = text.split(" ")
        words[rng.randrange(len(words))] = rng.choice(PIECES).strip()
        text = " ".join(words)
    elif kind < 5:
        text = mutated_text(text, rng, PIECES)
    names = made_columns() if rng.random() < 0.7 else [*made_columns(), *HOSTILE_TEXTS]
    by = rng.sample(names, rng.choice([0, 0, 0, 1, 2, 5]))
    answered = answer(release(relaxed=rng.random() < 0.8), text, by=tuple(by))
    answered.lines()
    answered.as_data()


def made_columns() -> list[str]:
    """Columns of the release."""
    return list(release(relaxed=True).schema.columns)


def condition(rng: random.Random, folder: Path) -> None:
    """A condition on a column, and one on every column of a drawn table."""
    value: Any = rng.choice(VALUES)
    if rng.random() < 0.2:
        value = (rng.choice(VALUES), rng.choice(VALUES))
    if rng.random() < 0.2:
        value = [rng.choice(VALUES) for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.3:
        value = mutated_text(
            rng.choice(["3", "2.5", "2024-05-05", "2024-05-05T10:00", "F", "a"]), rng
        )
    code_weights(SCHEMA, rng.choice([*SCHEMA.columns, "none"]), value)
