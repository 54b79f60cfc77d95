"""Processor seconds and peak memory on tables and workloads as large as offices have, against
stated targets.

Every case is a function that does the work and returns what it found beside time and memory;
`CASES` names them. A case is measured in a process of its own. A cell names the code that it ran,
so a changed package is measured again and results of several versions stand side by side. Where a
case is a run, the plan's forecast is kept with what it took, and the longest time in which it told
nothing of its progress.
"""

from __future__ import annotations

import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import dprap
from dprap.datasets import example_schema
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes
from dprap.errors import DataError
from dprap.evaluate import evaluate
from dprap.release import Release
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.sources.open import Engine, open_source
from dprap.workload import Workload, all_kway, random_kway
from dprap_bench.cell import StudyCell
from dprap_bench.large_tables import write_classes
from dprap_bench.methods import bench_method
from dprap_bench.record import Figures, Record
from dprap_bench.seeded import seeded_curator
from dprap_bench.studies.counting import database, marginals, server_cpu_seconds
from dprap_bench.studies.example_tables import store, write_postgres
from dprap_bench.studies.process_family import ProcessFamily
from dprap_bench.timing import peak_mb, timed
from dprap_bench.workloads import named_workload

Found = dict[str, float | None]

_CODES = 10
_RECORDS = 50_000


@dataclass(frozen=True)
class Case:
    """What is measured, and the most it should take: processor seconds, or times those of another
    case.

    `run` gets the folder with the benchmark tables. The target of a case `beside` another is so
    many `times` what the other took.
    """

    name: str
    run: Callable[[Path], Found]
    target_seconds: float | None = None
    target_mb: float | None = None
    beside: str | None = None
    times: float = 1.0


def method_on(
    data: str, workload: str, method: str, epsilon: float = 1.0
) -> Callable[[Path], Found]:
    """A method on a workload of a benchmark table, without a table drawn or certified."""

    def run(data_dir: Path) -> Found:
        codes = load_benchmark(data, data_dir)
        families = named_workload(workload, codes.domain, rows=codes.rows)
        source, chosen = MemorySource(codes), bench_method(method)
        with timed() as found:
            curator = seeded_curator(source, epsilon=epsilon, seed=0)
            result = chosen.run(curator, families, chosen.settings({}, synthetic_rows=0), seed=0)
        errors = evaluate(source, families, result)
        return {**found, "queries": float(errors.queries), "max": errors.max, "tv": errors.tv}

    return run


def whole_run(data: str, workload: str, method: str = "adaptive") -> Callable[[Path], Found]:
    """A whole run on a benchmark table: plan, count, choose, fit, draw, certify."""

    def run(data_dir: Path) -> Found:
        codes = load_benchmark(data, data_dir)
        families = named_workload(workload, codes.domain, rows=codes.rows)
        return _run(codes, families, method)

    return run


def all_pairs(columns: int) -> Callable[[Path], Found]:
    """A whole run on columns of ten codes, each near the one before it, with all pairs as the
    workload.
    """

    def run(data_dir: Path) -> Found:  # noqa: ARG001 - the table is made here
        return _run(_walks(columns, _CODES), None, "adaptive", kway=2)

    return run


def many_triples(columns: int, codes: int, marginals: int) -> Callable[[Path], Found]:
    """A whole run on such columns, with random three-way marginals as the workload."""

    def run(data_dir: Path) -> Found:  # noqa: ARG001 - the table is made here
        table = _walks(columns, codes)
        workload = random_kway(table.domain, 3, marginals, rows=_RECORDS)
        return _run(table, workload, "adaptive")

    return run


def all_triples(columns: int, codes: int) -> Callable[[Path], Found]:
    """A whole run on such columns, with all three-way marginals: far more cells than records."""

    def run(data_dir: Path) -> Found:  # noqa: ARG001 - the table is made here
        table = _walks(columns, codes)
        return _run(table, all_kway(table.domain, 3), "adaptive")

    return run


def some_pairs(columns: int, pairs: int) -> Callable[[Path], Found]:
    """A whole run on such columns of ten codes, with random pairs as the workload."""

    def run(data_dir: Path) -> Found:  # noqa: ARG001 - the table is made here
        table = _walks(columns, _CODES)
        return _run(table, random_kway(table.domain, 2, pairs, rows=_RECORDS), "adaptive")

    return run


