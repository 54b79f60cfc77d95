"""What sources that read their records anew for each pass have in common: files, DuckDB and Spark.

Every record is checked and digested when such a source is opened. A later pass digests what it
reads once more, so that records that changed in between are noticed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from dprap.array_types import CodeColumn
from dprap.counting import CellCounts
from dprap.counting.passes import MEMORY_LIMIT, Pass, plan_passes
from dprap.domain import Domain
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.sources.digest import Digest
from dprap.sources.recoding import Recoding


@dataclass(frozen=True, kw_only=True)
class CheckedSource:
    """Records that were checked once, and are counted pass by pass."""

    schema: Schema
    """The schema that the records are read with."""
    digest: Digest
    """Of the records as they were checked."""
    memory_limit: int = MEMORY_LIMIT
    counted: Mapping[Marginal, CellCounts] = field(default_factory=dict)
    """What was counted while the records were checked."""
    recoding: Recoding | None = None

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        return (self.schema if self.recoding is None else self.recoding.schema).domain

    @property
    def rows(self) -> int:
        """The exact number of records."""
        return self.digest.rows

    def fingerprint(self) -> str:
        """A digest of the records in any order: the same after files are copied, cut or merged."""
        return self.digest.fingerprint(self.schema.domain)

    def recoded(self, recoding: Recoding) -> Self:
        """The same records under a coarser schema; they are still checked by the codes that they
        were read with.
        """
        return replace(self, recoding=recoding, counted={})

    def recode(self, columns: tuple[CodeColumn, ...]) -> tuple[CodeColumn, ...]:
        """Codes of the domain, from those of the schema that the records are read with."""
        return columns if self.recoding is None else self.recoding(columns)

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of the marginals, in one pass over the records, or in several where their
        counters are too large.

        What was counted while the records were checked needs none.
        """
        counted = dict(self.counted)
        missing = [marginal for marginal in marginals if marginal not in counted]
        passes = list(
            plan_passes(self.domain, missing, rows=self.rows, memory_limit=self.memory_limit)
        )
        for position, plan in enumerate(passes):
            counted.update(self.count_pass(plan, position, len(passes)))
        return [counted[marginal] for marginal in marginals]

    def count_pass(self, plan: Pass, position: int, passes: int) -> Mapping[Marginal, CellCounts]:
        """Exact counts from one pass, the one at `position` of so many.

        Raises:
            DataError: If the records are not those that were checked.

        """
        raise NotImplementedError
