"""Randomised rounding: records drawn from the product distributions that relaxed rows are."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from dprap.array_types import CodeColumn
from dprap.encoding import code_dtype
from dprap.errors import SettingsError
from dprap.relaxed.keys import Key
from dprap.relaxed.rows import RelaxedDataset

Method = Literal["independent", "systematic"]


def round_rows(
    relaxed: RelaxedDataset,
    key: Key,
    *,
    rows: int | None = None,
    oversample: int | None = None,
    method: Method = "systematic",
) -> tuple[CodeColumn, ...]:
    """Draw records, one array of codes a column: `rows` of them, or `oversample` for each relaxed row.

    Every record belongs to one relaxed row, and its codes are drawn from that row's distributions. With "independent", all
    draws are independent, as in the paper. With "systematic", relaxed rows get records in proportion to their weight, and
    the draws of a column are spread evenly over all records of a relaxed row, so that each column's counts are as close
    to their expectation as whole numbers can be; every single record still has the distribution of its relaxed row.
    """
    if (rows is None) == (oversample is None):
        raise SettingsError("say either how many rows to draw or how often to draw each relaxed row, not both.")
    if method not in ("independent", "systematic"):
        raise SettingsError(f"rounding must be independent or systematic, not {method!r}.")
    count = rows if rows is not None else (oversample or 0) * relaxed.rows
    if count < 1:
        raise SettingsError(f"rounding needs at least one row; {count} were asked for.")
    rng = np.random.default_rng(key)
    owners = _owners(relaxed, count, rng)
    columns = []
    for name in relaxed.domain.names:
        cumulative = np.cumsum(np.asarray(relaxed.block(name), dtype=np.float64), axis=0)
        points = rng.random(count) if method == "independent" else _stratified(owners, relaxed.rows, rng)
        columns.append(_codes(cumulative / cumulative[-1], owners, points))
    order = rng.permutation(count)
    return tuple(column[order] for column in columns)


def _owners(relaxed: RelaxedDataset, count: int, rng: np.random.Generator) -> Int[np.ndarray, "records"]:
    """The relaxed row of every record, in rising order: systematic sampling by weight, exact when weights allow it."""
    cumulative = np.cumsum(np.asarray(relaxed.weights, dtype=np.float64))
    points = (np.arange(count) + rng.random()) / count
    return np.minimum(np.searchsorted(cumulative / cumulative[-1], points, side="right"), relaxed.rows - 1)


def _stratified(
    owners: Int[np.ndarray, "records"], rows: int, rng: np.random.Generator
) -> Float[np.ndarray, "records"]:
    """Points in [0, 1), one a record: those of one relaxed row are a randomly shifted even grid in random order."""
    sizes = np.bincount(owners, minlength=rows)
    starts = np.cumsum(sizes) - sizes
    shuffled = np.lexsort((rng.random(len(owners)), owners))
    ranks = np.empty(len(owners))
    ranks[shuffled] = np.arange(len(owners)) - starts[owners]
    points: Float[np.ndarray, "records"] = (ranks + rng.random(rows)[owners]) / sizes[owners]
    return points


def _codes(
    cumulative: Float[np.ndarray, "codes rows"],
    owners: Int[np.ndarray, "records"],
    points: Float[np.ndarray, "records"],
) -> CodeColumn:
    """Invert the cumulative distributions: one search in all of them, laid end to end."""
    codes, rows = cumulative.shape
    laid = (cumulative + np.arange(rows)).T.reshape(-1)
    found = np.searchsorted(laid, owners + points, side="right") - owners * codes
    column: CodeColumn = np.clip(found, 0, codes - 1).astype(code_dtype(codes))
    return column
