"""Synthetic tables of a release: drawn, sampled, streamed, and how far they may be off."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from dprap.arguments import as_one_of
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.limits import MAX_SEED
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.mixing import MixingSettings
from dprap.release.arguments import names_of, rows_in_memory, seed_or, whole_number
from dprap.release.certified import table_bound
from dprap.release.conditions import (
    as_conditions,
    conditioned,
    decoded_where,
    require_whole_bins,
)
from dprap.release.contents import Contents
from dprap.release.draw_records import (
    draw_records,
    draw_table,
    matched_marginals,
    mixing_of,
    sliced,
)
from dprap.release.intervals.posterior import draw_rows
from dprap.release.sharp_pairs import SharpPair, sharp_pairs

_log = logging.getLogger("dprap")

# Relations that a warning names.
_LISTED = 5

TableFormat = Literal["pandas", "polars", "arrow"]


class SyntheticTables(Contents):
    """What draws tables from the rows of a release."""

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
            where: Conditions that every row satisfies: text such as "sex = F and age in 30..39", or
                a mapping such as {"sex": "F", "age": (30, 39)}. The relaxed rows are reweighted by
                how likely each satisfies them.
            format: pandas, polars or arrow.
            seed: Of public randomness; the run's, unless given.

        Returns:
            The table.

        Raises:
            SettingsError: If the method gives answers alone, no row can satisfy the conditions, or
                one cuts a bin of a column that an order or a sum of the schema names.
        """
        conditions = as_conditions(self.schema, where)
        require_whole_bins(self.schema, conditions)
        codes = self.codes(rows, where=conditions, seed=seed)
        return as_format(
            decoded_where(codes, self.schema, conditions, seed=seed_or(seed, self.facts.seed)),
            format,
        )

    def sample(
        self,
        num_rows: int,
        *,
        where: Mapping[str, Any] | str | None = None,
        seed: int | None = None,
    ) -> Any:
        """A pandas table of synthetic rows, as SDV's `sample`; `table` has more choices.

        Args:
            num_rows: How many rows.
            where: Conditions that every row satisfies, as in `table`.
            seed: The seed of public randomness; the run's, unless given.

        Returns:
            The table.

        Raises:
            SettingsError: If the method gives answers alone, or no row can satisfy the conditions.
        """
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
        """Yield m synthetic tables that differ by noise and by what was not measured.

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
        m = whole_number("m", m, least=2)  # what is open shows in the difference of tables
        rows = rows_in_memory(self.table_rows if rows is None else rows)
        relaxed = self._relaxed_or_refuse()
        columns = names_of("columns", columns)
        self.schema.domain.shape_of(columns)  # refuses unknown columns
        lacking = self.grounds.lacking(columns)
        if lacking:
            _log.warning(
                "the relation of %s was not measured, so that intervals of analyses with these"
                " columns may be wrong.",
                "; of ".join(" with ".join(each) for each in lacking[:_LISTED]),
            )
        seed = seed_or(seed, self.facts.seed)
        marginals = matched_marginals(self.workload, self.measurements)
        mix = self._mixing(rows)
        for number, drawn in enumerate(draw_rows(self._release, relaxed, draws=m, seed=seed)):
            own = (seed + number + 1) % MAX_SEED
            codes = draw_table(
                drawn,
                self.schema,
                marginals,
                rows=rows,
                seed=own,
                sharp=self._sharp_pairs,
                mix=mix,
            )
            yield as_format(decoded_where(codes, self.schema, {}, seed=own), format)

    def codes(
        self,
        rows: int | None = None,
        *,
        where: Mapping[str, Any] | str | None = None,
        seed: int | None = None,
    ) -> Codes:
        """Synthetic records as codes; the arguments are those of `table`.

        Args:
            rows: Exactly as many rows; `table_rows`, unless given.
            where: Conditions that every row satisfies.
            seed: The seed of public randomness; the run's, unless given.

        Returns:
            The records.

        Raises:
            SettingsError: If the method gives answers alone, or no row can satisfy the conditions.

        """
        where = as_conditions(self.schema, where)
        rows = rows_in_memory(self.table_rows if rows is None else rows)
        seed = seed_or(seed, self.facts.seed)
        relaxed = self._relaxed_or_refuse()
        is_default = not where and seed == self.facts.seed
        if self.drawn is not None and is_default and rows == self.drawn.rows:
            return self.drawn
        if where:
            relaxed = conditioned(relaxed, self.schema, where)
        return draw_table(
            relaxed,
            self.schema,
            matched_marginals(self.workload, self.measurements),
            rows=rows,
            seed=seed,
            sharp=self._sharp_pairs,
            mix=self._mixing(rows),
            conditioned_on=tuple(where),
        )

    def chunks(self, rows: int | None = None, *, seed: int | None = None) -> Iterator[Codes]:
        """The records of `codes`, chunk by chunk, for tables that shall not be in memory whole.

        Args:
            rows: Exactly as many rows; `table_rows`, unless given.
            seed: The seed of public randomness; the run's, unless given.

        Returns:
            The chunks, one at a time.

        Raises:
            SettingsError: If the method gives answers alone.

        """
        rows = self.table_rows if rows is None else whole_number("rows", rows, least=1)
        seed = seed_or(seed, self.facts.seed)
        if self.drawn is not None and (rows, seed) == (self.drawn.rows, self.facts.seed):
            return sliced(self.drawn)
        return draw_records(
            self._relaxed_or_refuse(),
            self.schema,
            matched_marginals(self.workload, self.measurements),
            rows=rows,
            seed=seed,
            sharp=self._sharp_pairs,
            mix=self._mixing(rows),
        )

    def _mixing(self, rows: int) -> MixingSettings | None:
        """How tables of so many rows are mixed that say no more than pairs of columns do."""
        return mixing_of(self.workload, self.measurements, records=self.rows, rows=rows)

    @cached_property
    def _sharp_pairs(self) -> tuple[SharpPair, ...]:
        """Pairs of columns of which many cells are most likely empty."""
        return sharp_pairs(self.schema, self._relaxed_or_refuse(), self.measurements, self.rows)

    def table_bound(self, rows: int | None = None, *, seed: int | None = None) -> float | None:
        """How far the workload's answers on a table may be off, in counts among `rows` records.

        It holds with the certificate's confidence. The certified table has the certificate's bound,
        another table that bound plus its largest distance to the fitted answers, which is public.

        Args:
            rows: Rows of the table; `table_rows`, unless given.
            seed: The seed of the table; the run's, unless given.

        Returns:
            The bound; None where nothing is certified.

        Raises:
            SettingsError: If the method gives answers alone.
        """
        return table_bound(self._release, self.codes(rows, seed=seed)).bound_counts

    @cached_property
    def draws(self) -> tuple[RelaxedDataset, ...]:
        """Twenty draws of rows that the measurements allow, made when first asked for."""
        return tuple(
            draw_rows(self._release, self._relaxed_or_refuse(), draws=20, seed=self.facts.seed)
        )


def as_format(table: pa.Table, format: TableFormat) -> Any:  # noqa: A002
    """An Arrow table in the library the user works with."""
    as_one_of(format, "the format of a table", ("pandas", "polars", "arrow"))
    if format == "arrow":
        return table
    if format == "pandas":
        return table.to_pandas()
    try:
        import polars as pl
    except ImportError:
        raise SettingsError("polars is not installed. Install dprap[polars].") from None
    return pl.from_arrow(table)
