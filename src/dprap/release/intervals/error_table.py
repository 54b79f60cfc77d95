"""How large errors are, by kind of answer, basis and size: the calibration of a release.

A curve holds quantiles of |estimate − truth| for one class of answers, over the size of the answer.
Classes are made of public facts alone, so the error of an answer can be looked up from the answer:

* the kind: a single cell, a range (any sum of cells), or the mean of a column within a group;
* the number of columns the answer depends on;
* whether all of them are short, of fewer than `LONG_FROM` codes;
* the basis: measured, implied, or modelled.

Sizes and errors of counts are numbers of records. Of a mean, the size is that of its group and the
error is in units of `mean_scale`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dprap.array_types import Float64, Int64
from dprap.documents import DocumentError, parse, read_text, require_finite
from dprap.errors import SettingsError
from dprap.release.intervals.basis import Basis
from dprap.release.intervals.combine import student_quantile

FORMAT_VERSION: Literal[3] = 3
# Tables of this version have errors of means in another unit and know no answers outside of the
# workload.
_FORMER = 1
LEVELS = (0.5, 0.68, 0.8, 0.9, 0.95, 0.99)
"""The quantiles that are kept; between them errors are interpolated on the scale of a normal
error.
"""

LONG_FROM = 16
"""A column of so many codes is long. Neighbouring codes of long columns tell of each other, so that
smoothing takes off noise. A short column keeps the noise that it was measured with. Pooled with
long ones, its intervals would be too narrow.
"""

# More columns than these behave as these do: nearly all of such answers are modelled.
MOST_COLUMNS = 4
MOST_MODELLED = 3
"""Modelled answers over more columns are not calibrated by themselves: their errors are those of
this number of columns times a factor, since no synthetic table has in it what the model does not
know of four columns.
"""

# Fewer sampled errors say too little of a 95% quantile; neighbouring sizes are then taken together.
_LEAST_SAMPLED = 40
# Means of groups smaller than any that was seen have variances up to so many times as large.
_MOST_BELOW = 64.0
# Fewer of a whole class say nothing.
_LEAST_OF_CLASS = 20
# Errors over fewer sets of columns do not make a class, nor a size in it.
_LEAST_REASONS = 5
# Fewer relations that were held out say nothing of three columns of which the workload lacks one:
# with one to five of them intervals held 80% of large cells.
_LEAST_HELD_OUT = 8
_BINS_PER_OCTAVE = 2
# Records of the whole column that are added to a group where its spread is asked for.
_PRIOR_RECORDS = 100.0
# Smaller counts are taken as this. Counts are expectations: one of a tenth of a record is nearly
# surely none.
_SMALLEST = 1 / 256

_Z = np.array([NormalDist().inv_cdf((1 + level) / 2) for level in LEVELS])
_Amount: TypeAlias = Annotated[float, Field(ge=0, le=1e15)]


class Kind(StrEnum):
    """The kind of an answer."""

    CELL = "cell"
    RANGE = "range"
    MEAN = "mean"


# Synthetic truths come from the model, so that they are easier to fit than real ones. Noise hides
# that where it is large: in small cells, and in sums of few cells. These factors, on errors of
# repetitions, were chosen on two to four runs of four tables at three budgets, with seeds below
# 500.
# of cells with 32 records or more over two columns or more; in proportion to the octave below
_EASIER_CELL = 0.12
_EASIER_SUM = 0.65  # of sums of very many cells over two columns or more
_EASIER_MEAN = 0.5  # of means of columns of very many codes, without what hidden codes add
_OCTAVES_TO_FULL = 5.0
# A column of the synthetic table is what the model makes of it, and was smoothed once already, so
# that fitting and smoothing it again do less harm than the first time: errors of the run were 1.02
# to 1.25 times as large, of short columns too, which are not smoothed.
_EASIER_COLUMN = 1.15


def easier_cells(
    columns: int, sizes: Float64[np.ndarray, " answers"]
) -> Float64[np.ndarray, " answers"]:
    """By how much errors of cells of these sizes are larger than those of repetitions."""
    if columns == 1:
        return np.full(len(sizes), _EASIER_COLUMN)
    return np.asarray(
        1 + _EASIER_CELL * np.clip(np.log2(np.maximum(sizes, 1.0)) / _OCTAVES_TO_FULL, 0.0, 1.0)
    )


def easier_sums(
    columns: int, cells: Float64[np.ndarray, " answers"]
) -> Float64[np.ndarray, " answers"]:
    """By how much errors of sums over so many cells are larger: noise averages out and what the
    model lacks does not.
    """
    if columns == 1:
        return np.full(len(cells), _EASIER_COLUMN)
    return np.asarray(1 + _EASIER_SUM * (1 - 1 / np.sqrt(np.maximum(cells, 1.0))))


def easier_means(codes: int) -> float:
    """By how much errors of means of a column of so many codes are larger."""
    return 1 + _EASIER_MEAN * (1 - 1 / math.sqrt(max(codes - 1, 1)))


class Curve(BaseModel):
    """Quantiles of the error of one class of answers, by size."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    columns: int = Field(ge=1, le=MOST_COLUMNS)
    short: bool = False
    basis: Basis
    sizes: list[_Amount] = Field(min_length=1, max_length=200)
    quantiles: list[Annotated[list[_Amount], Field(min_length=len(LEVELS), max_length=len(LEVELS))]]

    @model_validator(mode="after")
    def _fits(self) -> Curve:
        if len(self.quantiles) != len(self.sizes) or (np.diff(self.sizes) <= 0).any():
            raise ValueError("sizes must grow, with one list of quantiles each")
        if (np.diff(self.quantiles, axis=1) < 0).any():
            raise ValueError("quantiles must not fall")
        return self

    @cached_property
    def _places(self) -> Float64[np.ndarray, " sizes"]:
        return np.log2(np.maximum(self.sizes, _SMALLEST))

    @cached_property
    def _by_z(self) -> Float64[np.ndarray, "levels sizes"]:
        """Quantiles of the error of every size, from that of a normal error of 0 on."""
        return np.vstack([np.zeros(len(self.sizes)), np.array(self.quantiles).T])

    def errors(
        self, sizes: Float64[np.ndarray, " answers"], z: float
    ) -> Float64[np.ndarray, " answers"]:
        """The quantile of the error that a normal error exceeds beyond `z` standard deviations, for
        answers of these sizes.
        """
        place = float(np.interp(z, [0.0, *_Z], np.arange(len(_Z) + 1)))
        below = min(int(place), len(_Z) - 1)
        by_size = (1 - place + below) * self._by_z[below] + (place - below) * self._by_z[below + 1]
        found = np.interp(np.log2(np.maximum(sizes, _SMALLEST)), self._places, by_size)
        if self.kind is Kind.MEAN:
            # of smaller groups than were seen, means are less sure, as those of small samples are
            found = found * np.sqrt(
                np.clip(self.sizes[0] / np.maximum(sizes, 1.0), 1.0, _MOST_BELOW)
            )
        return np.asarray(found)


