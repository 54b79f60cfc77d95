"""How often the intervals of answers hold the truth, and how wide they are beside the best ones.

A cell is five runs on one table at one ε: releases of default settings with their error tables,
made by `dprap.runs.execute`. Cells of one table, ε and version of the program are put together in
the table of results, so that runs may be added at any time. Nominal 95% intervals are compared with
exact answers for

* `cell1` … `cell3`: cells of marginals over so many columns, up to 200,000 cells of each class and
  run;
* `range1` … `range3`: boxes of neighbouring codes, and unions of two;
* `mean2`, `mean3`: means of a column within groups of four records or more;
* `share`, `quantile`, `difference`, `ratio`: what is made of such answers (`derived_answers`), over
  the same columns.

`all` are all of them, `of a record` those that are estimated at one record or more. `single` are
counts whose interval has one whole number alone, mostly 0: no interval is narrower, and it holds
the truth as often as such cells are empty.
`inside` are the workload's own marginals and those inside them, `outside` are the others. Sizes are
estimated counts. For each class there are `n`, the number of answers, `none`, of which there is no
interval, `covered`, and `width`: the median over answers of the interval's half width over the 95%
quantile of the true errors of the five runs among answers of the same class and nearly the same
size, which is the narrowest that could be used.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from dprap.datasets import example, example_schema
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes, encode
from dprap.relaxed.marginals import cell_table
from dprap.release import Release
from dprap.release.hidden_codes import hidden_errors, noise_of_codes
from dprap.release.intervals import basis, error_table
from dprap.release.intervals.error_table import Kind, z_of
from dprap.runs import calibrate, error_samples, hold_out
from dprap.runs.error_samples import counted, group_means, ranges
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.studies.adaptive import mechanism_digest
from dprap_bench.studies.derived_answers import DERIVED, derived_answers
from dprap_bench.workloads import named_workload

EPSILONS = (0.1, 1.0, 10.0)
TABLES = ("nltcs", "example", "adult", "loans")
WORKLOAD = "3way:64"
RUNS = 20
RUNS_OF_CELL = 5
# Smaller seeds were used while the method was made, or looked at before it was mended.
FIRST_SEED = 9_760
EXAMPLE_RECORDS = 10_000
LEVEL = 0.95

_RANGES = 120
# Sets of two and of three columns in each run of which derived answers are looked at, and what
# rounding adds to exact ones.
_DERIVED_SETS = 40
_ROUNDING = 1e-9
# Larger marginals are left out, and a class is full when it has as many cells.
_MOST_CELLS = 100_000
_CELLS_OF_CLASS = 200_000
_LEAST_ANSWERS = 100
CLASSES = tuple(
    f"{kind}{size} {where}"
    for kind, sizes in (
        ("cell", (1, 2, 3)),
        ("range", (1, 2, 3)),
        ("mean", (2, 3)),
        *((name, ("",)) for name in DERIVED),
    )
    for size in sizes
    for where in ("inside", "outside")
)
SIZES = (
    ("0-10", 0.0, 10.0),
    ("10-100", 10.0, 100.0),
    ("100-1000", 100.0, 1000.0),
    ("1000-", 1000.0, np.inf),
)

Answers = tuple[str, np.ndarray, np.ndarray, np.ndarray]
"""A class, and sizes, errors and half widths of answers in it."""


def cells(seeds: int | None) -> list[StudyCell]:
    """Every table and ε, in parts of a few runs: the first part of each, then the second."""
    code = code_digest()
    return [
        StudyCell(
            "interval_coverage",
            {
                "data": data,
                "workload": WORKLOAD,
                "epsilon": epsilon,
                "seed": FIRST_SEED + before,
                "runs": RUNS_OF_CELL,
                "code": code,
            },
        )
        for before in range(0, min(RUNS, seeds or RUNS), RUNS_OF_CELL)
        for data in TABLES
        for epsilon in EPSILONS
    ]


def code_digest() -> str:
    """Which version of the mechanism and of the calibration runs."""
    own = digest_of(calibrate, error_samples, hold_out, error_table, basis)
    return f"{mechanism_digest()}-{own}"


def digest_of(*modules: ModuleType) -> str:
    """Which version of some modules runs."""
    read = b"".join(Path(module.__file__ or "").read_bytes() for module in modules)
    return hashlib.blake2b(read, digest_size=4).hexdigest()


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """Releases and their intervals."""
    schema, codes = benchmark_table(facts["data"], data_dir)
    workload = named_workload(facts["workload"], codes.domain, rows=codes.rows)
    found: list[Answers] = []
    seconds = []
    for seed in range(facts["seed"], facts["seed"] + facts["runs"]):
        started = time.process_time()
        reached: list[float] = []
        options = RunOptions(epsilon=facts["epsilon"], workload=workload, seed=seed)
        release = execute(
            make_plan(schema, options, records=codes.rows),
            MemorySource(codes),
            insecure_noise_seed=seed,
            progress=lambda told, reached=reached: (  # type: ignore[misc]
                reached.append(time.process_time()) if told.stage == "intervals" else None
            ),
        )
        seconds.append((reached[0] - started, reached[-1] - reached[0]))
        found += answers(release, codes, np.random.default_rng(seed))
    run, calibration = np.median(seconds, axis=0)
    return {"run_cpu_seconds": run, "calibration_over_run": calibration / run, **summary(found)}


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
        looked = 0
        sets = [
            columns
            for columns in combinations(domain.names, size)
            if domain.size_of(columns) <= _MOST_CELLS
        ]
        room = {"inside": _CELLS_OF_CLASS, "outside": _CELLS_OF_CLASS}
        for place in rng.permutation(len(sets)):
            columns = sets[place]
            where = "inside" if any(set(columns) <= each for each in asked) else "outside"
            room[where] -= domain.size_of(columns)
            if room[where] < 0:
                continue
            true = counted(truth, columns)
            estimated = release.rows * cell_table(release.relaxed, columns).astype(np.float64)  # type: ignore[arg-type]
            errors = np.abs(estimated - true)
            yield _with_widths(
                release,
                columns,
                f"cell{size} {where}",
                Kind.CELL,
                (estimated.ravel(), errors.ravel()),
            )
            sums = ranges(estimated, true, rng, _RANGES)[:2]
            yield _with_widths(release, columns, f"range{size} {where}", Kind.RANGE, sums)
            if size > 1:
                yield _means(release, columns, f"mean{size} {where}", (estimated, true))
                looked += 1
                if looked <= _DERIVED_SETS:
                    yield from _derived(release, columns, where, (estimated, true), rng)


def _means(
    release: Release, columns: tuple[str, ...], name: str, tables: tuple[np.ndarray, np.ndarray]
) -> Answers:
    """Means with the half widths that a question about them gets: the table's, and what codes that
    are hidden in the noise may add.
    """
    of, errors, scale = group_means(*tables)
    found = _with_widths(release, columns, name, Kind.MEAN, (of.sum(axis=1), errors / scale))
    averaged = columns[int(np.argmax(tables[0].shape))]
    rest = tuple(each for each in columns if each != averaged)
    alone, within = (noise_of_codes(release, averaged, by, ()) or np.inf for by in ((), rest))
    z, values = z_of(LEVEL), np.arange(of.shape[1], dtype=np.float64)
    noise = np.minimum(alone * np.sqrt(of.sum(axis=1) / release.rows), within)
    if not np.isfinite(noise).all():
        return found
    return *found[:3], np.hypot(found[3], z * hidden_errors(noise, of, values) / scale)


def _derived(
    release: Release,
    columns: tuple[str, ...],
    where: str,
    tables: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> Iterator[Answers]:
    """Derived answers by class.

    A quantile's interval is not symmetric, so that its error is in halves of its width. Errors and
    widths are compared in a unit of their own: of quantiles the number of codes, of ratios the
    ratio that is estimated.
    """
    found: dict[str, list[tuple[float, float, float]]] = {}
    codes = float(max(tables[0].shape))
    for name, size, exact, interval in derived_answers(release, columns, *tables, rng):
        unit = {"quantile": codes, "ratio": interval.estimate}.get(name, 1.0)
        low, high = (
            (np.nan, np.nan)
            if interval.low is None or interval.high is None
            else (interval.low, interval.high)
        )
        half = (high - low) / 2
        error = (
            abs(exact - (low + high) / 2) if np.isfinite(half) else abs(exact - interval.estimate)
        )
        half += _ROUNDING * abs(exact)
        found.setdefault(name, []).append((size, error / unit, half / unit))
    for name, each in found.items():
        yield f"{name} {where}", *np.array(each).T


def _with_widths(
    release: Release,
    columns: tuple[str, ...],
    name: str,
    kind: Kind,
    found: tuple[np.ndarray, np.ndarray],
) -> Answers:
    """Half widths as `dprap.release.intervals.interval` makes them, before they are cut."""
    sizes, errors = found
    rests_on, table = release.grounds.basis_of(columns), release.errors
    shape = release.schema.domain.shape_of(columns)
    widths = None if table is None else table.half_widths(kind, shape, rests_on, sizes, LEVEL)
    if widths is None or table is None:
        return name, sizes, errors, np.full(len(sizes), np.nan)
    if kind is not Kind.MEAN:
        rest = table.half_widths(kind, shape, rests_on, release.rows - sizes, LEVEL)
        widths = np.where(sizes > release.rows / 2, np.minimum(widths, rest), widths)  # type: ignore[arg-type]
    return name, sizes, errors, widths


def summary(found: Sequence[Answers]) -> dict[str, float | None]:
    """The figures of all answers, of each class, and of each size in a class."""
    sizes, errors, widths = (np.concatenate([each[part] for each in found]) for part in (1, 2, 3))
    names = np.concatenate([np.full(len(each[1]), each[0]) for each in found])
    best = _best(names, sizes, errors)
    # below a record there is nothing to be narrow about
    best[sizes < 1] = 0.0
    figures = _figures("all", errors, widths, best)
    single = _single(names, sizes, widths)
    for name, those in (("of a record", sizes >= 1), ("single", single)):
        figures |= _figures(name, errors[those], widths[those], best[those])
    for name in sorted(set(names.tolist())):
        own = names == name
        figures |= _figures(name, errors[own], widths[own], best[own])
        for label, low, high in SIZES:
            within = own & (sizes >= low) & (sizes < high)
            figures |= _figures(f"{name}:{label}", errors[within], widths[within], best[within])
    return figures


def _single(names: np.ndarray, sizes: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Whether an interval is of a count and holds one whole number, or lies between two."""
    counts = np.char.startswith(names, "cell") | np.char.startswith(names, "range")
    low, high = np.ceil(np.maximum(sizes - widths, 0.0)), np.floor(sizes + widths)
    return np.asarray(counts & (high <= low))


def _best(names: np.ndarray, sizes: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """For every answer the 95% quantile of the errors of its class and half octave of size."""
    _, alike = np.unique(names, return_inverse=True)
    group = alike * 1_000 + np.floor(2 * np.log2(np.maximum(sizes, 1.0))).astype(np.int64)
    order = np.argsort(group, kind="stable")
    best = np.empty(len(sizes))
    for part in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        best[part] = np.quantile(errors[part], LEVEL)
    return best


def _figures(
    name: str, errors: np.ndarray, widths: np.ndarray, best: np.ndarray
) -> dict[str, float | None]:
    """Coverage and relative width of answers; of fewer than a hundred, their number alone."""
    known = np.isfinite(widths)
    figures: dict[str, float | None] = {
        f"{name} n": float(len(errors)),
        f"{name} none": float((~known).sum()),
    }
    if known.sum() < _LEAST_ANSWERS:
        return figures
    figures[f"{name} covered"] = float((errors[known] <= widths[known]).mean())
    usable = known & (best > 0)
    figures[f"{name} width"] = (
        float(np.median(widths[usable] / best[usable])) if usable.any() else None
    )
    return figures
