"""A release: everything a run publishes. Nothing in it can be traced to more than what its privacy statement says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from dprap.accounting.measurement import Certificate, Measurement, QueryMeasurement
from dprap.accounting.refined import RefinedColumn
from dprap.array_types import Answers
from dprap.encoding import Codes
from dprap.errors import SettingsError, WorkloadError
from dprap.limits import MAX_SEED
from dprap.public import PublicFacts
from dprap.queries import Custom, Family, Marginal
from dprap.relaxed import RelaxedDataset, answers
from dprap.relaxed.drawn import DRAWN_RECORDS
from dprap.release.certified import TableBound, accuracy, table_bound
from dprap.release.conditions import conditioned, decoded_where
from dprap.release.draw import draw_records, draw_table, matched_marginals, sliced
from dprap.release.expected import expected_stddev
from dprap.release.intervals.basis import Grounds
from dprap.release.intervals.error_table import ErrorTable
from dprap.release.intervals.interval import Interval, count_intervals, statistic_interval
from dprap.release.intervals.posterior import draw_rows
from dprap.release.statement import PrivacyStatement
from dprap.schema import Schema
from dprap.workload import Workload

if TYPE_CHECKING:
    from dprap.release.answer_question import Answered
    from dprap.release.statistics_answers import Figures

_log = logging.getLogger("dprap")

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


@dataclass(frozen=True, repr=False)
class Release:
    """What a run publishes: a relaxed data set (or plain answers), noisy measurements and the guarantee.

    `rows` is the number of records of the private table where that is public, else a noisy number that was paid for. `public` describes the
    public table that the run started from, if there was one. `saved` is the table that was written with the release,
    `errors` how far answers may be off, `drawn` the default table if it was drawn already.
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
    errors: ErrorTable | None = field(default=None, repr=False)
    drawn: Codes | None = field(default=None, repr=False, compare=False)
    refinement: Mapping[str, RefinedColumn] | None = None

    def __repr__(self) -> str:
        kind = "answers alone" if self.relaxed is None else f"a synthetic table of {self.table_rows:,} rows"
        records = f"{self.rows:,} records" if self.rows_are_public else f"about {self.rows:,} records"
        lines = [
            f"Release of {records} in {len(self.schema.columns)} columns, by {self.facts.method}",
            f"  {self.guarantee}",
            f"  {kind}; {self.workload.queries:,} queries answered, {len(self.measurements):,} measurements",
            f"  {self.accuracy or 'no accuracy certificate'}",
            '  .table()  .ask("…", by="…")  .answer(…)  .save("folder")',
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rest = repr(self).splitlines()
        return f"<b>{escape(head)}</b><br>" + "<br>".join(escape(line.strip()) for line in rest)

    @property
    def guarantee(self) -> str:
        """The guarantee in a sentence, what of it was not used, and what it does not cover."""
        beyond = None if self.public is None else self.public.sentence()
        parts = (self.privacy.sentence(), self.privacy.unspent(), beyond, self.vouched)
        return " ".join(text for text in parts if text)

    @property
    def vouched(self) -> str | None:
        """Who vouches for entries of the schema that were taken from the data; None where there are none."""
        words = [vouch.sentence(name) for name, vouch in self.schema.vouched.items()]
        if not words:
            return None
        return (
            "The guarantee takes the schema as public. Parts of it were taken from the data, and persons vouch for them: "
            + "; ".join(words)
            + "."
        )

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

    def tables(
        self,
        m: int = 20,
        rows: int | None = None,
        *,
        format: TableFormat = "pandas",  # noqa: A002
        seed: int | None = None,
    ) -> Iterator[Any]:
        """Yield m synthetic tables that differ by what the release leaves open: noise, and what was not measured.

        Analyse each table by itself and put the results together with `dprap.combine`. One table
        alone, analysed as if its rows were people, has standard errors that are too small. The draws
        show noise; the bias of relations that were not measured together they show in part, so that
        combined standard errors are a lower limit there.
        Each table is a draw around the fit, so each is a little farther from the truth than the
        table of `table()`, which is the one that the certificate covers.

        Args:
            m: How many tables; twenty are enough for most analyses.
            rows: Rows of each; `table_rows`, unless given.
            format: pandas, polars or arrow.
            seed: Of public randomness; the run's, unless given.

        Yields:
            Tables in the input's schema.

        Raises:
            SettingsError: There are fewer than two tables asked for, or the method makes none.

        """
        if m < 2:
            raise SettingsError(f"what is open shows in the difference of tables: ask for 2 or more, not {m}.")
        rows = self.table_rows if rows is None else rows
        if rows < 1:
            raise SettingsError(f"a table needs at least one row; {rows} asked for.")
        relaxed = self._relaxed_or_refuse()
        seed = self.facts.seed if seed is None else seed
        marginals = matched_marginals(self.workload, self.measurements)
        for number, drawn in enumerate(draw_rows(self, relaxed, draws=m, seed=seed)):
            own = (seed + number + 1) % MAX_SEED
            codes = draw_table(drawn, self.schema, marginals, rows=rows, seed=own)
            yield as_format(decoded_where(codes, self.schema, {}, seed=own), format)

    def interval(
        self,
        marginal: Marginal,
        *,
        level: float = 0.95,
        population: bool = False,
    ) -> list[Interval]:
        """The interval of every cell of a marginal, in counts, in the order of `answer`.

        Args:
            marginal: The marginal, over single codes.
            level: The probability that an interval holds the truth, between 0.5 and 0.99.
            population: Whether the statement is about a population of which the records are a sample.

        """
        if marginal.groups is not None:
            raise WorkloadError(f"intervals of {marginal} are of single codes. Leave the groups out, or use `ask`.")
        counts = self.answer(marginal)[0].astype(np.float64) * self.rows
        return count_intervals(self, marginal.columns, counts, level=level, population=population)

    def ask(
        self, question: str, by: str | Sequence[str] = (), *, level: float = 0.95, population: bool = False
    ) -> Answered | Figures:
        """Answer a question in words with intervals, such as "age in 30..39 and sex = F" or "mean age by sex"."""
        from dprap.release.statistics_answers import answer

        return answer(self, question, [by] if isinstance(by, str) else by, level=level, population=population)

    def statistic_interval(
        self,
        statistic: Callable[[Release], float],
        *,
        columns: Sequence[str] | None = None,
        level: float = 0.95,
    ) -> Interval:
        """The interval of any number that can be computed from a release: a correlation, a ratio of means, an index.

        The statistic is computed on this release and on releases whose rows are draws of what the
        measurements leave open. The first call makes the draws, which takes about as long as the run.

        Args:
            statistic: Computes the number from a release, by its `relaxed` rows or by `answer` and `ask`.
            columns: The columns it depends on, for the `basis` of the answer; all of them, unless given.
            level: The probability that the interval holds the truth, between 0.5 and 0.99.

        """
        return statistic_interval(self, statistic, columns=columns, level=level)

    @cached_property
    def grounds(self) -> Grounds:
        """What was measured and asked for, by which answers are measured, implied or modelled."""
        return Grounds.of(self.measurements, self.workload)

    @cached_property
    def draws(self) -> tuple[RelaxedDataset, ...]:
        """Twenty draws of rows that the measurements allow, made when first asked for."""
        return tuple(draw_rows(self, self._relaxed_or_refuse(), draws=20, seed=self.facts.seed))

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

    def chunks(self, rows: int | None = None, *, seed: int | None = None) -> Iterator[Codes]:
        """The records of `codes`, chunk by chunk, for tables that shall not be in memory whole."""
        if self.drawn is not None and rows in (None, self.drawn.rows) and seed in (None, self.facts.seed):
            return sliced(self.drawn)
        return draw_records(
            self._relaxed_or_refuse(),
            self.schema,
            matched_marginals(self.workload, self.measurements),
            rows=self.table_rows if rows is None else rows,
            seed=self.facts.seed if seed is None else seed,
        )

    def table_bound(self, rows: int | None = None, *, seed: int | None = None) -> float | None:
        """The largest error, in counts among `rows` records, of the workload's answers on the table of these arguments.

        It holds with the certificate's confidence. The certified table has the certificate's bound,
        another table that bound plus its largest distance to the fitted answers, which is public.
        None where nothing is certified.
        """
        return table_bound(self, self.codes(rows, seed=seed)).bound_counts

    def answer(self, queries: Workload | Family | Iterable[Family]) -> list[Answers]:
        """Answers, as shares of all records, to every query of the given families, seen by the run or not.

        They are expectations over the fitted rows. A custom function over more than 2^18 cells has none that can be
        computed: it is answered on records drawn from the rows, which a warning in the log says.
        """
        families = [queries] if not isinstance(queries, Iterable) else list(queries)
        if self.relaxed is not None:
            for family in families:
                if isinstance(family, Custom) and not family.is_table(self.relaxed.domain):
                    _log.warning(
                        "%s has too many cells for a table of values, so it is answered on %d records drawn from the "
                        "fit (standard error at most %.4f).",
                        family,
                        DRAWN_RECORDS,
                        0.5 / DRAWN_RECORDS**0.5,
                    )
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
