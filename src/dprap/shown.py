"""Results that show themselves as lines of text, in a terminal and in a notebook."""

from __future__ import annotations

from html import escape


class ShownAsLines:
    """Shows what `lines` says."""

    def lines(self) -> list[str]:
        """The result as lines for people."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"
