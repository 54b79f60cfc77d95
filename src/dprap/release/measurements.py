"""measurements.parquet: every noisy measurement, one row each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dprap.accounting.measurement import Measurement, QueryMeasurement
from dprap.domain import Domain
from dprap.limits import MAX_ARCHIVE_BYTES, MAX_MEASURED_COUNTS, MAX_MEASUREMENTS, MAX_RECORDS
from dprap.queries import Family, Marginal, Query
from dprap.queries.plain import as_plain
from dprap.workload.files import weighted_family

# Nothing is free or without noise, and no charge buys noise of more than 2^40 counts. Between the
# two the weight of a measurement, 1/σ², is finite and not zero.
_LEAST_AMOUNT, _LARGEST_AMOUNT = 1e-30, 1e30
_AMOUNTS = ("stddev_counts", "rho")
SCHEMA = pa.schema(
    {
        "family": pa.string(),  # JSON, the plain form of `dprap.queries.plain`
        # position of the query in its family; null where all cells were measured
        "query": pa.int64(),
        "counts": pa.list_(pa.float64()),  # noisy counts, in C order of the columns
        "stddev_counts": pa.float64(),  # standard deviation of the noise on each of them
        "rho": pa.float64(),  # what the measurement cost, in zCDP
    }
)


def measurement_table(
    measurements: tuple[Measurement | QueryMeasurement, ...], domain: Domain
) -> pa.Table:
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
            entries[family] = json.dumps(as_plain(family, domain), ensure_ascii=False)
        noise = {"stddev_counts": item.stddev_counts, "rho": item.rho}
        rows.append({"family": entries[family], "query": index, "counts": counts, **noise})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def read_measurements(path: Path, domain: Domain) -> tuple[Measurement | QueryMeasurement, ...]:
    """Read measurements back; raises ValueError where they do not fit the domain or the limits."""
    table = _read_table(path)
    families: dict[str, Family] = {}
    found: list[Measurement | QueryMeasurement] = []
    for row in table.to_pylist():
        text = row["family"]
        if text not in families:
            families[text] = weighted_family(json.loads(text), domain)[0]
        family, counts = families[text], np.array(row["counts"], dtype=np.float64)
        size = family.size(domain)
        expected = size if row["query"] is None else 1
        if counts.shape != (expected,) or not 0 <= (row["query"] or 0) < size:
            raise ValueError(f"{path.name} has a measurement of {family} that does not fit it")
        if not (np.abs(counts) <= MAX_RECORDS).all() or not all(
            _is_amount(row[key]) for key in _AMOUNTS
        ):
            raise ValueError(f"{path.name} has a measurement of {family} with an impossible number")
        if row["query"] is None and isinstance(family, Marginal):
            found.append(
                Measurement(
                    family, np.rint(counts).astype(np.int64), row["stddev_counts"], row["rho"]
                )
            )
        else:
            query = Query(family, int(row["query"]))
            found.append(
                QueryMeasurement(query, float(counts[0]), row["stddev_counts"], row["rho"])
            )
    return tuple(found)


def _read_table(path: Path) -> pa.Table:
    """The table in the file, after what its footer announces was compared with what it should hold
    and with the limits.
    """
    with pyarrow.parquet.ParquetFile(path) as file:
        if file.schema_arrow != SCHEMA:
            raise ValueError(f"{path.name} does not have the columns it should")
        footer = file.metadata
        chunks = [
            footer.row_group(group).column(column)
            for group in range(footer.num_row_groups)
            for column in range(footer.num_columns)
        ]
        if (
            footer.num_rows > MAX_MEASUREMENTS
            or sum(chunk.num_values for chunk in chunks) > MAX_MEASURED_COUNTS
        ):
            raise ValueError(f"{path.name} announces more measurements than any release has")
        if sum(chunk.total_uncompressed_size for chunk in chunks) > MAX_ARCHIVE_BYTES:
            raise ValueError(f"{path.name} would unpack to more than {MAX_ARCHIVE_BYTES >> 20} MiB")
        return file.read()


def _is_amount(value: float | None) -> bool:
    return value is not None and _LEAST_AMOUNT <= value <= _LARGEST_AMOUNT
