"""What each rule of the adaptive mechanism is worth: one rule changed at a time, on three tables.

A rule may go only if 20 fresh draws on all three tables show nothing lost without it. Every rule
of `dprap.mechanisms.adaptive.rules` has a row here, and a test says so. Error of the relaxed rows;
a rule that does not act on a table has the figures of the default there to the last digit.

The criterion, written down before any draw was looked at. Differences are those of a draw with and
without the rule, so the noise is the same. Something is lost on a table if the mean difference of
the maximum or of TV is above two of its standard errors, or above 3% (maximum) or 1% (TV) of the
default's mean. A rule that loses after 5, 8, 12 or 16 draws is kept and gets no further ones. A
rule that acts on none of the three tables says nothing here: it is kept if it has a reason
elsewhere, and says where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dprap.accounting import Accounting
from dprap.datasets import example, example_schema
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes, encode
from dprap.evaluate import evaluate
from dprap.mechanisms.adaptive import AdaptiveSettings, run
from dprap.mechanisms.adaptive.rules import Rules
from dprap.schema import CodeConstraint
from dprap.sources import MemorySource
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.rule_verdicts import DRAWS
from dprap_bench.rule_verdicts import table as table
from dprap_bench.seeded import seeded_curator
from dprap_bench.studies.adaptive import CERTIFICATE, mechanism_digest
from dprap_bench.timing import timed
from dprap_bench.workloads import named_workload

# No draw from here on was looked at while the mechanism was made.
FIRST_SEED = 9500


@dataclass(frozen=True)
class Case:
    """A table, a workload and ε."""

    data: str
    workload: str
    epsilon: float


# Sizes at which a run takes two or three seconds. Noise rules on ADULT at ε = 0.1; there is a
# sweep on NLTCS; the example has constraints, columns of many codes and broad marginals.
CASES = (
    Case("adult", "3way:64", 0.1),
    Case("nltcs", "3way:64", 1.0),
    Case("example", "4way:32", 1.0),
)
_EXAMPLE_ROWS = 10_000

# Rules about broad marginals act on the example alone; this is the case that they were made for.
_BROAD_CASE = Case("adult", "5way:64", 0.1)
_BROAD_RULES = ("default", "broad_from_columns", "broad_part_of_round")

_NEVER = 1e9

CHANGES: dict[str, dict[str, Any]] = {
    "default": {},
    "most_for_columns": {"most_for_columns": 1 / 20},
    "least_for_columns": {"least_for_columns": 1 / 3},
    "columns_spread_equally": {"columns_spread_equally": 0.99},
    "least_beside_one": {"least_beside_one": 0.0},
    "typical_dependence": {"typical_dependence": 0.2},
    "cells_with_noise": {"cells_with_noise": 1.0},
    "most_numbers_in_rows": {"most_numbers_in_rows": 0},
    "long_from_codes": {"long_from_codes": 1 << 30},
    "smooth_columns": {"smooth_columns": False},
    "typical_share": {"typical_share": _NEVER},
    "outstanding": {"outstanding": _NEVER},
    "hidden_code": {"hidden_code": _NEVER},
    "hidden_run": {"hidden_run": 0.0},
    "records_at_ends": {"records_at_ends": 0.0},
    "most_alike": {"most_alike": 0.0},
    "lonely_code": {"lonely_code": _NEVER},
    "least_start": {"least_start": 0.0},
    "pick_factor": {"pick_factor": 3.8},
    "usual_columns": {"usual_columns": 1 << 30},
    "most_picks": {"most_picks": 1 << 30},
    "most_rounds": {"most_rounds": 1},
    "cells_per_resolution": {"cells_per_resolution": _NEVER},
    "most_cells": {"most_cells": 1 << 14},
    "group_codes": {"group_codes": False, "broad_from_columns": None},
    "broad_from_columns": {"broad_from_columns": None},
    "broad_part_of_round": {"broad_part_of_round": 1.0},
    "cells_that_count": {"cells_that_count": 1 << 20},
    "error_threshold": {"error_threshold": 0.0},
    "error_threshold_of_mean": {"error_threshold_of_mean": 0.5},
    "beside_target": {"beside_target": 1.0},
    "sweep_from_resolution": {"sweep_from_resolution": _NEVER},
    "sweep_rest": {"sweep_rest": 8.0},
    "least_sweep": {"least_sweep": 0.0},
    "sweep_of_all": {"sweep_of_all": 0.0},
    "most_swept_cells": {"most_swept_cells": 0},
    "shrink_cells": {"shrink_cells": False},
    "afresh_up_to_picks": {"afresh_up_to_picks": 0},
    "afresh_from_codes": {"afresh_from_codes": 0.0},
    "jitter_of_afresh": {"jitter_of_afresh": 0.3},
    "jitter": {"jitter": 1.0},
    "most_last_fits": {"most_last_fits": 1},
    "least_gain_of_last_fit": {"least_gain_of_last_fit": 0.0},
    "misfit_of_noise": {"misfit_of_noise": _NEVER},
    "close_from_resolution": {"close_from_resolution": _NEVER},
    "weaker_pull": {"weaker_pull": 1.0},
    "usual_miss": {"usual_miss": _NEVER},
    "certain_miss": {"certain_miss": 4.0},
    "most_splits": {"most_splits": 0},
    "noise_of_empty_cells": {"noise_of_empty_cells": 1.0},
    "cool_down": {"cool_down": 0.0},
}
"""For each rule how it is changed: switched off where it can be, else moved far from its value."""

# What a rule needs to act at all, in the default that it is compared with as well.
_BESIDE: dict[str, dict[str, Any]] = {"error_threshold_of_mean": {"objective": "mean"}}


def cells(seeds: int | None) -> list[StudyCell]:
    """Every rule on every table, all rules of a draw before the next draw."""
    code = mechanism_digest()
    every = (*CHANGES, *(f"default beside {name}" for name in _BESIDE))
    return [
        StudyCell(
            "adaptive_rules",
            {
                "rule": rule,
                "change": _change_of(rule),
                "data": case.data,
                "workload": case.workload,
                "epsilon": case.epsilon,
                "seed": seed,
                "code": code,
            },
        )
        for seed in range(FIRST_SEED, FIRST_SEED + (seeds or DRAWS))
        for case, rules in (*((case, every) for case in CASES), (_BROAD_CASE, _BROAD_RULES))
        for rule in rules
    ]


def settings_of(rule: str) -> AdaptiveSettings:
    """The settings with one rule changed."""
    name = rule.removeprefix("default beside ")
    changes = CHANGES[name] if name == rule else {}
    return AdaptiveSettings(**_BESIDE.get(name, {}), rules=Rules(**changes))


def _change_of(rule: str) -> str:
    """What is changed, so that a record says it by itself."""
    return ", ".join(f"{name} {value}" for name, value in CHANGES.get(rule, {}).items())


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """One run with one rule changed."""
    codes, constraints, ordered = _table(facts["data"], data_dir)
    source = MemorySource(codes)
    workload = named_workload(facts["workload"], codes.domain, rows=codes.rows)
    curator = seeded_curator(
        source, epsilon=facts["epsilon"], seed=facts["seed"], accounting=Accounting.EXACT
    )
    curator.set_aside(curator.budget.rho * CERTIFICATE)
    with timed() as seconds:
        result = run(
            curator,
            workload,
            settings_of(facts["rule"]),
            seed=facts["seed"],
            constraints=constraints,
            ordered=ordered,
        )
    errors = evaluate(source, workload, result)
    return {"max": errors.max, "tv": errors.tv, **seconds}


def _table(
    name: str, data_dir: Path
) -> tuple[Codes, tuple[CodeConstraint, ...], Mapping[str, int]]:
    """A table, what cannot occur in it, and how many codes of its columns have an order."""
    if name != "example":
        return load_benchmark(name, data_dir), (), {}
    schema = example_schema()
    return encode(example(_EXAMPLE_ROWS), schema), schema.code_constraints, schema.ordered_codes
