"""What an answer rests on: a measurement, what follows from measurements, or the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations

from dprap.accounting.measurement import Measurement, QueryMeasurement
from dprap.workload import Workload

# Subsets of a measured set are listed up to this size; larger sets are compared one by one.
_LISTED = 4


class Basis(StrEnum):
    """What an answer over some columns rests on, from the surest to the least sure.

    The last four are modelled. `PAIRS`: every pair of the columns was measured or follows from what
    was, so that only what three columns have to do with each other is assumed. `MODEL`: the
    workload has every pair of the columns, so the run could have measured them and found others
    worse. `OUTSIDE`: the workload lacks a pair of the columns, so nobody ever looked at it.
    `UNSEEN`: the workload lacks one of the columns, or no measurement has it. What is measured of
    such a column is little beside that of others, and nothing tells how far an answer is off, so it
    has no interval.
    """

    MEASURED = "measured"
    IMPLIED = "implied by what was measured"
    PAIRS = "modelled from measured pairs"
    MODEL = "modelled"
    OUTSIDE = "modelled, outside of the workload"
    UNSEEN = "modelled, with a column that the workload lacks"

    @property
    def modelled(self) -> bool:
        """Whether the model says it, and not a measurement."""
        return self not in (Basis.MEASURED, Basis.IMPLIED)


@dataclass(frozen=True)
class Grounds:
    """The sets of columns that a run measured whole, measured at all, and was asked for.

    Cells of a set in `measured` were measured code by code; `touched` has those of groups of codes
    too. `queried` are columns of single queries that were measured.
    """

    measured: frozenset[frozenset[str]]
    touched: frozenset[frozenset[str]]
    asked: frozenset[frozenset[str]]
    queried: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, measurements: Iterable[Measurement | QueryMeasurement], workload: Workload
    ) -> Grounds:
        """The grounds of a run."""
        everything = tuple(measurements)
        marginals = [item.marginal for item in everything if isinstance(item, Measurement)]
        queries = [item.query for item in everything if isinstance(item, QueryMeasurement)]
        return cls(
            # grouped columns are summed out: what is left was measured code by code
            frozenset(
                frozenset(name for name, groups in each.groups_by_column() if groups is None)
                for each in marginals
            ),
            frozenset(frozenset(each.columns) for each in marginals),
            frozenset(frozenset(family.columns) for family in workload.families),
            frozenset(name for query in queries for name in query.family.columns),
        )

    def basis_of(self, columns: Iterable[str]) -> Basis:
        """What an answer over these columns rests on.

        >>> known = frozenset({frozenset({"age", "sex"}), frozenset({"sex", "region", "job"})})
        >>> grounds = Grounds(known, known, known | {frozenset({"age", "job"})})
        >>> [
        ...     grounds.basis_of(asked).name
        ...     for asked in (["age", "sex"], ["job", "sex"], ["age", "job"], ["age", "region"])
        ... ]
        ['MEASURED', 'IMPLIED', 'MODEL', 'OUTSIDE']
        """
        wanted = frozenset(columns)
        if not wanted <= self._seen:
            return Basis.UNSEEN
        if not wanted or wanted in self.measured:
            return Basis.MEASURED
        if _covered(wanted, self.measured, self._in_measured):
            return Basis.IMPLIED
        parts = (
            [frozenset(pair) for pair in combinations(wanted, 2)] if len(wanted) > 1 else [wanted]
        )
        if len(wanted) > 2 and all(
            _covered(pair, self.measured, self._in_measured) for pair in parts
        ):
            return Basis.PAIRS
        known = all(_covered(pair, self.asked, self._in_asked) for pair in parts)
        return Basis.MODEL if known else Basis.OUTSIDE

    def lacking(self, columns: Iterable[str]) -> list[tuple[str, ...]]:
        """Relations among these columns that no measurement has: pairs, or all of them where every
        pair was measured.

        >>> known = frozenset({frozenset({"age", "sex"}), frozenset({"sex", "job"})})
        >>> Grounds(known, known, known).lacking(["age", "sex", "job"])
        [('age', 'job')]
        """
        names = tuple(dict.fromkeys(columns))
        if not self.basis_of(names).modelled:
            return []
        return [pair for pair in combinations(names, 2) if self.basis_of(pair).modelled] or [names]

    def shows(self, columns: Iterable[str]) -> bool:
        """Whether every pair of these columns was measured, in groups of codes at least."""
        return all(
            _covered(frozenset(pair), self.touched, self._in_touched)
            for pair in combinations(columns, 2)
        )

    @cached_property
    def _seen(self) -> frozenset[str]:
        """Columns that the workload has and, where measurements are known, one of them has too."""
        asked, measured = frozenset[str]().union(*self.asked), self.queried.union(*self.touched)
        return asked & measured if measured else asked

    @cached_property
    def _in_measured(self) -> frozenset[frozenset[str]]:
        return _subsets(self.measured)

    @cached_property
    def _in_touched(self) -> frozenset[frozenset[str]]:
        return _subsets(self.touched)

    @cached_property
    def _in_asked(self) -> frozenset[frozenset[str]]:
        return _subsets(self.asked)


def _subsets(sets: Iterable[frozenset[str]]) -> frozenset[frozenset[str]]:
    return frozenset(
        # all pairs of a thousand columns are half a million sets, and are not made twice
        each if size == len(each) else frozenset(part)
        for each in sets
        for size in range(1, min(len(each), _LISTED) + 1)
        for part in combinations(each, size)
    )


def _covered(
    wanted: frozenset[str], sets: frozenset[frozenset[str]], listed: frozenset[frozenset[str]]
) -> bool:
    return wanted in listed if len(wanted) <= _LISTED else any(wanted <= each for each in sets)
