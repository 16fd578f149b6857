"""The figures of a report: steps in time, use of multipliers, errors, and the link."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from rbdhw.design.error_entries import ResultErrors
from rbdhw.fixed.figures import BINS_A_DECADE
from rbdhw.page.svg import INK, MARK, RULE, colour_of, svg

WIDE, NARROW = 440.0, 300.0
"""The widths of figures in pixels: a telephone's, and two in three of it."""

BAR, LEAST_BAR, MOST_BARS = 7.0, 2.0, 400.0
"""The height in pixels of a step's bar, at least, and the height of all bars of a figure."""

LABEL, GAP = 13.0, 5.0
"""The least height of the bars that share a label, and the distance between them, in pixels."""

MOST_STARTS = 48
"""The most starts of later tasks that are marked in a figure."""

Span = tuple[int, int]


def group_of(step: str) -> tuple[str, int]:
    """Return the name of a step without its joint, link or stage, and the number of that; -1 without one."""
    name, _, number = step.rpartition("_")
    return (name, int(number)) if name and number.isdecimal() else (step, -1)


def grouped(steps: Mapping[str, Span]) -> dict[str, list[Span]]:
    """Return the steps of each name in the order of joints, the names in the order of their first cycles."""
    numbered: dict[str, list[tuple[int, Span]]] = {}
    for step, span in sorted(steps.items(), key=lambda item: item[1]):
        name, number = group_of(step)
        numbered.setdefault(name, []).append((number, span))
    return {name: [span for _, span in sorted(spans)] for name, spans in numbered.items()}


def timeline(function: str, steps: Mapping[str, Span], ii: int, colours: Mapping[str, int]) -> Markup:
    """Draw the steps of a task over its cycles: a bar for each step and joint, outermost joint lowest.

    ``ii`` is the interval, at whose multiples later tasks start. ``colours`` numbers the names of steps.
    """
    groups = grouped(steps)
    bar = max(LEAST_BAR, min(BAR, MOST_BARS / max(len(steps), 1)))
    heights = [max(LABEL, bar * len(spans)) for spans in groups.values()]
    tops = [sum(heights[:k]) + GAP * k for k in range(len(heights))]
    bottom = tops[-1] + heights[-1] + GAP
    end = 1 + max(last for _, last in steps.values())

    def draw(axes: Any) -> None:
        for (name, spans), top, height in zip(groups.items(), tops, heights, strict=True):
            thick = height / len(spans)
            axes.barh(
                [top + thick * k for k in range(len(spans))],
                [last - first + 1 for first, last in spans],
                height=0.8 * thick,
                left=[first for first, _ in spans],
                align="edge",
                color=colour_of(colours[name]),
            )
        if ii > 1 and end / ii <= MOST_STARTS:
            for start in range(0, end + 1, ii):
                axes.axvline(start, color=RULE, linewidth=0.6, zorder=0)
        centres = [top + height / 2 for top, height in zip(tops, heights, strict=True)]
        axes.set_yticks(centres, [name.replace("_", " ") for name in groups])
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", integer=True)
        axes.spines["left"].set_visible(False)
        axes.set(xlim=(0, end), ylim=(bottom, -GAP), xlabel="cycle of a task in the core")

    title = f"Steps of {function} by cycle, from 0 to {end - 1}"
    return svg(f"time-{function}", title, (WIDE, bottom + 58), draw)


def slots(part: int, used: Sequence[int], multipliers: int) -> Markup:
    """Draw the multipliers in use in each slot of an interval, below the line of all of them."""

    def draw(axes: Any) -> None:
        axes.bar(range(len(used)), used, width=0.85, color=colour_of(0))
        axes.axhline(multipliers, color=MARK, linewidth=1.2)
        axes.set(xlim=(-0.6, len(used) - 0.4), ylim=(0, 1.12 * max(multipliers, 1)), xlabel="slot")
        axes.locator_params(axis="x", integer=True)
        axes.locator_params(axis="y", integer=True, nbins=5)

    return svg(f"slots-{part}", "Multipliers in use by slot", (WIDE, 190.0), draw)


