"""ADULT as the query-release papers use it, prepared from the files UCI publishes.

The Adult data set (Becker and Kohavi 1996, CC BY 4.0) is at
https://archive.ics.uci.edu/dataset/2/adult as `adult.data` and `adult.test`. FEM, HDMM+PGM and RAP
use 14 of its columns (all but `education`, which `education-num` repeats), integer-coded: numbers
shifted to start at 0 or put into right-closed bins of equal width, words numbered in the order of
UCI's `adult.names`, with the missing-value mark `?` last. Records of the training file come first.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dprap.array_types import Int
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import DataError


@dataclass(frozen=True)
class Shifted:
    """Whole numbers from `first` on, one code each."""

    first: int
    size: int

    def codes(self, values: list[str]) -> Int[np.ndarray, " records"]:
        """Codes of the values."""
        return np.array(values, dtype=np.int64) - self.first


@dataclass(frozen=True)
class Binned:
    """Right-closed bins: code i holds start + i·width < value <= start + (i + 1)·width; the start
    itself has code 0.
    """

    start: int
    width: int
    size: int

    def codes(self, values: list[str]) -> Int[np.ndarray, " records"]:
        """Codes of the values."""
        above = np.array(values, dtype=np.int64) - self.start
        return np.where(above == 0, 0, -(-above // self.width) - 1)


@dataclass(frozen=True)
class Words:
    """Words, numbered in order."""

    words: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of words."""
        return len(self.words)

    def codes(self, values: list[str]) -> Int[np.ndarray, " records"]:
        """Codes of the values; -1 for a word that is not listed."""
        code_of = {word: code for code, word in enumerate(self.words)}
        return np.array([code_of.get(value, -1) for value in values], dtype=np.int64)


RAW_COLUMNS = (
    *(
        "age",
        "workclass",
        "fnlwgt",
        "education",
        "education-num",
        "marital-status",
        "occupation",
        "relationship",
    ),
    *(
        "race",
        "sex",
        "capital-gain",
        "capital-loss",
        "hours-per-week",
        "native-country",
        "income>50K",
    ),
)
"""Columns of UCI's files; the last one is called differently in different copies."""

RULES: dict[str, Shifted | Binned | Words] = {
    "age": Shifted(16, 85),
    "workclass": Words(
        (
            *(
                "Private",
                "Self-emp-not-inc",
                "Self-emp-inc",
                "Federal-gov",
                "Local-gov",
                "State-gov",
                "Without-pay",
            ),
            *("Never-worked", "?"),
        )
    ),
    "fnlwgt": Binned(10000, 14900, 100),
    "education-num": Shifted(1, 16),
    "marital-status": Words(
        (
            *(
                "Married-civ-spouse",
                "Divorced",
                "Never-married",
                "Separated",
                "Widowed",
                "Married-spouse-absent",
            ),
            "Married-AF-spouse",
        )
    ),
    "occupation": Words(
        (
            *(
                "Tech-support",
                "Craft-repair",
                "Other-service",
                "Sales",
                "Exec-managerial",
                "Prof-specialty",
            ),
            *(
                "Handlers-cleaners",
                "Machine-op-inspct",
                "Adm-clerical",
                "Farming-fishing",
                "Transport-moving",
            ),
            *("Priv-house-serv", "Protective-serv", "Armed-Forces", "?"),
        )
    ),
    "relationship": Words(
        ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried")
    ),
    "race": Words(("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black")),
    "sex": Words(("Female", "Male")),
    "capital-gain": Binned(0, 1000, 100),
    "capital-loss": Binned(0, 50, 100),
    "hours-per-week": Shifted(1, 99),
    "native-country": Words(
        (
            *("United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany"),
            *(
                "Outlying-US(Guam-USVI-etc)",
                "India",
                "Japan",
                "Greece",
                "South",
                "China",
                "Cuba",
                "Iran",
                "Honduras",
            ),
            *(
                "Philippines",
                "Italy",
                "Poland",
                "Jamaica",
                "Vietnam",
                "Mexico",
                "Portugal",
                "Ireland",
                "France",
            ),
            *(
                "Dominican-Republic",
                "Laos",
                "Ecuador",
                "Taiwan",
                "Haiti",
                "Columbia",
                "Hungary",
                "Guatemala",
            ),
            *(
                "Nicaragua",
                "Scotland",
                "Thailand",
                "Yugoslavia",
                "El-Salvador",
                "Trinadad&Tobago",
                "Peru",
                "Hong",
            ),
            *("Holand-Netherlands", "?"),
        )
    ),
    "income>50K": Words(("<=50K", ">50K")),
}
"""How every column is coded."""

ADULT_DOMAIN = Domain.of({name: rule.size for name, rule in RULES.items()})
"""Columns and sizes of ADULT: 588 one-hot coordinates."""


def prepare_adult(train: Path | str, test: Path | str) -> Codes:
    """Code UCI's training and test file (with or without a header line) into the papers' table of
    48,842 records.
    """
    records = [record for path in (train, test) for record in _records(Path(path))]
    columns: dict[str, object] = {}
    for name, rule in RULES.items():
        position = RAW_COLUMNS.index(name)
        try:
            codes = rule.codes([record[position] for record in records])
        except ValueError:
            raise DataError(
                f"column {name!r}: a value is not a whole number. Use UCI's files as they are."
            ) from None
        if len(codes) and (codes.min() < 0 or codes.max() >= rule.size):
            raise DataError(
                f"column {name!r}: a value is outside what UCI documents. Use UCI's files as they"
                " are."
            )
        columns[name] = codes
    return Codes.of(ADULT_DOMAIN, columns)


def _records(path: Path) -> Iterator[list[str]]:
    """Records as stripped strings.

    UCI's test file opens with a remark and ends its labels with a full stop.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        for fields in csv.reader(lines, skipinitialspace=True):
            if len(fields) < len(RAW_COLUMNS) or fields[0] == "age":
                continue
            values = [field.strip() for field in fields]
            values[-1] = values[-1].rstrip(".")
            yield values
