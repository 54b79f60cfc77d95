"""How fast each engine counts: rows x marginals per second, peak memory, and the ratio to a plain NumPy loop.

    python benchmarks/counting.py --rows 48842 1000000 --engines memory files csv postgres spark --postgres postgresql://…

Every engine and size runs in a process of its own; a result is kept in benchmarks/results/counting.json, in place of an older one of the
same engine, rows and marginals. The plain loop, one `bincount` over whole columns for each marginal, runs in the same
process on codes that are already in memory, over at most 1,000,000 records, and is scaled by rows: it is an ideal without
reading or encoding. The counts of a case are compared with it where the table is that small. `files` reads Parquet, `csv` the
same engine's CSV. Times of `open` (reading and checking everything once) and `count` are separate.

Processor time and peak memory are those of this process and all that it started, Spark's JVM and workers among them. For
PostgreSQL, given by --postgres as an address where tables may be made, `server_cpu_seconds` is the time of its processes where the
server runs on this machine; its memory is not counted. Where others use the machine too, compare processor times: load_average tells.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from dprap.datasets import example, example_batches, example_schema
from dprap.encoding import Codes, encode
from dprap.queries import Marginal
from dprap.sources import MemorySource
from dprap.sources.open import open_source

PLAIN_ROWS = 1_000_000
PART_ROWS = 5_000_000
RESULTS = Path(__file__).parent / "results" / "counting.json"
TICKS = os.sysconf("SC_CLK_TCK")


def marginals(number: int) -> list[Marginal]:
    """Three-way marginals of the example, then four-way where there are not enough; always the same ones."""
    domain = example_schema().domain
    found = [Marginal(c) for c in combinations(domain.names, 3)]
    random.Random(0).shuffle(found)  # noqa: S311 - public choice
    if number > len(found):
        four = sorted((Marginal(c) for c in combinations(domain.names, 4)), key=lambda m: m.size(domain))
        found += four[: number - len(found)]
    return found[:number]


def write_parquet(folder: Path, rows: int) -> Path:
    """The example as a folder of Parquet files, made batch by batch."""
    target = folder / f"example-{rows}"
    if target.exists():
        return target
    target.mkdir(parents=True)
    writer, held = None, 0
    for batch in example_batches(rows):
        if writer is None or held >= PART_ROWS:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(target / f"part-{len(list(target.iterdir())):03d}.parquet", batch.schema)
            held = 0
        writer.write_batch(batch)
        held += batch.num_rows
    if writer is not None:
        writer.close()
    return target


def write_csv(folder: Path, rows: int) -> Path:
    """The example as one CSV file."""
    import pyarrow.csv

    target = folder / f"example-{rows}.csv"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with pyarrow.csv.CSVWriter(target, example(1).schema) as writer:
            for batch in example_batches(rows):
                writer.write_batch(batch)
    return target


def write_postgres(url: str, rows: int) -> str:
    """The example as a table of the database, by COPY from CSV."""
    import psycopg
    import pyarrow as pa
    import pyarrow.csv

    kinds = {"string": "text", "int32": "integer", "int64": "bigint", "double": "float8", "bool": "boolean"}
    kinds |= {"date32[day]": "date", "timestamp[us, tz=UTC]": "timestamptz"}
    name = f"example_{rows}"
    with psycopg.connect(url) as connection:
        if connection.execute("SELECT to_regclass(%s)", [name]).fetchone() != (None,):
            return name
        schema = example(1).schema
        columns = ", ".join(f'"{field.name}" {kinds[str(field.type)]}' for field in schema)
        connection.execute(f"CREATE TABLE {name} ({columns})".encode())
        options = pyarrow.csv.WriteOptions(include_header=False)
        with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)".encode()) as copy:
            for batch in example_batches(rows):
                buffer = pa.BufferOutputStream()
                pyarrow.csv.write_csv(batch, buffer, options)
                copy.write(buffer.getvalue().to_pybytes())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"VACUUM ANALYZE {name}".encode())
    return name


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


class Family:
    """Peak memory and processor time of this process and, where it starts others, of all that descend from it."""

    def __init__(self, *, has_children: bool) -> None:
        self._sampled_mb = 0.0
        self._ticks: dict[int, int] = {}
        if has_children:
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.sample()
            time.sleep(0.5)

    def sample(self) -> None:
        """Look once."""
        pages = 0
        for pid in descendants(os.getpid()):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            self._ticks[pid] = int(fields[11]) + int(fields[12])
            pages += int(fields[21])
        self._sampled_mb = max(self._sampled_mb, pages * os.sysconf("SC_PAGE_SIZE") / 2**20)

    def peak_mb(self) -> float:
        """The most memory held so far."""
        return max(self._sampled_mb, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

    def cpu_seconds(self) -> float:
        """Processor seconds so far."""
        self.sample()
        return sum(self._ticks.values()) / TICKS


def descendants(root: int) -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, added = {root}, {root}
    while added:
        added = {pid for pid, parent in parents.items() if parent in added} - found
        found |= added
    return found


def server_cpu_seconds(source: Any) -> float | None:
    """Processor seconds of the session's process and of all workers that ended, if the server is on this machine."""
    try:
        session = Path(f"/proc/{source.connection.info.backend_pid}/stat").read_text().rpartition(")")[2].split()
        server = Path(f"/proc/{session[1]}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(session[11]) + int(session[12]) + int(server[13]) + int(server[14])) / TICKS


def open_case(engine: str, rows: int, folder: Path, url: str | None) -> Any:
    schema = example_schema()
    if engine == "memory":
        parts = [encode(path, schema) for path in sorted(write_parquet(folder, rows).iterdir())]
        columns = tuple(np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True))
        return MemorySource(Codes(schema.domain, columns))
    if engine == "postgres":
        return open_source(str(url), schema, table=f"example_{rows}")
    if engine == "csv":
        return open_source(write_csv(folder, rows), schema, engine="files")
    return open_source(write_parquet(folder, rows), schema, engine=engine)  # type: ignore[arg-type]


