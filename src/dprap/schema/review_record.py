"""What a schema keeps of how it came about: notes on a draft for its reviewer, and who vouches for what after.

Notes may speak of the data, so they exist in drafts alone. A vouch is public: it goes with the schema into the release.
"""

from __future__ import annotations

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
    """A person's word that what was taken from the data is public knowledge. Published with the release.

    >>> Vouch(by="A. Lee", because="code book 2019, page 4", settings=("min", "max"), on="2026-01-31").sentence("age")
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
        of = f"{', '.join(self.settings)} of {name!r} are" if self.settings else f"the entry of {name!r} is"
        return f"{self.by} vouches that {of} public: {self.because} ({self.on.isoformat()})"
