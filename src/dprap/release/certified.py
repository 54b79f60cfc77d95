"""What the accuracy certificate says of which answers.

The certificate bounds, with its confidence, max_q |q(D) − fit_q| and max_q |q(D) − table_q| at
once, where `fit` are the fitted answers and `table` is the table that was drawn in the run. For any
other table t drawn from the release,

    |q(D) − t_q| ≤ |q(D) − fit_q| + |fit_q − t_q| ≤ bound + max_q |fit_q − t_q|,

and the last term is public: it is computed from the release alone. All numbers are counts among
`Release.rows` records.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprap.array_types import Answers
from dprap.encoding import Codes
from dprap.queries.custom import NamedCustom
from dprap.relaxed import RelaxedDataset, answers
from dprap.release.table_answers import table_answers

if TYPE_CHECKING:
    from dprap.release.release import Release


@dataclass(frozen=True)
class TableBound:
    """A synthetic table and the largest error of its answers, in counts; None where no bound is
    known.
    """

    rows: int
    bound_counts: float | None


def table_digest(codes: Codes) -> str:
    """SHA-256 of a synthetic table's codes in their order, with the names and sizes of its
    columns.
    """
    shape = [list(codes.domain.names), list(codes.domain.sizes), codes.rows]
    digest = hashlib.sha256(json.dumps(shape).encode())
    for column in codes.columns:
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


def table_bound(release: Release, codes: Codes) -> TableBound:
    """How far the answers of a table drawn from the release may be from the truth.

    The certified table, known by its digest, has the certificate's own bound. Any other has it
    widened by its largest distance to the fit. There is no bound without a certificate, nor where a
    distance cannot be computed because a release that was read back does not hold the functions of
    its custom queries.
    """
    certificate = release.certificate
    if certificate is None or release.relaxed is None:
        return TableBound(codes.rows, None)
    if table_digest(codes) == certificate.table_digest:
        return TableBound(codes.rows, certificate.upper_bound_counts)
    if any(isinstance(family, NamedCustom) for family in release.workload.families):
        return TableBound(codes.rows, None)
    shares = table_answers(codes, release.workload.families)
    return TableBound(
        codes.rows,
        certificate.upper_bound_counts + _distance_to_fit_counts(release, release.relaxed, shares),
    )


class ChunkBound:
    """The bound of a table that is drawn chunk by chunk and never whole in memory.

    It adds the answers of the chunks up, and takes their distance to the fit at the end. A table of
    this kind was not certified itself.
    """

    def __init__(self, release: Release) -> None:
        self._release = release
        self._rows = 0
        families = release.workload.families
        unknown = any(isinstance(family, NamedCustom) for family in families)
        self._is_known = release.certificate is not None and not unknown
        self._counts: list[np.ndarray] = (
            [np.zeros(size) for size in release.workload.sizes] if self._is_known else []
        )

    def watching(self, chunks: Iterable[Codes]) -> Iterator[Codes]:
        """The chunks as they are, each counted before it is handed on."""
        for codes in chunks:
            self._rows += codes.rows
            if self._is_known:
                shares = table_answers(codes, self._release.workload.families)
                for total, of_chunk in zip(self._counts, shares, strict=True):
                    total += of_chunk * codes.rows
            yield codes

    def bound(self) -> TableBound:
        """The bound of all chunks together."""
        certificate, relaxed = self._release.certificate, self._release.relaxed
        if certificate is None or relaxed is None or not self._is_known:
            return TableBound(self._rows, None)
        shares = (total / self._rows for total in self._counts)
        return TableBound(
            self._rows,
            certificate.upper_bound_counts
            + _distance_to_fit_counts(self._release, relaxed, shares),
        )


def published_table(release: Release) -> TableBound | None:
    """The table that goes with the release: the saved one, else the certified one, else none."""
    if release.saved is not None:
        return release.saved
    certificate = release.certificate
    if certificate is None or certificate.table_rows is None:
        return None
    return TableBound(certificate.table_rows, certificate.upper_bound_counts)


def accuracy(release: Release) -> str | None:
    """What is certified, and for which answers, in a sentence without a full stop; None without a
    certificate.
    """
    certificate = release.certificate
    if certificate is None:
        return None
    begin = (
        f"with {certificate.confidence:.0%} confidence, each of the {certificate.queries:,} queries"
        " is answered within"
    )
    bound = f"{begin} {as_error(release, certificate.upper_bound_counts)}"
    if release.relaxed is None:
        return f"{bound}, by the published answers; the method makes no table"
    table = published_table(release)
    if table is None or table.bound_counts is None:
        return f"{bound}, by the fitted answers; this does not cover the synthetic table"
    name = f"the synthetic table of {table.rows:,} rows"
    if not release.rows_are_public and table.rows != release.rows:
        name += f" (its counts scaled to {release.rows:,} records)"
    if table.bound_counts == certificate.upper_bound_counts:
        return f"{bound}, by the fitted answers and by {name}"
    return (
        f"{bound}, by the fitted answers, and within {_number(release, table.bound_counts)} by"
        f" {name}"
    )


def as_error(release: Release, counts: float) -> str:
    """An error as a share of all records where their number is public, else in counts.

    Under add-remove neighbours the number of records is itself noisy, so that a share has an error
    of its own.
    """
    unit = "the truth (as a share of all records)" if release.rows_are_public else "the true count"
    return f"{_number(release, counts)} of {unit}"


def rounded_up(value: float, digits: int) -> float:
    """A bound as it is printed: what is printed must hold too."""
    scale = 10.0**digits
    return math.ceil(value * scale) / scale


def _number(release: Release, counts: float) -> str:
    if release.rows_are_public:
        return f"{min(rounded_up(counts / release.rows, 4), 1.0):.4f}"  # shares lie in 0..1
    return f"{rounded_up(counts, 1):,.1f}"


def _distance_to_fit_counts(
    release: Release, relaxed: RelaxedDataset, table_shares: Iterable[Answers]
) -> float:
    """max_q |table_q − fit_q| over the workload, family by family."""
    return release.rows * max(
        float(np.abs(shares - fitted.astype(np.float64)).max())
        for shares, fitted in zip(
            table_shares, answers(relaxed, release.workload.families), strict=True
        )
    )
