"""Workloads in a file: a YAML or JSON list of marginals.

Each entry is a list of columns, or a mapping `{columns: [...], weight: 2}`; `at_least: t` makes it
a t-out-of-k threshold, `cumulative: [...]` all prefixes along some of those columns, and `ranges:
{age: all}` all intervals, or those that are listed as `[first code, last code]`. `halfspaces:
{count: 1000, by: [sex]}` draws random halfspaces over the columns that are not in `by`. `{custom:
"module:name"}` names query families in code, which is loaded only if the caller says how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dprap.documents import DocumentError, parse, read_text
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Family
from dprap.queries.plain import as_plain, from_plain
from dprap.workload.workload import MAX_CELLS, Workload, weighted

# Groups of codes are chosen by methods, not by users.
_KEYS = {"columns", "weight", "at_least", "cumulative", "ranges", "halfspaces"}

LoadCode = Callable[[str], Sequence[Family]]
"""From `module:name` to the query families that it stands for."""


def read_workload(
    path: Path | str, domain: Domain, *, max_cells: int = MAX_CELLS, load: LoadCode | None = None
) -> Workload:
    """Read a workload file.

    Args:
        path: The file.
        domain: The columns and their codes.
        max_cells: The most cells that a family may have.
        load: How names of code become families; without it a file that names code is refused.

    Returns:
        The workload.

    Raises:
        WorkloadError: The file is none, or does not fit the domain.

    """
    path = Path(path)
    try:
        entries = parse(read_text(path), "yaml")  # JSON is YAML
    except DocumentError as error:
        raise WorkloadError(f"workload {path}: {error}.") from None
    if isinstance(entries, dict) and set(entries) == {"marginals"}:
        entries = entries["marginals"]
    if not isinstance(entries, list) or not entries:
        raise WorkloadError(f"workload {path} must be a list of marginals, each a list of columns.")
    found = [pair for entry in entries for pair in _from_entry(path, domain, entry, load)]
    return weighted(domain, found, max_cells=max_cells)


def _from_entry(
    path: Path, domain: Domain, entry: Any, load: LoadCode | None
) -> list[tuple[Family, float]]:
    if isinstance(entry, list):
        entry = {"columns": entry}
    if isinstance(entry, dict) and "custom" in entry and not set(entry) - {"custom", "weight"}:
        return _from_code(path, entry, load)
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("columns"), list)
        or set(entry) - _KEYS
    ):
        raise WorkloadError(
            f"workload {path}: each entry is a list of columns, or a mapping with {sorted(_KEYS)}."
        )
    try:
        return [weighted_family(entry, domain)]
    except WorkloadError as error:
        raise WorkloadError(f"workload {path}: {error}") from None


def _from_code(
    path: Path, entry: dict[str, Any], load: LoadCode | None
) -> list[tuple[Family, float]]:
    name = str(entry["custom"])
    if load is None:
        raise WorkloadError(
            f"workload {path}: {name} is code, and nobody said that code may be loaded here."
        )
    try:
        return [(family, _weight(entry, family)) for family in load(name)]
    except WorkloadError as error:
        raise WorkloadError(f"workload {path}: {error}") from None


def weighted_family(entry: Any, domain: Domain) -> tuple[Family, float]:
    """The family and weight of an entry: the family's plain form, and its weight unless that is
    1.
    """
    if not isinstance(entry, dict):
        raise WorkloadError("a query family with its weight is a mapping.")
    family = from_plain({key: value for key, value in entry.items() if key != "weight"}, domain)
    return family, _weight(entry, family)


def _weight(entry: dict[str, Any], family: Family) -> float:
    try:
        return float(entry.get("weight", 1.0))
    except (TypeError, ValueError):
        raise WorkloadError(f"the weight of {family} is not a number.") from None


def workload_entries(workload: Workload) -> list[dict[str, Any]]:
    """The entries of a workload, which `weighted_family` reads, in a workload file and in a
    release.
    """
    return [
        as_plain(family, workload.domain) | ({"weight": weight} if weight != 1.0 else {})
        for family, weight in zip(workload.families, workload.weights, strict=True)
    ]