def one_choice(columns: int) -> Callable[[Path], Found]:
    """All pairs of such columns counted and scored once: one round, one step, no table, no
    intervals.
    """

    def run(data_dir: Path) -> Found:  # noqa: ARG001 - the table is made here
        once = {"rounds": 1, "steps": 1, "final_steps": 1}
        return _run(
            _walks(columns, _CODES),
            None,
            "adaptive",
            kway=2,
            settings=once,
            certificate_share=0.0,
            intervals="no",
        )

    return run


def _walks(columns: int, codes: int) -> Codes:
    """Columns each of which is near the one before it."""
    generator = np.random.default_rng(0)
    sizes = {f"c{number:04}": codes for number in range(columns)}
    # One column at a time: the peak of a case is to be that of its run.
    walk = np.zeros(_RECORDS, dtype=np.int64)
    columns_of: dict[str, object] = {}
    for name in sizes:
        walk = (walk + generator.integers(0, 4, _RECORDS)) % codes
        columns_of[name] = walk.astype(np.uint8)
    return Codes.of(Schema.from_domain(sizes).domain, columns_of)


def counted(engine: Engine, records: int, columns: int) -> Callable[[Path], Found]:
    """All pairs of a Parquet file checked and counted by an engine, with the processes that it
    starts.
    """

    def run(data_dir: Path) -> Found:  # noqa: ARG001 - the table is made here
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "table.parquet"
            schema = write_classes(path, records=records, columns=columns)
            pairs = all_kway(schema.domain, 2).marginals
            family = ProcessFamily(has_children=engine == "spark")
            wall, cpu = time.perf_counter(), family.cpu_seconds()
            source = open_source(path, schema, engine=engine, expect=lambda _: pairs)
            source.count(pairs)
            return {
                "wall_seconds": time.perf_counter() - wall,
                "cpu_seconds": family.cpu_seconds() - cpu,
                "peak_mb": family.peak_mb(),
            }

    return run


def counted_by_postgres(records: int, table: str) -> Callable[[Path], Found]:
    """64 three-way marginals counted by a PostgreSQL server on this machine: processor seconds of
    the server, and beside them the clock and processor seconds of this process; medians of five.

    The table is the example's, ADULT's records over and over, or has ADULT's columns without their
    dependence: each code of a column is as likely as any other, so that hardly two records are
    equal.
    """

    def run(data_dir: Path) -> Found:
        url = database()
        if table == "example":
            schema, wanted = example_schema(), marginals(64)
            name = write_postgres(url, records)
        else:
            codes = load_benchmark("adult", data_dir)
            sizes = dict(zip(codes.domain.names, codes.domain.sizes, strict=True))
            schema = Schema.from_domain(sizes)
            wanted = list(named_workload("3way:64", codes.domain, rows=codes.rows).marginals)
            rng = np.random.default_rng(0)
            columns = [
                np.resize(column, records).astype(np.int32)
                if table == "adult"
                else rng.integers(0, sizes[column_name], records, dtype=np.int32)
                for column_name, column in zip(sizes, codes.columns, strict=True)
            ]
            batch = pa.RecordBatch.from_arrays([pa.array(each) for each in columns], list(sizes))
            name = store(url, f"{table}_{records}", batch.schema, [batch])
        source = open_source(url, schema, database_table=f"public.{name}")
        figures: dict[str, list[float]] = {
            name: [] for name in ("cpu_seconds", "wall_seconds", "own_cpu_seconds")
        }
        for _ in range(5):
            before, wall, cpu = server_cpu_seconds(source), time.perf_counter(), time.process_time()
            source.count(wanted)
            figures["wall_seconds"].append(time.perf_counter() - wall)
            figures["own_cpu_seconds"].append(time.process_time() - cpu)
            after = server_cpu_seconds(source)
            if before is None or after is None:
                raise DataError("the server does not run on this machine: its time is unknown.")
            figures["cpu_seconds"].append(after - before)
        medians = {name: statistics.median(seconds) for name, seconds in figures.items()}
        return {**medians, "peak_mb": peak_mb()}

    return run