def cases(engine: str, rows: int, numbers: list[int], folder: Path, url: str | None) -> Iterator[dict[str, Any]]:
    """Measurements in this process, from few marginals to many on one open source, so that peak memory is their own."""
    family = Family(has_children=engine == "spark")
    started, started_cpu = time.perf_counter(), family.cpu_seconds()
    source = open_case(engine, rows, folder, url)
    opened, opened_cpu = time.perf_counter() - started, family.cpu_seconds() - started_cpu
    measured = []
    for number in sorted(numbers):
        wanted = marginals(number)
        server = server_cpu_seconds(source) if engine == "postgres" else None
        started, started_cpu = time.perf_counter(), family.cpu_seconds()
        counted = source.count(wanted)
        result = {
            "engine": engine,
            "rows": source.rows,
            "marginals": number,
            "open_seconds": round(opened, 2),
            "open_cpu_seconds": round(opened_cpu, 2),
            "count_seconds": round(time.perf_counter() - started, 3),
            "count_cpu_seconds": round(family.cpu_seconds() - started_cpu, 2),
        }
        if server is not None:
            result["server_cpu_seconds"] = round((server_cpu_seconds(source) or server) - server, 2)
        result["peak_memory_mb"] = round(family.peak_mb())
        result["load_average"] = round(os.getloadavg()[0], 1)
        measured.append((wanted, counted, result))
    codes = encode(example(min(rows, PLAIN_ROWS)), example_schema())  # not before: it takes memory
    for wanted, counted, result in measured:
        yield result | against_plain_loop(wanted, counted, codes, result, scale=rows / codes.rows)


def against_plain_loop(
    wanted: list[Marginal], counted: list[Any], codes: Codes, result: dict[str, Any], *, scale: float
) -> dict[str, Any]:
    """Compare counts, where the loop sees the whole table, and times, the loop's scaled to the whole table."""
    plain, plain_cpu, expected = plain_loop(codes, wanted)
    exact = all(np.array_equal(a.dense(), b) for a, b in zip(counted, expected, strict=True))
    if scale == 1 and not exact:
        raise SystemExit(f"{result['engine']}: counts differ from the plain loop")
    cpu = result["count_cpu_seconds"] + result.get("server_cpu_seconds", 0)
    return {
        "row_marginals_per_second": round(result["rows"] * len(wanted) / result["count_seconds"]),
        "plain_loop_seconds": round(plain * scale, 3),
        "times_the_plain_loop": round(result["count_seconds"] / (plain * scale), 2),
        "cpu_times_the_plain_loop": round(cpu / (plain_cpu * scale), 2),
        "exact": exact if scale == 1 else None,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cpu": model, "cores": os.cpu_count(), "memory_gb": round(memory), "python": platform.python_version()}


def keep(result: dict[str, Any]) -> None:
    """Put a result among those that are kept."""

    def key(each: dict[str, Any]) -> tuple[int, str, int]:
        return each["rows"], each["engine"], each["marginals"]

    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"results": []}
    others = [each for each in report["results"] if key(each) != key(result)]
    report["machine"] = machine()
    report["results"] = sorted([*others, result], key=key)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[48_842, 1_000_000])
    parser.add_argument("--marginals", type=int, nargs="+", default=[64, 1000])
    parser.add_argument("--engines", nargs="+", default=["memory", "files"])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "dprap-counting")
    parser.add_argument("--postgres", help="address of a database, for the engine postgres")
    parser.add_argument("--case", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.case:
        for result in cases(chosen.engines[0], chosen.rows[0], chosen.marginals, chosen.folder, chosen.postgres):
            print(result, file=sys.stderr)
            keep(result)
        return
    for rows in chosen.rows:
        for engine in chosen.engines:
            if engine == "postgres":
                write_postgres(chosen.postgres, rows)
            elif engine == "csv":
                write_csv(chosen.folder, rows)
            else:
                write_parquet(chosen.folder, rows)
            command = [sys.executable, __file__, "--case", "--engines", engine, "--rows", str(rows)]
            command += ["--folder", str(chosen.folder), "--marginals", *map(str, chosen.marginals)]
            command += ["--postgres", chosen.postgres] if chosen.postgres else []
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