def histogram(result: str, errors: ResultErrors, limits: tuple[float, float]) -> Markup | None:
    """Draw the tasks by error, on a logarithmic axis with these limits, and the limit of ``simulate``.

    None if the manifest counts no error, or if none is as large as the least that has a bin.
    """
    if errors.histogram is None or not errors.histogram.counts:
        return None
    first, counts = errors.histogram.lowest, errors.histogram.counts
    edges = [10.0 ** ((first + k) / BINS_A_DECADE) for k in range(len(counts) + 1)]

    def draw(axes: Any) -> None:
        widths = [right - left for left, right in pairwise(edges)]
        axes.bar(edges[:-1], counts, width=widths, align="edge", color=colour_of(0), linewidth=0)
        axes.axvline(errors.limit, color=MARK, linewidth=1.2)
        axes.set_xscale("log")
        _mark_decades(axes.xaxis, numticks=5)
        axes.set(xlim=limits, xlabel="relative error")
        axes.locator_params(axis="y", integer=True, nbins=4)

    return svg(f"errors-{result.replace('.', '-')}", f"Tasks by the error of {result}", (NARROW, 170.0), draw)


def study_figure(study: Mapping[str, Any]) -> Markup:
    """Draw the median and the largest error in the loop of each candidate, and those in double precision."""
    exact, *others = [row for row in study["rows"] if "refused" not in row]

    def draw(axes: Any) -> None:
        names = [row["candidate"] for row in others]
        for k, key in enumerate(("median", "max")):
            axes.plot(names, [row[key] for row in others], "o-", color=colour_of(k), label=f"{key} error")
            axes.axhline(exact[key], color=MARK, linewidth=1.2)
        axes.set(yscale="log", ylabel=study["unit"])
        axes.legend()

    return svg("study", "Errors in the loop by candidate", (2.0 * NARROW, 220.0), draw)


def error_limits(errors: Sequence[ResultErrors]) -> tuple[float, float]:
    """Return the ends of the axis of errors that all histograms share."""
    drawn = [
        result.histogram for result in errors if result.histogram is not None and result.histogram.counts
    ]
    lowest = min((bars.lowest for bars in drawn), default=0)
    highest = max((bars.lowest + len(bars.counts) for bars in drawn), default=0)
    largest = max((result.limit for result in errors), default=1.0)
    return 10.0 ** (lowest / BINS_A_DECADE), max(10.0 ** (highest / BINS_A_DECADE), 1.5 * largest)


@dataclass(frozen=True)
class Roof:
    """What a function asks of the link: the bytes of a task in the longer direction, and the most tasks.

    ``rate`` is the most tasks a second at the design's interval; ``bandwidth`` are the GB/s each way that
    they take.
    """

    function: str
    octets: int
    rate: float

    @property
    def bandwidth(self) -> float:
        """GB/s each way at the most tasks a second."""
        return self.rate * self.octets / 1e9


def roofline(roofs: Sequence[Roof], streams: float, bandwidth: float | None) -> Markup:
    """Draw tasks a second over the bandwidth of a link, with the bandwidths of streams and of the build."""
    most = max(streams, *(roof.bandwidth for roof in roofs), bandwidth or 0.0)
    least = min(roof.bandwidth for roof in roofs) / 30.0
    left, right = (
        10.0 ** round_(math.log10(x)) for round_, x in ((math.floor, least), (math.ceil, 2 * most))
    )

    def draw(axes: Any) -> None:
        for k, roof in enumerate(roofs):
            rates = [left * 1e9 / roof.octets, roof.rate, roof.rate]
            colour, dashes = colour_of(k), ("-", "--")[k // 6 % 2]
            axes.plot([left, roof.bandwidth, right], rates, dashes, color=colour, label=roof.function)
            axes.plot([roof.bandwidth], [roof.rate], "o", color=colour, markersize=5)
        axes.axvline(streams, color=INK, linewidth=0.9, linestyle=":", label="streams")
        if bandwidth is not None:
            axes.axvline(bandwidth, color=MARK, linewidth=1.2, label="--bandwidth")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(visible=True)
        _mark_decades(axes.xaxis)
        _mark_decades(axes.yaxis)
        axes.set(xlim=(left, right), xlabel="GB/s each way", ylabel="tasks a second")
        axes.legend(loc="upper left", ncols=1 + len(roofs) // 5, fontsize=10, handlelength=1.4)

    return svg("link", "Tasks a second by the bandwidth of the link", (WIDE, 330.0), draw)


def _mark_decades(axis: Any, numticks: int | None = None) -> None:
    """Mark powers of ten on a logarithmic axis, in plain figures."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(numticks=numticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(
        lambda value, _: f"{value:g}" if 1e-3 < value < 1e4 else f"1e{math.log10(value):.0f}"
    )
