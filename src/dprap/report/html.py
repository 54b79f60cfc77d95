"""HTML and SVG elements as text that is escaped unless it was made here: what a schema says can
never become markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import TypeAlias


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child: TypeAlias = str | Iterable[str] | None
_VOID = frozenset({"meta", "br", "hr", "wbr"})
_SHAPES = frozenset({"rect", "line", "path", "circle", "polyline"})


def el(name: str, /, *children: Child, **attributes: str | float | None) -> Html:
    """An element.

    Strings are escaped, `Html` is not; `class_` is written class and `aria_label` aria-label.

    >>> el("p", "1 < 2 & ", el("b", "so on"), class_="x")
    '<p class="x">1 &lt; 2 &amp; <b>so on</b></p>'
    """
    written = "".join(
        f' {_attribute(key)}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    inner = join(children)
    if name in _SHAPES and not inner:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{inner}</{name}>")


def join(children: Iterable[Child]) -> Html:
    """Children one after the other."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(escape(child, quote=False))
        else:
            parts.append(join(child))
    return Html("".join(parts))


def breakable(name: str) -> Html:
    """A name that may be broken behind its underscores and between the columns of a marginal, and
    nowhere else while that does.

    >>> breakable("income_before_<tax>×sex")
    'income_<wbr>before_<wbr>&lt;tax&gt;×<wbr>sex'
    """
    parts = re.split("(?<=[_×])", name)
    return join([parts[0], *(join([el("wbr"), part]) for part in parts[1:])])


# A table of more lines scrolls in a window of its own on a screen; on paper none does.
_LONG = 40


def table(
    header: Iterable[Child], rows: Iterable[Iterable[Child]], *, caption: str, numbers_from: int = 1
) -> Html:
    """A table whose columns from `numbers_from` on hold numbers; it has no header line where all
    names are empty.
    """
    names = list(header)
    titles = (
        el("th", name, scope="col", class_=_number(at, numbers_from))
        for at, name in enumerate(names)
    )
    head = el("thead", el("tr", *titles)) if any(names) else None
    body = [
        el(
            "tr",
            *(
                (
                    el("th", cell, scope="row")
                    if at == 0
                    else el("td", cell, class_=_number(at, numbers_from))
                )
                for at, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    inner = el("table", el("caption", el("span", caption)), head, el("tbody", body))
    kind = "scroll long" if len(body) > _LONG else "scroll"
    return el("div", inner, class_=kind, tabindex="0", role="region", aria_label=caption)


def _number(at: int, numbers_from: int) -> str | None:
    return "number" if at >= numbers_from else None


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.6g}"
