"""How often the intervals of answers hold the truth, and how wide they are beside the best ones.

Every run is a release of default settings with its error table, made by `dprap.runs.execute`. Nominal
95% intervals are compared with exact answers for

* `cell1` … `cell3`: all cells of up to 40 marginals over so many columns, inside and outside the workload;
* `range1` … `range3`: boxes of neighbouring codes;
* `mean2`, `mean3`: means of a column within groups of four records or more.

`inside` are the workload's own marginals and those inside them, `outside` are the others. Sizes are
estimated counts. For each class there are `n`, the number of answers, `covered`, and `width`: the
median over answers of the interval's half width over the 95% quantile of the true errors among
answers of the same class and nearly the same size, which is the narrowest that could be used.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dprap.datasets import example, example_schema
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes, encode
from dprap.relaxed.marginals import cell_table
from dprap.release import Release
from dprap.release.intervals import basis, error_table
from dprap.release.intervals.error_table import Kind
from dprap.release.intervals.interval import release_basis
from dprap.runs import calibrate, error_samples
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.studies.adaptive import mechanism_digest
from dprap_bench.workloads import named_workload

EPSILONS = (0.1, 1.0, 10.0)
TABLES = (("nltcs", "3way:64", 20), ("example", "3way:64", 20), ("adult", "3way:64", 3), ("loans", "3way:64", 2))
# Smaller seeds were used while the method was made.
FIRST_SEED = 9_000
EXAMPLE_RECORDS = 10_000
LEVEL = 0.95

_SETS = 40
_RANGES = 120
_MOST_CELLS = 300_000
_LEAST_GROUP = 4.0
_SIZES = (("0-10", 0.0, 10.0), ("10-100", 10.0, 100.0), ("100-1000", 100.0, 1000.0), ("1000-", 1000.0, np.inf))

Answers = tuple[str, np.ndarray, np.ndarray, np.ndarray]
"""A class, and sizes, errors and half widths of answers in it."""


def cells(seeds: int | None) -> list[StudyCell]:
    """Every table and ε with its runs."""
    code = code_digest()
    return [
        StudyCell(
            "interval_coverage", {"data": data, "workload": workload, "epsilon": epsilon, "seed": seed, "code": code}
        )
        for data, workload, runs in TABLES
        for seed in range(FIRST_SEED, FIRST_SEED + min(runs, seeds or runs))
        for epsilon in EPSILONS
    ]


def code_digest() -> str:
    """Which version of the mechanism and of the calibration runs."""
    files = [Path(module.__file__ or "") for module in (calibrate, error_samples, error_table, basis)]
    own = hashlib.blake2b(b"".join(file.read_bytes() for file in files), digest_size=4).hexdigest()
    return f"{mechanism_digest()}-{own}"


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """One release and its intervals."""
    schema, codes = benchmark_table(facts["data"], data_dir)
    workload = named_workload(facts["workload"], codes.domain, rows=codes.rows)
    started = time.process_time()
    reached: list[float] = []
    options = RunOptions(epsilon=facts["epsilon"], workload=workload, seed=facts["seed"])
    release = execute(
        make_plan(schema, options, records=codes.rows),
        MemorySource(codes),
        insecure_noise_seed=facts["seed"],
        progress=lambda told: reached.append(time.process_time()) if told.stage == "intervals" else None,
    )
    run_seconds = reached[0] - started
    found = list(answers(release, codes, np.random.default_rng(facts["seed"])))
    figures: dict[str, float | None] = {
        "run_cpu_seconds": run_seconds,
        "calibration_over_run": (reached[-1] - reached[0]) / run_seconds,
    }
    figures |= _summary("all", found)
    for name in sorted({each[0] for each in found}):
        own = [each for each in found if each[0] == name]
        figures |= _summary(name, own)
        for label, low, high in _SIZES:
            figures |= _summary(f"{name}:{label}", [_between(each, low, high) for each in own])
    return figures


def benchmark_table(name: str, data_dir: Path) -> tuple[Schema, Codes]:
    """A table with its schema."""
    if name == "example":
        return example_schema(), encode(example(EXAMPLE_RECORDS), example_schema())
    codes = load_benchmark(name, data_dir)
    return Schema.from_domain(dict(zip(codes.domain.names, codes.domain.sizes, strict=True))), codes


def answers(release: Release, truth: Codes, rng: np.random.Generator) -> Iterator[Answers]:
    """Answers of every class with their errors and half widths; NaN where there is no interval."""
    domain = truth.domain
    asked = [frozenset(family.columns) for family in release.workload.families]
    for size in (1, 2, 3):
        sets = {True: [], False: []}  # type: ignore[var-annotated]
        for columns in combinations(domain.names, size):
            if domain.size_of(columns) <= _MOST_CELLS:
                sets[any(set(columns) <= each for each in asked)].append(columns)
        for inside, candidates in sets.items():
            where = "inside" if inside else "outside"
            for place in rng.permutation(len(candidates))[:_SETS]:
                columns = candidates[place]
                estimated, true = tables(release, truth, columns)
                yield _with_widths(release, columns, f"cell{size} {where}", Kind.CELL, estimated.ravel(), true.ravel())
                sums = _boxes(estimated, true, rng)
                if len(sums):
                    yield _with_widths(release, columns, f"range{size} {where}", Kind.RANGE, sums[:, 0], sums[:, 1])
                if size > 1:
                    yield _means(release, columns, f"mean{size} {where}", estimated, true)


def tables(release: Release, truth: Codes, columns: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Counts of all cells over some columns, estimated and true."""
    shape = truth.domain.shape_of(columns)
    cells = np.ravel_multi_index([truth.column(name).astype(np.int64) for name in columns], shape)
    true = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
    return release.rows * cell_table(release.relaxed, columns).astype(np.float64), true  # type: ignore[arg-type]


