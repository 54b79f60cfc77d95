"""Small releases made by hand, so that every number in them is known."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from dprap.accounting.measurement import Certificate, Measurement, QueryMeasurement
from dprap.queries import Marginal, Query, Range
from dprap.relaxed import RelaxedDataset
from dprap.release import PrivacyStatement, Release, RunFacts
from dprap.schema import Schema
from dprap.workload import Workload

SCHEMA = Schema.of(
    {
        "columns": {
            "age": {"type": "integer", "min": 0, "max": 11, "width": 4},
            "sex": {"type": "categorical", "values": ["F", "M"]},
            "state of birth": {
                "type": "categorical",
                "groups": {"north": ["Oslo", "Bergen"], "south": ["Rome", "Bari"]},
                "other": "elsewhere",
                "nullable": True,
            },
            "hired": {
                "type": "date",
                "min": "2020-01-01",
                "max": "2021-12-31",
                "unit": "year",
                "nullable": True,
            },
            "smoker": {"type": "boolean"},
        }
    }
)


def made_release(
    *, relaxed_rows: int = 4, rows: int = 1000, seed: int = 0, relaxed: bool = True
) -> Release:
    """A release with random relaxed rows, two measured marginals and a coarse one, one measured
    query and a certificate.
    """
    rng = np.random.default_rng(seed)
    domain = SCHEMA.domain
    blocks = [rng.dirichlet(np.ones(size), relaxed_rows).T for size in domain.sizes]
    data = RelaxedDataset(
        domain,
        np.concatenate(blocks).astype(np.float32),
        rng.dirichlet(np.ones(relaxed_rows)).astype(np.float32),
    )
    families = (
        Marginal(("age", "sex")),
        Marginal(("sex", "smoker")),
        Range.prefixes(("age", "smoker"), cumulative=("age",)),
    )
    return Release(
        schema=SCHEMA,
        workload=Workload(domain, families),
        privacy=PrivacyStatement(1.0, 1e-6, 0.02, 0.02, "replace", 1, "tight", private=True),
        facts=RunFacts("made", {}, seed, 1.0, 100.0, "0", "2026-01-01T00:00:00Z"),
        rows=rows,
        relaxed=data if relaxed else None,
        workload_shares=(
            None if relaxed else tuple(rng.dirichlet(np.ones(f.size(domain))) for f in families)
        ),
        measurements=(
            Measurement(Marginal(("age",)), np.array([500, 300, 200]), 10.0, 0.005),
            Measurement(
                Marginal(("sex", "age")),
                np.array([[250, 150, 100], [250, 150, 100]]).ravel(),
                5.0,
                0.009,
            ),
            QueryMeasurement(Query(Marginal(("sex", "smoker")), 3), 321.0, 2.0, 0.004),
            Measurement(
                Marginal(("age", "hired"), ((0, 2), None)),
                np.array([400, 300, 100, 100, 60, 40]),
                4.0,
                0.001,
            ),
        ),
        certificate=Certificate(16, 30.0, 6.0, 0.95, 40.0, 0.001),
    )


@cache
def _saved() -> tempfile.TemporaryDirectory[str]:
    """A folder with `made_release`, saved once; it goes when the process ends."""
    folder = tempfile.TemporaryDirectory()
    made_release().save(Path(folder.name) / "out")
    return folder


def save_made_release(folder: Path) -> Path:
    """A copy of the saved `made_release`: drawing its table and writing it again would take far
    longer.
    """
    return Path(shutil.copytree(Path(_saved().name) / "out", folder))


def every_record() -> list[dict[str, object]]:
    """All combinations of raw values, with the code and the part of the code that each stands
    for.
    """
    ages = [(value, value // 4, 1 / 4) for value in range(12)]
    sexes = [("F", 0, 1.0), ("M", 1, 1.0)]
    states = [
        ("Oslo", 0, 0.5),
        ("Bergen", 0, 0.5),
        ("Rome", 1, 0.5),
        ("Bari", 1, 0.5),
        ("elsewhere", 2, 1.0),
        (None, 3, 1.0),
    ]
    # months stand for days: their lengths make the parts exact
    days = (
        [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
        [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
    )
    hired: list[tuple[str | None, int, float]] = [
        (f"{2020 + year}-{month + 1:02d}", year, days[year][month] / sum(days[year]))
        for year in range(2)
        for month in range(12)
    ]
    smokers = [(False, 0, 1.0), (True, 1, 1.0)]
    return [
        dict(zip(SCHEMA.columns, combination, strict=True))
        for combination in product(ages, sexes, states, [*hired, (None, 2, 1.0)], smokers)
    ]


def brute_force_share(release: Release, holds: object) -> float:
    """The share of records for which `holds(values)` is true, by summing over every combination of
    raw values.
    """
    relaxed = release.relaxed
    assert relaxed is not None
    blocks = {
        name: np.asarray(relaxed.block(name), dtype=np.float64) for name in relaxed.domain.names
    }
    weights = np.asarray(relaxed.weights, dtype=np.float64)
    total = 0.0
    for record in every_record():
        if holds({name: value for name, (value, _, _) in record.items()}):  # type: ignore[operator, misc]
            mass = weights
            for name, (_, code, part) in record.items():  # type: ignore[misc]
                mass = mass * blocks[name][code] * part
            total += float(mass.sum())
    return total
