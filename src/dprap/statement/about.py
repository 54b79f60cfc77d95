"""What a release does not know about itself, and the steward does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dprap.documents import DocumentError, parse, read_text
from dprap.errors import SettingsError

CURATOR_TYPES = ("Government", "Industry", "Nonprofit")
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")


@dataclass(frozen=True)
class About:
    """Names and purpose of a release, as its steward states them; None is what nobody has stated.

    Args:
        title: What the data product is called.
        curator: Who publishes it.
        curator_type: Government, Industry or Nonprofit.
        intended_use: What it is meant for.
        region: Which region the data describe, or whose law applies.
        sector: Technology, Healthcare, Education, Government, Energy or Finance.
        author: Who fills in the papers.
        contact: Whom to ask.
        license: Under which terms the table may be used.
        url: Where it is published.

    """

    title: str | None = None
    curator: str | None = None
    curator_type: str | None = None
    intended_use: str | None = None
    region: str | None = None
    sector: str | None = None
    author: str | None = None
    contact: str | None = None
    license: str | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not isinstance(value, str):
                raise SettingsError(f"{each.name} must be text. Quote it.")
        for name, allowed in (("curator_type", CURATOR_TYPES), ("sector", SECTORS)):
            value = getattr(self, name)
            if value is not None and value not in allowed:
                raise SettingsError(f"{name} must be one of: {', '.join(allowed)}.")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> About:
        """Facts by name.

        Raises:
            SettingsError: If a name is unknown, or a value is not allowed.

        """
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                raise SettingsError(
                    f"there is no entry {str(name)!r:.40}. The entries are: {', '.join(known)}."
                )
        return cls(**given)

    @classmethod
    def load(cls, path: Path | str) -> About:
        """Facts from a YAML file."""
        try:
            given = parse(read_text(Path(path)), "yaml")
        except DocumentError as error:
            raise SettingsError(f"{path}: {error}.") from None
        if not isinstance(given, Mapping):
            raise SettingsError(f"{path}: must hold entries such as `title: …`, one a line.")
        return cls.of(given)

    @property
    def missing(self) -> list[str]:
        """The entries that a registry asks for and that nobody has stated."""
        required = ("title", "curator", "curator_type", "intended_use", "region", "author")
        return [name for name in required if getattr(self, name) is None]
