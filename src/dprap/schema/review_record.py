"""What a schema keeps of how it came about: notes on a draft for its reviewer, and who vouches for
what after.

Notes may speak of the data, so they exist in drafts alone. A vouch is public: it goes with the
schema into the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated

from pydantic import Field, StrictStr, field_validator

from dprap.schema.columns.base import Part, require_texts

_Text = Annotated[StrictStr, Field(max_length=2000)]


class DraftNote(Part):
    """Why a column was drafted as it is, or left out. Private, for the reviewer's eyes alone.

    Args:
        from_data: The settings that were taken from the data.
        reason: What was seen.
        question: What only a person can know.

    """

    reason: StrictStr
    from_data: tuple[StrictStr, ...] = ()
    question: StrictStr | None = None


class Vouch(Part):
    """A person's word that what was taken from the data is public knowledge.

    Published with the release.

    >>> Vouch(
    ...     by="A. Lee", because="code book 2019, page 4", settings=("min", "max"), on="2026-01-31"
    ... ).sentence("age")
    "A. Lee vouches that min, max of 'age' are public: code book 2019, page 4 (2026-01-31)"
    """

    by: _Text
    because: _Text
    on: date
    settings: tuple[StrictStr, ...] = ()

    @field_validator("by", "because")
    @classmethod
    def _says_something(cls, text: str) -> str:
        require_texts((text,))
        if not text.strip():
            raise ValueError("is empty. Say who vouches, and why it is public")
        return text.strip()

    def sentence(self, name: str) -> str:
        """The word in one sentence, for statements and reports."""
        verb = "are" if self.settings else "is"
        return self.said_of(f"{self.about(name)} {verb}")

    def about(self, name: str) -> str:
        """What of a column is vouched for."""
        return (
            f"{', '.join(self.settings)} of {name!r}" if self.settings else f"the entry of {name!r}"
        )

    def said_of(self, about: str) -> str:
        """The word about one or several columns."""
        return f"{self.by} vouches that {about} public: {self.because} ({self.on.isoformat()})"


def vouched_sentences(vouched: Mapping[str, Vouch]) -> list[str]:
    """The words of all columns; what one person says of several columns for one reason is one
    sentence.

    >>> word = Vouch(by="A. Lee", because="the law", settings=("max",), on="2026-01-31")
    >>> vouched_sentences({"age": word, "hours": word})
    ["A. Lee vouches that max of 'age' and max of 'hours' are public: the law (2026-01-31)"]
    """
    together: dict[tuple[str, str, date], list[str]] = {}
    for name, vouch in vouched.items():
        together.setdefault((vouch.by, vouch.because, vouch.on), []).append(name)
    found = []
    for names in together.values():
        first = vouched[names[0]]
        if len(names) == 1:
            found.append(first.sentence(names[0]))
        else:
            *others, last = (vouched[name].about(name) for name in names)
            found.append(first.said_of(f"{', '.join(others)} and {last} are"))
    return found
