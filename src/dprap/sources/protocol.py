"""What a count source offers to the private side: exact integer counts of marginals, nothing
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from dprap.array_types import CodeColumn
from dprap.counting import CellCounts
from dprap.domain import Domain
from dprap.queries.marginal import Marginal
from dprap.sources.recoding import Recoding

Expect: TypeAlias = Callable[[int | None], Sequence[Marginal]]
"""Which marginals will be asked for, given the number of records or, where nobody knows it yet,
None.

A source that must read every record to check it counts them in the same pass. A wrong guess costs
time and nothing else.
"""


def expect_nothing(records: int | None) -> Sequence[Marginal]:  # noqa: ARG001
    """Guess nothing."""
    return ()


class CountSource(Protocol):
    """A private table that can be counted. Only `dprap.privacy` may call it."""

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        ...

    @property
    def rows(self) -> int:
        """The exact number of records: public under replacement, private under addition and
        removal.
        """
        ...

    def fingerprint(self) -> str:
        """A digest that changes when the data change; it stays on the private side, in the
        ledger.
        """
        ...

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of the marginals, in their order."""
        ...

    def recoded(self, recoding: Recoding) -> CountSource:
        """The same records under a coarser schema."""
        ...


@runtime_checkable
class RowSource(CountSource, Protocol):
    """A source whose encoded records may enter this process, as custom queries need."""

    def blocks(self) -> Iterator[tuple[CodeColumn, ...]]:
        """The encoded records, block by block, one array a column."""
        ...
