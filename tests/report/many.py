"""Releases for reports: of any number of columns, with related columns, made without a run."""

from __future__ import annotations

import numpy as np

from dprap.accounting.measurement import Certificate, Measurement
from dprap.encoding import Codes
from dprap.queries import Marginal
from dprap.relaxed import RelaxedDataset, uniform_weights
from dprap.release import PrivacyStatement, Release, RunFacts
from dprap.schema import Schema
from dprap.workload import all_kway

_KINDS = (
    {"type": "integer", "min": 0, "max": 89, "width": 2},
    {"type": "categorical", "values": ["female", "male", "diverse"], "nullable": True},
    {"type": "boolean"},
    {
        "type": "categorical",
        "values": [f"district number {code}" for code in range(30)],
        "other": "elsewhere",
    },
    {"type": "number", "min": 0, "max": 1000, "bins": 20, "nullable": True},
    {"type": "date", "min": "2020-01-01", "max": "2024-12-31", "unit": "month"},
)


def many_columns(columns: int) -> Schema:
    """A schema of so many columns of all types."""
    names = ["age", "sex", "smoker", "district", "income", "first visit"]
    described = {
        (
            names[at] if at < len(names) else f"{names[at % len(names)]} {at // len(names) + 1}"
        ): _KINDS[at % len(_KINDS)]
        for at in range(columns)
    }
    return Schema.of({"columns": described})


def related_codes(schema: Schema, rows: int, seed: int) -> Codes:
    """Records in which columns follow a hidden factor, neighbouring columns more alike."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, 3))
    columns: dict[str, object] = {}
    for at, (name, size) in enumerate(zip(schema.domain.names, schema.domain.sizes, strict=True)):
        score = hidden[:, at % 3] * (1 if at % 4 else 0.2) + rng.normal(size=rows) * 0.9
        share = 1 / (1 + np.exp(-1.1 * score - 0.3 * (at % 5)))
        columns[name] = np.minimum((share * size).astype(int), size - 1)
    return Codes.of(schema.domain, columns)


def related_release(
    columns: int, *, rows: int = 20_000, relaxed_rows: int = 500, seed: int = 0
) -> tuple[Release, Codes]:
    """A release and the records it stands for; noise from a seed, which a hand-made release may
    have.
    """
    schema = many_columns(columns)
    domain = schema.domain
    truth = related_codes(schema, rows, seed)
    sample = related_codes(schema, relaxed_rows, seed + 1)
    probabilities = np.concatenate(
        [
            np.eye(size, dtype=np.float32)[column].T * 0.85 + 0.15 / size
            for column, size in zip(sample.columns, domain.sizes, strict=True)
        ]
    )
    rng = np.random.default_rng(seed)
    measurements = [
        Measurement(
            Marginal((name,)),
            np.bincount(column, minlength=size)
            + np.rint(rng.normal(scale=60, size=size)).astype(np.int64),
            60.0,
            0.01 / columns,
        )
        for name, size, column in zip(domain.names, domain.sizes, truth.columns, strict=True)
    ]
    release = Release(
        schema=schema,
        workload=all_kway(domain, min(2, columns)),
        privacy=PrivacyStatement(1.0, 2.5e-9, 0.0165, 0.0165, "replace", 1, "tight", private=True),
        facts=RunFacts("adaptive", {"rounds": 12}, 0, 61.3, 912.0, "0.1.0", "2026-01-01T00:00:00Z"),
        rows=rows,
        relaxed=RelaxedDataset(
            domain, probabilities.astype(np.float32), uniform_weights(relaxed_rows)
        ),
        workload_shares=None,
        measurements=tuple(measurements),
        certificate=Certificate(123_456, 210.0, 55.0, 0.95, 300.5, 0.0003),
    )
    return release, truth
