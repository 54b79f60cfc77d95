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
from dprap.queries import Family, Marginal, as_family, from_cells
from dprap.relaxed import RelaxedDataset, answers
from dprap.relaxed.drawn import DRAWN_RECORDS
from dprap.relaxed.fit import StepCallback, unwatched
from dprap.release.certified import TableBound, accuracy, table_bound
from dprap.release.conditions import as_conditions, conditioned, decoded_where
from dprap.release.draw import draw_records, draw_table, matched_marginals, sliced
from dprap.release.expected import expected_stddev
from dprap.release.intervals.basis import Grounds
from dprap.release.intervals.error_table import ErrorTable
from dprap.release.intervals.interval import Interval, count_intervals, statistic_interval
from dprap.release.intervals.posterior import draw_rows
from dprap.release.statement import PrivacyStatement
from dprap.schema import Schema
from dprap.schema.review_record import vouched_sentences
from dprap.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

    from dprap.evaluate import Evaluation
    from dprap.release.answer_question import Answered
    from dprap.release.figures import Figures

_log = logging.getLogger("dprap")

# Relations that a warning names.
_LISTED = 5

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
            '  .table()  .ask("…", by="…")  .answer("column")  .report()  .statement()  .save("folder")',
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
        if not self.schema.vouched:
            return None
        words = vouched_sentences(self.schema.vouched)
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
        where: Mapping[str, Any] | str | None = None,
        format: TableFormat = "pandas",  # noqa: A002
        seed: int | None = None,
    ) -> Any:
        """A synthetic table in the input's schema.

        Without arguments this is the table that the certificate covers; `table_bound` gives the
        bound of any other.

        Args:
            rows: Exactly as many rows; `table_rows`, unless given.
            where: Conditions that every row satisfies: text such as "sex = F and age in 30..39", or a
                mapping such as {"sex": "F", "age": (30, 39)}. The relaxed rows are reweighted by how
                likely each satisfies them.
            format: pandas, polars or arrow.
            seed: Of public randomness; the run's, unless given.

        Returns:
            The table.

        Raises:
            SettingsError: If the method gives answers alone, or no row can satisfy the conditions.

        """
        conditions = as_conditions(self.schema, where)
        codes = self.codes(rows, where=conditions, seed=seed)
        return as_format(
            decoded_where(codes, self.schema, conditions, seed=self.facts.seed if seed is None else seed), format
        )

    def sample(self, num_rows: int, *, where: Mapping[str, Any] | str | None = None, seed: int | None = None) -> Any:
        """A pandas table of so many synthetic rows, as SDV's `sample` gives one; `table` has more choices."""
        return self.table(num_rows, where=where, seed=seed)

    def tables(
        self,
        m: int = 20,
        rows: int | None = None,
        *,
        columns: Sequence[str] = (),
        format: TableFormat = "pandas",  # noqa: A002
        seed: int | None = None,
    ) -> Iterator[Any]:
        """Yield m synthetic tables that differ by what the release leaves open: noise, and what was not measured.

        Analyse each table by itself and put the results together with `dprap.combine`. One table
        alone, analysed as if its rows were people, has standard errors that are too small. Combined
        standard errors are right where all columns of the analysis were measured together; name
        these, and a warning in the log says which of their relations were not. Those are too weak
        in every table, which no difference between tables shows.
        Each table is a draw around the fit, so each is a little farther from the truth than the
        table of `table()`, which is the one that the certificate covers.

        Args:
            m: How many tables; twenty are enough for most analyses.
            rows: Rows of each; `table_rows`, unless given.
            columns: The columns that the analysis uses.
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
        self.schema.domain.shape_of(tuple(columns))  # refuses unknown columns
        lacking = self.grounds.lacking(columns)
        if lacking:
            _log.warning(
                "the relation of %s was not measured, so that intervals of analyses with these columns may be wrong.",
                "; of ".join(" with ".join(each) for each in lacking[:_LISTED]),
            )
        seed = self.facts.seed if seed is None else seed
        marginals = matched_marginals(self.workload, self.measurements)
        for number, drawn in enumerate(draw_rows(self, relaxed, draws=m, seed=seed)):
            own = (seed + number + 1) % MAX_SEED
            codes = draw_table(drawn, self.schema, marginals, rows=rows, seed=own)
            yield as_format(decoded_where(codes, self.schema, {}, seed=own), format)

    def interval(
        self, marginal: Marginal | str | Sequence[str], *, level: float = 0.95, population: bool = False
    ) -> list[Interval]:
        """The interval of every cell of a marginal, in counts, in the order of `answer`.

        Args:
            marginal: The marginal, or its columns.
            level: The probability that an interval holds the truth, between 0.5 and 0.99.
            population: Whether the statement is about a population of which the records are a sample.

        Raises:
            WorkloadError: If it is not a marginal over single codes.

        """
        family = as_family(marginal)
        if not isinstance(family, Marginal) or family.groups is not None:
            raise WorkloadError(f"intervals are of marginals over single codes; {family} is none. Use `ask`.")
        counts = self.shares(family)[0].astype(np.float64) * self.rows
        return count_intervals(self, family.columns, counts, level=level, population=population)

    def answer(
        self, marginal: Marginal | str | Sequence[str], *, level: float = 0.95, population: bool = False
    ) -> pd.DataFrame:
        """Every cell of a marginal as a line of a table: values, count, share, and how far the count may be off.

        Args:
            marginal: A column, several columns, or a marginal over single codes. The run need not have seen it.
            level: The probability that an interval holds the truth, between 0.5 and 0.99.
            population: Whether intervals are about a population of which the records are a sample.

        Returns:
            A pandas table: one column with the labels of each column asked for, then `count`, `share`,
            `standard_error`, `low`, `high` and `basis`.

        Raises:
            WorkloadError: If it is not a marginal over single codes.

        >>> from dprap import synthesize
        >>> from dprap.datasets import example, example_schema
        >>> release = synthesize(example(500), example_schema(), epsilon=5.0, kway=1, method="independent")
        >>> list(release.answer("sex")["sex"])
        ['female', 'male', 'diverse']

        """
        from dprap.release.marginal_frame import marginal_frame

        return marginal_frame(self, as_family(marginal), self.interval(marginal, level=level, population=population))

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
        self, rows: int | None = None, *, where: Mapping[str, Any] | str | None = None, seed: int | None = None
    ) -> Codes:
        """Synthetic records as codes; the arguments are those of `table`."""
        where = as_conditions(self.schema, where)
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
            conditioned_on=tuple(where),
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

    def shares(self, queries: Workload | Family | Iterable[Family]) -> list[Answers]:
        """Answers, as shares of all records, to every query of the given families, seen by the run or not.

        They are expectations over the fitted rows. Halfspaces and custom functions over more than 2^18 cells have
        none that can be computed: they are answered on records drawn from the rows, which a warning in the log says.

        Args:
            queries: A workload, a query family, or several.

        Returns:
            One array for each family, in its own order of queries.

        Raises:
            SettingsError: If the method has no rows, and a family is not in its workload.

        """
        families = [queries] if not isinstance(queries, Iterable) else list(queries)
        if self.relaxed is not None:
            for family in families:
                if not from_cells(family, self.relaxed.domain):
                    _log.warning(
                        "%s has too many cells for a table, so it is answered on %d records drawn from the "
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
        watch: StepCallback = unwatched,
    ) -> Release:
        """Write the release directory, all of it or nothing.

        Args:
            directory: The directory, which must not exist.
            rows: Rows of the synthetic table; as many as there are records by default.
            format: The format of the synthetic table, `parquet` or `csv`.
            seed: Seed of public randomness, if the table shall be another one than that of the run.
            watch: Is told how many rows of the table are written, of how many.

        Returns:
            The release, with the written table and its bound as `saved`.

        """
        from dprap.release.files import save_release

        saved = save_release(self, Path(directory), rows=rows, table_format=format, seed=seed, watch=watch)
        return replace(self, saved=saved)

    def report(self, path: Path | str = "report.html", *, language: str = "en") -> Path:
        """Write the release's own page, which may be published. `dprap report` writes the same.

        Args:
            path: The file to write.
            language: The language of the guarantee in plain words: en, de, fr or es.

        Returns:
            The file.

        Raises:
            SettingsError: If the file cannot be written, or there is no such translation.

        """
        from dprap.runs.published import write_report_of

        write_report_of(self, Path(path), language=language)
        return Path(path)

    def statement(self, folder: Path | str = "statement", *, language: str = "en", **about: str) -> list[Path]:
        """Write the steward's papers: plain statement, NIST's questions, registry entry, metadata.

        Args:
            folder: The folder to write to.
            language: The language of the guarantee in plain words: en, de, fr or es.
            **about: What only the steward knows, such as `title`, `curator`, `intended_use` and `region`.

        Returns:
            The files.

        Raises:
            SettingsError: If a file cannot be written, or a name or value is refused.

        """
        from dprap.runs.published import write_statement_of

        return write_statement_of(self, Path(folder), about, language=language)

    def evaluate(
        self, table: Any, *, path: Path | str | None = None, targets: Sequence[str] | None = None, **reading: Any
    ) -> Evaluation:
        """Measure the true errors of this release against the private table. NOT PRIVATE: never publish the result.

        Args:
            table: The private table that the release was made from, as `synthesize` takes it.
            path: Where to write the page with the truth in it; none is written, unless given.
            targets: Columns that models predict; by default one that looks like a target.
            **reading: Options of a run that say how the table is read, such as `engine`.

        Returns:
            The evaluation; printed, it is a few lines.

        Raises:
            DprapError: If the table cannot be read by the release's schema.

        """
        from dprap.runs.published import evaluate_against

        return evaluate_against(self, table, reading, path=None if path is None else Path(path), targets=targets)

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
