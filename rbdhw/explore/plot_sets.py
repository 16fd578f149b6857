"""The plot of an exploration of several cores: hardware, latency and rate of each set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import fill
from typing import Any

from rbdhw.estimate.model import NAMES
from rbdhw.explore.plot import COUNTS, TITLE_WIDTH, draw_limits, finish_panels


def draw_sets(figure: Any, found: dict[str, Any]) -> None:
    """Draw four panels with a common axis of sets, whose cores stand in the title."""
    (share, count), (latency, rate) = figure.subplots(2, 2, sharex=True)
    functions = {function: function for function in found["functions"]}
    _draw_lines(share, found, NAMES, lambda row, name: 100.0 * row["shares"][name])
    draw_limits(share, found)
    _draw_lines(count, found, COUNTS, lambda row, name: float(row[name]))
    _draw_lines(latency, found, functions, lambda row, name: float(row["latency"][name]))
    _draw_lines(rate, found, functions, lambda row, name: row["tasks_per_second"][name] / 1e6)
    if any("mixes_per_second" in row for row in found["rows"]):
        mixes = {"mixes_per_second": "mixes"}
        _draw_lines(rate, found, mixes, lambda row, name: row[name] / 1e6, color="black")
    for axes in (share, count, latency, rate):
        axes.set_xticks(range(1, len(found["rows"]) + 1))
        if found["chosen"]["set"] is not None:
            label = f"chosen: set {found['chosen']['set']}"
            axes.axvline(found["chosen"]["set"], color="magenta", linewidth=3, alpha=0.4, label=label)
    finish_panels((share, count, latency, rate), found["target"])
    for axes in (latency, rate):
        axes.set_xlabel("set of cores")
    figure.suptitle(_title(found), fontsize="medium")


def _draw_lines(
    axes: Any,
    found: dict[str, Any],
    names: Mapping[str, str],
    value: Callable[[dict[str, Any], str], float],
    color: str | None = None,
) -> None:
    """Draw a line for each quantity."""
    sets = range(1, len(found["rows"]) + 1)
    for k, (name, label) in enumerate(names.items()):
        values = [value(row, name) for row in found["rows"]]
        axes.plot(sets, values, "o-", color=color or f"C{k}", markersize=4, label=label)


def _title(found: dict[str, Any]) -> str:
    """Return the title: robot and target, the cores of each set, and why ``generate`` takes none."""
    lines = [f"{found['robot']} on {found['target']}"]
    lines += [f"set {number}: {row['cores']}" for number, row in enumerate(found["rows"], 1)]
    if found["chosen"]["set"] is None:
        lines.append(f"none is chosen: {found['chosen']['why']}")
    return "\n".join(fill(line, TITLE_WIDTH, break_on_hyphens=False) for line in lines)
