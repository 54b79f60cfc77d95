"""Whether an answer was measured, follows from what was measured, or rests on the model."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from enum import StrEnum
from itertools import combinations

from dprap.accounting.measurement import Measurement, QueryMeasurement


class Basis(StrEnum):
    """What an answer over some columns rests on.

    `PAIRS` and `MODEL` are both modelled: in the first, every pair of the columns was measured or
    follows from what was, so that only what three columns have to do with each other is assumed.
    """

    MEASURED = "measured"
    IMPLIED = "implied by what was measured"
    PAIRS = "modelled from measured pairs"
    MODEL = "modelled"

    @property
    def modelled(self) -> bool:
        """Whether the model says it, and not a measurement."""
        return self in (Basis.PAIRS, Basis.MODEL)


def measured_columns(measurements: Iterable[Measurement | QueryMeasurement]) -> frozenset[frozenset[str]]:
    """The sets of columns whose cells were measured whole, code by code; grouped columns are summed out."""
    return frozenset(
        frozenset(name for name, groups in item.marginal.groups_by_column() if groups is None)
        for item in measurements
        if isinstance(item, Measurement)
    )


def basis_of(columns: Iterable[str], measured: AbstractSet[frozenset[str]]) -> Basis:
    """What an answer over these columns rests on.

    >>> measured = {frozenset({"age"}), frozenset({"age", "sex"}), frozenset({"sex", "region", "job"})}
    >>> [basis_of(asked, measured).name for asked in (["age", "sex"], ["job", "sex"], ["age", "job"])]
    ['MEASURED', 'IMPLIED', 'MODEL']
    """
    asked = frozenset(columns)
    if not asked or asked in measured:
        return Basis.MEASURED
    if _covered(asked, measured):
        return Basis.IMPLIED
    if len(asked) > 2 and all(_covered(frozenset(pair), measured) for pair in combinations(asked, 2)):
        return Basis.PAIRS
    return Basis.MODEL


def _covered(asked: frozenset[str], measured: AbstractSet[frozenset[str]]) -> bool:
    return any(map(asked.issubset, measured))
