"""Objects that show themselves to people, in a terminal and in a notebook."""

from __future__ import annotations

from html import escape


class ShownInNotebooks:
    """Shows in a notebook what it shows in a terminal, in letters of one width."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


class ShownAsLines(ShownInNotebooks):
    """Shows what `lines` says."""

    def lines(self) -> list[str]:
        """The result as lines for people."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n".join(self.lines())


def aligned(header: list[str], body: list[list[str]], *, left: int) -> list[str]:
    """A table: the first `left` columns aligned to the left, numbers to the right."""
    rows = [header, *([*row, *[""] * (len(header) - len(row))] for row in body)]
    widths = [max(len(row[position]) for row in rows) for position in range(len(header))]
    return [
        "  ".join(
            text.ljust(width) if position < left else text.rjust(width)
            for position, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