class ErrorTable(BaseModel):
    """The calibration of a release: one curve for each class of answers that could be
    calibrated.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: Literal[2, 3] = FORMAT_VERSION
    replicates: int = Field(ge=1, le=10_000)
    curves: list[Curve] = Field(max_length=144)

    @cached_property
    def _by_class(self) -> dict[tuple[Kind, int, bool, Basis], Curve]:
        return {
            (curve.kind, curve.columns, curve.short, curve.basis): curve for curve in self.curves
        }

    def curve(self, kind: Kind, columns: int, basis: Basis, *, short: bool = False) -> Curve | None:
        """The curve of a class, or of the nearest class whose errors are no smaller; None where
        there is none.

        An answer over more columns, or with a weaker basis, has the larger error. Where short
        columns have no curve of their own, they are in that of the others.
        """
        order = list(Basis)
        for weaker in order[order.index(basis) :]:
            for more in range(min(max(columns, 1), MOST_COLUMNS), MOST_COLUMNS + 1):
                found = short and self._by_class.get((kind, more, True, weaker))
                found = found or self._by_class.get((kind, more, False, weaker))
                if found:
                    return found
        return None

    def half_widths(
        self,
        kind: Kind,
        shape: Sequence[int],
        basis: Basis,
        sizes: Float64[np.ndarray, " answers"],
        level: float,
    ) -> Float64[np.ndarray, " answers"] | None:
        """Half the widths of intervals at a level; None where the class is not calibrated.

        Args:
            kind: The kind of the answers.
            shape: The number of codes of each column that they depend on.
            basis: What they rest on.
            sizes: What the release says of each; of means, the sizes of their groups.
            level: The probability that an interval holds the truth.
        """
        columns = len(shape)
        calibrated = min(columns, MOST_MODELLED) if basis.modelled else columns
        curve = self.curve(kind, calibrated, basis, short=is_short(shape))
        if curve is None:
            return None
        return _beyond(columns, basis) * curve.errors(
            np.asarray(sizes, dtype=np.float64), z_of(level)
        )

    def save(self, path: Path) -> None:
        """Write the table."""
        path.write_text(json.dumps(self.model_dump(mode="json")) + "\n", encoding="utf-8")


def is_short(shape: Sequence[int]) -> bool:
    """Whether columns of so many codes are all short."""
    return bool(shape) and max(shape) < LONG_FROM


def _beyond(columns: int, basis: Basis) -> float:
    """By how much errors of modelled answers grow beyond the columns that are calibrated.

    Every relation that was not measured is taken to add the same variance: of pairs there are
    k(k − 1)/2 among k columns, of triples k(k − 1)(k − 2)/6.
    """
    if not basis.modelled or columns <= MOST_MODELLED:
        return 1.0
    related = 3 if basis is Basis.PAIRS else 2
    return math.sqrt(math.comb(columns, related) / math.comb(MOST_MODELLED, related))


def mean_scale(
    count: Float64[np.ndarray, " groups"],
    variance: Float64[np.ndarray, " groups"],
    of_column: float,
) -> Float64[np.ndarray, " groups"]:
    """The unit in which errors of means are pooled, for groups of these sizes and variances.

    The variance within a group is drawn towards that of the whole column: a release may have lost
    the rare large values of a small group, and then its own spread says that the mean is sure.
    """
    return np.asarray(
        np.sqrt((count * variance + _PRIOR_RECORDS * of_column) / (count + _PRIOR_RECORDS))
    )


def z_of(level: float) -> float:
    """The normal quantile of a two-sided level; refuses levels beyond those that are calibrated."""
    if not isinstance(level, int | float) or not LEVELS[0] <= level <= LEVELS[-1]:
        raise SettingsError(
            f"the level must lie between {LEVELS[0]} and {LEVELS[-1]}, not {level!r}. Try 0.95."
        )
    return NormalDist().inv_cdf((1 + level) / 2)


def read_error_table(path: Path) -> ErrorTable | None:
    """Read a table back, None where there is no file or one of an earlier form; raises ValueError
    where it is damaged.
    """
    if not path.exists():
        return None
    try:
        text = read_text(path)
        plain = parse(text, "json")
        require_finite(plain)
        if isinstance(plain, dict) and plain.get("format_version") == _FORMER:
            return None
        return ErrorTable.model_validate_json(text)
    except DocumentError as error:
        raise ValueError(f"{path.name} {error}") from None
    except ValidationError as error:
        raise ValueError(f"{path.name}: {error.errors()[0]['msg']}") from None


SizesErrors: TypeAlias = tuple[Float64[np.ndarray, " answers"], Float64[np.ndarray, " answers"]]
"""Sizes of answers and the absolute errors they had."""


class Samples(NamedTuple):
    """Sizes and absolute errors of answers over some sets of columns.

    `reasons` numbers what each is off by: answers over one set of columns are off together.
    """

    sizes: Float64[np.ndarray, " answers"]
    errors: Float64[np.ndarray, " answers"]
    reasons: Int64[np.ndarray, " answers"]

    @classmethod
    def joined(cls, parts: Iterable[Samples]) -> Samples:
        """Some samples after the others."""
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


@dataclass(frozen=True, order=True)
class ErrorClass:
    """A class of answers."""

    kind: Kind
    columns: int
    basis: Basis
    short: bool = False


def table_of_samples(
    samples: Iterable[Mapping[ErrorClass, Samples]],
    widening: Mapping[Basis, Float64[np.ndarray, " octaves"]],
) -> ErrorTable:
    """Pool the errors of all replicates, by class and size.

    Args:
        samples: For each replicate, the errors of each class.
        widening: By basis, factors for errors of sizes in [2^i, 2^(i+1)), the last one for all
            above.
    """
    together: dict[ErrorClass, list[Samples]] = {}
    replicates = 0
    for each in samples:
        replicates += 1
        for name, found in each.items():
            together.setdefault(name, []).append(found)
    curves = []
    for name, parts in sorted(_classes(together).items()):
        pooled = _pooled(parts)
        if len(pooled.sizes) >= _LEAST_OF_CLASS and not _too_few_held_out(name, pooled):
            curves.append(_curve(name, pooled, widening.get(name.basis)))
    return ErrorTable(replicates=replicates, curves=curves)


def _too_few_held_out(name: ErrorClass, found: Samples) -> bool:
    outside = name.basis is Basis.OUTSIDE and name.columns == MOST_MODELLED
    return outside and _different(found.reasons) < _LEAST_HELD_OUT


def _classes(found: Mapping[ErrorClass, list[Samples]]) -> dict[ErrorClass, list[Samples]]:
    """Errors by class: short columns have one of their own where enough sets tell of them and of
    the others.

    What is implied is a sum of measured cells. Where too few implied sets are short, measured short
    ones are taken with them, since the noise of both is alike.
    """
    classes: dict[ErrorClass, list[Samples]] = {}
    for name in {replace(each, short=False) for each in found}:
        short = replace(name, short=True)
        own, others = found.get(short, []), found.get(name, [])
        alike = own
        if name.basis is Basis.IMPLIED and _reasons(own) < _LEAST_REASONS:
            alike = own + found.get(replace(short, basis=Basis.MEASURED), [])
        if min(_reasons(alike), _reasons(others)) >= _LEAST_REASONS:
            classes |= {short: alike, name: others}
        else:
            classes[name] = others + own
    return classes


def _reasons(parts: Iterable[Samples]) -> int:
    return sum(_different(part.reasons) for part in parts)


def _different(reasons: Int64[np.ndarray, " answers"]) -> int:
    return int(np.count_nonzero(np.bincount(reasons)))


def _pooled(parts: Iterable[Samples]) -> Samples:
    """Errors of several parts, each off for reasons of its own."""
    pooled, before = list[Samples](), 0
    for part in parts:
        pooled.append(part._replace(reasons=before + part.reasons))
        before += int(part.reasons.max(initial=-1)) + 1
    return Samples.joined(pooled)


@cache
def _of_few(reasons: int) -> tuple[float, ...]:
    """By how much errors grow because they were seen over a few sets of columns alone, by level.

    Errors over one set of columns are off together, so their spread is known as well as that of as
    many numbers as there are sets: a t distribution instead of a normal one. Of four sets a 95%
    quantile is 1.6 times as large, and a standard error 1.2 times.
    """
    freedom = max(reasons - 1, 1)
    return tuple(student_quantile(freedom, level) / z_of(level) for level in LEVELS)


def octaves(sizes: Float64[np.ndarray, " answers"]) -> np.ndarray:
    """The number of the octave of each size: 0 below 2, 1 below 4, and so on."""
    return np.asarray(np.floor(np.log2(np.maximum(sizes, 1.0))), dtype=np.int64)


def _quantiles(found: Samples) -> list[float]:
    """Errors that a further one, like these n, stays below with the probabilities `LEVELS`.

    It stays below the k-th smallest with probability k/(n + 1), so k is (n + 1) times the level.
    With k/n, intervals from 40 errors would hold 93% where 95% are stated. That is so if errors
    have nothing to do with each other. If those over one set of columns are off together, it is the
    sets that are few. The larger of both is taken.
    """
    # one sort for both, which `np.quantile` would make anew for each
    ordered, levels = np.sort(found.errors), np.array(LEVELS)
    ranks = np.arange(1, len(ordered) + 1)
    alone = np.interp((len(ordered) + 1) * levels, ranks, ordered)
    together = np.interp((len(ordered) - 1) * levels + 1, ranks, ordered)
    return list(np.maximum(alone, together * _of_few(_different(found.reasons))).tolist())


def _curve(
    name: ErrorClass, found: Samples, widening: Float64[np.ndarray, " octaves"] | None
) -> Curve:
    """Quantiles over sizes: of half octaves, or of as many of them as tell enough together."""
    sizes, errors, reasons = found
    if widening is not None:
        errors = errors * widening[np.minimum(octaves(sizes), len(widening) - 1)]
    places = np.log2(np.maximum(sizes, _SMALLEST))
    order = np.argsort(places, kind="stable")
    bins = np.floor(places[order] * _BINS_PER_OCTAVE).astype(np.int64)
    ends = np.append(np.flatnonzero(np.diff(bins)) + 1, len(bins))
    least = min(_LEAST_REASONS, _different(reasons))
    curve: list[tuple[float, list[float]]] = []
    start = 0
    for end in ends.tolist():
        if end == len(order):
            start = _enough_at_the_top(reasons[order], start, least)
        elif not _enough(reasons[order[start:end]], least):
            continue
        held = order[start:end]
        size = float(2 ** np.median(places[held]))
        if not curve or size > curve[-1][0]:
            curve.append((size, _quantiles(Samples(sizes[held], errors[held], reasons[held]))))
        start = end
    return Curve(
        kind=name.kind,
        columns=name.columns,
        short=name.short,
        basis=name.basis,
        sizes=[size for size, _ in curve],
        quantiles=[quantiles for _, quantiles in curve],
    )


def _enough(reasons: Int64[np.ndarray, " answers"], least: int) -> bool:
    return len(reasons) >= _LEAST_SAMPLED and _different(reasons) >= least


def _enough_at_the_top(reasons: Int64[np.ndarray, " answers"], start: int, least: int) -> int:
    """Where the answers of the largest sizes begin, if those from `start` on are too few: then some
    of the size below are with them.
    """
    while start and not _enough(reasons[start:], least):
        start = max(start - max((len(reasons) - start) // 4, _LEAST_SAMPLED // 4), 0)
    return start
