"""Answers of a release: shares, labelled tables, questions in words, and intervals."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dprap.arguments import as_truth
from dprap.array_types import Answers
from dprap.errors import SettingsError, WorkloadError
from dprap.queries import Family, Marginal, from_cells
from dprap.relaxed import answers
from dprap.relaxed.sampled_answers import DRAWN_RECORDS
from dprap.release.arguments import families_in, family_in, names_of, question_text
from dprap.release.expected import expected_stddev
from dprap.release.intervals.interval import Interval, count_intervals, statistic_interval
from dprap.release.synthetic_tables import SyntheticTables
from dprap.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

    from dprap.release.answer_question import Answered
    from dprap.release.figures import Figures
    from dprap.release.release import Release

_log = logging.getLogger("dprap")


class Asking(SyntheticTables):
    """What answers from the rows of a release, or from the answers that a run gave."""

    def shares(
        self, queries: Workload | Family | str | Iterable[Family | str | Sequence[str]]
    ) -> list[Answers]:
        """Shares of all records for every query of families, seen by the run or not.

        They are expectations over the fitted rows. Halfspaces and custom functions over more than
        2^18 cells have none that can be computed: they are answered on records drawn from the rows,
        which a warning in the log says.

        Args:
            queries: A workload, a query family or marginal, or several of them in a list.

        Returns:
            One array for each family, in its own order of queries.

        Raises:
            SettingsError: If the method has no rows, and a family is not in its workload.
        """
        families = families_in(self.schema, queries)
        if self.relaxed is not None:
            for family in families:
                if not from_cells(family, self.relaxed.domain):
                    _log.warning(
                        "%s has too many cells for a table, so it is answered on %d records drawn"
                        " from the fit (standard error at most %.4f).",
                        family,
                        DRAWN_RECORDS,
                        0.5 / DRAWN_RECORDS**0.5,
                    )
            return [np.asarray(shares) for shares in answers(self.relaxed, families)]
        known: dict[Family, Answers] = dict(
            zip(self.workload.families, self.workload_shares or (), strict=True)
        )
        unknown = [family for family in families if family not in known]
        if unknown:
            raise SettingsError(
                f"method {self.facts.method} answers its workload only; {unknown[0]} is not in it."
            )
        return [known[family] for family in families]

    def answer(
        self,
        marginal: Marginal | str | Sequence[str],
        *,
        level: float = 0.95,
        population: bool = False,
    ) -> pd.DataFrame:
        """Every cell of a marginal as a line of a table, with how far it may be off.

        Args:
            marginal: A column, several columns, or a marginal over single codes. The run need not
                have seen it.
            level: The probability that an interval holds the truth, between 0.5 and 0.99.
            population: Whether intervals are about a population of which the records are a sample.

        Returns:
            A pandas table: one column with the labels of each column asked for, then `count`,
            `share`, `standard_error`, `low`, `high` and `basis`.

        Raises:
            WorkloadError: If it is not a marginal over single codes, or a column is called like one
                of those figures.

        >>> from dprap import synthesize
        >>> from dprap.datasets import example, example_schema
        >>> release = synthesize(
        ...     example(500), example_schema(), epsilon=5.0, kway=1, method="independent"
        ... )
        >>> list(release.answer("sex")["sex"])
        ['female', 'male', 'diverse']
        """
        from dprap.release.marginal_frame import marginal_frame

        return marginal_frame(
            self._release,
            family_in(self.schema, marginal),
            self.interval(marginal, level=level, population=population),
        )

    def ask(
        self,
        question: str,
        by: str | Sequence[str] = (),
        *,
        level: float = 0.95,
        population: bool = False,
    ) -> Answered | Figures:
        """Answer a question in words, with intervals.

        Args:
            question: Such as "age in 30..39 and sex = F" or "mean age by sex".
            by: A column, or several, whose values break the answer down.
            level: The probability that an interval holds the truth, between 0.5 and 0.99.
            population: Whether intervals are about a population of which the records are a sample.

        Returns:
            The answer; printed, it is a table.

        Raises:
            WorkloadError: If the question cannot be read; the message says what was expected where.
            SettingsError: If the level makes no sense, or the method cannot answer it.

        """
        from dprap.release.statistics_answers import answer

        question, by = question_text(question), names_of("by", by)
        population = as_truth(population, "population")
        return answer(self._release, question, by, level=level, population=population)

    def interval(
        self,
        marginal: Marginal | str | Sequence[str],
        *,
        level: float = 0.95,
        population: bool = False,
    ) -> list[Interval]:
        """The interval of every cell of a marginal, in counts, in the order of `answer`.

        Args:
            marginal: The marginal, or its columns.
            level: The probability that an interval holds the truth, between 0.5 and 0.99.
            population: Whether the statement is about a population of which the records are a
                sample.

        Returns:
            One interval for each cell.

        Raises:
            WorkloadError: If it is not a marginal over single codes.
        """
        family = family_in(self.schema, marginal)
        if not isinstance(family, Marginal) or family.groups is not None:
            raise WorkloadError(
                f"{family} is no marginal over single codes, so there are no intervals of its"
                " cells. `release.shares` has its answers without intervals."
            )
        population = as_truth(population, "population")
        counts = self.shares(family)[0].astype(np.float64) * self.rows
        return count_intervals(
            self._release, family.columns, counts, level=level, population=population
        )

    def statistic_interval(
        self,
        statistic: Callable[[Release], float],
        *,
        columns: Sequence[str] | None = None,
        level: float = 0.95,
    ) -> Interval:
        """The interval of any number that can be computed from a release: a correlation, an index.

        The statistic is computed on this release and on releases whose rows are draws of what the
        measurements leave open. The first call makes the draws, which takes about as long as the
        run.

        Args:
            statistic: Computes the number from a release, by its `relaxed` rows or by `answer` and
                `ask`.
            columns: The columns it depends on, for the `basis` of the answer; all of them, unless
                given.
            level: The probability that the interval holds the truth, between 0.5 and 0.99.

        Returns:
            The interval; without ends where the statistic is not finite on some draw.

        Raises:
            SettingsError: If the level makes no sense, or the method has no rows.
        """
        return statistic_interval(self._release, statistic, columns=columns, level=level)

    def expected_stddev(self, marginal: Marginal | str | Sequence[str]) -> float:
        """The standard error of a cell, as a share of all records, from the noise alone.

        Args:
            marginal: The marginal, or its columns.

        Returns:
            That of what was measured, or of sums of it; else the certificate's bound, which is
            larger; else infinite.

        Raises:
            WorkloadError: If the marginal is not of the schema.
        """
        family = family_in(self.schema, marginal)
        if not isinstance(family, Marginal):
            raise WorkloadError(f"the noise of {family} is not known: it is of marginals.")
        return expected_stddev(self._release, family)
