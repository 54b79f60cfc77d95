"""What a person reads before and after a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dprap.forecast import Forecast
    from dprap.plan import Plan
    from dprap.privacy import Ledger
    from dprap.release import Release


def plan_lines(plan: Plan, rows: int | None) -> list[str]:
    """The plan in a few lines; `rows` only where it is public."""
    from dprap.forecast import forecast
    from dprap.privacy import caution_lines

    budget = plan.budget
    lines = [
        f"method      {plan.method.name}: {plan.method.summary}",
        f"workload    {len(plan.workload):,} families, {plan.workload.queries:,} queries",
        f"guarantee   ε = {budget.epsilon:g}, δ = {budget.delta:.3g}, so ρ = {float(budget.rho):.4g} ({budget.proof.value} accounting)",
        f"neighbours  {plan.neighbors.relation.value}, at most {plan.neighbors.max_rows_per_person} record(s) a person",
    ]
    if rows is not None:
        lines.append(f"records     {rows:,}")
    if plan.public is not None:
        facts = plan.public.facts
        lines.append(
            f"public      {facts.name}, {facts.rows:,} records, digest {facts.digest}: not covered by the guarantee"
        )
    expected = forecast(plan, rows)
    lines += [f"default     {text}" for text in plan.notes]
    lines += _step_lines(expected, plan, rows)
    if expected.memory_mb is not None and expected.core_seconds is not None:
        lines.append(
            f"cost        about {expected.memory_mb:,.0f} MB and {_duration(expected.core_seconds)} of one core, roughly"
        )
    return [*lines, *(f"caution     {text}" for text in caution_lines(budget))]


def ledger_lines(ledger: Ledger, plan: Plan) -> list[str]:
    """What was spent on the data set before, and what the sum will be."""
    from dprap.privacy import balance_lines

    return [f"ledger      {ledger.path}", *(f"            {text}" for text in balance_lines(ledger.state, plan.budget))]


def show_release(release: Release, out: str, seconds: float, *, quiet: bool, as_json: bool) -> None:
    """Print a finished release."""
    from dprap.cli.output import print_json, results

    if as_json:
        print_json(release_data(release, out))
    elif not quiet:
        for line in release_lines(release, out, seconds):
            results.print(line)


def _step_lines(expected: Forecast, plan: Plan, rows: int | None) -> list[str]:
    """The steps as a table: their share of ρ, and the noise on each measured number."""
    header = ("budget", "of ρ", "± counts", "± share" if rows is not None else "")
    body = [
        (
            step.label,
            f"{float(step.rho / plan.budget.rho):.1%}",
            "" if step.stddev_counts is None else f"{step.stddev_counts:,.1f}",
            "" if step.stddev_counts is None or rows is None else f"{step.stddev_counts / rows:.3%}",
        )
        for step in expected.steps
    ]
    widths = [max(len(row[column]) for row in (header, *body)) for column in range(4)]
    lines = []
    for number, (label, *figures) in enumerate((header, *body)):
        shown = label if number else ""
        aligned = "  ".join(text.rjust(width) for text, width in zip(figures, widths[1:], strict=True))
        lines.append(f"{'' if number else 'budget':<12}{shown:<{widths[0]}}  {aligned}".rstrip())
    return lines


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def plan_data(plan: Plan, rows: int | None) -> dict[str, Any]:
    """The plan as plain data."""
    from dprap.forecast import forecast

    expected = forecast(plan, rows)
    return {
        "method": plan.method.name,
        "marginals": len(plan.workload),
        "queries": plan.workload.queries,
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
                "stddev_share": None if step.stddev_counts is None or rows is None else step.stddev_counts / rows,
                "cells": step.cells,
            }
            for step in expected.steps
        ],
        "memory_mb": expected.memory_mb,
        "core_seconds": expected.core_seconds,
        "defaults": list(plan.notes),
    }


def release_lines(release: Release, out: str, seconds: float) -> list[str]:
    """A finished release in a few lines, for the steward: time and memory are exact, unlike the published ones."""
    from dprap.run import peak_memory_mb

    lines = [release.guarantee]
    if release.accuracy is not None:
        lines.append(f"accuracy: {release.accuracy}.")
    lines.append(f"{seconds:.1f} s, {peak_memory_mb():,.0f} MB. Written to {out}")
    return lines


def release_data(release: Release, out: str) -> dict[str, Any]:
    """A finished release as plain data."""
    from dprap.release.certified import published_table

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
        "certified_max_error": None if bound is None or not release.rows_are_public else bound / release.rows,
        "certified_max_error_counts": bound,
        "table": None if table is None else asdict(table),
        "seconds": release.facts.seconds,
        "peak_memory_mb": release.facts.peak_memory_mb,
    }
