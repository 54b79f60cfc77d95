"""Workloads in a file: a YAML or JSON list of marginals.

Each entry is a list of columns, or a mapping `{columns: [...], weight: 2}`; `at_least: t` makes it a t-out-of-k
threshold and `cumulative: [...]` a prefix family over those columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dprap.documents import DocumentError, parse, read_text
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Family
from dprap.queries.marginal import Marginal
from dprap.queries.prefix import Prefix
from dprap.queries.threshold import Threshold
from dprap.workload.workload import MAX_CELLS, Workload, weighted

_KEYS = {"columns", "weight", "at_least", "cumulative"}


def read_workload(path: Path | str, domain: Domain, *, max_cells: int = MAX_CELLS) -> Workload:
    """Read a workload file."""
    path = Path(path)
    try:
        entries = parse(read_text(path), "yaml")  # JSON is YAML
    except DocumentError as error:
        raise WorkloadError(f"workload {path}: {error}.") from None
    if isinstance(entries, dict) and set(entries) == {"marginals"}:
        entries = entries["marginals"]
    if not isinstance(entries, list) or not entries:
        raise WorkloadError(f"workload {path} must be a list of marginals, each a list of columns.")
    return weighted(domain, [family_from_entry(path, domain, entry) for entry in entries], max_cells=max_cells)


def family_from_entry(path: Path, domain: Domain, entry: Any) -> tuple[Family, float]:
    """The family and weight that one entry of a workload file describes."""
    if isinstance(entry, list):
        entry = {"columns": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("columns"), list) or set(entry) - _KEYS:
        raise WorkloadError(f"workload {path}: each entry is a list of columns, or a mapping with {sorted(_KEYS)}.")
    columns = tuple(str(name) for name in entry["columns"])
    domain.shape_of(columns)
    try:
        weight = float(entry.get("weight", 1.0))
    except (TypeError, ValueError):
        raise WorkloadError(f"workload {path}: the weight of {'×'.join(columns)} is not a number.") from None
    if "at_least" in entry and "cumulative" in entry:
        raise WorkloadError(f"workload {path}: {'×'.join(columns)} is a threshold or a prefix family, not both.")
    if "at_least" in entry and type(entry["at_least"]) is not int:
        raise WorkloadError(f"workload {path}: at_least of {'×'.join(columns)} is not a whole number.")
    if "cumulative" in entry and not isinstance(entry["cumulative"], list):
        raise WorkloadError(f"workload {path}: cumulative of {'×'.join(columns)} is not a list of columns.")
    if "at_least" in entry:
        return Threshold(columns, entry["at_least"]), weight
    if "cumulative" in entry:
        return Prefix(columns, tuple(entry["cumulative"])), weight
    return Marginal(columns), weight


def workload_entries(workload: Workload) -> list[dict[str, Any]]:
    """Entries of a workload in the file's form; the inverse of `read_workload`."""
    return [
        family_entry(family) | ({"weight": weight} if weight != 1.0 else {})
        for family, weight in zip(workload.families, workload.weights, strict=True)
    ]


def family_entry(family: Family) -> dict[str, Any]:
    """A family in the file's form."""
    entry: dict[str, Any] = {"columns": list(family.columns)}
    if isinstance(family, Threshold):
        return entry | {"at_least": family.at_least}
    if isinstance(family, Prefix):
        return entry | {"cumulative": list(family.cumulative)}
    if isinstance(family, Marginal):
        return entry
    raise WorkloadError(f"{family} cannot be written to a workload file.")
