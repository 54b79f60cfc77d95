"""What a person reads before and after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dprap.plan import Plan
    from dprap.release import Release


def plan_lines(plan: Plan, rows: int | None) -> list[str]:
    """The plan in a few lines; `rows` only where it is public."""
    budget = plan.budget
    lines = [
        f"method      {plan.method.name}: {plan.method.summary}",
        f"workload    {len(plan.workload):,} families, {plan.workload.queries:,} queries",
        f"guarantee   ε = {budget.epsilon:g}, δ = {budget.delta:.3g}, so ρ = {float(budget.rho):.4g} ({budget.accounting.value} accounting)",
        f"neighbours  {plan.neighbors.relation.value}, at most {plan.neighbors.max_rows_per_person} record(s) a person",
    ]
    if rows is not None:
        lines.append(f"records     {rows:,}")
    if plan.certificate_share:
        lines.append(f"certificate {plan.certificate_share:.0%} of ρ")
    return lines + [f"default     {text}" for text in plan.notes]


def plan_data(plan: Plan, rows: int | None) -> dict[str, Any]:
    """The plan as plain data."""
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
        "defaults": list(plan.notes),
    }


def release_lines(release: Release, out: str, seconds: float) -> list[str]:
    """A finished release in a few lines, for the steward: time and memory are exact, unlike the published ones."""
    from dprap.run import peak_memory_mb

    lines = [release.privacy.sentence()]
    certificate = release.certificate
    if certificate is not None:
        lines.append(
            f"accuracy: with {certificate.confidence:.0%} confidence, each of the {certificate.queries:,} answers is within "
            f"{certificate.upper_bound_counts / release.rows:.4f} of the truth (as a share of all records)."
        )
    lines.append(f"{seconds:.1f} s, {peak_memory_mb():,.0f} MB. Written to {out}")
    return lines


def release_data(release: Release, out: str) -> dict[str, Any]:
    """A finished release as plain data."""
    certificate = release.certificate
    return {
        "out": out,
        "private": release.privacy.private,
        "epsilon": release.privacy.epsilon,
        "delta": release.privacy.delta,
        "rho_spent": release.privacy.rho_spent,
        "queries": release.workload.queries,
        "certified_max_error": None if certificate is None else certificate.upper_bound_counts / release.rows,
        "seconds": release.facts.seconds,
        "peak_memory_mb": release.facts.peak_memory_mb,
    }
