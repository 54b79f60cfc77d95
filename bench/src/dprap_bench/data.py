"""The paper's data sets, prepared from the files that others publish and checked by digest.

None comes with dprap.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dprap.datasets.adult import prepare_adult
from dprap.datasets.benchmark import load_benchmark, save_benchmark
from dprap.encoding import Codes
from dprap.errors import DataError, DprapError


@dataclass(frozen=True)
class Published:
    """A data set: the files to download, where they are, and the digest of the table made of
    them.
    """

    name: str
    files: tuple[str, ...]
    source: str
    digest: str
    prepare: Callable[[Path], Codes]


def _adult(folder: Path) -> Codes:
    return prepare_adult(folder / "adult.data", folder / "adult.test")


def _loans(folder: Path) -> Codes:
    return load_benchmark("loans", folder)


DATA_SETS = (
    Published(
        "adult",
        ("adult.data", "adult.test"),
        "https://archive.ics.uci.edu/dataset/2/adult (UCI, CC BY 4.0): unpack the archive there",
        "be0e9dc688b381662783f888d9f8740d3d3582d1e5c2e6592f7da08a7ad9a723",
        _adult,
    ),
    Published(
        "loans",
        ("loans.csv", "loans-domain.json"),
        "https://github.com/giusevtr/fem, folder datasets: LendingClub loans of 2007 to 2011 as the"
        " authors of FEM coded them",
        "d83d3b0ea45d6b34aaa99bde928364dd7429878f2f771bad36f0817cd2d95a96",
        _loans,
    ),
)


def digest_of(codes: Codes) -> str:
    """SHA-256 of a table's codes, with the names and sizes of its columns; it does not depend on
    the file's form.
    """
    shape = [list(codes.domain.names), list(codes.domain.sizes), codes.rows]
    digest = hashlib.sha256(json.dumps(shape).encode())
    for column in codes.columns:
        digest.update(np.ascontiguousarray(column, dtype=np.int32).data)
    return digest.hexdigest()


def prepare(downloads: Path, out: Path) -> tuple[list[str], bool]:
    """Prepare every data set whose files are there.

    Args:
        downloads: The folder with the published files.
        out: The folder for NAME.csv and NAME-domain.json.

    Returns:
        What was done or is missing, in lines, and whether all data sets are ready.

    """
    lines, ready = [], True
    for data in DATA_SETS:
        missing = [name for name in data.files if not (downloads / name).is_file()]
        if missing:
            lines.append(
                f"{data.name}: {' and '.join(missing)} missing in {downloads}. Download from"
                f" {data.source}."
            )
            ready = False
            continue
        try:
            codes = data.prepare(downloads)
            if digest_of(codes) != data.digest:
                raise DataError(
                    "the files are not those of the papers: the table made of them has another"
                    " digest."
                )
        except DprapError as error:
            lines.append(f"{data.name}: {error}")
            ready = False
            continue
        save_benchmark(codes, data.name, out)
        lines.append(
            f"{data.name}: {codes.rows:,} records, {len(codes.columns)} columns, digest checked."
            f" Written to {out}"
        )
    return lines, ready
