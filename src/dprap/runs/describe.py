"""Plans, releases and ledgers in lines for people and as plain data for programs, whatever shows
them.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from dprap.accounting import Budget
from dprap.mechanisms.projection_theorem import theorem_line
from dprap.privacy import Ledger, LedgerState, balance_lines, caution_lines
from dprap.release import Release
from dprap.release.certified import published_table
from dprap.runs.discovery_plan import DiscoveryPlan
from dprap.runs.forecast import Forecast
from dprap.runs.outlook import verdict
from dprap.runs.peak_memory import peak_memory_mb
from dprap.runs.plan import Plan

# What fits on a screen of each event of a ledger; `ledger_data` gives all.
_SHOWN = 6


def plan_lines(plan: Plan) -> list[str]:
    """The plan in a few lines."""
    budget, rows = plan.budget, plan.records
    lines = [
        f"method      {plan.method.name}: {plan.method.summary}",
        _workload_line(plan),
        (
            f"guarantee   ε = {budget.epsilon:g}, δ = {budget.delta:.3g}, so ρ ="
            f" {float(budget.whole_rho):.4g} ({budget.proof.value} accounting)"
        ),
        (
            f"neighbours  {plan.neighbors.relation.value}, at most"
            f" {plan.neighbors.max_rows_per_person} record(s) a person"
        ),
    ]
    if plan.discovery is not None:
        lines += plan.discovery.lines
        lines.append(
            "after it    planned with two values for each category to be found: more of them need"
            " more"
        )
    elif budget.other_rho:
        lines.append(
            f"discovered  for {float(budget.other_rho):.4g} of ρ = {float(budget.whole_rho):.4g}"
            " in all"
        )
    if rows is not None:
        lines.append(f"records     {rows:,}")
    else:
        lines += _headed("records", _UNKNOWN_RECORDS)
    if plan.public is not None:
        facts = plan.public.facts
        lines.append(
            f"public      {facts.name}, {facts.rows:,} records, digest {facts.digest}: not covered"
            " by the guarantee"
        )
    expected = plan.forecast
    lines += [line for text in plan.notes for line in _headed("default", text)]
    lines += _step_lines(expected, plan, rows)
    judged = verdict(plan)
    lines += [] if judged is None else _headed("verdict", judged)
    theorem = theorem_line(
        plan.method.name,
        asdict(plan.settings),
        plan.workload,
        epsilon=budget.epsilon,
        delta=budget.delta,
        records=rows if plan.neighbors.rows_are_public else None,
    )
    lines += [] if theorem is None else _headed("theorem", theorem)
    if expected.memory_mb is not None and expected.core_seconds is not None:
        lines.append(
            f"cost        about {expected.memory_mb:,.0f} MB and {_duration(expected.core_seconds)}"
            " of one core, roughly"
        )
    return [*lines, *(line for text in caution_lines(budget) for line in _headed("caution", text))]


def _workload_line(plan: Plan) -> str:
    """How much is asked; an upper bound where the run itself finds the intervals of columns."""
    count = len(plan.workload)
    families = f"{count:,} {'family' if count == 1 else 'families'}"
    queries = f"{plan.workload.queries:,} queries"
    if not plan.queries_are_a_bound:
        return f"workload    {families}, {queries}"
    return f"workload    {families}, at most {queries}: fewer where the run finds fewer intervals"


_UNKNOWN_RECORDS = (
    "not known before the run, which buys their number with noise. This plan is for the fewest; with"
    " more records a run may choose more to measure. `dprap plan --records` shows it for a guess"
)

# Sentences of a plan are broken here, so that no word is cut at the edge of a window.
_WIDTH = 100


def _headed(word: str, sentence: str) -> list[str]:
    """A sentence behind the word that says what it is about, in lines that fit."""
    return textwrap.wrap(
        sentence,
        _WIDTH,
        initial_indent=f"{word:<12}",
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )


def ledger_lines(ledger: Ledger, budget: Budget) -> list[str]:
    """What was spent on the data set before, and what the sum will be."""
    return [
        f"ledger      {ledger.path}",
        *(f"            {text}" for text in balance_lines(ledger.state, budget)),
    ]


def _step_lines(expected: Forecast, plan: Plan, rows: int | None) -> list[str]:
    """The steps as a table: their share of ρ, and the noise on each measured number."""
    header = ("budget", "of ρ", "± counts", "± share" if rows is not None else "")
    body = [
        (
            step.label,
            f"{float(step.rho / plan.budget.rho):.1%}",
            "" if step.stddev_counts is None else f"{step.stddev_counts:,.1f}",
            (
                ""
                if step.stddev_counts is None or rows is None
                else f"{step.stddev_counts / rows:.3%}"
            ),
        )
        for step in expected.steps
    ]
    widths = [max(len(row[column]) for row in (header, *body)) for column in range(4)]
    lines = []
    for number, (label, *figures) in enumerate((header, *body)):
        shown = label if number else ""
        aligned = "  ".join(
            text.rjust(width) for text, width in zip(figures, widths[1:], strict=True)
        )
        lines.append(f"{'' if number else 'budget':<12}{shown:<{widths[0]}}  {aligned}".rstrip())
    return lines


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _discovery_data(plan: DiscoveryPlan) -> dict[str, Any]:
    budget, _ = plan.split()
    half, nearly_all = plan.found_from() if plan.listed else (None, None)
    return {
        "columns": [*plan.listed, *plan.numbers],
        "rho": float(budget.rho),
        "threshold_delta": budget.threshold_delta,
        "found_in_half_of_runs_counts": half,
        "found_in_95_percent_of_runs_counts": nearly_all,
    }


def plan_data(plan: Plan) -> dict[str, Any]:
    """The plan as plain data."""
    rows, expected = plan.records, plan.forecast
    return {
        "method": plan.method.name,
        "marginals": len(plan.workload),
        "queries": plan.workload.queries,
        "queries_are_a_bound": plan.queries_are_a_bound,
        "epsilon": plan.budget.epsilon,
        "delta": plan.budget.delta,
        "rho": float(plan.budget.rho),
        "accounting": plan.budget.accounting.value,
        "neighbors": plan.neighbors.relation.value,
        "max_rows_per_person": plan.neighbors.max_rows_per_person,
        "records": rows,
        "certificate_share": plan.certificate_share,
        "public": None if plan.public is None else asdict(plan.public.facts),
        "steps": [
            {
                "label": step.label,
                "rho": float(step.rho),
                "stddev_counts": step.stddev_counts,
                "stddev_share": (
                    None
                    if step.stddev_counts is None or rows is None
                    else step.stddev_counts / rows
                ),
                "cells": step.cells,
            }
            for step in expected.steps
        ],
        "discovery": None if plan.discovery is None else _discovery_data(plan.discovery),
        "verdict": verdict(plan),
        "memory_mb": expected.memory_mb,
        "core_seconds": expected.core_seconds,
        "defaults": list(plan.notes),
    }


def release_lines(release: Release, out: str, seconds: float) -> list[str]:
    """A finished release in a few lines, for the steward: time and memory are exact, unlike the
    published ones.
    """
    lines = [release.guarantee]
    if release.accuracy is not None:
        lines.append(f"accuracy: {release.accuracy}.")
    theorem = theorem_line(
        release.facts.method,
        release.facts.settings,
        release.workload,
        epsilon=release.privacy.epsilon,
        delta=release.privacy.delta,
        records=release.rows if release.rows_are_public else None,
    )
    lines += [] if theorem is None else [f"{theorem}."]
    lines.append(f"{seconds:.1f} s, {peak_memory_mb():,.0f} MB. Written to {out}")
    return lines


def release_data(release: Release, out: str) -> dict[str, Any]:
    """A finished release as plain data."""
    bound = None if release.certificate is None else release.certificate.upper_bound_counts
    table = published_table(release)
    return {
        "out": out,
        "private": release.privacy.private,
        "epsilon": release.privacy.epsilon,
        "delta": release.privacy.delta,
        "rho_spent": release.privacy.rho_spent,
        "public": None if release.public is None else asdict(release.public),
        "queries": release.workload.queries,
        "accuracy": release.accuracy,
        "certified_max_error": (
            None if bound is None or not release.rows_are_public else bound / release.rows
        ),
        "certified_max_error_counts": bound,
        "table": None if table is None else asdict(table),
        "seconds": release.facts.seconds,
        "peak_memory_mb": release.facts.peak_memory_mb,
    }


def ledger_data(state: LedgerState, *, events: bool) -> dict[str, Any]:
    """A ledger as plain data: its runs and what they spent; with `events` also what each charge
    released.
    """
    opening = state.opening or {}
    return {
        "neighbors": {key: opening.get(key) for key in ("relation", "max_rows_per_person")},
        "cap_rho": None if state.cap_rho is None else float(state.cap_rho),
        "spent_rho": float(state.spent_rho),
        "threshold_delta": state.threshold_delta,
        "runs": [
            {
                "run": name,
                "started": run.facts.get("started"),
                "epsilon": run.facts.get("epsilon"),
                "delta": run.facts.get("delta"),
                "rho_planned": float(run.planned_rho),
                "rho_spent": float(run.spent_rho),
                "charges": len(run.charges),
                "done": run.done,
                "abandoned": run.abandoned,
                **(
                    {"events": [_event(charge) for charge in run.charges.values()]}
                    if events
                    else {}
                ),
            }
            for name, run in state.runs.items()
        ],
    }


def _event(charge: dict[str, Any]) -> dict[str, Any]:
    """A charge as plain data: what was released, at which cost, with which noise."""
    return dict(charge.get("event", {})) | {
        "verb": charge["verb"],
        "rho": float(Fraction(charge["rho"])),
    }


def event_line(event: dict[str, Any]) -> str:
    """An event of `ledger_data` in a line.

    The event comes from a file that anybody may have written, so every part may be anything.
    """
    named = event.get("of")
    shown = (
        [_name(each) for each in named[:_SHOWN]]
        if isinstance(named, list)
        else ["not told, by version 1"]
    )
    more = (
        f", … {event.get('count')!r:.12} in all"
        if isinstance(named, list) and len(named) > _SHOWN
        else ""
    )
    noise = event.get("stddev_counts")
    several = (
        sorted({json.dumps(each)[:6] for each in noise})
        if isinstance(noise, list)
        else [json.dumps(noise)[:6]]
    )
    spread = (
        ""
        if noise is None or not several
        else f", σ = {several[0]}" + ("" if len(several) == 1 else " and others")
    )
    return f"{event['verb']}, ρ = {event['rho']:.4g}{spread}: {', '.join(shown)}{more}"


def _name(described: Any) -> str:
    """A marginal or query by its columns; what has another form, as it is."""
    try:
        label = described[0] if isinstance(described[0], list) else described
        return f"{str(label[0]).lower()} " + " × ".join(
            json.dumps(name, ensure_ascii=False)[:40] for name in label[-1]
        )
    except (TypeError, KeyError, IndexError):
        return json.dumps(described)[:60]
