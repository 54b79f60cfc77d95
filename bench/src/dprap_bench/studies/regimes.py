"""The published table in every regime: `adaptive` against `independent` and `gaussian`, from 300
records to a million.

The grid was fixed before any result was looked at. A cell is a table, cut or resampled to a number
of records and columns, a workload and ε. Exact accounting, δ = 1/n², replace neighbours, and 2% of
ρ set aside for the certificate, in all methods alike. Errors are medians over draws: of n synthetic
records where a method has rows, of its answers where it has none. `whole_max` and `whole_tv` are
those of answers rounded to whole records, each by itself: no table that says what the answers say
is nearer to them. A record names the code of the mechanism that it ran, so a changed mechanism is
measured again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dprap.accounting import Accounting
from dprap.array_types import Answers
from dprap.datasets import example, example_schema
from dprap.datasets.benchmark import load_benchmark
from dprap.domain import Domain
from dprap.encoding import Codes, encode
from dprap.errors import SettingsError
from dprap.evaluate import compare
from dprap.evaluate.answer_shares import exact_answers, published_answers
from dprap.mechanisms.registry import method_named
from dprap.sources import MemorySource
from dprap.workload import Workload
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.seeded import seeded_curator
from dprap_bench.studies.adaptive import CERTIFICATE, mechanism_digest
from dprap_bench.synthetic import published_table
from dprap_bench.timing import timed
from dprap_bench.workloads import named_workload

# Smaller seeds are for trying things out.
FIRST_SEED = 700
DRAWS = 30
# So many where a draw takes longest: all columns of LOANS, 96 columns, a million records.
COSTLY_DRAWS = 3
_MANY_RECORDS = 100_000
METHODS = ("adaptive", "independent", "gaussian")
# Which marginals are eligible is the same for all sizes of a table, of at least so many records.
_ELIGIBLE_ROWS = 10_000
_EXAMPLE_ROWS = 50_000

_FOUR = ("workclass", "marital-status", "race", "sex")
_TEN = (
    *("term", "grade", "sub_grade", "emp_length", "home_ownership"),
    *("verification_status", "loan_status", "purpose", "delinq_2yrs", "addr_state"),
)


@dataclass(frozen=True)
class Regime:
    """A cell of the grid; `columns` keeps some of a table's columns, `copies` puts unrelated copies
    side by side.
    """

    data: str
    rows: int
    epsilon: float
    workload: str = "2way"
    columns: tuple[str, ...] = ()
    copies: int = 1

    def __str__(self) -> str:
        kept = ""
        if len(self.columns) == 2:
            kept = f" ({', '.join(self.columns)})"
        elif self.columns or self.copies > 1:
            kept = f" × {len(self.columns) or 16 * self.copies}"
        return f"{self.data}{kept}, {self.workload}, n = {self.rows:,}, ε = {self.epsilon:g}"


def _grid(data: str, cells: Sequence[tuple[int, float]], **more: Any) -> tuple[Regime, ...]:
    return tuple(Regime(data, rows, epsilon, **more) for rows, epsilon in cells)


GRID = (
    *_grid(
        "adult",
        [(300, 1), (5_000, 0.1), (48_842, 0.01), (48_842, 1), (48_842, 10), (1_000_000, 1)],
        columns=("age", "income>50K"),
    ),
    *_grid(
        "adult",
        [(1_000, 0.1), (48_842, 0.1), (48_842, 10)],
        columns=("education-num", "occupation"),
    ),
    *_grid(
        "adult",
        [(5_000, 1), (48_842, 0.1), (48_842, 1), (48_842, 10)],
        columns=("age", "hours-per-week"),
    ),
    *_grid("loans", [(300, 10), (42_535, 0.1), (42_535, 3)], columns=("grade", "loan_status")),
    *_grid("example", [(1_000_000, 0.1)], columns=("region", "occupation")),
    *_grid("nltcs", [(300, 0.1), (21_574, 1)], columns=("bathing", "cooking")),
    *_grid(
        "adult",
        [(300, 0.1), (300, 1), (5_000, 1), (48_842, 0.1), (48_842, 10), (1_000_000, 0.01)],
        columns=_FOUR,
    ),
    *_grid(
        "adult-reduced",
        [
            *[(300, 1), (300, 10), (5_000, 0.01), (5_000, 0.1), (5_000, 1)],
            *[
                (48_842, 0.01),
                (48_842, 0.1),
                (48_842, 1),
                (48_842, 10),
                (1_000_000, 0.1),
                (1_000_000, 1),
            ],
        ],
    ),
    *_grid("adult-reduced", [(3_000, 1), (48_842, 3)], workload="3way:all"),
    *_grid(
        "nltcs",
        [
            (300, 0.1),
            (300, 1),
            (300, 10),
            (21_574, 0.01),
            (21_574, 0.1),
            (21_574, 1),
            (21_574, 10),
            (1_000_000, 1),
        ],
    ),
    *_grid(
        "nltcs",
        [(1_000, 0.1), (1_000, 1), (21_574, 0.1), (21_574, 3), (21_574, 10)],
        workload="3way:64",
    ),
    *_grid(
        "nltcs",
        [(1_000, 1), (21_574, 0.1), (21_574, 1), (21_574, 10)],
        workload="3way:64",
        copies=6,
    ),
    *_grid("nltcs", [(21_574, 1)], copies=6),
    *_grid(
        "adult",
        [
            (300, 1),
            (1_000, 0.1),
            (5_000, 1),
            (48_842, 0.01),
            (48_842, 0.1),
            (48_842, 1),
            (48_842, 3),
            (48_842, 10),
        ],
        workload="3way:64",
    ),
    *_grid("adult", [(1_000, 1), (1_000_000, 0.1)]),
    *_grid("loans", [(300, 1), (5_000, 0.1), (5_000, 1), (42_535, 1), (42_535, 10)], columns=_TEN),
    *_grid("loans", [(1_000, 1), (42_535, 0.1), (42_535, 1), (42_535, 10)], workload="3way:64"),
    *_grid(
        "example",
        [(300, 1), (10_000, 0.1), (10_000, 1), (10_000, 10), (1_000_000, 1)],
        workload="3way:64",
    ),
)
"""Where methods are compared: 80 cells."""


def cells(seeds: int | None) -> list[StudyCell]:
    """Every cell of the grid with every method, the cheapest first; baselines do not depend on the
    mechanism's code.
    """
    code = mechanism_digest()
    return [
        StudyCell(
            "regimes",
            _facts(regime, method, draws=min(seeds or DRAWS, usual_draws(regime)), code=code),
        )
        for regime in sorted(GRID, key=_effort)
        for method in METHODS
    ]


def usual_draws(regime: Regime) -> int:
    """Over how many draws a cell of the grid has medians."""
    return COSTLY_DRAWS if _is_costly(regime) else DRAWS


def _is_costly(regime: Regime) -> bool:
    several = len(regime.columns) != 2
    return several and (
        regime.rows > _MANY_RECORDS
        or regime.copies > 1
        or (regime.data == "loans" and not regime.columns)
    )


def _effort(regime: Regime) -> tuple[bool, bool, float]:
    """Sorts cells by about what they cost: costly ones last, two columns first, then by records and
    ε.
    """
    return _is_costly(regime), len(regime.columns) != 2, regime.rows * (1 + regime.epsilon)


def _facts(regime: Regime, method: str, *, draws: int, code: str) -> dict[str, Any]:
    return {
        "data": regime.data,
        "columns": list(regime.columns),
        "copies": regime.copies,
        "rows": regime.rows,
        "workload": regime.workload,
        "epsilon": regime.epsilon,
        "method": method,
        # Fewer draws than the grid's are for trying things out.
        "first_seed": FIRST_SEED if draws == usual_draws(regime) else 200,
        "draws": draws,
        "code": code if method == "adaptive" else "",
    }


def regime_of(facts: Mapping[str, Any]) -> Regime:
    """The cell of the grid that a record is of."""
    return Regime(
        facts["data"],
        facts["rows"],
        facts["epsilon"],
        facts["workload"],
        tuple(facts["columns"]),
        facts["copies"],
    )


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """All draws of one method in one cell."""
    codes = _table(facts, data_dir)
    source = MemorySource(codes)
    workload = named_workload(facts["workload"], codes.domain, rows=max(codes.rows, _ELIGIBLE_ROWS))
    truth = list(exact_answers(source, workload.families))
    seeds = range(facts["first_seed"], facts["first_seed"] + facts["draws"])
    with timed() as seconds:
        drawn = {
            seed: _errors(facts["method"], source, workload, truth, facts["epsilon"], seed)
            for seed in seeds
        }
    figures = {name: median(each[name] for each in drawn.values()) for name in drawn[seeds.start]}
    for name in ("max", "tv"):
        figures[f"worst_{name}"] = max(each[name] for each in drawn.values())
        figures |= {f"{name}_{seed}": each[name] for seed, each in drawn.items()}
    return {**figures, "cpu_seconds": seconds["cpu_seconds"] / len(drawn)}


def _errors(
    method: str,
    source: MemorySource,
    workload: Workload,
    truth: list[Answers],
    epsilon: float,
    seed: int,
) -> dict[str, float]:
    """Errors of what a method publishes, and of what it fitted."""
    curator = seeded_curator(source, epsilon=epsilon, seed=seed, accounting=Accounting.EXACT)
    curator.set_aside(curator.budget.rho * CERTIFICATE)
    chosen = method_named(method)
    result = chosen.run(curator, workload, chosen.settings({}), seed=seed)
    if curator.remaining != Fraction(0):
        raise SettingsError(f"{method} did not spend its budget.")
    answered = list(published_answers(result, workload.families))
    in_whole_records = [np.rint(each * source.rows) / source.rows for each in answered]
    fitted = compare(workload.families, truth, answered)
    whole = compare(workload.families, truth, in_whole_records)
    published = fitted
    if result.relaxed is not None:
        table = published_table(result, workload, rows=source.rows, seed=seed)
        published = compare(workload.families, truth, published_answers(table, workload.families))
    return {
        f"{kind}{name}": value or 0.0
        for kind, errors in (("", published), ("fit_", fitted), ("whole_", whole))
        for name, value in (("max", errors.max), ("tv", errors.tv))
    }


def _table(facts: Mapping[str, Any], data_dir: Path) -> Codes:
    """The table of a cell: some columns, copies side by side, and so many records, drawn with a
    fixed seed.
    """
    if facts["data"] == "example":
        codes = encode(example(_EXAMPLE_ROWS), example_schema())
    else:
        codes = load_benchmark(facts["data"], data_dir)
    rng = np.random.default_rng(0)
    names = tuple(facts["columns"]) or codes.domain.names
    rows = facts["rows"]
    columns: dict[str, object] = {}
    sizes: dict[str, int] = {}
    for copy in range(facts["copies"]):
        places = rng.choice(codes.rows, rows, replace=rows > codes.rows)
        for name in names:
            label = name if copy == 0 else f"{name} {copy + 1}"
            columns[label] = codes.columns[codes.domain.position(name)][places]
            sizes[label] = codes.domain.size(name)
    return Codes.of(Domain.of(sizes), columns)
