"""How large errors are, by kind of answer, basis and size: the calibration of a release.

A curve holds quantiles of |estimate − truth| for one class of answers, over the size of the answer.
Classes are made of public facts alone, so the error of an answer can be looked up from the answer:

* the kind: a single cell, a range (any sum of cells), or the mean of a column within a group;
* the number of columns the answer depends on;
* the basis: measured, implied, or modelled.

Sizes and errors of counts are numbers of records. Of a mean, the size is that of its group and the
error is in standard deviations of the values within the group.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Literal, TypeAlias

import numpy as np
from jaxtyping import Float64
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dprap.documents import DocumentError, parse, read_text, require_finite
from dprap.errors import SettingsError
from dprap.release.intervals.basis import Basis

FORMAT_VERSION: Literal[1] = 1
LEVELS = (0.5, 0.68, 0.8, 0.9, 0.95, 0.99)
"""The quantiles that are kept; between them errors are interpolated on the scale of a normal error."""

# More columns than these behave as these do: nearly all of such answers are modelled.
MOST_COLUMNS = 4

# Fewer sampled errors say too little of a 95% quantile; neighbouring sizes are then taken together.
_LEAST_SAMPLED = 60
# Fewer of a whole class say nothing.
_LEAST_OF_CLASS = 20
_BINS_PER_OCTAVE = 1
# Smaller counts are taken as this: half a record.
_SMALLEST = 0.5

_Z = np.array([NormalDist().inv_cdf((1 + level) / 2) for level in LEVELS])
_Amount: TypeAlias = Annotated[float, Field(ge=0, le=1e15)]


class Kind(StrEnum):
    """The kind of an answer."""

    CELL = "cell"
    RANGE = "range"
    MEAN = "mean"


class Curve(BaseModel):
    """Quantiles of the error of one class of answers, by size."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    columns: int = Field(ge=1, le=MOST_COLUMNS)
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

    def errors(self, sizes: Float64[np.ndarray, " answers"], z: float) -> Float64[np.ndarray, " answers"]:
        """The quantile of the error that a normal error exceeds beyond `z` standard deviations, for answers of these sizes."""
        by_size = np.array([np.interp(z, [0.0, *_Z], [0.0, *each]) for each in self.quantiles])
        return np.asarray(np.interp(np.log2(np.maximum(sizes, _SMALLEST)), self._places, by_size))


