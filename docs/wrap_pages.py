"""Break the prose of Markdown pages at 100 columns: python docs/wrap_pages.py PAGE...

Tables, code, headings and pictures stay as they are, and no code span is broken.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

WIDTH = 100
# Lines that are no prose: tables, headings, fences, HTML, pictures, directives, formulas.
_KEPT = re.compile(r"\s*(\||#|```|<|!\[|:::|!!!|---)|[\u2000-\u200a\u00a0]")
_MARKER = re.compile(r"(\s*)([-*]|\d+\.|:) +(?=\S)")
# A word that would begin a list or a heading if a line began with it.
_NOT_FIRST = re.compile(r"([-*+#>|=:]|\d+[.)])")
_WORDS = re.compile(r"(?:`[^`]*`|\S)+")


def wrapped(text: str) -> str:
    r"""The page with its paragraphs broken anew.

    >>> print(wrapped("- one `a b`\n  two\n\n| a | b |\n"))
    - one `a b` two
    <BLANKLINE>
    | a | b |
    <BLANKLINE>
    """
    found: list[str] = []
    block: list[str] = []
    is_code = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        kept = is_code or fence or not line.strip() or _KEPT.match(line) is not None
        indented = line.startswith("    ") and not block and _MARKER.match(line) is None
        if block and (kept or _MARKER.match(line)):
            found += _filled(block)
            block = []
        if kept or indented or line.endswith("  "):
            found += [*_filled(block), line]
            block = []
        else:
            block.append(line)
        is_code = is_code != fence
    return "\n".join([*found, *_filled(block)]) + "\n"


def _filled(block: list[str]) -> list[str]:
    """One paragraph or item of a list in lines that fit."""
    if (len(block) == 1 and len(block[0]) <= WIDTH) or not block:
        return block
    marker = _MARKER.match(block[0])
    if marker is not None:
        start, hang = marker.group(), " " * len(marker.group())
    else:
        start = hang = block[0][: len(block[0]) - len(block[0].lstrip())]
    words = _WORDS.findall(" ".join(block)[len(start) :])
    lines, line = [], start + words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) > WIDTH and not _NOT_FIRST.match(word):
            lines.append(line)
            line = hang + word
        else:
            line += " " + word
    return [*lines, line]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(wrapped(page.read_text(encoding="utf-8")), encoding="utf-8")
