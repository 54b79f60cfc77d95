"""What was spent on what, and how the fit meets the measurements, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dprap.array_types import Float
from dprap.report.budget_views import BudgetPart
from dprap.report.figure import figure
from dprap.report.html import Html, el


def budget_bar(parts: Sequence[BudgetPart], *, private: bool) -> Html:
    """The budget as one bar, cut by kind of step."""
    width, height = 720.0, 34.0
    total = sum(part.rho for part in parts) or 1.0
    shapes, x = [], 0.0
    for position, part in enumerate(parts):
        wide = part.rho / total * width
        shapes.append(
            el(
                "g",
                el("title", f"{part.name}: {part.rho / total:.1%}"),
                el(
                    "rect",
                    x=x,
                    y=12,
                    width=max(wide - 1.5, 0.5),
                    height=20,
                    rx=2,
                    class_=f"part part-{position % 6}",
                ),
            )
        )
        x += wide
    text = "; ".join(f"{part.name} {part.rho / total:.1%}" for part in parts)
    return figure("budget", "Privacy budget by step", text, width, height, shapes, private=private)


def residual_plot(residuals: Float[np.ndarray, " cells"], *, private: bool) -> Html:
    """Histogram of (synthetic − measured) / σ beside the normal density that pure noise would
    give.
    """
    width, height, base, left = 440.0, 170.0, 146.0, 12.0
    edges = np.linspace(-4, 4, 33)
    counts, _ = np.histogram(np.clip(residuals, -3.999, 3.999), edges)
    density = counts / max(counts.sum(), 1) / (edges[1] - edges[0])
    normal = np.exp(-(edges**2) / 2) / math.sqrt(2 * math.pi)
    top = max(float(density.max()), float(normal.max())) * 1.05
    scale_x, scale_y = (width - 2 * left) / 8, (base - 14) / top
    shapes = [
        el(
            "rect",
            x=left + (edges[at] + 4) * scale_x,
            y=base - value * scale_y,
            width=scale_x / 4 - 0.8,
            height=value * scale_y,
            class_="bar",
        )
        for at, value in enumerate(density)
    ]
    points = " ".join(
        f"{left + (x + 4) * scale_x:.1f},{base - y * scale_y:.1f}"
        for x, y in zip(edges, normal, strict=True)
    )
    shapes.append(el("polyline", points=points, class_="curve"))
    shapes.append(el("line", x1=left, x2=width - left, y1=base, y2=base, class_="axis"))
    for tick in range(-4, 5, 2):
        label = {-4: "≤ −4σ", 4: "≥ 4σ"}.get(tick, f"{tick}σ".replace("-", "−"))
        anchor = {-4: "start", 4: "end"}.get(tick, "middle")
        shapes.append(
            el(
                "text",
                label,
                x=left + (tick + 4) * scale_x,
                y=base + 14,
                class_="tick",
                text_anchor=anchor,
            )
        )
    spread = float(np.sqrt(np.mean(residuals**2))) if residuals.size else 0.0
    text = (
        f"{residuals.size:,} measured cells; the root mean square distance is {spread:.2f} standard"
        " deviations of the noise."
    )
    return figure(
        "residuals",
        "Distance of what is published from the noisy measurements",
        text,
        width,
        height,
        shapes,
        private=private,
        largest=560,
    )
