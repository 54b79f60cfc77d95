"""The release directory on disk: written whole or not at all, read back with every field checked.

    release.json          what was done and under which guarantee (this module documents and validates it)
    schema.yaml           the public schema
    synthetic.parquet     the synthetic table (or .csv); absent for methods that give answers only
    relaxed.npz           the relaxed data set: `probabilities` [one-hot, rows] and `weights` [rows]
    answers.npz           shares of the workload's queries, one array a family; only for methods without rows
    measurements.parquet  every noisy measurement with its standard deviation
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from pydantic import BaseModel, ConfigDict, ValidationError

from dprap.errors import DprapError, SettingsError
from dprap.privacy.measurement import Certificate, Measurement, QueryMeasurement
from dprap.queries import Family, Marginal, Query
from dprap.relaxed import RelaxedDataset
from dprap.release.release import Release, RunFacts
from dprap.release.statement import PrivacyStatement
from dprap.schema import Schema
from dprap.workload import weighted
from dprap.workload.files import family_from_entry, family_entry, workload_entries

FORMAT_VERSION = 1


class ReleaseError(DprapError):
    """A directory that is not a release, or a damaged one."""


class ReleaseFile(BaseModel):
    """The content of release.json."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: Literal[1]
    private: bool
    guarantee: str
    privacy: PrivacyStatement
    facts: RunFacts
    rows: int
    synthetic_rows: int | None
    queries: int
    workload: list[dict[str, Any]]
    certificate: Certificate | None
    certificate_share: dict[str, float] | None


def save_release(release: Release, directory: Path, *, rows: int | None, table_format: str, seed: int | None) -> None:
    """Write a release directory beside its final place, then move it there in one step."""
    if table_format not in ("parquet", "csv"):
        raise SettingsError(f"there is no table format {table_format!r}: use parquet or csv.")
    if directory.exists():
        raise SettingsError(f"{directory} exists already. Choose another directory, or remove it first.")
    part = directory.with_name(directory.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    synthetic_rows = None
    if release.relaxed is not None:
        table = release.table(rows, format="arrow", seed=seed)
        synthetic_rows = table.num_rows
        if table_format == "parquet":
            pyarrow.parquet.write_table(table, part / "synthetic.parquet", compression="zstd")
        else:
            pyarrow.csv.write_csv(table, part / "synthetic.csv")
        np.savez_compressed(
            part / "relaxed.npz",
            probabilities=np.asarray(release.relaxed.probabilities, dtype=np.float32),
            weights=np.asarray(release.relaxed.weights, dtype=np.float32),
        )
    if release.workload_shares is not None:
        np.savez_compressed(part / "answers.npz", **{str(i): a for i, a in enumerate(release.workload_shares)})  # type: ignore[arg-type]
    release.schema.save(part / "schema.yaml")
    pyarrow.parquet.write_table(_measurement_table(release.measurements), part / "measurements.parquet", compression="zstd")
    described = _described(release, synthetic_rows).model_dump(mode="json")
    (part / "release.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    _sync(part)
    part.rename(directory)
    _sync(directory.parent)


def load(directory: Path | str) -> Release:
    """Read a release directory."""
    directory = Path(directory)
    path = directory / "release.json"
    try:
        described = ReleaseFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ReleaseError(f"{directory} is not a release: cannot read {path.name} ({error.strerror}).") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ReleaseError(f"{path} is damaged or of another version: {where}: {first['msg']}.") from error
    schema = Schema.load(directory / "schema.yaml")
    entries = [family_from_entry(path, schema.domain, entry) for entry in described.workload]
    cells = max(schema.domain.size_of(family.columns) for family, _ in entries)
    workload = weighted(schema.domain, entries, max_cells=cells)
    return Release(
        schema=schema,
        workload=workload,
        privacy=described.privacy,
        facts=described.facts,
        rows=described.rows,
        relaxed=_load_relaxed(directory / "relaxed.npz", schema),
        workload_shares=_load_answers(directory / "answers.npz"),
        measurements=_load_measurements(directory / "measurements.parquet", schema),
        certificate=described.certificate,
    )


def _described(release: Release, synthetic_rows: int | None) -> ReleaseFile:
    certificate = release.certificate
    return ReleaseFile(
        format_version=FORMAT_VERSION,
        private=release.privacy.private,
        guarantee=release.privacy.sentence(),
        privacy=release.privacy,
        facts=release.facts,
        rows=release.rows,
        synthetic_rows=synthetic_rows,
        queries=release.workload.queries,
        workload=workload_entries(release.workload),
        certificate=certificate,
        certificate_share=None
        if certificate is None
        else {
            "noisy_max_error": certificate.noisy_max_error_counts / release.rows,
            "upper_bound": certificate.upper_bound_counts / release.rows,
        },
    )


def _measurement_table(measurements: tuple[Measurement | QueryMeasurement, ...]) -> pa.Table:
    """One row a measurement: which family, which query of it (null for all cells), noisy counts, σ and ρ."""
    families: list[Family] = []
    indexes: list[int | None] = []
    counts: list[Any] = []
    for item in measurements:
        if isinstance(item, Measurement):
            families.append(item.marginal)
            indexes.append(None)
            counts.append(item.counts.astype(np.float64))
        else:
            families.append(item.query.family)
            indexes.append(item.query.index)
            counts.append([item.count])
    return pa.table(
        {
            "family": pa.array([json.dumps(family_entry(family)) for family in families], pa.string()),
            "query": pa.array(indexes, pa.int64()),
            "counts": pa.array(counts, pa.list_(pa.float64())),
            "stddev_counts": pa.array([item.stddev_counts for item in measurements], pa.float64()),
            "rho": pa.array([item.rho for item in measurements], pa.float64()),
        }
    )


def _load_measurements(path: Path, schema: Schema) -> tuple[Measurement | QueryMeasurement, ...]:
    try:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise ReleaseError(f"{path} cannot be read.") from error
    found: list[Measurement | QueryMeasurement] = []
    for row in rows:
        family, _ = family_from_entry(path, schema.domain, json.loads(row["family"]))
        if row["query"] is None and isinstance(family, Marginal):
            counts = np.array(row["counts"]).astype(np.int64)
            found.append(Measurement(family, counts, row["stddev_counts"], row["rho"]))
        else:
            query = Query(family, row["query"])
            found.append(QueryMeasurement(query, row["counts"][0], row["stddev_counts"], row["rho"]))
    return tuple(found)


def _load_relaxed(path: Path, schema: Schema) -> RelaxedDataset | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return RelaxedDataset(schema.domain, jnp.asarray(arrays["probabilities"]), jnp.asarray(arrays["weights"]))
    except (OSError, ValueError, KeyError) as error:
        raise ReleaseError(f"{path} cannot be read.") from error


def _load_answers(path: Path) -> tuple[np.ndarray, ...] | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return tuple(arrays[str(position)] for position in range(len(arrays.files)))
    except (OSError, ValueError, KeyError) as error:
        raise ReleaseError(f"{path} cannot be read.") from error


def _sync(folder: Path) -> None:
    for path in [*folder.iterdir(), folder] if folder.suffix == ".part" else [folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
