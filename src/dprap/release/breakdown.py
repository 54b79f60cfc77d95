"""The numbers behind an answer, for all groups of a breakdown at once: every array has one axis a
column of the breakdown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dprap.accounting.measurement import Measurement, QueryMeasurement
from dprap.array_types import Bool, Float
from dprap.errors import WorkloadError
from dprap.products import product
from dprap.queries import Marginal, Range
from dprap.queries.range import Intervals, bounds_of
from dprap.relaxed import RelaxedDataset
from dprap.release.question_language import Box
from dprap.release.release import Release
from dprap.schema import Schema
from dprap.schema.value_sets import WHOLE, CodeWeights

Table = Float[np.ndarray, "..."]
Mask = Bool[np.ndarray, "..."]


@dataclass(frozen=True)
class Asked:
    """What is asked for: disjoint boxes, broken down by some columns; a bin or group of values of
    which a part is asked for counts in part, not at all, or whole.
    """

    schema: Schema
    boxes: tuple[Box, ...]
    by: tuple[str, ...]
    cut_counts: Literal["in part", "not", "whole"] = "in part"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns that the answer depends on, in the schema's order."""
        return tuple(
            name
            for name in self.schema.columns
            if name in self.by or any(name in box for box in self.boxes)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the breakdown."""
        return self.schema.domain.shape_of(self.by)

    @cached_property
    def weights(self) -> tuple[dict[str, CodeWeights], ...]:
        """For every box, the part of each code that it holds, by column."""
        return tuple(
            {
                name: self._counted(self.schema.columns[name].shares_of(values))
                for name, values in box.items()
            }
            for box in self.boxes
        )

    def _counted(self, parts: CodeWeights) -> CodeWeights:
        if self.cut_counts == "in part":
            return parts
        counted = parts >= WHOLE if self.cut_counts == "not" else parts > 0
        return counted.astype(np.float64)

    @property
    def bounds(self) -> tuple[Asked, Asked]:
        """The fewest and the most records that are asked for, wherever those of cut bins lie."""
        if not self.cut_columns:
            return self, self
        return replace(self, cut_counts="not"), replace(self, cut_counts="whole")

    @property
    def cut_columns(self) -> tuple[str, ...]:
        """Columns of which a code is asked for in part."""
        cut = {name for box in self.weights for name, asked in box.items() if _is_cut(asked).any()}
        return tuple(name for name in self.columns if name in cut)

    @cached_property
    def pinned_columns(self) -> tuple[str, ...]:
        """Columns of which some box leaves a code out, in part at least."""
        pinned = {name for box in self.weights for name, asked in box.items() if (asked < 1).any()}
        return tuple(name for name in self.columns if name in pinned)

    def part_of_cells(self, columns: Sequence[str]) -> Table:
        """Part of each cell over some columns (all that matter among them) that is asked for."""
        whole = np.zeros(self.schema.domain.shape_of(columns))
        for box in self.weights:
            part = np.ones_like(whole)
            for axis, name in enumerate(columns):
                if name in box:
                    part = part * box[name].reshape(
                        [-1 if at == axis else 1 for at in range(len(columns))]
                    )
            whole += part
        return np.minimum(whole, 1.0)

    def onto_groups(self, table: Table, columns: Sequence[str]) -> Table:
        """Sum a table over some columns to the groups of the breakdown."""
        others = tuple(axis for axis, name in enumerate(columns) if name not in self.by)
        kept = [name for name in columns if name in self.by]
        return np.transpose(table.sum(axis=others), [kept.index(name) for name in self.by])


def _is_cut(parts: Table) -> Mask:
    """Which cells are asked for in part."""
    return np.asarray((parts > 0) & (parts < WHOLE))


def shares(release: Release, asked: Asked) -> Table:
    """Shares of all records."""
    if release.relaxed is None:
        family, table = _published(release, asked.columns)
        return asked.onto_groups(table * asked.part_of_cells(family.columns), family.columns)
    total = np.zeros(asked.shape)
    for box in asked.weights:
        total = total + _box_shares(release.relaxed, box, asked.by)
    # a bin that two boxes cut is in both where it counts whole
    return total if asked.cut_counts == "in part" else np.minimum(total, 1.0)


def joint_shares(
    release: Release, box: Box, by: tuple[str, ...], columns: tuple[str, ...]
) -> Table:
    """Shares of all records in a box, by the values of some columns and the codes of others, of
    which all count whole.
    """
    return shares(release, _joint(release, box, by, columns))


def joint_bounds(
    release: Release, box: Box, by: tuple[str, ...], columns: tuple[str, ...]
) -> tuple[Table, Table, Table]:
    """`joint_shares`, and the least and the most that they may be wherever records lie in bins that
    the box cuts.
    """
    asked = _joint(release, box, by, columns)
    likely = shares(release, asked)
    if not asked.cut_columns:
        return likely, likely, likely
    least, most = asked.bounds
    return likely, shares(release, least), shares(release, most)


def _joint(release: Release, box: Box, by: tuple[str, ...], columns: tuple[str, ...]) -> Asked:
    rest = {name: values for name, values in box.items() if name not in columns}
    return Asked(release.schema, (rest,), (*by, *columns))


def _box_shares(relaxed: RelaxedDataset, box: dict[str, CodeWeights], by: tuple[str, ...]) -> Table:
    """Mean over rows of the product over columns, since the columns of a relaxed row are
    independent.
    """
    rows = np.asarray(relaxed.weights, dtype=np.float64)
    for name, weights in box.items():
        if name not in by:
            rows = rows * product(weights, np.asarray(relaxed.block(name), dtype=np.float64))
    table = rows[None, :]
    for name in by[:-1]:
        table = (table[:, None, :] * _block(relaxed, box, name)[None, :, :]).reshape(-1, len(rows))
    last = _block(relaxed, box, by[-1]).T if by else np.ones((len(rows), 1))
    return np.asarray(product(table, last)).reshape(relaxed.domain.shape_of(by))


def _block(relaxed: RelaxedDataset, box: dict[str, CodeWeights], name: str) -> Table:
    block = np.asarray(relaxed.block(name), dtype=np.float64)
    return block * box[name][:, None] if name in box else block


def _published(release: Release, columns: tuple[str, ...]) -> tuple[Marginal, Table]:
    """The smallest published marginal that has all the columns, with the shares of its cells."""
    domain = release.schema.domain
    known = zip(release.workload.families, release.workload_shares or (), strict=True)
    fitting = [
        (f, s) for f, s in known if isinstance(f, Marginal) and set(columns) <= set(f.columns)
    ]
    if not fitting:
        raise WorkloadError(
            f"method {release.facts.method} answers its workload only, and no marginal of it has"
            f" all of {', '.join(columns)}. Make a release with a method that gives rows."
        )
    family, found = min(fitting, key=lambda pair: pair[0].size(domain))
    return family, np.asarray(found, dtype=np.float64).reshape(domain.shape_of(family.columns))


@dataclass(frozen=True)
class MeasuredTable:
    """Noisy counts by themselves, with standard errors (infinite where nothing measured covers a
    group, or a bin of it is cut) and their origin.
    """

    counts: Table
    standard_errors: Table
    origins: np.ndarray[Any, Any]


def measured(release: Release, asked: Asked) -> MeasuredTable:
    """For every group, the measurement that has the least noise on it."""
    best = MeasuredTable(
        np.zeros(asked.shape), np.full(asked.shape, np.inf), np.full(asked.shape, "", dtype=object)
    )
    if not asked.columns and release.privacy.relation == "replace":
        return best  # the number of records is public, so no noise speaks of it
    for item in release.measurements:
        if isinstance(item, Measurement):
            codes = item.by_codes(release.schema.domain)
            if set(asked.columns) <= set(codes.marginal.columns):
                _take_better(best, *_summed_cells(codes, asked), str(item.marginal))
        elif set(item.query.family.columns) == set(asked.columns):
            _take_better(best, *_single_query(item, asked), str(item.query.family))
    return best


def _take_better(best: MeasuredTable, counts: Table, standard_errors: Table, origin: str) -> None:
    better = standard_errors < best.standard_errors
    best.counts[better] = counts[better]
    best.standard_errors[better] = standard_errors[better]
    best.origins[better] = origin


def _summed_cells(item: Measurement, asked: Asked) -> tuple[Table, Table]:
    columns = item.marginal.columns
    parts = asked.part_of_cells(columns)
    counts = asked.onto_groups(parts * item.counts.reshape(parts.shape), columns)
    errors = item.stddev_counts * np.sqrt(asked.onto_groups(parts, columns))
    cut = asked.onto_groups(_is_cut(parts), columns) > 0
    return counts, np.where(cut, np.inf, errors)


def _single_query(item: QueryMeasurement, asked: Asked) -> tuple[Table, Table]:
    """A single query speaks of a group that asks for exactly its cell."""
    counts, errors = np.zeros(asked.shape), np.full(asked.shape, np.inf)
    family = item.query.family
    if isinstance(family, Marginal) and family.groups is None:
        domain = asked.schema.domain
        codes = dict(
            zip(
                family.columns,
                family.codes(domain, np.array([item.query.index]))[0].tolist(),
                strict=True,
            )
        )
        group = tuple(codes[name] for name in asked.by)
        parts = asked.part_of_cells(family.columns)
        in_group = asked.onto_groups(parts, family.columns)[group]
        if in_group == 1 and parts[tuple(codes.values())] == 1:
            counts[group], errors[group] = item.count, item.stddev_counts
    return counts, errors


def certified(release: Release, asked: Asked) -> Mask:
    """Which groups are queries of the workload, so that the certificate bounds their error."""
    found = np.zeros(asked.shape, dtype=bool)
    if release.certificate is None or len(asked.boxes) != 1:
        return found
    for family in release.workload.families:
        if not isinstance(family, Marginal | Range) or set(family.columns) != set(asked.columns):
            continue
        along = family.along if isinstance(family, Range) else {}
        free = [name for name in asked.columns if name not in asked.by]
        if set(along) & set(asked.by):
            continue
        if all(_is_query(asked.weights[0][name], along.get(name)) for name in free):
            found |= _whole_groups(asked)
    return found


def _whole_groups(asked: Asked) -> Mask:
    """Groups whose own values are asked for whole."""
    pinned = np.ones(asked.shape)
    for axis, name in enumerate(asked.by):
        if name in asked.weights[0]:
            pinned = pinned * asked.weights[0][name].reshape(
                [-1 if at == axis else 1 for at in range(len(asked.by))]
            )
    return np.asarray(pinned == 1)


def _is_query(weights: CodeWeights, intervals: Intervals) -> bool:
    """Whether exactly one code is asked for or, along a range, exactly the codes of one of its
    intervals.
    """
    asked = np.flatnonzero(weights)
    if (
        not asked.size
        or ((weights > 0) & (weights < 1)).any()
        or asked[-1] - asked[0] + 1 != asked.size
    ):
        return False
    first, last = bounds_of(intervals, len(weights))
    return bool(((first == asked[0]) & (last == asked[-1])).any())
