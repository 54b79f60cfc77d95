"""The nouns of a draft: what is proposed for a column, and what the rest of the table tells about
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

MIN_COUNT = 20
"""A category that fewer records have is not written into a draft, nor a bound that fewer reach."""

LOOKED_AT = 3_000
"""Texts looked at to recognise a format; the whole column is checked against the draft
afterwards.
"""


@dataclass(frozen=True)
class Proposal:
    """Settings of a column, or None if it is left out, with the reason and what was taken from the
    data.
    """

    settings: dict[str, Any] | None
    reason: str
    from_data: tuple[str, ...] = ()
    question: str | None = None

    def having(self, more: dict[str, Any]) -> Proposal:
        """The proposal with more settings."""
        return replace(self, settings={**(self.settings or {}), **more})


@dataclass(frozen=True)
class Hints:
    """What the rest of the table tells about how a column is written."""

    decimal_comma: bool = False
    day_first: bool | None = None
    typed_texts: bool = False
    """The table has types, so that a column of texts must say that its numbers or dates are
    texts.
    """
