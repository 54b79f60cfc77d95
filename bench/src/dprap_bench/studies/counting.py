"""How fast each engine counts: rows x marginals per second, peak memory, and the ratio to a plain
NumPy loop.

The plain loop, one `bincount` over whole columns for each marginal, runs in the same process on
codes that are already in memory, over at most 1,000,000 records, and is scaled by rows: it is an
ideal without reading or encoding. The counts of a cell are compared with it where the table is that
small. `files` reads Parquet, `csv` the same engine's CSV. Times of `open` (reading and checking
everything once) and `count` are separate. Tables are made in the data folder where they are
missing.

Processor time and peak memory are those of this process and all that it started, Spark's JVM and
workers among them. For PostgreSQL, given by the environment variable DPRAP_BENCH_POSTGRES as an
address where tables may be made, `server_cpu_seconds` is the time of its processes where the server
runs on this machine; its memory is not counted. Where others use the machine too, compare processor
times: `load_average` tells.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dprap.datasets import example, example_schema
from dprap.encoding import Codes, encode
from dprap.errors import DataError
from dprap.queries import Marginal
from dprap.sources import MemorySource
from dprap.sources.open import open_source
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.studies.example_tables import write_csv, write_parquet, write_postgres
from dprap_bench.studies.process_family import TICKS, ProcessFamily

ADDRESS = "DPRAP_BENCH_POSTGRES"
PLAIN_ROWS = 1_000_000
ENGINES = ("memory", "files", "csv", "postgres", "spark")
ROWS = (48_842, 1_000_000, 20_000_000, 100_000_000)
MARGINALS = (64, 1000)


def cells(seeds: int | None) -> list[StudyCell]:  # noqa: ARG001 - nothing here is noisy
    """Every engine on every table. Name what you want with `--only`: all of it takes hours."""
    return [
        StudyCell("counting", {"engine": engine, "rows": rows, "marginals": number})
        for rows in ROWS
        for engine in ENGINES
        for number in MARGINALS
    ]


def marginals(number: int) -> list[Marginal]:
    """Three-way marginals of the example, then four-way where there are not enough; always the same
    ones.
    """
    domain = example_schema().domain
    found = [Marginal(c) for c in combinations(domain.names, 3)]
    random.Random(0).shuffle(found)  # noqa: S311 - public choice
    if number > len(found):
        four = sorted(
            (Marginal(c) for c in combinations(domain.names, 4)), key=lambda m: m.size(domain)
        )
        found += four[: number - len(found)]
    return found[:number]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """Open the source and count; then the plain loop."""
    engine, rows, wanted = facts["engine"], facts["rows"], marginals(facts["marginals"])
    place = _table(engine, rows, data_dir)
    family = ProcessFamily(has_children=engine == "spark")
    started, started_cpu = time.perf_counter(), family.cpu_seconds()
    source = _open(engine, rows, place)
    figures: dict[str, float | None] = {
        "open_seconds": time.perf_counter() - started,
        "open_cpu_seconds": family.cpu_seconds() - started_cpu,
    }
    server = server_cpu_seconds(source) if engine == "postgres" else None
    started, started_cpu = time.perf_counter(), family.cpu_seconds()
    counted = source.count(wanted)
    seconds, cpu = time.perf_counter() - started, family.cpu_seconds() - started_cpu
    figures |= {"count_seconds": seconds, "count_cpu_seconds": cpu}
    if server is not None:
        figures["server_cpu_seconds"] = (server_cpu_seconds(source) or server) - server
        cpu += figures["server_cpu_seconds"] or 0.0
    figures |= {"peak_memory_mb": family.peak_mb(), "load_average": os.getloadavg()[0]}
    codes = encode(example(min(rows, PLAIN_ROWS)), example_schema())  # not before: it takes memory
    plain, plain_cpu, expected = plain_loop(codes, wanted)
    exact = all(np.array_equal(a.dense(), b) for a, b in zip(counted, expected, strict=True))
    scale = rows / codes.rows
    if scale == 1 and not exact:
        raise DataError(f"{engine}: counts differ from the plain loop.")
    return figures | {
        "row_marginals_per_second": rows * len(wanted) / seconds,
        "plain_loop_seconds": plain * scale,
        "times_the_plain_loop": seconds / (plain * scale),
        "cpu_times_the_plain_loop": cpu / (plain_cpu * scale),
        "exact": 1.0 if scale == 1 else None,
    }


def plain_loop(codes: Any, wanted: list[Marginal]) -> tuple[float, float, list[np.ndarray]]:
    """The plain loop on codes in memory: seconds, processor seconds, counts."""
    domain = codes.domain
    started, cpu = time.perf_counter(), time.process_time()
    counted = []
    for marginal in wanted:
        cells = np.zeros(codes.rows, dtype=np.int64)
        for name in marginal.columns:
            cells = cells * domain.size(name) + codes.column(name)
        counted.append(np.bincount(cells, minlength=marginal.size(domain)))
    return time.perf_counter() - started, time.process_time() - cpu, counted


def server_cpu_seconds(source: Any) -> float | None:
    """Processor seconds of the session's process and of all workers that ended, if the server is on
    this machine.
    """
    try:
        session = (
            Path(f"/proc/{source.connection.info.backend_pid}/stat")
            .read_text()
            .rpartition(")")[2]
            .split()
        )
        server = Path(f"/proc/{session[1]}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(session[11]) + int(session[12]) + int(server[13]) + int(server[14])) / TICKS


def database() -> str:
    """The address of the database for tables."""
    if ADDRESS not in os.environ:
        raise DataError(f"the engine postgres needs the address of a database in {ADDRESS}.")
    return os.environ[ADDRESS]


def _table(engine: str, rows: int, folder: Path) -> Any:
    """Where the table is; it is made if it is not there."""
    if engine == "postgres":
        write_postgres(database(), rows)
        return database()
    return write_csv(folder, rows) if engine == "csv" else write_parquet(folder, rows)


def _open(engine: str, rows: int, place: Any) -> Any:
    schema = example_schema()
    if engine == "memory":
        parts = [encode(path, schema) for path in sorted(place.iterdir())]
        columns = tuple(
            np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)
        )
        return MemorySource(Codes(schema.domain, columns))
    if engine == "postgres":
        return open_source(place, schema, database_table=f"example_{rows}")
    return open_source(place, schema, engine="files" if engine == "csv" else engine)  # type: ignore[arg-type]