def large_table(records: int, columns: int) -> Callable[[Path], Found]:
    """A whole run on a Parquet file with all pairs: read, count, choose, fit, draw, certify,
    write.
    """

    def run(data_dir: Path) -> Found:  # noqa: ARG001 - the table is made here
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            schema = write_classes(folder / "table.parquet", records=records, columns=columns)
            expected = make_plan(schema, RunOptions(epsilon=1.0, kway=2), records=records).forecast
            with timed() as found:
                dprap.synthesize(
                    folder / "table.parquet",
                    schema,
                    epsilon=1.0,
                    kway=2,
                    out=folder / "out",
                    progress=False,
                )
        return {
            **found,
            "forecast_cpu_seconds": expected.core_seconds,
            "forecast_mb": expected.memory_mb,
        }

    return run


def published(rows: int) -> Callable[[Path], Found]:
    """Rows of ADULT drawn from a fit, decoded and written as Parquet."""

    def run(data_dir: Path) -> Found:
        release = _fitted(data_dir)
        with tempfile.TemporaryDirectory() as folder, timed() as found:
            release.save(Path(folder) / "out", rows=rows)
        return {**found, "million_rows_per_second": rows / 1e6 / found["cpu_seconds"]}

    return run


CASES: Sequence[Case] = (
    Case("ADULT, 64 3-way, AIM", method_on("adult", "3way:64", "aim")),
    Case("ADULT, 64 3-way, MST", method_on("adult", "3way:64", "mst")),
    Case(
        "ADULT, 64 3-way", method_on("adult", "3way:64", "adaptive"), beside="ADULT, 64 3-way, AIM"
    ),
    Case("LOANS, 1,024 3-way", method_on("loans", "3way:1024", "adaptive"), target_seconds=25),
    Case("100 columns, all pairs", all_pairs(100), target_seconds=20, target_mb=2000),
    Case("300 columns, all pairs", all_pairs(300), target_seconds=80, target_mb=2000),
    Case("1,000 columns, all pairs", all_pairs(1000), target_seconds=600, target_mb=2000),
    Case("10^5 records × 60 columns, Parquet, all pairs", large_table(10**5, 60)),
    Case(
        "20 million records × 14 columns, Parquet, all pairs", large_table(20 * 10**6, 14), 90, 500
    ),
    Case(
        "55 million records × 60 columns, Parquet, all pairs",
        large_table(55 * 10**6, 60),
        3600,
        4000,
    ),
    Case("10^7 published rows", published(10**7), target_seconds=20),
    Case("10^8 published rows", published(10**8), target_mb=1000),
    Case("LOANS, 4,096 3-way", whole_run("loans", "3way:4096"), target_mb=4000),
    Case("LOANS, 4,096 3-way, rap", whole_run("loans", "3way:4096", "rap"), target_mb=4000),
    Case("LOANS, all 5,721 3-way", whole_run("loans", "3way:all"), target_mb=4000),
    Case("LOANS, all 5,721 3-way, rap", whole_run("loans", "3way:all", "rap"), target_mb=4000),
    Case("100 columns of 4 codes, 10^5 3-way", many_triples(100, 4, 10**5), target_mb=4000),
    Case("21 columns of 91 codes, all 3-way", all_triples(21, 91), target_mb=8000),
    Case("10,000 columns, 20,000 pairs", some_pairs(10_000, 20_000)),
    Case("1,415 columns, all pairs, scored once", one_choice(1415)),
    Case("3·10^5 records of ADULT, PostgreSQL", counted_by_postgres(300_000, "adult"), 1.5),
    Case("3·10^5 records of the example, PostgreSQL", counted_by_postgres(300_000, "example"), 1.5),
    Case("3·10^5 different records, PostgreSQL", counted_by_postgres(300_000, "different"), 1.5),
    Case("20 million records × 60 columns, counted, files", counted("files", 20 * 10**6, 60)),
    Case(
        "20 million records × 60 columns, counted, Spark",
        counted("spark", 20 * 10**6, 60),
        beside="20 million records × 60 columns, counted, files",
        times=3,
    ),
)
"""What is measured, in this order. A part of the package adds its cases here, one line each."""


