"""The embedded example: a made-up register of employees, of any size.

Public; no real person is in it.

It has what real tables have: a long-tailed income, skewed regions, rare occupations, dates,
instants, missing values and dependencies (occupation on education, income on both and on age, hours
on employment, sick days on age and smoking).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import numpy as np
import pyarrow as pa

from dprap.arguments import as_whole_number
from dprap.array_types import Float64, Int64
from dprap.schema import Schema

_BLOCK = 1 << 16
"""Records are drawn in blocks of this size, each with its own stream: the table does not depend on
the batch size.
"""
_VECTOR = 64
"""A multiple of the numbers that any processor takes at a time; it divides a block."""

REGIONS = (
    "Capital",
    "North",
    "Harbour",
    "Lakes",
    "South",
    "Hills",
    "West",
    "Valley",
    "East",
    "Coast",
    "Islands",
    "Border",
)
EDUCATION = (
    "primary",
    "lower secondary",
    "upper secondary",
    "vocational",
    "bachelor",
    "master",
    "doctorate",
)
OCCUPATIONS = (
    "sales", "office", "craft", "transport", "care", "teaching", "engineering", "health", "management", "farming",
    "security", "law", "science", "arts", "fishing", "diplomacy", "aviation", "astronomy",
)  # fmt: skip
EMPLOYMENT = ("employee", "self-employed", "public servant", "apprentice", "retired", "not working")
MARITAL = ("single", "married", "divorced", "widowed")

_REGION_SHARES = np.array(
    [0.31, 0.17, 0.12, 0.09, 0.08, 0.07, 0.06, 0.045, 0.03, 0.017, 0.006, 0.002]
)
_EDUCATION_SHARES = np.array([0.06, 0.14, 0.30, 0.22, 0.16, 0.10, 0.02])
# weight of each occupation at the lowest and at the highest education; in between it moves
# geometrically
_OCCUPATION_LOW = np.array(
    [20, 8, 22, 16, 10, 0.3, 0.5, 1, 1, 9, 5, 0.05, 0.05, 1, 0.8, 0.01, 0.02, 0.002]
)
_OCCUPATION_HIGH = np.array(
    [3, 5, 0.5, 0.3, 1, 18, 16, 17, 14, 0.5, 0.5, 9, 12, 3, 0.02, 0.4, 0.5, 0.1]
)
_PAY = np.array(
    [0.95, 1, 1, 0.92, 0.85, 1.05, 1.35, 1.25, 1.6, 0.7, 0.9, 1.6, 1.2, 0.75, 0.7, 1.5, 1.7, 1.2]
)
_HIRE_FIRST, _HIRE_LAST = date(1985, 1, 1), date(2024, 12, 31)
_REVIEW_START = 1_704_067_200  # 2024-01-01T00:00:00Z


def example(rows: int = 10_000, seed: int = 0) -> pa.Table:
    """An invented table of persons, with dates, nulls and a long tail; nobody's data.

    The same seed gives the same first records for any number of them.

    Args:
        rows: How many records.
        seed: The seed of all randomness.

    Returns:
        An Arrow table that `example_schema` describes.

    Raises:
        SettingsError: If the number or the seed is no whole number, or negative.

    >>> example(3, seed=1).column_names[:4]
    ['age', 'sex', 'region', 'education']

    """
    rows, seed = as_whole_number(rows, "rows"), as_whole_number(seed, "seed")
    batches = list(example_batches(rows, seed)) or [_block(0, seed, 0)]
    return pa.Table.from_batches(batches).combine_chunks()


def example_batches(rows: int, seed: int = 0, batch_rows: int = _BLOCK) -> Iterator[pa.RecordBatch]:
    """The example table as batches of at most `batch_rows` records; their content does not depend
    on `batch_rows`.
    """
    pending: list[pa.RecordBatch] = []
    held = 0
    for block in range(-(-rows // _BLOCK)):
        batch = _block(min(_BLOCK, rows - block * _BLOCK), seed, block)
        pending.append(batch)
        held += batch.num_rows
        if held >= batch_rows:
            table = pa.Table.from_batches(pending).combine_chunks()
            whole = held // batch_rows * batch_rows
            yield from table.slice(0, whole).to_batches(max_chunksize=batch_rows)
            pending = table.slice(whole).to_batches()
            held -= whole
    if held:
        yield from pa.Table.from_batches(pending).combine_chunks().to_batches()


def example_schema() -> Schema:
    """What is publicly known about the example table.

    Returns:
        A reviewed schema of its 14 columns.

    >>> len(example_schema().columns)
    14

    """
    text = {"type": "categorical"}
    return Schema.of(
        {
            "description": "Embedded example: a made-up register of employees.",
            "columns": {
                "age": {"type": "integer", "min": 16, "max": 95, "storage": "int32"},
                "sex": {**text, "values": ["female", "male", "diverse"]},
                "region": {**text, "values": list(REGIONS)},
                "education": {**text, "values": list(EDUCATION), "nullable": True},
                "education_years": {"type": "integer", "min": 4, "max": 21, "nullable": True, "storage": "int32"},
                "marital": {**text, "values": list(MARITAL)},
                "employment": {**text, "values": list(EMPLOYMENT)},
                "occupation": {**text, "values": list(OCCUPATIONS[:14]), "other": "other", "nullable": True},
                "hours": {"type": "integer", "min": 0, "max": 80, "width": 5, "out_of_domain": "clip"},
                "income": {
                    "type": "number",
                    "edges": [0, 0.01, 5000, 10000, 15000, 20000, 25000, 30000, 40000, 50000, 65000, 80000, 100000,
                              150000, 250000, 500000, 2000000],
                    "decimals": 2, "nullable": True, "out_of_domain": "clip",
                },
                "hired": {"type": "date", "min": _HIRE_FIRST, "max": _HIRE_LAST, "unit": "year", "nullable": True},
                "last_review": {
                    "type": "datetime", "min": "2024-01-01T00:00:00Z", "max": "2025-01-01T00:00:00Z",
                    "timezone": "UTC", "unit": "month", "nullable": True,
                },
                "sick_days": {"type": "integer", "edges": [0, 1, 3, 6, 11, 21, 61, 366]},
                "smoker": {"type": "boolean", "nullable": True},
            },
            "constraints": [
                {"type": "forbid", "where": {"age": {"max": 24}, "education": ["doctorate"]}},
                {"type": "forbid", "where": {"age": {"max": 54}, "employment": ["retired"]}},
                {
                    "type": "determines", "from": "education", "to": "education_years",
                    "map": dict(zip(EDUCATION, _YEARS.tolist(), strict=True)),
                },
            ],
        }
    )  # fmt: skip


_YEARS = np.array([4, 9, 12, 13, 16, 18, 21])


def _block(rows: int, seed: int, block: int) -> pa.RecordBatch:
    """One block of records.

    Draws always fill the whole block, so that a shorter last block has the same records. They are
    used in whole vectors of the processor, so that these records are the same to the last digit.
    """
    rng = np.random.default_rng([seed, block])
    used = -(-rows // _VECTOR) * _VECTOR
    u = rng.random((16, _BLOCK))[:, :used]
    normal = rng.standard_normal((4, _BLOCK))[:, :used]

    age = np.clip(16 + 79 * _beta_like(u[0]), 16, 95).astype(np.int64)
    sex = _pick(np.array([0.505, 0.49, 0.005]), u[1])
    region = _pick(_REGION_SHARES, u[2])
    education = _education(age, region, u[3])
    occupation = _pick_by(_occupation_shares(), education, u[4])
    marital = _marital(age, u[5])
    employment = _employment(age, education, u[6])
    smoker = u[7] < np.where(age < 70, 0.30, 0.12) - 0.035 * education
    hours = _hours(employment, occupation, normal[0], u[8])
    income = _income(age, sex, region, education, occupation, employment, hours, normal[1])
    hired = _hired(age, u[9])
    review = _REVIEW_START + (366 * 86_400 * np.sqrt(u[10])).astype(np.int64)
    review -= review % 86_400 - (28_800 + (32_400 * u[11]).astype(np.int64))  # office hours
    sick = np.minimum(np.exp(0.9 * normal[2] + 0.012 * age + 0.5 * smoker), 365).astype(np.int64)
    sick = np.where(u[12] < 0.45, 0, sick)

    works = np.isin(employment, (0, 1, 2, 3))
    no_education = u[13] < 0.02
    no_income = u[14] < np.where(employment == 1, 0.12, 0.03)
    columns = {
        "age": pa.array(age[:rows].astype(np.int32)),
        "sex": _texts(("female", "male", "diverse"), sex[:rows]),
        "region": _texts(REGIONS, region[:rows]),
        "education": _texts(EDUCATION, education[:rows], no_education[:rows]),
        "education_years": pa.array(
            _YEARS[education[:rows]].astype(np.int32), mask=no_education[:rows]
        ),
        "marital": _texts(MARITAL, marital[:rows]),
        "employment": _texts(EMPLOYMENT, employment[:rows]),
        "occupation": _texts(OCCUPATIONS, occupation[:rows], ~works[:rows]),
        "hours": pa.array(hours[:rows].astype(np.int64)),
        "income": pa.array(income[:rows], mask=no_income[:rows]),
        "hired": pa.array(hired[:rows].astype(np.int32), mask=~works[:rows]).cast(pa.date32()),
        "last_review": (
            pa.array(review[:rows] * 10**6, mask=~works[:rows]).cast(pa.timestamp("us", "UTC"))
        ),
        "sick_days": pa.array(sick[:rows]),
        "smoker": pa.array(smoker[:rows], mask=u[15, :rows] < 0.08),
    }
    return pa.RecordBatch.from_pydict(columns)


def _beta_like(u: Float64[np.ndarray, " block"]) -> Float64[np.ndarray, " block"]:
    """A humped age distribution on [0, 1] from uniform draws, without a special function."""
    return np.asarray(0.55 * u + 0.45 * (1 - np.sqrt(1 - u)))


def _pick(
    shares: Float64[np.ndarray, " values"], u: Float64[np.ndarray, " block"]
) -> Int64[np.ndarray, " block"]:
    cumulative = np.cumsum(shares / shares.sum())
    return np.asarray(np.minimum(np.searchsorted(cumulative, u, side="right"), len(shares) - 1))


def _pick_by(
    shares: Float64[np.ndarray, "given values"],
    given: Int64[np.ndarray, " block"],
    u: Float64[np.ndarray, " block"],
) -> Int64[np.ndarray, " block"]:
    """Draw from the row of `shares` that `given` names: one search in all rows' cumulative shares
    end to end.
    """
    cumulative = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    cumulative[:, -1] = 1.0
    flat = (cumulative + np.arange(len(shares))[:, None]).ravel()
    # given + u may round up to the next row
    return np.asarray(
        np.minimum(
            np.searchsorted(flat, given + u, side="right") - given * shares.shape[1],
            shares.shape[1] - 1,
        )
    )


def _education(age: np.ndarray, region: np.ndarray, u: np.ndarray) -> Int64[np.ndarray, " block"]:
    tilt = (
        np.array([0.35, 0, 0.1, 0, -0.1, -0.15, 0, -0.2, -0.2, 0, -0.3, -0.25])[region]
        + (45 - age) / 120
    )
    education = _pick(_EDUCATION_SHARES, np.clip(u ** np.exp(-tilt), 0, 1 - 1e-12))
    # the young have not finished yet; nobody is a doctor before 25
    highest = np.select(
        [age < 18, age < 20, age < 22, age < 24, age < 27], [1, 2, 3, 4, 5], default=6
    )
    highest = np.where((age >= 25) & (age < 27), 5, highest)
    return np.asarray(np.minimum(education, highest))


def _occupation_shares() -> Float64[np.ndarray, "education occupation"]:
    level = np.linspace(0, 1, len(EDUCATION))[:, None]
    return np.asarray(_OCCUPATION_LOW ** (1 - level) * _OCCUPATION_HIGH**level)


def _marital(age: np.ndarray, u: np.ndarray) -> Int64[np.ndarray, " block"]:
    band = np.digitize(age, [20, 26, 35, 50, 65, 80])
    shares = np.array(
        [
            [0.998, 0.002, 0, 0],
            [0.90, 0.09, 0.01, 0],
            [0.52, 0.43, 0.05, 0],
            [0.24, 0.60, 0.15, 0.01],
            [0.13, 0.64, 0.19, 0.04],
            [0.06, 0.61, 0.15, 0.18],
            [0.04, 0.38, 0.08, 0.50],
        ]
    )
    return _pick_by(shares, band, u)


def _employment(
    age: np.ndarray, education: np.ndarray, u: np.ndarray
) -> Int64[np.ndarray, " block"]:
    band = np.digitize(age, [20, 26, 55, 63, 67, 75]) * 2 + (education >= 4)
    shares = np.array(
        [
            [0.20, 0.00, 0.00, 0.40, 0, 0.40], [0.20, 0, 0, 0.4, 0, 0.4],
            [0.55, 0.02, 0.03, 0.18, 0, 0.22], [0.6, 0.03, 0.07, 0.02, 0, 0.28],
            [0.66, 0.09, 0.09, 0.01, 0, 0.15], [0.62, 0.12, 0.19, 0.002, 0, 0.068],
            [0.54, 0.10, 0.11, 0, 0.10, 0.15], [0.53, 0.14, 0.20, 0, 0.06, 0.07],
            [0.30, 0.08, 0.07, 0, 0.47, 0.08], [0.36, 0.14, 0.12, 0, 0.33, 0.05],
            [0.03, 0.04, 0.00, 0, 0.92, 0.01], [0.04, 0.08, 0.00, 0, 0.87, 0.01],
            [0.003, 0.01, 0, 0, 0.987, 0], [0.005, 0.025, 0, 0, 0.97, 0],
        ]
    )  # fmt: skip
    return _pick_by(shares, band, u)


def _hours(
    employment: np.ndarray, occupation: np.ndarray, normal: np.ndarray, u: np.ndarray
) -> Int64[np.ndarray, " block"]:
    usual = np.array([38.5, 46, 40, 37, 0, 0])[employment] + np.isin(occupation, (8, 11, 16)) * 5
    hours = np.where(u < 0.45, usual, usual + np.where(u < 0.7, 3, 9) * normal)
    hours = np.where((u > 0.82) & (employment < 3), 20 + 4 * normal, hours)
    return np.where(employment < 4, np.clip(np.rint(hours), 1, 90), 0).astype(np.int64)


def _income(
    age: np.ndarray,
    sex: np.ndarray,
    region: np.ndarray,
    education: np.ndarray,
    occupation: np.ndarray,
    employment: np.ndarray,
    hours: np.ndarray,
    normal: np.ndarray,
) -> Float64[np.ndarray, " block"]:
    experience = np.clip(age - 18, 0, 40)
    log_pay = (
        9.75
        + 0.14 * education
        + np.log(_PAY[occupation])
        + 0.028 * experience
        - 0.00035 * experience**2
    )
    log_pay += np.log(np.maximum(hours, 1) / 38) - 0.06 * (sex == 0) + 0.12 * (region == 0)
    # the self-employed make the long tail
    log_pay += np.where(employment == 1, 0.75, 0.33) * normal
    pension = 9.2 + 0.11 * education + 0.25 * normal
    log_income = np.where(
        employment == 4, pension, np.where(employment == 3, 9.1 + 0.1 * normal, log_pay)
    )
    return np.where(employment == 5, 0.0, np.round(np.exp(log_income), 2))


def _hired(age: np.ndarray, u: np.ndarray) -> Int64[np.ndarray, " block"]:
    """Day of hiring: recent for most, never before the age of sixteen."""
    last = (_HIRE_LAST - date(1970, 1, 1)).days
    span = np.minimum((age - 15.5) * 365.25, (_HIRE_LAST - _HIRE_FIRST).days)
    return np.asarray(last - (span * u**1.8).astype(np.int64))


def _texts(
    labels: tuple[str, ...], codes: np.ndarray, missing: np.ndarray | None = None
) -> pa.Array:
    indices = pa.array(codes.astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(labels)).cast(pa.string())
