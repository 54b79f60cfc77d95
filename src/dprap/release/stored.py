"""Query families as they stand in a release: those of workload files, and custom queries by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Custom, Family
from dprap.queries.custom import Row
from dprap.workload.files import family_entry, family_from_entry


@dataclass(frozen=True)
class NamedCustom(Custom):
    """A custom query of a release that was read back: its name is known, its function is not.

    A function is code, and a release holds data only. Hand the query itself to `Release.answer` to have it answered.
    """

    queries: int = 1

    def size(self, domain: Domain) -> int:  # noqa: ARG002 - as stored
        """Number of queries, as stored."""
        return self.queries

    def values(self, domain: Domain, rows: Any) -> Any:  # noqa: ARG002 - as in Custom
        """Refused: the function is not stored."""
        raise WorkloadError(
            f"a release does not store the function of custom query {self.name!r}. Give the query itself."
        )


def entry_of(family: Family, domain: Domain) -> dict[str, Any]:
    """A family as plain data."""
    if isinstance(family, Custom):
        return {"custom": family.name, "columns": list(family.columns), "queries": family.size(domain)}
    return family_entry(family)


def family_of(entry: dict[str, Any], domain: Domain) -> tuple[Family, float]:
    """The family and weight of an entry; the inverse of `entry_of`."""
    if "custom" not in entry:
        return family_from_entry(Path("release.json"), domain, entry)
    columns = tuple(entry["columns"])
    domain.shape_of(columns)
    return NamedCustom(str(entry["custom"]), columns, _unknown, int(entry["queries"])), float(entry.get("weight", 1.0))


def _unknown(row: Row) -> Any:  # noqa: ARG001 - stands where a function was
    raise WorkloadError("a release does not store the functions of custom queries.")
