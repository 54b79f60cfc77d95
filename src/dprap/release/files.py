"""The release directory on disk: written whole or not at all, read back with every field checked.

release.json          what was done and under which guarantee (documented and validated here)
schema.yaml           the public schema
synthetic.parquet     the synthetic table (or .csv); absent for methods that give answers only,
                      and where constraints rule out all records that could be drawn
relaxed.npz           the relaxed data set: `probabilities` [one-hot, rows] and `weights` [rows]
answers.npz           shares of the workload's queries, one array a family; for methods without rows
measurements.parquet  every noisy measurement with its standard deviation
intervals.json        how far answers may be off, by kind, basis and size; absent where unknown
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dprap.accounting.measurement import Certificate
from dprap.accounting.neighbors import Relation
from dprap.accounting.refined import RefinedColumn
from dprap.arguments import as_path
from dprap.documents import DocumentError, parse, read_text, require_finite
from dprap.encoding import Codes, decode_chunks
from dprap.errors import DprapError, ImpossibleTableError
from dprap.limits import MAX_FAMILY_CELLS, MAX_RECORDS, MAX_SEED
from dprap.public_table import PublicFacts
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.fit import StepCallback, unwatched
from dprap.release.archive import read_arrays
from dprap.release.certified import ChunkBound, TableBound, table_bound
from dprap.release.draw_records import MOST_ROWS_HELD, sliced
from dprap.release.intervals.error_table import read_error_table
from dprap.release.measurements import measurement_table, read_measurements
from dprap.release.output_checks import check_output
from dprap.release.privacy_statement import PrivacyStatement
from dprap.release.release import Release, RunFacts
from dprap.schema import Schema
from dprap.workload import MAX_CELLS, Workload, weighted
from dprap.workload.files import weighted_family, workload_entries

_log = logging.getLogger("dprap")

FORMAT_VERSION: Literal[1] = 1

# A bound is scaled to the digits in which it is printed, which must not make it infinite.
_LARGEST_BOUND = 1e300

# Probabilities are float32 and come out of an optimiser: how far their sums may be from one.
_ROUNDING = 1e-3


class ReleaseError(DprapError):
    """A directory that is not a release, or a damaged one."""


class ReleaseFile(BaseModel):
    """The content of release.json."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: Literal[1]
    private: bool
    guarantee: str
    privacy: PrivacyStatement
    public: PublicFacts | None = None
    facts: RunFacts
    rows: int = Field(ge=1, le=MAX_RECORDS)
    synthetic_rows: Annotated[int, Field(ge=1, le=MAX_RECORDS)] | None
    synthetic_bound_counts: float | None = None
    accuracy: str | None = None
    queries: int = Field(ge=1)
    workload: list[dict[str, Any]] = Field(min_length=1)
    certificate: Certificate | None
    certificate_share: dict[str, float] | None
    refinement: dict[str, RefinedColumn] | None = None