def cells(seeds: int | None) -> list[StudyCell]:  # noqa: ARG001 - time hardly depends on the noise
    """Every case, with the code that it runs."""
    code = package_digest()
    return [StudyCell("scale", {"case": case.name, "code": code}) for case in CASES]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """One case."""
    (case,) = (case for case in CASES if case.name == facts["case"])
    return case.run(data_dir)


def package_digest() -> str:
    """Which version of the package runs."""
    folder = Path(dprap.__file__).parent
    files = sorted(folder.rglob("*.py"))
    return hashlib.blake2b(b"".join(file.read_bytes() for file in files), digest_size=6).hexdigest()


def table(records: Sequence[Record]) -> list[str]:
    """The cases, one line each: what was measured, its target, and the ratios, by version of the
    code.
    """
    lines = [
        (
            "| case | code | CPU s | target | ratio | peak MB | target | forecast CPU | forecast MB"
            " | silent s | max | TV |"
        ),
        "|" + "---|" * 12,
    ]
    known = {
        (record.cell["case"], record.cell["code"]): record
        for record in records
        if not record.failed
    }
    for case in CASES:
        for (name, code), record in known.items():
            if name == case.name:
                lines.append("| " + " | ".join(_entries(case, code, record, known)) + " |")
    return [
        *lines,
        "",
        *sorted({f"Measured on {record.machine}, {record.date}." for record in known.values()}),
    ]


def _entries(
    case: Case, code: str, record: Record, known: Mapping[tuple[str, str], Record]
) -> list[str]:
    figures = record.figures
    target = case.target_seconds
    shown = "" if target is None else f"{target:g}"
    if case.beside is not None and (case.beside, code) in known:
        target = case.times * (known[case.beside, code].figures["cpu_seconds"] or 0.0)
        shown = f"{case.times:g} × {case.beside}"
    seconds = figures["cpu_seconds"]
    ratio = "" if not target or seconds is None else f"{seconds / target:.2f}"

    def number(name: str, form: str) -> str:
        value = figures.get(name)
        return "" if value is None else format(value, form)

    return [
        case.name,
        code,
        number("cpu_seconds", ".1f"),
        shown,
        ratio,
        number("peak_mb", ",.0f"),
        "" if case.target_mb is None else f"{case.target_mb:,.0f}",
        number("forecast_cpu_seconds", ".1f"),
        number("forecast_mb", ",.0f"),
        number("longest_silence_seconds", ".1f"),
        number("max", ".4f"),
        number("tv", ".4f"),
    ]


def _run(codes: Codes, workload: Workload | None, method: str, **options_by_name: Any) -> Found:
    sizes = dict(zip(codes.domain.names, codes.domain.sizes, strict=True))
    options = RunOptions(epsilon=1.0, method=method, workload=workload, **options_by_name)
    silence = _Silence()
    with timed() as found:
        plan = make_plan(Schema.from_domain(sizes), options, records=codes.rows)
        source = MemorySource(codes, silence)
        execute(plan, source, insecure_noise_seed=0, progress=silence)
        silence()
    expected = plan.forecast
    return {
        **found,
        "longest_silence_seconds": silence.longest,
        "queries": float(plan.workload.queries),
        "forecast_cpu_seconds": expected.core_seconds,
        "forecast_mb": expected.memory_mb,
    }


class _Silence:
    """The longest time in which a run told nothing, in processor seconds: others add none to it."""

    def __init__(self) -> None:
        self.longest, self._last = 0.0, time.process_time()

    def __call__(self, *_: object) -> None:
        """Take note that the run told something."""
        now = time.process_time()
        self.longest, self._last = max(self.longest, now - self._last), now


def _fitted(data_dir: Path) -> Release:
    """A release of ADULT whose table has not been drawn."""
    codes = load_benchmark("adult", data_dir)
    workload = named_workload("3way:64", codes.domain, rows=codes.rows)
    sizes = dict(zip(codes.domain.names, codes.domain.sizes, strict=True))
    plan = make_plan(
        Schema.from_domain(sizes), RunOptions(epsilon=1.0, workload=workload), records=codes.rows
    )
    return replace(execute(plan, MemorySource(codes), insecure_noise_seed=0), drawn=None)
