"""How fast each engine counts: rows x marginals per second, peak memory, and the ratio to a plain NumPy loop.

    python benchmarks/counting.py --rows 48842 1000000 --engines memory files postgres spark --out benchmarks/results

Every case runs in a process of its own, so that its peak memory is its own. The plain loop, one `bincount` over whole
columns for each marginal, runs in the same process on codes that are already in memory, over at most 1,000,000
records, and is scaled by rows: it is an ideal without reading or encoding. The counts of a case are compared with it
where the table is that small. Times of `open` (reading and checking everything once) and `count` are separate; the time
of the processor and the load of the machine tell how far others disturbed the figures.

PostgreSQL is given by --postgres, an address where a table may be made. Peak memory of `postgres` and `spark` is that of
this process alone: the server's and the JVM's are theirs.
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
import time
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


def plain_seconds_per_row(codes: Any, wanted: list[Marginal]) -> tuple[float, list[np.ndarray]]:
    """The plain loop on codes in memory."""
    domain = codes.domain
    started = time.perf_counter()
    counted = []
    for marginal in wanted:
        cells = np.zeros(codes.rows, dtype=np.int64)
        for name in marginal.columns:
            cells = cells * domain.size(name) + codes.column(name)
        counted.append(np.bincount(cells, minlength=marginal.size(domain)))
    return (time.perf_counter() - started) / codes.rows, counted


def case(engine: str, rows: int, number: int, folder: Path, url: str | None) -> dict[str, Any]:
    """One measurement, in this process."""
    schema, wanted = example_schema(), marginals(number)
    started = time.perf_counter()
    if engine == "memory":
        parts = [encode(path, schema) for path in sorted(write_parquet(folder, rows).iterdir())]
        columns = tuple(np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True))
        source: Any = MemorySource(Codes(schema.domain, columns))
    elif engine == "postgres":
        source = open_source(str(url), schema, table=f"example_{rows}")
    else:
        source = open_source(write_parquet(folder, rows), schema, engine=engine)  # type: ignore[arg-type]
    opened, cpu = time.perf_counter(), time.process_time()
    counted = source.count(wanted)
    done, cpu = time.perf_counter(), time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    codes = encode(example(min(rows, PLAIN_ROWS)), schema)
    plain, expected = plain_seconds_per_row(codes, wanted)
    if rows <= PLAIN_ROWS and not all(np.array_equal(a.dense(), b) for a, b in zip(counted, expected, strict=True)):
        raise SystemExit(f"{engine}: counts differ from the plain loop")
    return {
        "engine": engine,
        "rows": source.rows,
        "marginals": number,
        "open_seconds": round(opened - started, 3),
        "count_seconds": round(done - opened, 3),
        "count_cpu_seconds": round(cpu, 3),
        "row_marginals_per_second": round(source.rows * number / (done - opened)),
        "peak_memory_mb": round(peak),
        "plain_loop_seconds": round(plain * rows, 3),
        "times_the_plain_loop": round((done - opened) / (plain * rows), 2),
        "exact": rows <= PLAIN_ROWS or None,
        "load_average": round(os.getloadavg()[0], 1),
    }


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cpu": model, "cores": os.cpu_count(), "memory_gb": round(memory), "python": platform.python_version()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[48_842, 1_000_000])
    parser.add_argument("--marginals", type=int, nargs="+", default=[64, 1000])
    parser.add_argument("--engines", nargs="+", default=["memory", "files"])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "dprap-counting")
    parser.add_argument("--postgres", help="address of a database, for the engine postgres")
    parser.add_argument("--out", type=Path, help="folder of the results; printed only when left out")
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.case:
        engine, rows, number = chosen.case
        print(json.dumps(case(engine, int(rows), int(number), chosen.folder, chosen.postgres)))
        return
    results = []
    for rows in chosen.rows:
        for engine in chosen.engines:
            if engine == "postgres":
                write_postgres(chosen.postgres, rows)
            else:
                write_parquet(chosen.folder, rows)
            for number in chosen.marginals:
                command = [sys.executable, __file__, "--case", engine, str(rows), str(number)]
                command += ["--folder", str(chosen.folder)]
                command += ["--postgres", chosen.postgres] if chosen.postgres else []
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                results.append(json.loads(done.stdout.splitlines()[-1]))
                print(results[-1], file=sys.stderr)
    now = datetime.now(UTC)
    report = {"date": now.strftime("%Y-%m-%d"), "machine": machine(), "results": results}
    if chosen.out is None:
        print(json.dumps(report, indent=1))
        return
    chosen.out.mkdir(parents=True, exist_ok=True)
    name = f"counting-{'-'.join(chosen.engines)}-{max(chosen.rows)}.json"
    (chosen.out / name).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
