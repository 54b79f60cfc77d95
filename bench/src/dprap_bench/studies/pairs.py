"""What all pairs of 60 columns cost before any noise: reading, encoding, checking and counting, by
part, in processor seconds.

Half of the columns are texts, half whole numbers, of 2 to 100 codes. Every part is linear in the
number of records, so that a table of 55 million follows from one of a million;
`summing_cpu_seconds` and `planning_cpu_seconds` do not grow. `once_cpu_seconds` is the whole way of
a run to its counts, in one pass over the files, and `twice_cpu_seconds` the way of a run that does
not say what it will ask for: one pass to check, one to count.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dprap.array_types import CodeColumn
from dprap.counting import Tally
from dprap.counting.passes import plan_passes
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources.digest import digest_of
from dprap.sources.locate import find_files
from dprap.sources.open import open_source
from dprap.sources.read_files import read_files
from dprap.sources.table_files import FileSource
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.studies.process_family import ProcessFamily
from dprap_bench.timing import peak_mb

COLUMNS = 60
ROWS = (1 << 18, 1 << 20, 5_000_000, 55_000_000)
_ROW_GROUP = 1 << 17


def cells(seeds: int | None) -> list[StudyCell]:  # noqa: ARG001 - nothing here is noisy
    """Files and Spark at every size.

    Name what you want with `--only`: the largest takes an hour to make.
    """
    return [
        StudyCell("pairs", {"engine": engine, "rows": rows})
        for rows in ROWS
        for engine in ("files", "spark")
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """The parts one by one, then the whole."""
    rows, schema = facts["rows"], pairs_schema()
    path = write_pairs(data_dir, rows)
    pairs = [Marginal(columns) for columns in combinations(schema.domain.names, 2)]
    open_source(path, schema, engine="files")  # what is loaded and compiled once is not counted
    if facts["engine"] == "spark":
        return {
            "once_cpu_seconds": _cpu(
                lambda: open_source(path, schema, engine="spark", expect=lambda _: pairs)
            )
        }
    seconds = {}
    seconds["reading_cpu_seconds"] = _cpu(
        lambda: [None for _ in read_files(find_files(path), schema)]
    )
    if rows <= ROWS[1]:
        batches = [columns for columns, _ in read_files(find_files(path), schema)]
        started = time.process_time()
        (plan,) = plan_passes(schema.domain, pairs, rows=rows)
        seconds["planning_cpu_seconds"] = time.process_time() - started
        seconds["digest_cpu_seconds"] = _cpu(lambda: [digest_of(columns) for columns in batches])
        tally = Tally(schema.domain, plan)
        seconds["counting_cpu_seconds"] = _cpu(lambda: _count(tally, batches))
        seconds["summing_cpu_seconds"] = _cpu(lambda: dict(tally.results()))
        seconds["unions"] = float(len(plan))
    seconds["once_cpu_seconds"] = _cpu(
        lambda: FileSource.open(path, schema, expect=lambda _: pairs).count(pairs)
    )
    seconds["twice_cpu_seconds"] = _cpu(lambda: FileSource.open(path, schema).count(pairs))
    return seconds | {"peak_memory_mb": peak_mb()}


def _count(tally: Tally, batches: list[tuple[CodeColumn, ...]]) -> None:
    for columns in batches:
        tally.add(columns)


def _cpu(work: Any) -> float:
    family = ProcessFamily(has_children=True)
    started = family.cpu_seconds()
    work()
    return family.cpu_seconds() - started


def pairs_schema() -> Schema:
    """Sixty columns, texts and whole numbers in turn."""
    choice = random.Random(1)  # noqa: S311 - public choice
    sizes = [choice.choice((2, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 50, 100)) for _ in range(COLUMNS)]
    columns = {
        f"c{number}": (
            {"type": "categorical", "values": [f"v{code}" for code in range(size)]}
            if number % 2
            else {"type": "integer", "min": 0, "max": size - 1}
        )
        for number, size in enumerate(sizes)
    }
    return Schema.of({"columns": columns})


def write_pairs(folder: Path, rows: int) -> Path:
    """The table in one Parquet file; it is made if it is not there, row group by row group."""
    path = folder / f"pairs_{rows}.parquet"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    schema, random_codes = pairs_schema(), np.random.default_rng(0)
    kinds = [("string" if number % 2 else "int64") for number in range(COLUMNS)]
    names = schema.domain.names
    draft = path.with_suffix(".draft")
    arrow = pa.schema([(name, kind) for name, kind in zip(names, kinds, strict=True)])
    with pq.ParquetWriter(draft, arrow) as writer:
        for start in range(0, rows, _ROW_GROUP):
            count = min(_ROW_GROUP, rows - start)
            arrays = []
            for kind, size in zip(kinds, schema.domain.sizes, strict=True):
                codes = np.minimum(random_codes.geometric(min(0.9, 2 / size), count) - 1, size - 1)
                texts = pa.array([f"v{code}" for code in range(size)])
                arrays.append(texts.take(pa.array(codes)) if kind == "string" else pa.array(codes))
            writer.write_table(pa.table(arrays, schema=arrow))
    draft.rename(path)
    return path
