"""measurements.parquet: every noisy measurement, one row each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dprap.domain import Domain
from dprap.privacy.measurement import Measurement, QueryMeasurement
from dprap.queries import Family, Marginal, Query
from dprap.release.stored import entry_of, family_of

SCHEMA = pa.schema(
    {
        "family": pa.string(),  # JSON: {"columns": [...]}, with at_least, cumulative or custom where it is no marginal
        "query": pa.int64(),  # position of the query in its family; null where all cells were measured
        "counts": pa.list_(pa.float64()),  # noisy counts, in C order of the columns
        "stddev_counts": pa.float64(),  # standard deviation of the noise on each of them
        "rho": pa.float64(),  # what the measurement cost, in zCDP
    }
)


def measurement_table(measurements: tuple[Measurement | QueryMeasurement, ...], domain: Domain) -> pa.Table:
    """Measurements as a table."""
    entries: dict[Family, str] = {}
    rows: list[dict[str, Any]] = []
    for item in measurements:
        family: Family
        if isinstance(item, Measurement):
            family, index, counts = item.marginal, None, item.counts.astype(np.float64)
        else:
            family, index, counts = item.query.family, item.query.index, np.array([item.count])
        if family not in entries:
            entries[family] = json.dumps(entry_of(family, domain), ensure_ascii=False)
        noise = {"stddev_counts": item.stddev_counts, "rho": item.rho}
        rows.append({"family": entries[family], "query": index, "counts": counts, **noise})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def read_measurements(path: Path, domain: Domain) -> tuple[Measurement | QueryMeasurement, ...]:
    """Read measurements back; raises ValueError where they do not fit the domain."""
    table = pyarrow.parquet.read_table(path)
    if table.schema != SCHEMA:
        raise ValueError(f"{path.name} does not have the columns it should")
    families: dict[str, Family] = {}
    found: list[Measurement | QueryMeasurement] = []
    for row in table.to_pylist():
        text = row["family"]
        if text not in families:
            families[text] = family_of(json.loads(text), domain)[0]
        family, counts = families[text], np.array(row["counts"], dtype=np.float64)
        size = family.size(domain)
        expected = size if row["query"] is None else 1
        if len(counts) != expected or not 0 <= (row["query"] or 0) < size or not np.isfinite(counts).all():
            raise ValueError(f"{path.name} has a measurement of {family} that does not fit it")
        if row["query"] is None and isinstance(family, Marginal):
            found.append(Measurement(family, np.rint(counts).astype(np.int64), row["stddev_counts"], row["rho"]))
        else:
            query = Query(family, int(row["query"]))
            found.append(QueryMeasurement(query, float(counts[0]), row["stddev_counts"], row["rho"]))
    return tuple(found)
