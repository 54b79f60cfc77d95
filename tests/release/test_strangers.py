"""A release from a stranger is bounded before it is read, and every kind of damage is one line."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.release.made import made_release, save_made_release

from dprap.errors import SchemaError
from dprap.limits import MAX_ARCHIVE_BYTES, MAX_MEASURED_COUNTS
from dprap.release import ReleaseError, load
from dprap.release.measurements import SCHEMA


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_made_release(tmp_path / "out")


def refused(saved: Path, words: str) -> None:
    with pytest.raises(ReleaseError, match=words) as caught:
        load(saved)
    assert str(caught.value).isprintable()


def header(shape: tuple[int, ...], kind: str = "<f4") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": kind, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


def archive(path: Path, **members: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)


def test_an_archive_that_unpacks_to_too_much(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros pack a thousandfold; with the limit at 16 MiB, an archive of 128 MiB is refused before
    it is unpacked.
    """
    assert MAX_ARCHIVE_BYTES <= 1 << 30
    monkeypatch.setattr("dprap.release.archive.MAX_ARCHIVE_BYTES", 16 << 20)
    codes = made_release().schema.domain.onehot_size
    rows = (128 << 20) // (4 * codes)
    archive(
        saved / "relaxed.npz",
        probabilities=header((codes, rows)) + bytes(4 * codes * rows),
        weights=header((rows,)),
    )
    assert (saved / "relaxed.npz").stat().st_size < 1 << 20
    tracemalloc.start()
    refused(saved, "would unpack to more than 16 MiB")
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (2**62, 2**62), (-1, 4), (0, 10**12)])
def test_headers_that_announce_what_is_not_there(saved: Path, shape: tuple[int, ...]) -> None:
    archive(saved / "relaxed.npz", probabilities=header(shape), weights=header((4,)) + bytes(16))
    refused(saved, "relaxed.npz")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK",
        b"\x93NUMPY",
        header((2,), "|O"),
        header((4,), "<i8") + bytes(32),
        header((4,))[:20],
    ],
)
def test_damaged_arrays(saved: Path, content: bytes) -> None:
    archive(saved / "relaxed.npz", probabilities=content, weights=content)
    refused(saved, "damaged")
    (saved / "relaxed.npz").write_bytes(content)
    refused(saved, "damaged")


def test_an_archive_is_never_cut_off_silently(saved: Path) -> None:
    whole = (saved / "relaxed.npz").read_bytes()
    for length in range(0, len(whole), 7):
        (saved / "relaxed.npz").write_bytes(whole[:length])
        refused(saved, "damaged")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("stddev_counts", None), ("stddev_counts", float("nan")), ("stddev_counts", -1.0), ("stddev_counts", 0.0), ("stddev_counts", 1e200), ("rho", None), ("rho", float("inf")),
        ("counts", None), ("counts", [None, 1.0, 1.0]), ("counts", [float("nan")] * 3), ("counts", [1e300] * 3), ("counts", [2.0**60] * 3), ("family", None),
        ("family", "[" * 10_000), ("family", '{"columns": ["age"], "weight": 1e999}'), ("query", -1),
    ],
)  # fmt: skip
def test_impossible_measurements(saved: Path, column: str, value: Any) -> None:
    rows = pq.read_table(saved / "measurements.parquet").to_pylist()
    rows[0][column] = value
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), saved / "measurements.parquet")
    if value == '{"columns": ["age"], "weight": 1e999}':
        load(saved)  # a weight has no meaning here and is not kept
    else:
        refused(saved, "damaged")


def test_measurements_that_unpack_to_too_much(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One number a million times over takes a few bytes on the disk."""
    assert MAX_MEASURED_COUNTS <= 1 << 27
    monkeypatch.setattr("dprap.release.measurements.MAX_MEASURED_COUNTS", 1 << 20)
    row = {
        "family": '{"columns": ["age"]}',
        "query": None,
        "counts": np.ones(1 << 21),
        "stddev_counts": 1.0,
        "rho": 1.0,
    }
    pq.write_table(pa.Table.from_pylist([row], SCHEMA), saved / "measurements.parquet")
    assert (saved / "measurements.parquet").stat().st_size < 1 << 16
    refused(saved, "announces more measurements")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("rows",), 10**400), (("rows",), 2**60), (("rows",), 0), (("synthetic_rows",), 10**30), (("privacy", "epsilon"), float("nan")),
        (("privacy", "relation"), "friends"), (("privacy", "max_rows_per_person"), 0), (("facts", "seed"), 10**30), (("facts", "seed"), -1),
        (("certificate", "upper_bound_counts"), float("inf")), (("workload",), [{"custom": "x", "columns": ["age"], "queries": 10**26}]),
        (("workload",), [{"columns": ["age"], "weight": 1e-400}]), (("workload",), [{"custom": "x", "columns": "age", "queries": 1}]),
        (("privacy", "rho_planned"), 0), (("privacy", "rho_planned"), -1), (("certificate", "upper_bound_counts"), 1e308),
        (("synthetic_bound_counts",), 1e308),
    ],
)  # fmt: skip
def test_impossible_descriptions(saved: Path, place: tuple[str, ...], value: Any) -> None:
    described = json.loads((saved / "release.json").read_text())
    inner = described
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (saved / "release.json").write_text(json.dumps(described))
    refused(saved, "damaged")


def test_deep_and_long_descriptions(saved: Path) -> None:
    (saved / "release.json").write_text('{"a": ' * 100_000)
    refused(saved, "damaged")
    with (saved / "release.json").open("wb") as file:
        file.truncate(1 << 40)  # a sparse file: it takes no space
    refused(saved, "larger than")


def test_a_schema_of_too_many_codes_stops_at_once(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dprap.schema.declared.MAX_SCHEMA_CODES", 1 << 21)
    columns = {f"c{i}": {"type": "integer", "min": 0, "max": 999_999} for i in range(3000)}
    (saved / "schema.yaml").write_text(json.dumps({"columns": columns}))
    with pytest.raises(SchemaError, match="codes in all"):
        load(saved)
