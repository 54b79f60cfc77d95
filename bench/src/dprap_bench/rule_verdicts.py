"""What the study of rules says: for each rule what is lost without it, and what became of it.

The criterion stands in `dprap_bench.studies.adaptive_rules`. Differences are paired by draw, as a
share of the default's mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from dprap_bench.record import Record

DRAWS = 20
"""So many draws on every table where a rule acts are needed before it may go."""

METRICS = {"max": 0.03, "tv": 0.01}
"""What is compared, and from which share of the default's mean on a mean difference is a loss."""

_STANDARD_ERRORS = 2.0
# Below so many draws a mean says nothing against the limits above.
_FEW = 5

LOST = "lost without it"

BECAME: dict[str, str] = {
    "broad_cells_per_resolution": "merged into `cells_per_resolution`",
    "most_picks_before_sweep": "merged into `most_picks`, half as many before a sweep: the same results",
    "smooth_from_codes": "merged into `long_from_codes` with the switch `smooth_columns`: the same results",
    "group_from_codes": "merged into `long_from_codes` with the switch `group_codes`: the same results",
    "blocks_from_codes": "merged into `long_from_codes`: the same results",
}
"""Rules that are no more, and what stands for them."""

_LARGE_EPSILON = "acts where every cell stands above the noise: large ε, few columns"
_ONE_MARGINAL = "acts on workloads that one marginal answers, and where only columns pay"
_HIDDEN = "acts where noise hides typical codes: a thousand records at ε = 0.1"
_LIMIT = "a limit of time and memory"

KEPT_BECAUSE: dict[str, str] = {
    "afresh_from_codes": "acts on short columns without a sweep, as NLTCS at small ε",
    "beside_target": "acts on runs with a target",
    "broad_part_of_round": "rare codes: without it .04 and more in 5 of 24 draws, ADULT 4-way",
    "cells_with_noise": _ONE_MARGINAL,
    "certain_miss": _LARGE_EPSILON,
    "close_from_resolution": _LARGE_EPSILON,
    "hidden_code": _HIDDEN,
    "hidden_run": "tails: means of amounts, which max and TV do not show",
    "least_beside_one": _ONE_MARGINAL,
    "least_gain_of_last_fit": _LARGE_EPSILON,
    "least_sweep": "half a sweep was worse than none elsewhere; not yet judged again",
    "lonely_code": "keeps the ties of a smooth column beside a spike (a test)",
    "misfit_of_noise": _LARGE_EPSILON,
    "most_cells": _LIMIT,
    "most_last_fits": _LARGE_EPSILON,
    "most_numbers_in_rows": _LIMIT,
    "most_picks": _LIMIT,
    "most_splits": "acts on tables of a million records that few rows cannot say",
    "most_swept_cells": _LIMIT,
    "noise_of_empty_cells": "mass on impossible cells, which max and TV do not show (a test)",
    "outstanding": _HIDDEN,
    "records_at_ends": "ranges of published columns, which max and TV do not show",
    "sweep_of_all": "acts on all pairs of few columns",
    "typical_dependence": _ONE_MARGINAL,
    "typical_share": _HIDDEN,
    "usual_columns": "picks in proportion to the columns, where there is no sweep",
    "usual_miss": _LARGE_EPSILON,
    "weaker_pull": _LARGE_EPSILON,
}
"""Why a rule stays that these tables do not ask for: where it acts, or what it is for."""

Case = tuple[str, str, float]


@dataclass(frozen=True)
class Loss:
    """Paired differences of one rule on one case, as shares of the default's mean."""

    draws: int
    mean: float
    error: float

    @classmethod
    def of(cls, changed: Sequence[float], default: Sequence[float]) -> Loss:
        """From the figures of the same draws with the rule changed and by default."""
        differences = [one - other for one, other in zip(changed, default, strict=True)]
        base = fmean(default)
        error = stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
        return cls(len(differences), fmean(differences) / base, error / base)

    def is_lost(self, limit: float) -> bool:
        """Whether something is lost, by the criterion of the study."""
        if self.draws < _FEW or self.mean <= 0:
            return False
        return self.mean > _STANDARD_ERRORS * self.error or self.mean > limit

    def __str__(self) -> str:
        if self.draws == 1:
            return f"{100 * self.mean:+.1f}"
        return f"{100 * self.mean:+.1f} ± {100 * self.error:.1f}"


def losses(records: Iterable[Record]) -> dict[str, dict[Case, dict[str, Loss]]]:
    """For each rule and each case: the loss of each metric over the draws that both have."""
    figures: dict[tuple[str, Case], dict[int, Mapping[str, float | None]]] = {}
    for record in records:
        if not record.failed:
            cell = record.cell
            case = (cell["data"], cell["workload"], cell["epsilon"])
            figures.setdefault((cell["rule"], case), {})[cell["seed"]] = record.figures
    found: dict[str, dict[Case, dict[str, Loss]]] = {}
    for (rule, case), changed in figures.items():
        if rule.startswith("default"):
            continue
        beside = (f"default beside {rule}", case)
        default = figures.get(beside, figures.get(("default", case), {}))
        seeds = sorted(changed.keys() & default.keys())
        if seeds:
            found.setdefault(rule, {})[case] = {
                metric: Loss.of(
                    [changed[seed][metric] or 0.0 for seed in seeds],
                    [default[seed][metric] or 0.0 for seed in seeds],
                )
                for metric in METRICS
            }
    return found


def verdict(by_case: Mapping[Case, Mapping[str, Loss]]) -> str:
    """What the draws say of a rule."""
    acting = [
        each for each in by_case.values() if any(loss.mean or loss.error for loss in each.values())
    ]
    if not acting:
        return "acts on none of these"
    if any(loss.is_lost(METRICS[metric]) for each in acting for metric, loss in each.items()):
        return LOST
    draws = min(loss.draws for each in acting for loss in each.values())
    return "nothing lost" if draws >= DRAWS else "acts, not judged"


def table(records: Iterable[Record]) -> list[str]:
    """One line a rule, as Markdown; percent of the default's mean, max / TV, draws in brackets."""
    found = losses(records)
    cases = sorted({case for by_case in found.values() for case in by_case})
    names = [
        f"{data.upper() if data != 'example' else data} {load}, ε = {at:g}"
        for data, load, at in cases
    ]
    lines = [
        "| rule | " + " | ".join(names) + " | the draws say | the rule is |",
        "|" + "---|" * (len(cases) + 3),
    ]
    for rule in sorted(found, key=lambda rule: (rule not in BECAME, rule)):
        by_case = found[rule]
        entries = [_entry(by_case.get(case)) for case in cases]
        said = verdict(by_case)
        reason = KEPT_BECAUSE.get(rule) if said != LOST else None
        became = BECAME.get(rule) or (f"kept: {reason}" if reason else "kept")
        lines.append(f"| `{rule}` | {' | '.join(entries)} | {said} | {became} |")
    return lines


def _entry(by_metric: Mapping[str, Loss] | None) -> str:
    if by_metric is None:
        return "–"
    draws = min(loss.draws for loss in by_metric.values())
    if not any(loss.mean or loss.error for loss in by_metric.values()):
        return f"same ({draws})"
    return " / ".join(str(by_metric[metric]) for metric in METRICS) + f" ({draws})"