class ErrorTable(BaseModel):
    """The calibration of a release: one curve for each class of answers that could be calibrated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: Literal[1] = FORMAT_VERSION
    replicates: int = Field(ge=1, le=10_000)
    curves: list[Curve] = Field(max_length=64)

    @cached_property
    def _by_class(self) -> dict[tuple[Kind, int, Basis], Curve]:
        return {(curve.kind, curve.columns, curve.basis): curve for curve in self.curves}

    def curve(self, kind: Kind, columns: int, basis: Basis) -> Curve | None:
        """The curve of a class, or of the nearest class whose errors are no smaller; None where there is none.

        An answer over more columns, or with a weaker basis, has the larger error.
        """
        order = list(Basis)
        for weaker in order[order.index(basis) :]:
            for more in range(min(max(columns, 1), MOST_COLUMNS), MOST_COLUMNS + 1):
                found = self._by_class.get((kind, more, weaker))
                if found is not None:
                    return found
        return None

    def half_widths(
        self, kind: Kind, columns: int, basis: Basis, sizes: Float64[np.ndarray, " answers"], level: float
    ) -> Float64[np.ndarray, " answers"] | None:
        """Half the widths of intervals at a level; None where the class is not calibrated."""
        curve = self.curve(kind, columns, basis)
        return None if curve is None else curve.errors(np.asarray(sizes, dtype=np.float64), z_of(level))

    def save(self, path: Path) -> None:
        """Write the table."""
        path.write_text(json.dumps(self.model_dump(mode="json")) + "\n", encoding="utf-8")


def z_of(level: float) -> float:
    """The normal quantile of a two-sided level; refuses levels beyond those that are calibrated."""
    if not LEVELS[0] <= level <= LEVELS[-1]:
        raise SettingsError(f"the level must lie between {LEVELS[0]} and {LEVELS[-1]}, not {level}. Try 0.95.")
    return NormalDist().inv_cdf((1 + level) / 2)


def read_error_table(path: Path) -> ErrorTable | None:
    """Read a table back, None where there is no file; raises ValueError where it is damaged."""
    if not path.exists():
        return None
    try:
        text = read_text(path)
        require_finite(parse(text, "json"))
        return ErrorTable.model_validate_json(text)
    except DocumentError as error:
        raise ValueError(f"{path.name} {error}") from None
    except ValidationError as error:
        raise ValueError(f"{path.name}: {error.errors()[0]['msg']}") from None


Samples: TypeAlias = tuple[Float64[np.ndarray, " answers"], Float64[np.ndarray, " answers"]]
"""Sizes of answers and the absolute errors they had."""


@dataclass(frozen=True, order=True)
class ErrorClass:
    """A class of answers."""

    kind: Kind
    columns: int
    basis: Basis


def table_of_samples(
    samples: Iterable[Mapping[ErrorClass, Samples]], widening: Mapping[Basis, Float64[np.ndarray, " octaves"]]
) -> ErrorTable:
    """Pool the errors of all replicates, by class and size.

    Args:
        samples: For each replicate, the errors of each class.
        widening: By basis, factors for errors of sizes in [2^i, 2^(i+1)), the last one for all above.

    """
    together: dict[ErrorClass, list[Samples]] = {}
    replicates = 0
    for each in samples:
        replicates += 1
        for name, found in each.items():
            together.setdefault(name, []).append(found)
    curves = []
    for name, parts in sorted(together.items()):
        sizes = np.concatenate([part[0] for part in parts])
        errors = np.concatenate([part[1] for part in parts])
        if len(sizes) >= _LEAST_OF_CLASS:
            curves.append(_curve(name, sizes, errors, widening.get(name.basis)))
    return ErrorTable(replicates=replicates, curves=curves)


def octaves(sizes: Float64[np.ndarray, " answers"]) -> np.ndarray:
    """The number of the octave of each size: 0 below 2, 1 below 4, and so on."""
    return np.asarray(np.floor(np.log2(np.maximum(sizes, 1.0))), dtype=np.int64)


def _curve(
    name: ErrorClass,
    sizes: Float64[np.ndarray, " answers"],
    errors: Float64[np.ndarray, " answers"],
    widening: Float64[np.ndarray, " octaves"] | None,
) -> Curve:
    if widening is not None:
        errors = errors * widening[np.minimum(octaves(sizes), len(widening) - 1)]
    places = np.log2(np.maximum(sizes, _SMALLEST))
    bins = np.floor(places * _BINS_PER_OCTAVE).astype(np.int64)
    centres: list[float] = []
    quantiles: list[list[float]] = []
    held = np.zeros(len(sizes), dtype=bool)
    for each in np.unique(bins):
        held |= bins == each
        last = each == bins.max()
        if np.count_nonzero(held) >= _LEAST_SAMPLED or (last and not centres):
            centres.append(float(2 ** np.median(places[held])))
            quantiles.append(np.quantile(errors[held], LEVELS).tolist())
            held[:] = False
        elif last:  # too few are left at the top: they join the bin below
            top = np.argsort(sizes)[-(_LEAST_SAMPLED):]
            size = float(2 ** np.median(places[top]))
            if size > centres[-1]:
                centres.append(size)
                quantiles.append(np.quantile(errors[top], LEVELS).tolist())
    return Curve(kind=name.kind, columns=name.columns, basis=name.basis, sizes=centres, quantiles=quantiles)