def save_release(
    release: Release,
    directory: Path,
    *,
    rows: int | None,
    table_format: str,
    seed: int | None,
    watch: StepCallback = unwatched,
) -> TableBound | None:
    """Write a release directory beside its final place, then move it there in one step.

    The folder that is written to has a name of its own, so that nothing that stands there is
    touched. Returns the written table and its bound.
    """
    table_rows = None if release.relaxed is None else release.table_rows if rows is None else rows
    check_output(directory, release.schema, rows=table_rows, table_format=table_format)
    part = directory.with_name(f".dprap-{secrets.token_hex(8)}.part")
    try:
        part.mkdir(parents=True)
        saved = _write(release, part, rows, table_format, seed, watch)
        _sync(*part.iterdir(), part)
        part.rename(directory)
        _sync(directory.parent)
    except (OSError, pa.ArrowException, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ReleaseError(f"cannot write the release to {directory}: {reason}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return saved


def _write(
    release: Release,
    folder: Path,
    rows: int | None,
    table_format: str,
    seed: int | None,
    watch: StepCallback,
) -> TableBound | None:
    saved = None
    if release.relaxed is not None:
        table = folder / f"synthetic.{table_format}"
        try:
            saved = _write_table(release, table, rows, seed, watch)
        except ImpossibleTableError as error:
            # What was paid for is written all the same: fitted answers, measurements, guarantee.
            _log.warning("%s The release was written without a table.", error)
            table.unlink(missing_ok=True)
        np.savez_compressed(
            folder / "relaxed.npz",
            probabilities=np.asarray(release.relaxed.probabilities, dtype=np.float32),
            weights=np.asarray(release.relaxed.weights, dtype=np.float32),
        )
    if release.workload_shares is not None:
        arrays = {str(position): shares for position, shares in enumerate(release.workload_shares)}
        np.savez_compressed(folder / "answers.npz", **arrays)  # type: ignore[arg-type]
    if release.errors is not None:
        release.errors.save(folder / "intervals.json")
    release.schema.save(folder / "schema.yaml")
    pyarrow.parquet.write_table(
        measurement_table(release.measurements, release.schema.domain),
        folder / "measurements.parquet",
        compression="zstd",
    )
    described = _described(replace(release, saved=saved)).model_dump(mode="json")
    (folder / "release.json").write_text(
        json.dumps(described, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return saved


def _write_table(
    release: Release, path: Path, rows: int | None, seed: int | None, watch: StepCallback
) -> TableBound:
    """Draw, decode and write the synthetic table; returns its bound.

    A long one is never in memory whole.
    """
    rows = release.table_rows if rows is None else rows

    def watched(parts: Iterable[Codes]) -> Iterator[Codes]:
        done = 0
        for part in parts:
            yield part
            done += part.rows
            watch(done, rows)

    if rows <= MOST_ROWS_HELD:
        codes = release.codes(rows, seed=seed)
        saved = table_bound(release, codes)
        _decode_to(path, release, watched(sliced(codes)), seed)
        return saved
    bound = ChunkBound(release)
    chunks = bound.watching(release.chunks(rows, seed=seed))
    _decode_to(path, release, watched(part for chunk in chunks for part in sliced(chunk)), seed)
    return bound.bound()


def _decode_to(path: Path, release: Release, chunks: Iterable[Codes], seed: int | None) -> None:
    from dprap.encoding import write_chunks

    tables = decode_chunks(
        chunks, release.schema, seed=release.facts.seed if seed is None else seed
    )
    write_chunks(tables, path, release.schema)


def load(directory: Path | str) -> Release:
    """Read a release directory.

    A release may come from a stranger. What its files announce is compared with `dprap.limits`
    before they are read.

    Args:
        directory: The directory that `Release.save` or `dprap synth` wrote.

    Returns:
        The release.

    Raises:
        ReleaseError: If it is no release, damaged, of another version, or too large.

    >>> import tempfile
    >>> from dprap import synthesize
    >>> from dprap.datasets import example, example_schema
    >>> release = synthesize(
    ...     example(300), example_schema(), epsilon=1.0, kway=1, method="independent"
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = release.save(f"{folder}/release", rows=5)
    ...     load(f"{folder}/release").rows
    300
    """
    directory = as_path(directory, "the folder of a release")
    described = _read_description(directory)
    schema = Schema.load(directory / "schema.yaml")
    try:
        workload = _workload(described, schema)
        relaxed = _load_relaxed(directory / "relaxed.npz", schema)
        shares = _load_answers(directory / "answers.npz", workload)
        measurements = read_measurements(directory / "measurements.parquet", schema.domain)
        errors = read_error_table(directory / "intervals.json")
    except Exception as error:  # decoders of files raise whatever they like where one is damaged
        raise ReleaseError(
            f"{directory} is damaged: {_cause(error)}. Get it again from whoever published it."
        ) from error
    if relaxed is None and shares is None:
        raise ReleaseError(
            f"{directory} is damaged: relaxed.npz is missing. Get it again from whoever"
            " published it."
        )
    return Release(
        schema=schema,
        workload=workload,
        privacy=described.privacy,
        facts=described.facts,
        rows=described.rows,
        relaxed=relaxed,
        workload_shares=shares,
        measurements=measurements,
        certificate=described.certificate,
        public=described.public,
        refinement=described.refinement,
        saved=(
            None
            if described.synthetic_rows is None
            else TableBound(described.synthetic_rows, described.synthetic_bound_counts)
        ),
        errors=errors,
    )


def _read_description(directory: Path) -> ReleaseFile:
    path = directory / "release.json"
    if not directory.is_dir():
        what = (
            "it is a file, and a release is a folder"
            if directory.exists()
            else "there is no such folder"
        )
        raise ReleaseError(f"{directory} is not a release: {what}. Check the path.")
    try:
        text = read_text(path)
    except DocumentError as error:
        raise ReleaseError(f"{directory} is not a release: {path.name} {error}.") from None
    try:
        require_finite(parse(text, "json"))
        described = ReleaseFile.model_validate_json(text)
    except DocumentError as error:
        raise ReleaseError(f"{path} is damaged: it {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        if where == "format_version":
            raise ReleaseError(
                f"{path} was written by another version of dprap: this one reads {FORMAT_VERSION}."
            ) from None
        raise ReleaseError(f"{path} is damaged: {where}: {first['msg']}.") from None
    problem = _contradiction(described)
    if problem is not None:
        raise ReleaseError(f"{path} is damaged: {problem}.")
    return described


def _contradiction(described: ReleaseFile) -> str | None:
    """What cannot be in a release that dprap wrote, though every field has its type."""
    if described.private != described.privacy.private:
        return "it contradicts itself on whether it is private"
    if described.privacy.relation not in set(Relation) or described.privacy.max_rows_per_person < 1:
        return "it names no known relation of neighbours"
    if not 0 <= described.facts.seed <= MAX_SEED:
        return "its seed is out of range"
    if described.privacy.rho_planned <= 0:
        return "it planned to spend nothing"
    certified = None if described.certificate is None else described.certificate.upper_bound_counts
    if max(certified or 0, described.synthetic_bound_counts or 0) > _LARGEST_BOUND:
        return "it has a bound beyond every count"
    return None


def _workload(described: ReleaseFile, schema: Schema) -> Workload:
    entries = [weighted_family(entry, schema.domain) for entry in described.workload]
    for family, _ in entries:
        if family.size(schema.domain) > MAX_FAMILY_CELLS:
            raise ValueError(f"{family} has more than {MAX_FAMILY_CELLS:,} queries")
    cells = max(MAX_CELLS, *(schema.domain.size_of(family.columns) for family, _ in entries))
    return weighted(schema.domain, entries, max_cells=cells)


def _described(release: Release) -> ReleaseFile:
    certificate, saved = release.certificate, release.saved
    workload = release.workload
    return ReleaseFile(
        format_version=FORMAT_VERSION,
        private=release.privacy.private,
        guarantee=release.guarantee,
        privacy=release.privacy,
        public=release.public,
        facts=release.facts,
        rows=release.rows,
        synthetic_rows=None if saved is None else saved.rows,
        synthetic_bound_counts=None if saved is None else saved.bound_counts,
        accuracy=release.accuracy,
        queries=workload.queries,
        workload=workload_entries(workload),
        certificate=certificate,
        refinement=None if release.refinement is None else dict(release.refinement),
        # under add-remove neighbours the number of records is noisy: the certificate is stated in
        # counts alone
        certificate_share=(
            None
            if certificate is None or not release.rows_are_public
            else {
                "noisy_max_error": certificate.noisy_max_error_counts / release.rows,
                "upper_bound": certificate.upper_bound_counts / release.rows,
            }
        ),
    )


def _load_relaxed(path: Path, schema: Schema) -> RelaxedDataset | None:
    if not path.exists():
        return None
    arrays = read_arrays(path)
    probabilities, weights = arrays["probabilities"], arrays["weights"]
    if (
        weights.ndim != 1
        or probabilities.shape != (schema.domain.onehot_size, len(weights))
        or not len(weights)
    ):
        raise ValueError("relaxed.npz does not fit the schema")
    sums = np.add.reduceat(probabilities.astype(np.float64), schema.domain.offsets, axis=0)
    good = np.abs(sums - 1).max() < _ROUNDING and abs(weights.sum(dtype=np.float64) - 1) < _ROUNDING
    if not (good and probabilities.min() >= 0 and weights.min() >= 0):
        raise ValueError("relaxed.npz does not hold distributions")
    return RelaxedDataset(
        schema.domain, np.asarray(probabilities, np.float32), np.asarray(weights, np.float32)
    )


def _load_answers(path: Path, workload: Workload) -> tuple[np.ndarray, ...] | None:
    if not path.exists():
        return None
    arrays = read_arrays(path)
    shares = tuple(arrays[str(position)] for position in range(len(arrays)))
    if [array.shape for array in shares] != [(size,) for size in workload.sizes]:
        raise ValueError("answers.npz does not fit the workload")
    if not all(np.isfinite(array).all() for array in shares):
        raise ValueError("answers.npz has a share that is not finite")
    return shares


def _cause(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot read {Path(error.filename).name}"
    return (
        str(error).strip().splitlines()[0].rstrip(".")
        if str(error).strip()
        else type(error).__name__
    )


def _sync(*paths: Path) -> None:
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
