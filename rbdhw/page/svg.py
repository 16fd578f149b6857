"""Figures that Matplotlib draws, as SVG within a page: they take the page's fonts and its colours.

Matplotlib knows no colours of style sheets, so figures are drawn in stand-ins, which are then replaced. The
page defines the colours, for light and for dark screens.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from markupsafe import Markup

INK, RULE, MARK = "#010203", "#010204", "#010205"
"""Text and axes, grids, and what a figure points at."""

SERIES = tuple(f"#0102{16 + k:02x}" for k in range(6))
"""The colours of series, in order."""

_COLOURS = {INK: "ink", RULE: "rule", MARK: "mark"} | {
    colour: f"series-{k}" for k, colour in enumerate(SERIES)
}

_SETTINGS: dict[Any, Any] = {
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 11.0,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}

Draw = Callable[[Any], None]
"""Draws on the axes of a figure."""


def colour_of(k: int) -> str:
    """Return the colour of the series with this number; there are six."""
    return SERIES[k % len(SERIES)]


def svg(name: str, title: str, size: tuple[float, float], draw: Draw) -> Markup:
    """Return a figure as an element of HTML.

    Parameters
    ----------
    name
        The figure's name, which no other figure of the page has.
    title
        What it shows, for readers who do not see it.
    size
        Width and height in pixels of the style sheet, which the page scales down to narrow screens.
    draw
        Draws on the figure's axes.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = Figure(figsize=(size[0] / 72.0, size[1] / 72.0), layout="constrained")
        draw(figure.add_subplot())
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    label = Markup.escape(title)
    start = f'<svg role="img" aria-label="{label}" style="max-width: {size[0]:g}px" viewBox='
    return Markup(start + _inline(text.getvalue(), name))


def _inline(text: str, name: str) -> str:
    """Return SVG from the value of its view box on, in the page's colours and with unique names."""
    text = text.partition("viewBox=")[2]
    text = re.sub(r' xmlns(:\w+)?="[^"]*"| version="[^"]*"', "", text)
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*" */>', "", text)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text.replace("xlink:href", "href"))
    text = re.sub(r"(font: [\d.]+px) [^;\"]*|font-family: [^;\"]*", r"\1 var(--font)", text)
    for colour, variable in _COLOURS.items():
        text = text.replace(colour, f"var(--{variable})")
    return text
