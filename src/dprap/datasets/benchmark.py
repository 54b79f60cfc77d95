"""Integer-coded benchmark tables: `NAME.csv` with a header, and `NAME-domain.json` from column to
number of codes.

ADULT is made from UCI's files by `dprap.datasets.adult`. LOANS (LendingClub loans of 2007 to 2011,
42,535 records × 48 columns, coded by the authors of FEM) is published in this form with their code,
https://github.com/giusevtr/fem. Neither comes with dprap.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import DataError


def load_benchmark(name: str, data_dir: Path | str) -> Codes:
    """Load a benchmark table; columns stand in the order of its domain file, which is the papers'
    order.
    """
    directory = Path(data_dir)
    try:
        domain = Domain.of(
            json.loads((directory / f"{name}-domain.json").read_text(encoding="utf-8"))
        )
        table = pa_csv.read_csv(directory / f"{name}.csv")
    except OSError as error:
        raise DataError(
            f"benchmark {name!r} is not in {directory}: it needs {name}.csv and {name}-domain.json."
            " See dprap.datasets for where they come from."
        ) from error
    except (json.JSONDecodeError, AttributeError, ValueError, pa.ArrowInvalid) as error:
        raise DataError(
            f"benchmark {name!r} in {directory} is not a table of codes with its domain."
        ) from error
    if missing := [column for column in domain.names if column not in table.column_names]:
        raise DataError(
            f"benchmark {name!r}: column {missing[0]!r} of the domain is not in {name}.csv."
        )
    return Codes.of(domain, {column: np.asarray(table[column]) for column in domain.names})


def save_benchmark(codes: Codes, name: str, data_dir: Path | str) -> None:
    """Write a table of codes and its domain in the benchmark form."""
    directory = Path(data_dir)
    directory.mkdir(parents=True, exist_ok=True)
    sizes = dict(zip(codes.domain.names, codes.domain.sizes, strict=True))
    (directory / f"{name}-domain.json").write_text(json.dumps(sizes), encoding="utf-8")
    pa_csv.write_csv(
        pa.table(dict(zip(codes.domain.names, codes.columns, strict=True))),
        directory / f"{name}.csv",
    )
