"""Templates, the texts they are filled with, and small pictures."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from dprap.version import __version__

LANGUAGE = "en"


@cache
def texts(language: str = LANGUAGE) -> dict[str, Any]:
    """Everything the pages say, by page and name: one file for each language."""
    file = resources.files("dprap.studio").joinpath("texts", f"{language}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def fill(text: str, **values: Any) -> str:
    """A text with its gaps filled; numbers are grouped."""
    return text.format(**values)


def compact(value: float | None) -> str:
    """A number in three figures."""
    if value is None:
        return "–"
    if value == 0 or 0.001 <= abs(value) < 10:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percent(share: float) -> str:
    """A share, never rounded to certainty."""
    if share >= 0.9995:
        return "> 99.9 %"
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.1f} %"


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def bins_picture(widths: Iterable[float], title: str) -> Markup:
    """Bins on a line, to scale."""
    shapes, at = [], 0.0
    for number, width in enumerate(widths):
        length = 600 * width
        shapes.append(
            f'<rect class="bin{number % 2}" x="{at:.2f}" y="0" width="{max(length - 0.8, 0.4):.2f}"'
            ' height="14" rx="1"/>'
        )
        at += length
    drawing = "".join(shapes)
    return Markup(  # noqa: S704 - numbers of ours, and an escaped title
        '<svg class="bins" viewBox="0 0 600 14" preserveAspectRatio="none" role="img"'
        f' aria-label="{escape(title)}">{drawing}</svg>'
    )


def bar_picture(share: float, low: float | None = None, high: float | None = None) -> Markup:
    """One bar, with the interval in which the truth lies where it is known."""
    length = 100 * min(max(share, 0.0), 1.0)
    whisker = ""
    if low is not None and high is not None:
        start, end = (100 * min(max(each, 0.0), 1.0) for each in (low, high))
        whisker = f'<line class="whisker" x1="{start:.2f}" x2="{end:.2f}" y1="5" y2="5"/>'
    return Markup(  # noqa: S704 - numbers of ours
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect x="0" y="1" width="{length:.2f}" height="8" rx="1"/>{whisker}</svg>'
    )


def marked(error: str | None, field: str, help_: object) -> Markup:
    """What tells a screen reader where the help and the error of a field are."""
    described = " ".join(
        f"{field}-{part}" for part, there in (("help", help_), ("error", error)) if there
    )
    invalid = ' aria-invalid="true"' if error else ""
    return Markup(invalid + f' aria-describedby="{escape(described)}"' if described else "")  # noqa: S704 - escaped


@cache
def environment() -> Environment:
    """The templates."""
    env = Environment(
        loader=PackageLoader("dprap.studio"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    env.globals.update(t=texts(), product_version=__version__, language=LANGUAGE)
    env.globals.update(marked=marked, bins_picture=bins_picture, bar_picture=bar_picture)
    env.filters.update(fill=fill, compact=compact, percent=percent, duration=duration)
    return env


def render(template: str, **values: Any) -> str:
    """A page or a part of one."""
    return environment().get_template(template).render(**values)
