"""Queries of the user's own: any JAX function from one row to values in [0, 1].

The function takes one row as a dictionary from column name to a probability vector over that column's codes (a one-hot
vector for a record) and returns a number or a vector of numbers in [0, 1]. That is all a new query class needs:

>>> import jax.numpy as jnp
>>> from dprap.domain import Domain
>>> domain = Domain.of({"age": 4, "income": 3})
>>> def age_above_income(row):
...     at_most = jnp.cumsum(row["age"])
...     return jnp.sum(row["income"] * (1 - at_most[:3]))
>>> query = Custom("age above income", ("age", "income"), age_above_income)
>>> query.check(domain)
>>> query.contributions(domain, [np.array([2, 0]), np.array([1, 2])]).ravel() / GRID
array([1., 0.])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int64

from dprap.array_types import CodeColumn, Relaxed
from dprap.domain import Domain
from dprap.errors import DataError, WorkloadError

if TYPE_CHECKING:
    import jax

# JAX takes a second and 200 MB to load, which reading, counting and answering do not need: the methods
# below load it when a function is used.

Row = Mapping[str, Any]
"""A probability vector over the codes of each column, as JAX arrays."""
RowFunction = Callable[[Row], Any]

GRID = 2**16
"""A record's contribution of 1 on the integer grid that exact sums use."""

_BLOCK = 4096
_PROBES = 64


@dataclass(frozen=True)
class Custom:
    """The mean over rows of a function of one row, with values in [0, 1]; a vector gives one query an entry.

    `function` must be made of JAX operations. On a record every column is one-hot; on a relaxed row it is a
    probability vector, where the function should interpolate between the records (products and sums of
    probabilities do).
    """

    name: str
    columns: tuple[str, ...]
    function: RowFunction

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise WorkloadError(f"custom query {self.name!r} needs at least one column and none twice.")

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.columns)})"

    def size(self, domain: Domain) -> int:
        """Number of queries: the number of values the function returns."""
        import jax

        row = {name: np.zeros(domain.size(name), np.float32) for name in self.columns}
        try:
            shape = jax.eval_shape(self.function, row).shape
        except Exception as error:
            raise WorkloadError(
                f"custom query {self.name!r} fails on a row of its columns ({type(error).__name__}). "
                "It must be made of JAX operations and take a dictionary from column name to probability vector."
            ) from error
        if len(shape) > 1:
            raise WorkloadError(
                f"custom query {self.name!r} returns an array of shape {shape}; return a number or a vector."
            )
        return math.prod(shape)

    def values(self, domain: Domain, rows: Relaxed | jax.Array) -> Float[jax.Array, "queries rows"]:
        """Values of the function on relaxed rows, NumPy or JAX; differentiable."""
        import jax
        import jax.numpy as jnp

        blocks = {name: _block(rows, domain, name) for name in self.columns}
        values = jax.vmap(self.function, in_axes=(dict.fromkeys(blocks, 1),), out_axes=-1)(blocks)
        return jnp.reshape(values, (-1, rows.shape[1])).astype(jnp.float32)

    def check(self, domain: Domain) -> None:
        """Refuse a function that cannot be used, on rows that have nothing to do with the data.

        Raises WorkloadError for a wrong shape, values outside [0, 1], NaN, or a gradient that is missing or not finite.
        """
        import jax
        import jax.numpy as jnp

        self.size(domain)
        rng = np.random.default_rng(0)
        records = [np.eye(size, dtype=np.float32)[:, rng.integers(size, size=_PROBES)] for size in domain.sizes]
        mixed = [rng.dirichlet(np.ones(size), _PROBES).T.astype(np.float32) for size in domain.sizes]
        probes = np.concatenate([np.concatenate(records), np.concatenate(mixed)], axis=1)
        try:
            values = np.asarray(jax.jit(self.values, static_argnums=0)(domain, probes))
            gradients = np.asarray(jax.jit(jax.grad(lambda rows: jnp.sum(self.values(domain, rows))))(probes))
        except Exception as error:
            raise WorkloadError(
                f"custom query {self.name!r} cannot be batched and differentiated by JAX ({type(error).__name__})."
            ) from error
        if np.isnan(values).any():
            raise WorkloadError(f"custom query {self.name!r} returns NaN on a probe row.")
        on_records = values[:, :_PROBES]
        if on_records.min() < 0 or on_records.max() > 1:
            raise WorkloadError(
                f"custom query {self.name!r} returns values outside [0, 1] on a probe row; scale or clip them."
            )
        if not np.isfinite(gradients).all():
            raise WorkloadError(f"custom query {self.name!r} has a gradient that is not finite on a probe row.")
        if not gradients.any():
            raise WorkloadError(
                f"custom query {self.name!r} has a zero gradient on all probe rows; "
                "replace comparisons and rounding by sums of probabilities."
            )

    def contributions(self, domain: Domain, codes: Sequence[CodeColumn]) -> Int64[np.ndarray, "records queries"]:
        """Contributions of records on the integer grid: values clipped to [0, 1], times GRID, rounded.

        `codes` holds one array a column of this query, in its order. One record moves the sum of a query's column by at
        most GRID. A NaN is a DataError for the steward, to be met before anything is spent.
        """
        records = len(codes[0])
        evaluate = _record_values(self, domain)
        result = np.empty((records, self.size(domain)), dtype=np.int64)
        for start in range(0, records, _BLOCK):
            block = [column[start : start + _BLOCK].astype(np.int32) for column in codes]
            length = len(block[0])
            # One shape for every block, so that the last one does not compile again.
            values = np.asarray(evaluate(*(np.pad(column, (0, _BLOCK - length)) for column in block)))[:, :length].T
            if np.isnan(values).any():
                raise DataError(f"custom query {self.name!r} returns NaN on some record; nothing was spent.")
            result[start : start + length] = np.rint(np.clip(values, 0, 1).astype(np.float64) * GRID).astype(np.int64)
        return result


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

    def values(self, domain: Domain, rows: Any) -> Any:  # noqa: ARG002 - as in Custom
        """Refused: the function is not stored."""
        raise WorkloadError(
            f"a release does not store the function of custom query {self.name!r}. Give the query itself."
        )


def _not_stored(row: Row) -> Any:  # noqa: ARG001 - stands where a function was
    raise WorkloadError("a release does not store the functions of custom queries.")


def _block(rows: Any, domain: Domain, name: str) -> Any:
    start = domain.offset(name)
    return rows[start : start + domain.size(name)]


@cache
def _record_values(query: Custom, domain: Domain) -> Callable[..., Float[jax.Array, "queries records"]]:
    import jax
    import jax.numpy as jnp

    sizes = domain.shape_of(query.columns)

    @jax.jit
    def evaluate(*codes: jax.Array) -> Float[jax.Array, "queries records"]:
        rows = {
            name: jax.nn.one_hot(column, size) for name, column, size in zip(query.columns, codes, sizes, strict=True)
        }
        values = jax.vmap(query.function, out_axes=-1)(rows)
        return jnp.reshape(values, (-1, codes[0].shape[0]))

    return evaluate
