"""How far a cell of a marginal is expected to be from the truth, by the noise that was paid for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dprap.accounting.measurement import Measurement
from dprap.errors import WorkloadError
from dprap.queries import Marginal

if TYPE_CHECKING:
    from dprap.release.release import Release


def expected_stddev(release: Release, marginal: Marginal) -> float:
    """The least standard error, as a share of all records, that covers each cell of the marginal.

    A measurement of noise σ over the marginal's columns and r times as many cells gives sums of r
    cells: σ·√r. Failing that, the certificate's bound for its workload, times r where r cells are
    summed: not a standard error but more than one, with the certificate's confidence. Infinite
    where neither covers the marginal.
    """
    if marginal.groups is not None:
        raise WorkloadError(
            f"the expected error is known of single codes; {marginal} has groups. Leave them out."
        )
    domain = release.schema.domain
    asked = set(marginal.columns)
    domain.shape_of(marginal.columns)  # refuses unknown columns

    def summed(columns: tuple[str, ...]) -> int:
        return domain.size_of(tuple(name for name in columns if name not in asked))

    def measured() -> Iterator[float]:
        for item in release.measurements:
            if isinstance(item, Measurement):
                codes = item.by_codes(domain)
                if asked <= set(codes.marginal.columns):
                    yield codes.stddev_counts * math.sqrt(summed(codes.marginal.columns))

    def certified() -> Iterator[float]:
        if release.certificate is not None:
            for family in release.workload.families:
                if isinstance(family, Marginal) and asked <= set(family.columns):
                    yield release.certificate.upper_bound_counts * summed(family.columns)

    found = min(measured(), default=None)
    if found is None:
        found = min(certified(), default=math.inf)
    return found / release.rows
