"""Values of custom functions: at all cells, on records, and on probes before any data are
touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dprap.array_types import Float, Float64, Int32
from dprap.compiled import Compiled, compiled
from dprap.domain import Domain
from dprap.errors import WorkloadError

if TYPE_CHECKING:
    import jax

    from dprap.queries.custom import Custom

# JAX takes a second and 200 MB to load, which reading, counting and answering do not need: what is
# below loads it when a function needs it.

Row = Mapping[str, Any]
"""A probability vector over the codes of each column: one-hot for a record."""
RowFunction = Callable[[Row], Any]
Table = Int32[np.ndarray, "cells queries"]
"""Values at all cells, on the integer grid."""

GRID = 2**16
"""A record's contribution of 1 on the integer grid that exact sums use."""

MAX_TABLE_CELLS = 2**18
"""Cells up to which a function is a table: calling a function so often takes seconds."""

MAX_TABLE_ENTRIES = 2**25
"""Values that a table may have, over all cells and queries: 128 MB."""

# Records that are evaluated at once.
BLOCK = 4096
# Rows on which a function that is no table is tried before any data are touched.
PROBES = 64
# A value may leave [0, 1] by this much: sums in float32 do. Half a step of the grid.
SLACK = 0.5 / GRID


def all_values(query: Custom, shape: tuple[int, ...]) -> Float64[np.ndarray, "cells queries"]:
    """Values at all cells; a function of JAX operations is vectorised, any other is called once a
    cell.
    """
    returned = _call(query, shape, (0,) * len(shape))
    first = _as_vector(query, returned)
    cells = math.prod(shape)
    if cells * len(first) > MAX_TABLE_ENTRIES:
        raise WorkloadError(
            f"custom query {query.name!r} has {cells:,} cells and {len(first):,} values at each,"
            f" which is too large a table (limit {MAX_TABLE_ENTRIES:,}). Split it into queries of"
            " fewer values or columns."
        )
    if _is_of_jax(returned):
        try:
            return vectorised_values(query, shape, np.unravel_index(np.arange(cells), shape))
        except Exception:  # noqa: S110 - a branch on a value, say, which a call for each cell can take
            pass
    values = np.empty((cells, len(first)))
    for cell, codes in enumerate(np.ndindex(*shape)):
        found = _as_vector(query, _call(query, shape, codes))
        if len(found) != len(first):
            raise WorkloadError(
                f"custom query {query.name!r} returns {len(first)} values at the first cell and"
                f" {len(found)} at {_cell_named(query, codes)}. Return as many at all."
            )
        values[cell] = found
    return values


def _call(query: Custom, shape: tuple[int, ...], codes: tuple[int, ...]) -> Any:
    row = {
        name: _onehot(size)[code]
        for name, size, code in zip(query.columns, shape, codes, strict=True)
    }
    try:
        return query.function(row)
    except Exception as error:
        raise WorkloadError(
            f"custom query {query.name!r} fails at {_cell_named(query, codes)}"
            f" ({type(error).__name__}: {str(error)[:200]}). It takes a dictionary from column name"
            " to one-hot vector."
        ) from error


@cache
def _onehot(size: int) -> Float64[np.ndarray, "codes codes"]:
    """One-hot vectors, which a function cannot change."""
    vectors = np.eye(size)
    vectors.flags.writeable = False
    return vectors


def _as_vector(query: Custom, value: Any) -> Float64[np.ndarray, " queries"]:
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise WorkloadError(
            f"custom query {query.name!r} returns no number: {type(value).__name__}."
        ) from None
    if found.ndim > 1 or not found.size:
        raise WorkloadError(
            f"custom query {query.name!r} returns an array of shape {found.shape}; return a number"
            " or a vector."
        )
    return found.reshape(-1)


