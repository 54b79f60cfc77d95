"""What a run publishes, as data, and the sentences that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, cast

from dprap.accounting.measurement import Certificate, Measurement, QueryMeasurement
from dprap.accounting.refined import RefinedColumn
from dprap.array_types import Answers
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.public_table import PublicFacts
from dprap.relaxed import RelaxedDataset
from dprap.release.certified import TableBound, accuracy
from dprap.release.intervals.basis import Grounds
from dprap.release.intervals.error_table import ErrorTable
from dprap.release.privacy_statement import PrivacyStatement
from dprap.schema import Schema
from dprap.schema.review_record import vouched_sentences
from dprap.workload import Workload

if TYPE_CHECKING:
    from dprap.release.release import Release


@dataclass(frozen=True)
class RunFacts:
    """How a release came about: public, and enough to make it again from the same ledger.

    `seconds` are those of the public side: time on the private side depends on the exact data.
    `peak_memory_mb` does too and is None; releases of earlier versions have it.
    """

    method: str
    settings: Mapping[str, Any]
    seed: int
    seconds: float
    peak_memory_mb: float | None
    version: str
    created: str


@dataclass(frozen=True, repr=False)
class Contents:
    """Everything a run publishes; `Release` adds what can be done with it.

    `rows` is the number of records of the private table where that is public, else a noisy number
    that was paid for. `public` describes the public table that the run started from, if there was
    one. `saved` is the table that was written with the release, `errors` how far answers may be
    off, `drawn` the default table if it was drawn already.
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

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.columns)

    def __repr__(self) -> str:
        kind = (
            "answers alone"
            if self.relaxed is None
            else f"a synthetic table of {self.table_rows:,} rows"
        )
        records = (
            f"{self.rows:,} records" if self.rows_are_public else f"about {self.rows:,} records"
        )
        lines = [
            f"Release of {records} in {len(self.schema.columns)} columns, by {self.facts.method}",
            f"  {self.privacy.promise()}",
            (
                f"  {kind}; {self.workload.queries:,} queries answered, {len(self.measurements):,}"
                " measurements"
            ),
            f"  {self.accuracy or 'no accuracy certificate'}",
            (
                '  .table()  .ask("…", by="…")  .answer("column")  .report()  .statement() '
                ' .save("folder")'
            ),
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
        """Who vouches for entries of the schema that were taken from the data; None where there are
        none.
        """
        if not self.schema.vouched:
            return None
        words = vouched_sentences(self.schema.vouched)
        return (
            "The guarantee takes the schema as public. Parts of it were taken from the data, and"
            " persons vouch for them: " + "; ".join(words) + "."
        )

    @property
    def accuracy(self) -> str | None:
        """What the certificate says and which answers it covers, in a sentence; None without a
        certificate.
        """
        return accuracy(self._release)

    @property
    def rows_are_public(self) -> bool:
        """Whether `rows` is the exact number of records."""
        return self.privacy.relation == "replace"

    @property
    def table_rows(self) -> int:
        """Rows of a table unless others are asked for: those of the certified table, else as many
        as `rows`.
        """
        certified = None if self.certificate is None else self.certificate.table_rows
        return self.rows if certified is None else certified

    @cached_property
    def grounds(self) -> Grounds:
        """What was measured and asked for, by which answers are measured, implied or modelled."""
        return Grounds.of(self.measurements, self.workload)

    def _relaxed_or_refuse(self) -> RelaxedDataset:
        if self.relaxed is None:
            raise SettingsError(
                f"method {self.facts.method} gives answers, not rows. Choose adaptive, rap or"
                " independent."
            )
        return self.relaxed

    @property
    def _release(self) -> Release:
        """The object under the name of its class, for functions that take a release."""
        return cast("Release", self)
