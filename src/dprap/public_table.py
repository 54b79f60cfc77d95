"""A public table: an optional start for the method `adaptive`.

It is not protected, and whatever uses it says so.

It is read by a way of its own, with no curator and no source, so that it cannot be taken for the
private table nor the private table for it. One pass counts its marginals batch by batch; the
records themselves are not kept, so it may have any size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dprap.array_types import CodeColumn, Float64
from dprap.counting import cell_numbers
from dprap.errors import DataError, DprapError, SettingsError
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.workload import Workload

MOST_CELLS = 1 << 19
"""Cells that are counted in all, single columns aside: more would take long to fit."""


@dataclass(frozen=True)
class PublicFacts:
    """What a release says of the public table it started from; `digest` is one of its records as
    the schema reads them.
    """

    name: str
    rows: int
    digest: str

    def sentence(self) -> str:
        """The label of the release."""
        return (
            f"It started from the public table {self.name} ({self.rows:,} records, digest"
            f" {self.digest}), which the guarantee does not cover."
        )


@dataclass(frozen=True, eq=False)
class PublicTable:
    """What is used of a public table: shares of its records in the cells of some marginals."""

    facts: PublicFacts
    shares: Mapping[Marginal, Float64[np.ndarray, "cells"]]

    @property
    def cells(self) -> int:
        """Cells of all marginals."""
        return sum(len(shares) for shares in self.shares.values())


def read_public(table: Any, schema: Schema, workload: Workload) -> PublicTable:
    """Read a public table, an object in memory or the path of a CSV or Parquet file, by the schema
    of the private one.
    """
    from dprap.encoding import encode_batches

    name = Path(table).name if isinstance(table, str | Path) else "in memory"
    try:
        return count_public(encode_batches(table, schema), workload, name=name)
    except DprapError as error:
        raise type(error)(f"public table {name}: {error}") from error


def count_public(
    batches: Iterable[tuple[CodeColumn, ...]], workload: Workload, *, name: str
) -> PublicTable:
    """Count the marginals of a public table that are useful to a workload."""
    domain = workload.domain
    marginals = public_marginals(workload)
    counts = [np.zeros(marginal.size(domain), np.int64) for marginal in marginals]
    digest = hashlib.blake2b(repr((domain.names, domain.sizes)).encode(), digest_size=16)
    rows = 0
    for batch in batches:
        rows += len(batch[0])
        digest.update(_record_bytes(batch))
        for marginal, counted in zip(marginals, counts, strict=True):
            codes = [batch[domain.position(name)] for name in marginal.columns]
            cells = cell_numbers(codes, domain.shape_of(marginal.columns), len(batch[0]))
            counted += np.bincount(cells, minlength=len(counted))
    if rows == 0:
        raise DataError("has no records. Leave it out.")
    shares = {marginal: counted / rows for marginal, counted in zip(marginals, counts, strict=True)}
    return PublicTable(PublicFacts(name, rows, digest.hexdigest()), shares)


def public_marginals(workload: Workload) -> tuple[Marginal, ...]:
    """Every column, then pairs inside the workload's families and then larger sets, small ones
    first, as long as there is room.
    """
    domain = workload.domain
    chosen = [Marginal((name,)) for name in domain]
    room = MOST_CELLS
    for marginal in sorted(
        workload.closure(smallest=2), key=lambda m: (len(m.columns) > 2, m.size(domain))
    ):
        if marginal.size(domain) <= room:
            chosen.append(marginal)
            room -= marginal.size(domain)
    return tuple(chosen)


def refuse_same_table(private: Any, public: Any) -> None:
    """Raise SettingsError if the private table was handed over as the public one too."""
    if public is None:
        return
    paths = isinstance(private, str | Path) and isinstance(public, str | Path)
    if private is public or (
        paths and "://" not in str(private) and Path(private).resolve() == Path(public).resolve()
    ):
        raise SettingsError(
            "the public table is the private table. Give a table that everybody may see, or leave"
            " it out."
        )


def _record_bytes(batch: tuple[CodeColumn, ...]) -> bytes:
    """Codes record by record, so that a digest does not depend on how a table is cut into
    batches.
    """
    parts = [
        np.ascontiguousarray(column).view(np.uint8).reshape(len(column), column.itemsize)
        for column in batch
    ]
    return np.concatenate(parts, axis=1).tobytes()