def _is_of_jax(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in ("jax", "jaxlib")


def check_values(
    query: Custom, shape: tuple[int, ...], values: Float64[np.ndarray, "cells queries"]
) -> None:
    """Refuse values outside [0, 1], and name the cell: cells are public."""
    wrong = ~((values >= -SLACK) & (values <= 1 + SLACK))
    if wrong.any():
        cell, place = (int(position) for position in np.argwhere(wrong)[0])
        codes = tuple(int(code) for code in np.unravel_index(cell, shape))
        found = "NaN" if np.isnan(values[cell, place]) else f"{values[cell, place]:g}"
        raise WorkloadError(
            f"custom query {query.name!r} is {found} at {_cell_named(query, codes)}; values outside"
            " [0, 1] are refused. Scale or clip them."
        )


def _cell_named(query: Custom, codes: tuple[int, ...]) -> str:
    return (
        ", ".join(f"{name} = {code}" for name, code in zip(query.columns, codes, strict=True))
        + " (codes)"
    )


def vectorised_values(
    query: Custom, shape: tuple[int, ...], codes: Sequence[np.ndarray]
) -> Float64[np.ndarray, "records queries"]:
    """Values of a function of JAX operations on records, block by block."""
    evaluate = _record_values(query, shape)
    parts = []
    # of no records too: the number of queries is in the shape
    for start in range(0, max(len(codes[0]), 1), BLOCK):
        block = [column[start : start + BLOCK].astype(np.int32) for column in codes]
        length = len(block[0])
        # One shape for every block, so that the last one does not compile again.
        padded = (np.pad(column, (0, BLOCK - length)) for column in block)
        parts.append(np.asarray(evaluate(*padded), dtype=np.float64)[:, :length].T)
    return np.concatenate(parts)


@cache
def _record_values(
    query: Custom, shape: tuple[int, ...]
) -> Callable[..., Float[jax.Array, "queries records"]]:
    import jax
    import jax.numpy as jnp

    @compiled()
    def evaluate(*codes: jax.Array) -> Float[jax.Array, "queries records"]:
        rows = {
            name: jax.nn.one_hot(column, size)
            for name, column, size in zip(query.columns, codes, shape, strict=True)
        }
        values = jax.vmap(query.function, out_axes=-1)(rows)
        return jnp.reshape(values, (-1, codes[0].shape[0]))

    return evaluate


def traced_size(query: Custom, domain: Domain) -> int:
    """How many values a function that is no table returns, without calling it on numbers."""
    import jax

    row = {name: np.zeros(domain.size(name), np.float32) for name in query.columns}
    try:
        shape = jax.eval_shape(query.function, row).shape
    except Exception as error:
        raise WorkloadError(
            f"custom query {query.name!r} fails on a row of its columns ({type(error).__name__})."
            f" Its columns have {domain.size_of(query.columns):,} cells; beyond {MAX_TABLE_CELLS:,}"
            " a function must be made of JAX operations and take a dictionary from column name to"
            " probability vector."
        ) from error
    if len(shape) > 1:
        raise WorkloadError(
            f"custom query {query.name!r} returns an array of shape {shape}; return a number or a"
            " vector."
        )
    return math.prod(shape)


def check_on_probes(query: Custom, domain: Domain, *, slopes: bool) -> None:
    """Try a function that is no table on rows that have nothing to do with the data."""
    import jax
    import jax.numpy as jnp

    query.size(domain)
    rng = np.random.default_rng(0)
    probes = {}
    for name, size in zip(query.columns, domain.shape_of(query.columns), strict=True):
        records = np.eye(size, dtype=np.float32)[:, rng.integers(size, size=PROBES)]
        mixed = rng.dirichlet(np.ones(size), PROBES).T.astype(np.float32)
        probes[name] = np.concatenate([records, mixed], axis=1)
    try:
        values = np.asarray(Compiled(query.values)(probes))
        summed = jax.grad(lambda blocks: jnp.sum(query.values(blocks)))
        gradients = Compiled(summed)(probes) if slopes else {}
    except Exception as error:
        raise WorkloadError(
            f"custom query {query.name!r} cannot be batched and differentiated by JAX"
            f" ({type(error).__name__})."
        ) from error
    if np.isnan(values).any():
        raise WorkloadError(f"custom query {query.name!r} returns NaN on a probe row.")
    on_records = values[:, :PROBES]
    if on_records.min() < -SLACK or on_records.max() > 1 + SLACK:
        raise WorkloadError(
            f"custom query {query.name!r} returns values outside [0, 1] on a probe row; scale or"
            " clip them."
        )
    if not all(np.isfinite(gradient).all() for gradient in gradients.values()):
        raise WorkloadError(
            f"custom query {query.name!r} has a gradient that is not finite on a probe row."
        )
    if slopes and not any(np.any(gradient) for gradient in gradients.values()):
        raise WorkloadError(
            f"custom query {query.name!r} has a zero gradient on all probe rows, and its columns"
            f" have more than {MAX_TABLE_CELLS:,} cells. Replace comparisons and rounding by sums"
            " of probabilities, or name fewer columns."
        )
