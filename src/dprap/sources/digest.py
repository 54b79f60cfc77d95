"""A digest of encoded records that does not depend on their order, so that batches, files and
partitions can be summed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dprap.array_types import CodeColumn
from dprap.counting.tally import BLOCK_RECORDS
from dprap.domain import Domain

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_HALF = np.uint64(32)


@dataclass(frozen=True)
class Digest:
    """How many records there are, and the sum modulo 2^64 of a hash of each: both private.

    It notices a change of the data, not a forger. Digests of parts of a table add up to that of the
    table:

    >>> whole = digest_of([np.array([1, 2, 2], np.uint8)])
    >>> digest_of([np.array([2], np.uint8)]) + digest_of([np.array([2, 1], np.uint8)]) == whole
    True
    """

    rows: int = 0
    total: int = 0

    def __add__(self, other: Digest) -> Digest:
        return Digest(self.rows + other.rows, (self.total + other.total) % 2**64)

    def fingerprint(self, domain: Domain) -> str:
        """The digest and the domain in which the codes mean something, as text for the ledger."""
        facts = repr((domain.names, domain.sizes, self.rows, self.total))
        return hashlib.blake2b(facts.encode(), digest_size=16).hexdigest()


def digest_of(columns: Sequence[CodeColumn]) -> Digest:
    """Digest of some records, given as one array of codes a column."""
    rows = len(columns[0]) if columns else 0
    total = 0
    for start in range(0, rows, BLOCK_RECORDS):
        hashes = np.zeros(min(BLOCK_RECORDS, rows - start), dtype=np.uint64)
        for column in columns:
            hashes += column[start : start + BLOCK_RECORDS]
            hashes *= _ODD
            hashes ^= hashes >> _HALF
        total += int(hashes.sum(dtype=np.uint64))
    return Digest(rows, total % 2**64)