def _boxes(estimated: np.ndarray, true: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    found = []
    for _ in range(_RANGES if estimated.size > 2 else 0):
        ends = [np.sort(rng.integers(0, length, 2)) for length in estimated.shape]
        box = tuple(slice(low, high + 1) for low, high in ends)
        if estimated[box].size > 1:
            found.append((estimated[box].sum(), true[box].sum()))
    return np.array(found)


def _with_widths(
    release: Release, columns: tuple[str, ...], name: str, kind: Kind, sizes: np.ndarray, true: np.ndarray
) -> Answers:
    """Half widths as `dprap.release.intervals.interval.count_intervals` makes them, before they are cut."""
    rests_on, table = release_basis(release, columns), release.errors
    widths = None if table is None else table.half_widths(kind, len(columns), rests_on, sizes, LEVEL)
    if widths is None or table is None:
        return name, sizes, np.abs(sizes - true), np.full(len(sizes), np.nan)
    rest = table.half_widths(kind, len(columns), rests_on, release.rows - sizes, LEVEL)
    widths = np.where(sizes > release.rows / 2, np.minimum(widths, rest), widths)  # type: ignore[arg-type]
    return name, sizes, np.abs(sizes - true), widths


def _means(release: Release, columns: tuple[str, ...], name: str, estimated: np.ndarray, true: np.ndarray) -> Answers:
    axis = int(np.argmax(estimated.shape))
    values = np.arange(estimated.shape[axis], dtype=np.float64)
    of, exact = (np.moveaxis(table, axis, -1).reshape(-1, len(values)) for table in (estimated, true))
    counts = of.sum(axis=1)
    kept = (counts >= _LEAST_GROUP) & (exact.sum(axis=1) > 0)
    of, exact, counts = of[kept], exact[kept], counts[kept]
    means = of @ values / counts
    spread = np.sqrt(np.maximum(of @ values**2 / counts - means**2, 0))
    errors = np.abs(means - exact @ values / exact.sum(axis=1))
    widths = release.errors.half_widths(Kind.MEAN, len(columns), release_basis(release, columns), counts, LEVEL)  # type: ignore[union-attr]
    there = spread > 1e-6
    widths = np.full(len(counts), np.nan) if widths is None else widths
    return name, counts[there], errors[there] / spread[there], widths[there]


def _between(found: Answers, low: float, high: float) -> Answers:
    name, sizes, errors, widths = found
    kept = (sizes >= low) & (sizes < high)
    return name, sizes[kept], errors[kept], widths[kept]


def _summary(name: str, found: list[Answers]) -> dict[str, float | None]:
    """Coverage and relative width of answers; for classes of fewer than a hundred, their number alone."""
    sizes, errors, widths = (np.concatenate([each[part] for each in found]) for part in (1, 2, 3))
    known = np.isfinite(widths)
    figures: dict[str, float | None] = {f"{name} n": float(len(sizes)), f"{name} none": float((~known).sum())}
    sizes, errors, widths = sizes[known], errors[known], widths[known]
    if len(sizes) < 100:
        return figures
    best = np.empty(len(sizes))
    names = np.concatenate([np.full(len(each[1]), each[0]) for each in found])[known]
    bands = np.floor(2 * np.log2(np.maximum(sizes, 0.5))).astype(np.int64)
    for each in set(names.tolist()):
        for band in np.unique(bands[names == each]):
            alike = (names == each) & (bands == band)
            best[alike] = np.quantile(errors[alike], LEVEL)
    usable = best > 0
    figures[f"{name} covered"] = float((errors <= widths).mean())
    figures[f"{name} width"] = float(np.median(widths[usable] / best[usable])) if usable.any() else None
    return figures
