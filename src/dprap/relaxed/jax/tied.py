"""Codes of a column that have the same probability, carried as one number through a projection.

A step moves the coordinates that queries read. All others of a column are shifted by the same
threshold and cut at zero, so unread codes that are equal stay equal, and after a sparsemax most
codes of a column share its least value: a column of 100 codes is about 20 numbers and one more for
the rest. Nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dprap.array_types import Float32, Int, Relaxed
from dprap.domain import Domain
from dprap.relaxed.jax.layout import Packed, PerColumn

# A column shrinks to a quarter or to half of its codes, or not at all: other sizes would be other
# programs to compile whenever a query more is selected.
_PARTS = (4, 2)
# Smaller columns are not worth another program.
_SMALLEST = 32


class Iterate(NamedTuple):
    """Rows during a projection: numbers kept apart, and the one that each column's tied codes
    share.
    """

    kept: Packed
    tied: PerColumn


class _Column(NamedTuple):
    """Where the codes of a column that shrank went: first those that are read, then others by
    `order` of each row.
    """

    read: Int[np.ndarray, " read"]
    unread: Int[np.ndarray, " unread"]
    order: Int[np.ndarray, "unread rows"]
    size: int


@dataclass(frozen=True)
class TiedRows:
    """Rows with tied codes taken out.

    Attributes:
        domain: The columns, with the number of codes that are kept apart.
        kept: Their probabilities, by the coordinates of `domain`.
        tied: The probability that all other codes of a column share in a row.
        counts: How many codes these are, by column; none in a column that did not shrink.
        coordinates: The coordinate in `domain` of each coordinate that queries read.
        whole_domain: The columns with all of their codes.
        columns: Where the codes of each column went; None for a column that did not shrink.
    """

    domain: Domain
    kept: Relaxed
    tied: Float32[np.ndarray, "columns rows"]
    counts: Int[np.ndarray, " columns"]
    coordinates: Int[np.ndarray, " touched"]
    whole_domain: Domain
    columns: Sequence[_Column | None]

    @classmethod
    def of(
        cls,
        rows: Relaxed,
        domain: Domain,
        coordinates: Int[np.ndarray, " touched"],
        *,
        shrinks: bool = True,
    ) -> TiedRows:
        """Take out what is tied, if `shrinks`.

        Queries read `coordinates`; one beyond the last is padding.
        """
        columns: list[_Column | None] = []
        parts: list[Relaxed] = []
        places: list[Int[np.ndarray, " codes"]] = []
        tied = np.zeros((len(domain), rows.shape[1]), np.float32)
        for position, (start, size) in enumerate(zip(domain.offsets, domain.sizes, strict=True)):
            block, place = rows[start : start + size], np.arange(size)
            read = coordinates[(coordinates >= start) & (coordinates < start + size)] - start
            column = _shrunk(block, read) if shrinks else None
            if column is not None:
                others = np.take_along_axis(block[column.unread], column.order, axis=0)
                block = np.concatenate(
                    [block[column.read], others[: column.size - len(column.read)]]
                )
                tied[position] = others[-1]
                # A code that is not read has no place of its own, and none is asked for.
                place[column.read] = np.arange(len(column.read))
            columns.append(column)
            places.append(place + sum(len(part) for part in parts))
            parts.append(block)
        kept = Domain(domain.names, tuple(len(part) for part in parts))
        # Padding lies beyond the last coordinate, here as there.
        there = np.append(np.concatenate(places), kept.onehot_size)[coordinates]
        counts = np.subtract(domain.sizes, kept.sizes)
        return cls(kept, np.concatenate(parts), tied, counts, there, domain, columns)

    def whole(self, kept: Relaxed, tied: Float32[np.ndarray, "columns rows"]) -> Relaxed:
        """Rows with all of their codes again, from what the kept and the tied ones became."""
        rows = np.empty((self.whole_domain.onehot_size, kept.shape[1]), np.float32)
        for position, column in enumerate(self.columns):
            start, first = self.whole_domain.offsets[position], self.domain.offsets[position]
            part = kept[first : first + self.domain.sizes[position]]
            if column is None:
                rows[start : start + len(part)] = part
                continue
            rows[start + column.read] = part[: len(column.read)]
            others = np.repeat(tied[position : position + 1], len(column.unread), axis=0)
            others[: column.size - len(column.read)] = part[len(column.read) :]
            placed = np.empty_like(others)
            np.put_along_axis(placed, column.order, others, axis=0)
            rows[start + column.unread] = placed
        return rows


def _shrunk(block: Relaxed, read: Int[np.ndarray, " read"]) -> _Column | None:
    """How a column shrinks, or None if it does not."""
    if len(read) == len(block) or len(block) < _SMALLEST:
        return None
    unread = np.setdiff1d(np.arange(len(block)), read)
    is_least = block[unread] <= block[unread].min(axis=0)
    needed = len(read) + int((~is_least).sum(axis=0).max())
    size = next((-(-len(block) // part) for part in _PARTS if needed * part <= len(block)), None)
    if size is None:
        return None
    # Sorting by one bit, stably, puts the codes above the least before those that share it.
    return _Column(read, unread, np.argsort(is_least, axis=0, kind="stable"), size)
