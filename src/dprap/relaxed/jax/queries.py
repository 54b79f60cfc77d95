"""Selected single queries, compiled to index arrays that answer and differentiate them on relaxed
rows.

A query of a marginal, threshold or range family is a function of k *literals*, one a column: the
probability of one code, or of a run of codes along a range. Products of literals (marginals,
ranges) and tails of their Poisson-binomial counts (thresholds) are evaluated for all queries at
once, with derivatives written by hand. A query of a custom function is a linear map of the cell
table over its columns, given by the function's table of values. Arrays are padded to a few sizes,
so that a query set that grows every round is not compiled every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from dprap.array_types import Float, Float32, Int, Int32
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import GRID, Custom, Marginal, Query, Range, Threshold
from dprap.relaxed.folding import Fold, folded_table

Literals = Float[jax.Array, "literals rows"]
LiteralIndex = Int[jax.Array, "queries columns"]
Answered = Float[jax.Array, " queries"]

_GROWTH = 4
_SMALLEST = 32


@partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        "coordinates",
        "sums",
        "products",
        "thresholds",
        "at_least",
        "custom_index",
        "custom_tables",
    ],
    meta_fields=["domain", "custom", "block_starts"],
)
@dataclass(frozen=True)
class QueryBatch:
    """Index arrays of selected queries; answers come as products, then thresholds, then custom
    queries, each padded.

    `coordinates` are the one-hot coordinates that the queries read (padded beyond the last); the
    rows of `sums`, if there are any, say which of them make up each literal (a literal is one
    coordinate otherwise). The two literals after the last are always one and always zero.
    `custom_tables` has the values at all cells of each custom family, or None for a function that
    is no table; `block_starts` says where the codes of its columns begin among `coordinates`.
    """

    coordinates: Int32[jax.Array, " touched"]
    sums: Float32[jax.Array, "literals touched"] | None
    products: LiteralIndex
    thresholds: LiteralIndex
    at_least: Int32[jax.Array, " thresholds"]
    custom_index: Int32[jax.Array, " custom"]
    custom_tables: tuple[Float32[jax.Array, "cells queries"] | None, ...]
    domain: Domain
    custom: tuple[Custom, ...]
    block_starts: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """Number of answers, padding included."""
        return self.products.shape[0] + self.thresholds.shape[0] + self.custom_index.shape[0]

    def answers(
        self, touched: Float[jax.Array, "touched rows"], weights: Float[jax.Array, " rows"]
    ) -> Answered:
        """Weighted means over rows of all queries, from the probabilities at `coordinates`."""
        literals = touched if self.sums is None else self.sums @ touched
        constants = jnp.concatenate([jnp.ones((1, len(weights))), jnp.zeros((1, len(weights)))])
        literals = jnp.concatenate([literals, constants.astype(literals.dtype)])
        parts = []
        if self.products.shape[0]:
            parts.append(product_means(literals, self.products, weights))
        if self.thresholds.shape[0]:
            parts.append(threshold_means(literals, self.thresholds, self.at_least, weights))
        if self.custom:
            starts = dict(self.block_starts)
            blocks = {
                name: touched[start : start + self.domain.size(name)]
                for name, start in starts.items()
            }
            answered = [
                self._custom_means(family, table, blocks, weights)
                for family, table in zip(self.custom, self.custom_tables, strict=True)
            ]
            parts.append(jnp.concatenate(answered)[self.custom_index])
        return jnp.concatenate(parts)

    def _custom_means(
        self,
        family: Custom,
        table: jax.Array | None,
        blocks: dict[str, jax.Array],
        weights: jax.Array,
    ) -> Answered:
        """Means of all queries of a custom family: the multilinear extension of its table, or the
        function itself.
        """
        if table is None:
            return family.values(blocks) @ weights
        own = {name: blocks[name] for name in family.columns}
        fold = Fold.of({name: self.domain.size(name) for name in family.columns})
        return jnp.asarray(folded_table(own, weights, fold)).reshape(-1) @ table


def compile_queries(
    domain: Domain, queries: Sequence[Query], *, custom: tuple[Custom, ...] = ()
) -> tuple[QueryBatch, Int[np.ndarray, " queries"]]:
    """Compile queries; returns the batch and the position of each query's answer in its answers.

    `custom` names the custom families that may occur, so that a batch does not change shape when
    the first of their queries is selected; those of the queries themselves need not be named.
    """
    runs: dict[tuple[int, int], int] = {}
    products: list[list[int]] = []
    thresholds: list[tuple[list[int], int]] = []
    custom_index: list[int] = []
    kinds: list[tuple[int, int]] = []
    families = tuple(
        dict.fromkeys((*custom, *(q.family for q in queries if isinstance(q.family, Custom))))
    )
    starts = dict(
        zip(families, np.cumsum([0, *(family.size(domain) for family in families)]), strict=False)
    )
    for query in queries:
        family = query.family
        if isinstance(family, Custom):
            kinds.append((2, len(custom_index)))
            custom_index.append(int(starts[family]) + query.index)
            continue
        # A class that nobody has named here must not be fitted as if it were a marginal.
        if not isinstance(family, Marginal | Threshold | Range) or (
            isinstance(family, Marginal) and family.groups is not None
        ):
            raise WorkloadError(
                f"a batch takes marginals without groups, thresholds and ranges, not {family}."
            )
        # Marginals and thresholds are about single codes, as ranges along no column are.
        box = family if isinstance(family, Range) else Range(family.columns, {})
        literals = []
        for name, (first, last) in zip(family.columns, box.box(domain, query.index), strict=True):
            start = domain.offset(name)
            literals.append(runs.setdefault((start + first, start + last + 1), len(runs)))
        if isinstance(family, Threshold) and family.at_least < len(family.columns):
            kinds.append((1, len(thresholds)))
            thresholds.append((literals, family.at_least))
        else:
            kinds.append((0, len(products)))
            products.append(literals)
    whole = sorted({name for family in families for name in family.columns}, key=domain.position)
    coordinates, sums = _coordinates(domain, list(runs), whole)
    literal_count = len(coordinates) if sums is None else len(sums)
    # A literal that is one coordinate is found by the coordinate's place in the sorted list.
    place = (
        np.searchsorted(coordinates, [start for start, _ in runs])
        if sums is None
        else np.arange(len(runs))
    )
    one, zero = literal_count, literal_count + 1
    product_index = _index_array(
        [[int(place[i]) for i in row] for row in products], filler=one, padding=zero
    )
    threshold_index = _index_array(
        [[int(place[i]) for i in row] for row, _ in thresholds], filler=zero, padding=zero
    )
    at_least = np.ones(len(threshold_index), dtype=np.int32)
    at_least[: len(thresholds)] = [count for _, count in thresholds]
    custom_padded = np.zeros(padded_size(len(custom_index)) if families else 0, dtype=np.int32)
    custom_padded[: len(custom_index)] = custom_index
    batch = QueryBatch(
        jnp.asarray(coordinates),
        None if sums is None else jnp.asarray(sums),
        jnp.asarray(product_index),
        jnp.asarray(threshold_index),
        jnp.asarray(at_least),
        jnp.asarray(custom_padded),
        tuple(_values(family, domain) for family in families),
        domain,
        families,
        tuple((name, int(np.searchsorted(coordinates, domain.offset(name)))) for name in whole),
    )
    offsets = (0, len(product_index), len(product_index) + len(threshold_index))
    return batch, np.array([offsets[kind] + position for kind, position in kinds], dtype=np.int64)


def _values(family: Custom, domain: Domain) -> Float32[jax.Array, "cells queries"] | None:
    return (
        jnp.asarray(family.table(domain) / GRID, jnp.float32) if family.is_table(domain) else None
    )


def padded_size(count: int) -> int:
    """Size to which an array of that many entries is padded: 0, 32, 128, 512 and so on."""
    size = _SMALLEST if count else 0
    while size < count:
        size *= _GROWTH
    return size


def _coordinates(
    domain: Domain, runs: list[tuple[int, int]], whole: Sequence[str]
) -> tuple[Int32[np.ndarray, " touched"], Float32[np.ndarray, "literals touched"] | None]:
    """One-hot coordinates that are read, sorted and padded; and the sums that literals are, unless
    each is one of them.

    They are those of the literals, and all of the columns that are read as a `whole`.
    """
    columns = [(domain.offset(name), domain.offset(name) + domain.size(name)) for name in whole]
    read = sorted({c for start, stop in (*runs, *columns) for c in range(start, stop)})
    size = min(padded_size(len(read)), domain.onehot_size)
    coordinates = np.full(size, domain.onehot_size, dtype=np.int32)
    coordinates[: len(read)] = read
    if all(stop - start == 1 for start, stop in runs):
        return coordinates, None
    sums = np.zeros((padded_size(len(runs)), size), dtype=np.float32)
    for literal, (start, stop) in enumerate(runs):
        sums[literal, np.searchsorted(coordinates, start) : np.searchsorted(coordinates, stop)] = 1
    return coordinates, sums


def _index_array(
    rows: list[list[int]], *, filler: int, padding: int
) -> Int32[np.ndarray, "queries columns"]:
    """Literal indices of queries: rows filled up to the longest, and the array with queries that
    always are zero.
    """
    width = max((len(row) for row in rows), default=0)
    index = np.full((padded_size(len(rows)), max(width, 1)), padding, dtype=np.int32)
    for position, row in enumerate(rows):
        index[position] = [*row, *[filler] * (index.shape[1] - len(row))]
    return index


@jax.custom_vjp
def product_means(literals: Literals, index: LiteralIndex, weights: jax.Array) -> Answered:
    """Weighted means over rows of products of literals, one for each row of `index`."""
    return _product_forward(literals, index, weights)[0]


_ProductSaved = tuple[Literals, LiteralIndex, jax.Array]


def _product_forward(
    literals: Literals, index: LiteralIndex, weights: jax.Array
) -> tuple[Answered, _ProductSaved]:
    product = literals[index[:, 0]]
    for column in range(1, index.shape[1]):
        product = product * literals[index[:, column]]
    return product @ weights, (literals, index, weights)


def _product_backward(saved: _ProductSaved, cotangent: Answered) -> tuple[Literals, None, None]:
    literals, index, weights = saved
    factors = [literals[index[:, column]] for column in range(index.shape[1])]
    # Products of all factors but one, from products of those before and those after: no division,
    # so zeros are fine.
    after = [jnp.ones_like(factors[0])]
    for factor in factors[:0:-1]:
        after.append(after[-1] * factor)
    before = cotangent[:, None] * weights
    gradient = jnp.zeros_like(literals)
    for column, factor in enumerate(factors):
        gradient = gradient.at[index[:, column]].add(before * after[len(factors) - 1 - column])
        before = before * factor
    return gradient, None, None


product_means.defvjp(_product_forward, _product_backward)


@jax.custom_vjp
def threshold_means(
    literals: Literals,
    index: LiteralIndex,
    at_least: Int[jax.Array, " queries"],
    weights: jax.Array,
) -> Answered:
    """Weighted means over rows of the probability that at least `at_least` of a query's literals
    hold.
    """
    return _threshold_forward(literals, index, at_least, weights)[0]


_ThresholdSaved = tuple[Literals, LiteralIndex, jax.Array, jax.Array]


def _threshold_forward(
    literals: Literals, index: LiteralIndex, at_least: jax.Array, weights: jax.Array
) -> tuple[Answered, _ThresholdSaved]:
    counts = [jnp.ones((index.shape[0], literals.shape[1]), literals.dtype)]
    for column in range(index.shape[1]):
        counts = _with_one_more(counts, literals[index[:, column]])
    tail = sum(
        jnp.where((at_least <= j)[:, None], probability, 0) for j, probability in enumerate(counts)
    )
    return jnp.asarray(tail) @ weights, (literals, index, at_least, weights)


def _threshold_backward(
    saved: _ThresholdSaved, cotangent: Answered
) -> tuple[Literals, None, None, None]:
    literals, index, at_least, weights = saved
    width = index.shape[1]
    factors = [literals[index[:, column]] for column in range(width)]
    none = [jnp.ones_like(factors[0])]
    before, after = [none], [none]
    for column in range(width - 1):
        before.append(_with_one_more(before[-1], factors[column]))
        after.append(_with_one_more(after[-1], factors[width - 1 - column]))
    gradient = jnp.zeros_like(literals)
    scale = cotangent[:, None] * weights
    for column in range(width):
        # A literal decides exactly when one match is missing among the others: d tail / d p =
        # P(others = t - 1).
        left, right = before[column], after[width - 1 - column]
        pivotal = sum(
            jnp.where((at_least == i + j + 1)[:, None], left[i] * right[j], 0)
            for i in range(len(left))
            for j in range(len(right))
        )
        gradient = gradient.at[index[:, column]].add(scale * pivotal)
    return gradient, None, None, None


def _with_one_more(counts: list[jax.Array], probability: jax.Array) -> list[jax.Array]:
    """Distribution of the number of matches with one more independent literal; sums of non-negative
    terms only.
    """
    missed = [count * (1 - probability) for count in counts]
    matched = [count * probability for count in counts]
    return [
        missed[0],
        *(miss + match for miss, match in zip(missed[1:], matched[:-1], strict=True)),
        matched[-1],
    ]


threshold_means.defvjp(_threshold_forward, _threshold_backward)
