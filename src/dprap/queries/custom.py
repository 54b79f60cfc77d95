"""Queries of the user's own: any function from one row to values in [0, 1].

The function takes one record as a dictionary from column name to a one-hot vector over that
column's codes, and returns a number or a vector of numbers in [0, 1]. Nothing else is needed:

>>> from dprap.domain import Domain
>>> domain = Domain.of({"age": 4, "income": 3})
>>> differ = Custom("one of the two", ("age", "income"), lambda row: row["age"][3] != row["income"][2])
>>> differ.table(domain).reshape(4, 3) // GRID
array([[0, 0, 1],
       [0, 0, 1],
       [0, 0, 1],
       [1, 1, 0]], dtype=int32)

**A function is its table of values.** Over columns with at most `MAX_TABLE_CELLS` cells the function
is called once for every cell, before any data are touched, and forgotten. So it may be anything:
Python, NumPy or JAX, with comparisons and branches. On a relaxed row, a product distribution, its
answer is the multilinear extension Σ over cells of probability · value: the expectation over records
drawn from the row, and the polynomial of the paper's lemma on k-juntas. Its slope follows from the
table, whatever the function is.

**Beyond that** the function must be made of JAX operations. It is evaluated record by record on the
private side. `rap` moves relaxed rows along the slope of the function itself, applied to probability
vectors: a surrogate that agrees on records and should interpolate between them (products and sums of
probabilities do). Answers are those of records drawn from the rows (`relaxed.drawn_answers`).

Privacy: a record contributes an integer between 0 and `GRID` to the sum of a query, so one person
moves that sum by at most GRID times the records they may have, under both neighbour relations. For a
table this needs no trust in the function: the table is fixed and checked before a record is read, and
a record picks one row of it. Beyond, `jax.vmap` of a function of one row keeps records apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Float64, Int32, Int64

from dprap.array_types import CodeColumn
from dprap.domain import Domain
from dprap.errors import DataError, WorkloadError
from dprap.products import product

if TYPE_CHECKING:
    import jax

# JAX takes a second and 200 MB to load, which reading, counting and answering do not need: the methods
# below load it when a function needs it.

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

_BLOCK = 4096
_PROBES = 64
# A value may leave [0, 1] by this much: sums in float32 do. Half a step of the grid.
_SLACK = 0.5 / GRID


@dataclass(frozen=True)
class Custom:
    """The mean over rows of a function of one row, with values in [0, 1]; a vector gives one query an entry.

    See the module for what `function` may be.
    """

    name: str
    columns: tuple[str, ...]
    function: RowFunction
    _value_tables: dict[tuple[int, ...], Table] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise WorkloadError(f"custom query {self.name!r} needs at least one column and none twice.")

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.columns)})"

    def is_table(self, domain: Domain) -> bool:
        """Whether the columns have few enough cells for a table of values."""
        return domain.size_of(self.columns) <= MAX_TABLE_CELLS

    def size(self, domain: Domain) -> int:
        """Number of queries: the number of values the function returns."""
        return self.table(domain).shape[1] if self.is_table(domain) else _traced_size(self, domain)

    def table(self, domain: Domain) -> Table:
        """Values at all cells over the columns, in C order, as integers between 0 and `GRID`.

        Raises:
            WorkloadError: The function fails at a cell, or returns something else than numbers in [0, 1], always as
                many. The message may name the cell: cells are public.

        """
        return self._table_of(domain.shape_of(self.columns))

    def _table_of(self, shape: tuple[int, ...]) -> Table:
        if shape not in self._value_tables:
            values = _all_values(self, shape)
            _check_values(self, shape, values)
            table: Table = np.rint(np.clip(values, 0, 1) * GRID).astype(np.int32)
            self._value_tables[shape] = table
        return self._value_tables[shape]

    def answers(self, table: Any) -> Any:
        """Answers from the fractions of all cells over the columns, which are an array with an axis for each column.

        It is linear in the cells, so on relaxed rows it is the multilinear extension. Only methods of the array are used,
        so JAX arrays pass too and can be differentiated.
        """
        values = (self._table_of(tuple(table.shape)) / np.float32(GRID)).astype(np.float32)
        cells = table.reshape(-1)
        return product(cells, values) if isinstance(cells, np.ndarray) else cells @ values

    def values(self, blocks: Mapping[str, Any]) -> Float[jax.Array, "queries rows"]:
        """Values of a function that is no table on relaxed rows, given as a block of probabilities a column.

        It is made of JAX operations and can be differentiated.
        """
        import jax
        import jax.numpy as jnp

        rows = {name: blocks[name] for name in self.columns}
        values = jax.vmap(self.function, in_axes=(dict.fromkeys(rows, 1),), out_axes=-1)(rows)
        return jnp.reshape(values, (-1, rows[self.columns[0]].shape[1])).astype(jnp.float32)

    def check(self, domain: Domain, *, slopes: bool = False) -> None:
        """Refuse a function that cannot be used, before any data are touched.

        Args:
            domain: The columns.
            slopes: Whether a function that is no table must have a slope to follow, as `rap` needs.

        Raises:
            WorkloadError: The message says what is wrong.

        """
        if self.is_table(domain):
            self.table(domain)
        else:
            _check_on_probes(self, domain, slopes=slopes)

    def contributions(self, domain: Domain, codes: Sequence[CodeColumn]) -> Int64[np.ndarray, "records queries"]:
        """Contributions of records on the integer grid, each between 0 and `GRID`.

        `codes` holds one array a column of this query, in its order. Beyond tables a NaN is a DataError for the
        steward, to be met before anything is spent.
        """
        if self.is_table(domain):
            cells = np.ravel_multi_index([np.asarray(column) for column in codes], domain.shape_of(self.columns))
            return np.asarray(self.table(domain)[cells], dtype=np.int64)
        values = _vectorised_values(self, domain.shape_of(self.columns), codes)
        if np.isnan(values).any():
            raise DataError(f"custom query {self.name!r} returns NaN on some record; nothing was spent.")
        return np.asarray(np.rint(np.clip(values, 0, 1) * GRID), dtype=np.int64)


@dataclass(frozen=True)
class NamedCustom(Custom):
    """A custom query of a release that was read back: its name is known, its function is not.

    A function is code, and a release holds data only. Hand the query itself to `Release.answer` to have it answered.
    """

    queries: int = 1

    @classmethod
    def of(cls, name: str, columns: tuple[str, ...], queries: int) -> NamedCustom:
        """The query of this name."""
        return cls(name, columns, _not_stored, queries)

    def size(self, domain: Domain) -> int:  # noqa: ARG002 - as stored
        """Number of queries, as stored."""
        return self.queries

    def _table_of(self, shape: tuple[int, ...]) -> Table:  # noqa: ARG002 - as in Custom
        raise self._refusal()

    def values(self, blocks: Any) -> Any:  # noqa: ARG002 - as in Custom
        """Refused: the function is not stored."""
        raise self._refusal()

    def _refusal(self) -> WorkloadError:
        return WorkloadError(
            f"a release does not store the function of custom query {self.name!r}. Give the query itself."
        )


def _not_stored(row: Row) -> Any:  # noqa: ARG001 - stands where a function was
    raise WorkloadError("a release does not store the functions of custom queries.")


def _all_values(query: Custom, shape: tuple[int, ...]) -> Float64[np.ndarray, "cells queries"]:
    """Values at all cells; a function of JAX operations is vectorised, any other is called once a cell."""
    returned = _call(query, shape, (0,) * len(shape))
    first = _as_vector(query, returned)
    cells = math.prod(shape)
    if cells * len(first) > MAX_TABLE_ENTRIES:
        raise WorkloadError(
            f"custom query {query.name!r} has {cells:,} cells and {len(first):,} values at each, which is too large a "
            f"table (limit {MAX_TABLE_ENTRIES:,}). Split it into queries of fewer values or columns."
        )
    if _is_of_jax(returned):
        try:
            return _vectorised_values(query, shape, np.unravel_index(np.arange(cells), shape))
        except Exception:  # noqa: S110 - a branch on a value, say, which a call for each cell can take
            pass
    values = np.empty((cells, len(first)))
    for cell, codes in enumerate(np.ndindex(*shape)):
        found = _as_vector(query, _call(query, shape, codes))
        if len(found) != len(first):
            raise WorkloadError(
                f"custom query {query.name!r} returns {len(first)} values at the first cell and {len(found)} at "
                f"{_cell_named(query, codes)}. Return as many at all."
            )
        values[cell] = found
    return values


def _call(query: Custom, shape: tuple[int, ...], codes: tuple[int, ...]) -> Any:
    row = {name: _onehot(size)[code] for name, size, code in zip(query.columns, shape, codes, strict=True)}
    try:
        return query.function(row)
    except Exception as error:
        raise WorkloadError(
            f"custom query {query.name!r} fails at {_cell_named(query, codes)} ({type(error).__name__}: "
            f"{str(error)[:200]}). It takes a dictionary from column name to one-hot vector."
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
        raise WorkloadError(f"custom query {query.name!r} returns no number: {type(value).__name__}.") from None
    if found.ndim > 1 or not found.size:
        raise WorkloadError(
            f"custom query {query.name!r} returns an array of shape {found.shape}; return a number or a vector."
        )
    return found.reshape(-1)


def _is_of_jax(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in ("jax", "jaxlib")


def _check_values(query: Custom, shape: tuple[int, ...], values: Float64[np.ndarray, "cells queries"]) -> None:
    wrong = ~((values >= -_SLACK) & (values <= 1 + _SLACK))
    if wrong.any():
        cell, place = (int(position) for position in np.argwhere(wrong)[0])
        codes = tuple(int(code) for code in np.unravel_index(cell, shape))
        found = "NaN" if np.isnan(values[cell, place]) else f"{values[cell, place]:g}"
        raise WorkloadError(
            f"custom query {query.name!r} is {found} at {_cell_named(query, codes)}; values outside [0, 1] are "
            "refused. Scale or clip them."
        )


def _cell_named(query: Custom, codes: tuple[int, ...]) -> str:
    return ", ".join(f"{name} = {code}" for name, code in zip(query.columns, codes, strict=True)) + " (codes)"


def _vectorised_values(
    query: Custom, shape: tuple[int, ...], codes: Sequence[np.ndarray]
) -> Float64[np.ndarray, "records queries"]:
    evaluate = _record_values(query, shape)
    parts = []
    for start in range(0, max(len(codes[0]), 1), _BLOCK):  # of no records too: the number of queries is in the shape
        block = [column[start : start + _BLOCK].astype(np.int32) for column in codes]
        length = len(block[0])
        # One shape for every block, so that the last one does not compile again.
        padded = (np.pad(column, (0, _BLOCK - length)) for column in block)
        parts.append(np.asarray(evaluate(*padded), dtype=np.float64)[:, :length].T)
    return np.concatenate(parts)


@cache
def _record_values(query: Custom, shape: tuple[int, ...]) -> Callable[..., Float[jax.Array, "queries records"]]:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def evaluate(*codes: jax.Array) -> Float[jax.Array, "queries records"]:
        rows = {
            name: jax.nn.one_hot(column, size) for name, column, size in zip(query.columns, codes, shape, strict=True)
        }
        values = jax.vmap(query.function, out_axes=-1)(rows)
        return jnp.reshape(values, (-1, codes[0].shape[0]))

    return evaluate


def _traced_size(query: Custom, domain: Domain) -> int:
    import jax

    row = {name: np.zeros(domain.size(name), np.float32) for name in query.columns}
    try:
        shape = jax.eval_shape(query.function, row).shape
    except Exception as error:
        raise WorkloadError(
            f"custom query {query.name!r} fails on a row of its columns ({type(error).__name__}). Its columns have "
            f"{domain.size_of(query.columns):,} cells; beyond {MAX_TABLE_CELLS:,} a function must be made of JAX "
            "operations and take a dictionary from column name to probability vector."
        ) from error
    if len(shape) > 1:
        raise WorkloadError(
            f"custom query {query.name!r} returns an array of shape {shape}; return a number or a vector."
        )
    return math.prod(shape)


def _check_on_probes(query: Custom, domain: Domain, *, slopes: bool) -> None:
    """Try a function that is no table on rows that have nothing to do with the data."""
    import jax
    import jax.numpy as jnp

    query.size(domain)
    rng = np.random.default_rng(0)
    probes = {}
    for name, size in zip(query.columns, domain.shape_of(query.columns), strict=True):
        records = np.eye(size, dtype=np.float32)[:, rng.integers(size, size=_PROBES)]
        mixed = rng.dirichlet(np.ones(size), _PROBES).T.astype(np.float32)
        probes[name] = np.concatenate([records, mixed], axis=1)
    try:
        values = np.asarray(jax.jit(query.values)(probes))
        summed = jax.grad(lambda blocks: jnp.sum(query.values(blocks)))
        gradients = jax.jit(summed)(probes) if slopes else {}
    except Exception as error:
        raise WorkloadError(
            f"custom query {query.name!r} cannot be batched and differentiated by JAX ({type(error).__name__})."
        ) from error
    if np.isnan(values).any():
        raise WorkloadError(f"custom query {query.name!r} returns NaN on a probe row.")
    on_records = values[:, :_PROBES]
    if on_records.min() < -_SLACK or on_records.max() > 1 + _SLACK:
        raise WorkloadError(
            f"custom query {query.name!r} returns values outside [0, 1] on a probe row; scale or clip them."
        )
    if not all(np.isfinite(gradient).all() for gradient in gradients.values()):
        raise WorkloadError(f"custom query {query.name!r} has a gradient that is not finite on a probe row.")
    if slopes and not any(np.any(gradient) for gradient in gradients.values()):
        raise WorkloadError(
            f"custom query {query.name!r} has a zero gradient on all probe rows, and its columns have more than "
            f"{MAX_TABLE_CELLS:,} cells. Replace comparisons and rounding by sums of probabilities, or name fewer columns."
        )
