"""A release: everything a run publishes. Nothing in it can be traced to more than what its privacy statement says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from dprap.accounting.measurement import Certificate, Measurement, QueryMeasurement
from dprap.array_types import Answers
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.public import PublicFacts
from dprap.queries import Family, Marginal
from dprap.relaxed import RelaxedDataset, answers
from dprap.release.certified import TableBound, accuracy, table_bound
from dprap.release.conditions import conditioned, decoded_where
from dprap.release.draw import draw_table, matched_marginals
from dprap.release.expected import expected_stddev
from dprap.release.statement import PrivacyStatement
from dprap.schema import Schema
from dprap.workload import Workload

TableFormat = Literal["pandas", "polars", "arrow"]


@dataclass(frozen=True)
class RunFacts:
    """How a release came about: public, and enough to make it again from the same ledger.

    `seconds` are those of the public side: time on the private side depends on the exact data. `peak_memory_mb` does too
    and is None; releases of earlier versions have it.
    """

    method: str
    settings: Mapping[str, Any]
    seed: int
    seconds: float
    peak_memory_mb: float | None
    version: str
    created: str


@dataclass(frozen=True)
class Release:
    """What a run publishes: a relaxed data set (or plain answers), noisy measurements and the guarantee.

    `rows` is the number of records of the private table where that is public, else a noisy number that was paid for. `public` describes the
    public table that the run started from, if there was one. `saved` is the table that was written with the release,
    `drawn` the default table if it was drawn already.
    """

    schema: Schema
    workload: Workload
    privacy: PrivacyStatement
    facts: RunFacts
    rows: int
    relaxed: RelaxedDataset | None
    workload_shares: tuple[Answers, ...] | None
    measurements: tuple[Measurement | QueryMeasurement, ...]
    certificate: Certificate | None
    public: PublicFacts | None = None
    saved: TableBound | None = None
    drawn: Codes | None = field(default=None, repr=False, compare=False)

    @property
    def guarantee(self) -> str:
        """The guarantee in a sentence, what of it was not used, and what it does not cover."""
        beyond = None if self.public is None else self.public.sentence()
        return " ".join(text for text in (self.privacy.sentence(), self.privacy.unspent(), beyond) if text)

    @property
    def accuracy(self) -> str | None:
        """What the certificate says and which answers it covers, in a sentence; None without a certificate."""
        return accuracy(self)

    @property
    def rows_are_public(self) -> bool:
        """Whether `rows` is the exact number of records."""
        return self.privacy.relation == "replace"

    @property
    def table_rows(self) -> int:
        """Rows of a table unless others are asked for: those of the certified table, else as many as `rows`."""
        certified = None if self.certificate is None else self.certificate.table_rows
        return self.rows if certified is None else certified

    def table(
        self,
        rows: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        format: TableFormat = "pandas",  # noqa: A002
        seed: int | None = None,
    ) -> Any:
        """A synthetic table of exactly `rows` rows (`table_rows`, unless given) in the input's schema.

        Without arguments this is the table that the certificate covers; `table_bound` gives the
        bound of any other. `where` draws from the rows that satisfy conditions, such as {"sex":
        "F", "age": (30, 39)}: the relaxed rows are reweighted by how likely each satisfies them.
        """
        codes = self.codes(rows, where=where, seed=seed)
        return as_format(
            decoded_where(codes, self.schema, where or {}, seed=self.facts.seed if seed is None else seed), format
        )

    def codes(
        self, rows: int | None = None, *, where: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> Codes:
        """Synthetic records as codes."""
        rows = self.table_rows if rows is None else rows
        if rows < 1:
            raise SettingsError(f"a table needs at least one row; {rows} asked for.")
        relaxed = self._relaxed_or_refuse()
        is_default = not where and seed in (None, self.facts.seed)
        if self.drawn is not None and is_default and rows == self.drawn.rows:
            return self.drawn
        if where:
            relaxed = conditioned(relaxed, self.schema, where)
        return draw_table(
            relaxed,
            self.schema,
            matched_marginals(self.workload, self.measurements),
            rows=rows,
            seed=self.facts.seed if seed is None else seed,
            conditioned_on=tuple(where or ()),
        )

    def table_bound(self, rows: int | None = None, *, seed: int | None = None) -> float | None:
        """The largest error, in counts among `rows` records, of the workload's answers on the table of these arguments.

        It holds with the certificate's confidence. The certified table has the certificate's bound,
        another table that bound plus its largest distance to the fitted answers, which is public.
        None where nothing is certified.
        """
        return table_bound(self, self.codes(rows, seed=seed)).bound_counts

    def answer(self, queries: Workload | Family | Iterable[Family]) -> list[Answers]:
        """Answers, as shares of all records, to every query of the given families, seen by the run or not."""
        families = [queries] if not isinstance(queries, Iterable) else list(queries)
        if self.relaxed is not None:
            return [np.asarray(shares) for shares in answers(self.relaxed, families)]
        known: dict[Family, Answers] = dict(zip(self.workload.families, self.workload_shares or (), strict=True))
        unknown = [family for family in families if family not in known]
        if unknown:
            raise SettingsError(f"method {self.facts.method} answers its workload only; {unknown[0]} is not in it.")
        return [known[family] for family in families]

    def expected_stddev(self, marginal: Marginal) -> float:
        """The standard error of a cell of the marginal, as a share of all records, from the noise alone.

        Of what was measured, or sums of it; else the certificate's bound, which is larger; else infinite.
        """
        return expected_stddev(self, marginal)

    def save(
        self,
        directory: Path | str,
        *,
        rows: int | None = None,
        format: str = "parquet",  # noqa: A002
        seed: int | None = None,
    ) -> Release:
        """Write the release directory, all of it or nothing.

        Returns:
            The release, with the written table and its bound as `saved`.

        """
        from dprap.release.files import save_release

        saved = save_release(self, Path(directory), rows=rows, table_format=format, seed=seed)
        return replace(self, saved=saved)

    def _relaxed_or_refuse(self) -> RelaxedDataset:
        if self.relaxed is None:
            raise SettingsError(
                f"method {self.facts.method} gives answers, not rows. Choose adaptive, rap or independent."
            )
        return self.relaxed


def as_format(table: pa.Table, format: TableFormat) -> Any:  # noqa: A002
    """An Arrow table in the library the user works with."""
    if format == "arrow":
        return table
    if format == "pandas":
        return table.to_pandas()
    if format == "polars":
        try:
            import polars as pl
        except ImportError:
            raise SettingsError("polars is not installed. Install dprap[polars].") from None
        return pl.from_arrow(table)
    raise SettingsError(f"there is no table format {format!r}: use pandas, polars or arrow.")
