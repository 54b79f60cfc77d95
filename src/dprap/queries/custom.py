"""Queries of the user's own: any function from one row to values in [0, 1].

The function takes one record as a dictionary from column name to a one-hot vector over that
column's codes, and returns a number or a vector of numbers in [0, 1]. Nothing else is needed:

>>> from dprap.domain import Domain
>>> domain = Domain.of({"age": 4, "income": 3})
>>> differ = Custom(
...     "one of the two", ("age", "income"), lambda row: row["age"][3] != row["income"][2]
... )
>>> differ.table(domain).reshape(4, 3) // GRID
array([[0, 0, 1],
       [0, 0, 1],
       [0, 0, 1],
       [1, 1, 0]], dtype=int32)

**A function is its table of values.** Over columns with at most `MAX_TABLE_CELLS` cells the
function is called once for every cell, before any data are touched, and forgotten. So it may be
anything: Python, NumPy or JAX, with comparisons and branches. On a relaxed row, a product
distribution, its answer is the multilinear extension Σ over cells of probability · value: the
expectation over records drawn from the row, and the polynomial of the paper's lemma on k-juntas.
Its slope follows from the table, whatever the function is.

**Beyond that** the function must be made of JAX operations. It is evaluated record by record on the
private side. `rap` moves relaxed rows along the slope of the function itself, applied to
probability vectors: a surrogate that agrees on records and should interpolate between them
(products and sums of probabilities do). Answers are those of records drawn from the rows
(`relaxed.drawn_answers`).

Privacy: a record contributes an integer between 0 and `GRID` to the sum of a query, so one person
moves that sum by at most GRID times the records they may have, under both neighbour relations. For
a table this needs no trust in the function: the table is fixed and checked before a record is read,
and a record picks one row of it. Beyond, `jax.vmap` of a function of one row keeps records apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dprap.arguments import as_columns
from dprap.array_types import CodeColumn, Float, Int64
from dprap.domain import Domain
from dprap.errors import DataError, WorkloadError
from dprap.products import product
from dprap.queries.custom_values import (
    GRID,
    MAX_TABLE_CELLS,
    Row,
    RowFunction,
    Table,
    all_values,
    check_on_probes,
    check_values,
    traced_size,
    vectorised_values,
)

if TYPE_CHECKING:
    import jax


@dataclass(frozen=True)
class Custom:
    """The mean over rows of a function of one row, with values in [0, 1].

    A vector of values gives one query for each entry. The module says what `function` may be.

    Args:
        name: What the query is called in releases and messages.
        columns: The columns that the function reads.
        function: From a row, a mapping of each column to a vector over its codes, to a number or
            vector.

    Raises:
        WorkloadError: If there is no column, or one is named twice.

    >>> old = Custom(
    ...     "old and rich", ("age", "income"), lambda row: row["age"][2:].sum() * row["income"][1]
    ... )
    >>> domain = Domain.of({"age": 4, "income": 2})
    >>> old.check(domain)
    >>> old.is_table(domain), old.size(domain), old.table(domain).ravel().tolist()
    (True, 1, [0, 0, 0, 0, 0, 65536, 0, 65536])
    >>> float(old.answers(np.full((4, 2), 1 / 8))[0])
    0.25
    >>> old.contributions(domain, [np.array([3, 0]), np.array([1, 1])]).ravel().tolist()
    [65536, 0]
    >>> old.values({"age": np.eye(4)[:, :1], "income": np.eye(2)[:, :1]}).tolist()
    [[0.0]]
    """

    name: str
    columns: tuple[str, ...]
    function: RowFunction
    _value_tables: dict[tuple[int, ...], Table] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not callable(self.function):
            raise WorkloadError(
                "a custom query takes a name, a tuple of columns, and a function of one row."
            )
        object.__setattr__(self, "columns", as_columns(self.columns, "a custom query"))
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise WorkloadError(
                f"custom query {self.name!r} needs at least one column and none twice."
            )

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.columns)})"

    def is_table(self, domain: Domain) -> bool:
        """Whether the columns have few enough cells for a table of values.

        Args:
            domain: The domain of the table.

        Returns:
            Whether the function is called once for every cell, and then forgotten.

        Raises:
            WorkloadError: If the domain lacks a column.

        """
        return domain.size_of(self.columns) <= MAX_TABLE_CELLS

    def size(self, domain: Domain) -> int:
        """The number of queries: the number of values that the function returns.

        Args:
            domain: The domain of the table.

        Returns:
            How many there are.

        Raises:
            WorkloadError: If the function fails, or returns something else than numbers.

        """
        return self.table(domain).shape[1] if self.is_table(domain) else traced_size(self, domain)

    def table(self, domain: Domain) -> Table:
        """Values at all cells over the columns, in C order, as integers between 0 and `GRID`.

        Args:
            domain: The domain of the table.

        Returns:
            One row for each cell, one column for each query.

        Raises:
            WorkloadError: The function fails at a cell, or returns something else than numbers in
                [0, 1], always as many. The message may name the cell: cells are public.

        """
        return self._table_of(domain.shape_of(self.columns))

    def _table_of(self, shape: tuple[int, ...]) -> Table:
        if shape not in self._value_tables:
            values = all_values(self, shape)
            check_values(self, shape, values)
            table: Table = np.rint(np.clip(values, 0, 1) * GRID).astype(np.int32)
            self._value_tables[shape] = table
        return self._value_tables[shape]

    def answers(self, table: Any) -> Any:
        """Answers from the shares of all cells over the columns.

        They are linear in the cells, so on relaxed rows this is the multilinear extension. Only
        methods of the array are used, so JAX arrays pass too and can be differentiated.

        Args:
            table: An array with one axis for each column.

        Returns:
            One number for each query.

        Raises:
            WorkloadError: If the function cannot be made a table.
        """
        values = (self._table_of(tuple(table.shape)) / np.float32(GRID)).astype(np.float32)
        return product(table.reshape(-1), values)

    def values(self, blocks: Mapping[str, Any]) -> Float[jax.Array, "queries rows"]:
        """Values on relaxed rows of a function that is no table; it is made of JAX operations.

        Args:
            blocks: For each column the probabilities of its codes, codes by rows.

        Returns:
            An array of queries by rows, which can be differentiated.

        Raises:
            WorkloadError: If the function cannot be batched by JAX.

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
            check_on_probes(self, domain, slopes=slopes)

    def contributions(
        self, domain: Domain, codes: Sequence[CodeColumn]
    ) -> Int64[np.ndarray, "records queries"]:
        """Contributions of records on the integer grid, each between 0 and `GRID`.

        Args:
            domain: The domain of the table.
            codes: One array of codes for each column of this query, in its order.

        Returns:
            One row for each record, one column for each query.

        Raises:
            DataError: If a function that is no table returns NaN on a record. This is for the
                steward, and met before anything is spent.
        """
        if self.is_table(domain):
            cells = np.ravel_multi_index(
                [np.asarray(column) for column in codes], domain.shape_of(self.columns)
            )
            return np.asarray(self.table(domain)[cells], dtype=np.int64)
        values = vectorised_values(self, domain.shape_of(self.columns), codes)
        if np.isnan(values).any():
            raise DataError(
                f"custom query {self.name!r} returns NaN on some record; nothing was spent."
            )
        return np.asarray(np.rint(np.clip(values, 0, 1) * GRID), dtype=np.int64)


@dataclass(frozen=True)
class NamedCustom(Custom):
    """A custom query of a release that was read back: its name is known, its function is not.

    A function is code, and a release holds data only. Hand the query itself to `Release.answer` to
    have it answered.
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
            f"a release does not store the function of custom query {self.name!r}. Give the query"
            " itself."
        )


def _not_stored(row: Row) -> Any:  # noqa: ARG001 - stands where a function was
    raise WorkloadError("a release does not store the functions of custom queries.")
