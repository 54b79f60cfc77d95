"""How column blocks of very different sizes are laid out so that one loop serves many columns at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dprap.array_types import Bool, Float, Int
from dprap.domain import Domain

JaxRows = Float[jax.Array, "onehot rows"]
"""Relaxed rows in the order of the domain."""

Packed = Float[jax.Array, "slots rows"]
"""Relaxed rows in a ColumnLayout's order, with padding."""

PerColumn = Float[jax.Array, "columns rows"]
"""One number a column and row, columns in a ColumnLayout's order."""

PADDING = -1e9
"""The value of padding: low enough never to enter the support of a projection."""

_SMALLEST_FILL = 0.8


@dataclass(frozen=True)
class Bucket:
    """Columns of similar size, interleaved: code v of the bucket's column g stands at start + v *
    columns + g.
    """

    start: int
    codes: int
    columns: int
    first_column: int


@dataclass(frozen=True)
class ColumnLayout:
    """The columns of a domain in buckets of similar size, each padded to its largest.

    Sums over the codes of a column then are sums over a bucket's leading axis, done by a short loop
    whose body handles all columns of the bucket and all rows as one vector. Sorting columns by size
    keeps padding below 25%.
    """

    domain: Domain

    @cached_property
    def _order(self) -> list[list[int]]:
        buckets: list[list[int]] = []
        sizes = self.domain.sizes
        for column in sorted(range(len(sizes)), key=lambda position: -sizes[position]):
            if buckets and sizes[column] >= _SMALLEST_FILL * sizes[buckets[-1][0]]:
                buckets[-1].append(column)
            else:
                buckets.append([column])
        return buckets

    @cached_property
    def order(self) -> Int[np.ndarray, " columns"]:
        """Positions of the domain's columns in the order of `PerColumn`."""
        return np.array([column for members in self._order for column in members])

    @cached_property
    def buckets(self) -> tuple[Bucket, ...]:
        """The buckets, largest columns first."""
        buckets, start, first = [], 0, 0
        for members in self._order:
            codes = self.domain.sizes[members[0]]
            buckets.append(Bucket(start, codes, len(members), first))
            start, first = start + codes * len(members), first + len(members)
        return tuple(buckets)

    @cached_property
    def size(self) -> int:
        """Number of slots, padding included."""
        return sum(bucket.codes * bucket.columns for bucket in self.buckets)

    @cached_property
    def slots(self) -> Int[np.ndarray, " onehot"]:
        """The slot of every one-hot coordinate."""
        slots = np.empty(self.domain.onehot_size, dtype=np.int32)
        for bucket, members in zip(self.buckets, self._order, strict=True):
            for place, column in enumerate(members):
                offset, size = self.domain.offsets[column], self.domain.sizes[column]
                slots[offset : offset + size] = (
                    bucket.start + place + np.arange(size) * bucket.columns
                )
        return slots

    @cached_property
    def is_padding(self) -> Bool[np.ndarray, "slots"]:
        """Which slots hold padding."""
        padding = np.ones(self.size, dtype=bool)
        padding[self.slots] = False
        return padding

    def pack(self, rows: JaxRows, padding: float = PADDING) -> Packed:
        """Relaxed rows in this layout."""
        return jnp.full((self.size, rows.shape[1]), padding, rows.dtype).at[self.slots].set(rows)

    def unpack(self, packed: Packed) -> JaxRows:
        """Relaxed rows in the domain's order."""
        return packed[self.slots]

    def spread(self, numbers: PerColumn) -> Packed:
        """Each column's number at all slots of the column."""
        rows = numbers.shape[1]
        parts = []
        for bucket in self.buckets:
            block = numbers[bucket.first_column : bucket.first_column + bucket.columns]
            parts.append(
                jnp.broadcast_to(block, (bucket.codes, bucket.columns, rows)).reshape(-1, rows)
            )
        return jnp.concatenate(parts)

    def _blocks(self, packed: Packed) -> list[jax.Array]:
        """The slots of each bucket: codes by columns by rows."""
        rows = packed.shape[1]
        return [
            packed[bucket.start : bucket.start + bucket.codes * bucket.columns].reshape(
                bucket.codes, bucket.columns, rows
            )
            for bucket in self.buckets
        ]

    def sums(self, packed: Packed) -> PerColumn:
        """Sums over the slots of each column, padding included."""
        return jnp.concatenate([block.sum(axis=0) for block in self._blocks(packed)])

    def maxima(self, packed: Packed) -> PerColumn:
        """Maxima over the slots of each column."""
        return jnp.concatenate([block.max(axis=0) for block in self._blocks(packed)])

    def excess(self, packed: Packed, thresholds: PerColumn) -> tuple[PerColumn, PerColumn]:
        """For each column: the sum of what exceeds its threshold, and the number of codes that do.

        One pass in one loop: twice as fast on CPUs as two reductions, which the compiler does not
        fuse.
        """
        rows = packed.shape[1]
        sums, counts = [], []
        for bucket in self.buckets:
            threshold = thresholds[bucket.first_column : bucket.first_column + bucket.columns]

            def add(
                code: jax.Array,
                carry: tuple[jax.Array, jax.Array],
                bucket: Bucket = bucket,
                threshold: jax.Array = threshold,
            ) -> tuple[jax.Array, jax.Array]:
                block = lax.dynamic_slice(
                    packed, (bucket.start + code * bucket.columns, 0), (bucket.columns, rows)
                )
                above = block - threshold
                return carry[0] + jnp.maximum(above, 0), carry[1] + (above > 0).astype(packed.dtype)

            total, count = lax.fori_loop(
                0, bucket.codes, add, (jnp.zeros_like(threshold), jnp.zeros_like(threshold))
            )
            sums.append(total)
            counts.append(count)
        return jnp.concatenate(sums), jnp.concatenate(counts)


@cache
def layout_of(domain: Domain) -> ColumnLayout:
    """Return the layout of a domain; the same object for equal domains, so that compiled code is
    shared.
    """
    return ColumnLayout(domain)
