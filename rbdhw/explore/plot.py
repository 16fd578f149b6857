"""The plot of an exploration: hardware, latency and rate against the initiation interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

from rbdhw.cores import KINDS
from rbdhw.errors import InputError
from rbdhw.estimate.model import NAMES
from rbdhw.explore.initiation_interval import INTERVALS
from rbdhw.runtime.extras import check_installed
from rbdhw.runtime.files import WRITABLE, check_folder, replace_file

FORMATS = ("png", "svg")

TITLE_WIDTH = 120
"""The most characters in a line of the title."""

COUNTS = NAMES | {"multipliers": "multipliers"}
"""The hardware that is counted, with its names in the legends."""

Draw = Callable[[Any, dict[str, Any]], None]
"""Draws the results of an exploration on a figure."""

MARKS = dict(zip(KINDS, ("o-", "s--", "^-.", "d:", "v-", "p--"), strict=False))
"""The marker and line style of each kind of core."""


def check_plotting(folder: Path) -> None:
    """Check, before a long exploration, that :func:`plot` will be able to write to a folder.

    Raises
    ------
    InputError
        If matplotlib is not installed or the folder cannot be written.
    """
    check_installed("matplotlib")
    check_folder(folder, "to plot to")


def plot(found: dict[str, Any], folder: Path, draw: Draw) -> list[Path]:
    """Plot the results of an exploration; equal results give identical files.

    Parameters
    ----------
    found
        The results, as ``draw`` takes them.
    draw
        Draws the results on a figure.

    Returns
    -------
    list
        The files written: ``explore.png`` and ``explore.svg``.

    Raises
    ------
    InputError
        If matplotlib is not installed or the folder cannot be written.
    """
    check_plotting(folder)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    paths = [folder / f"explore.{name}" for name in FORMATS]
    with mpl.rc_context({"svg.hashsalt": "rbdhw", "svg.fonttype": "path"}):
        figure = Figure(figsize=(13.0, 8.0), layout="constrained")
        draw(figure, found)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in paths:
                with replace_file(path) as made:
                    figure.savefig(made, dpi=120, metadata=_metadata(path.suffix))
        except OSError as error:
            raise InputError(str(folder), f"cannot be written ({error.strerror})", WRITABLE) from error
    return paths


def _metadata(suffix: str) -> dict[str, str | None]:
    """Return metadata without the entries that differ from run to run."""
    return {"Date": None} if suffix == ".svg" else {"Software": None}


def draw_intervals(figure: Any, found: dict[str, Any]) -> None:
    """Draw four panels with a common axis of intervals; the legend beside each names its lines and cores."""
    (share, count), (latency, rate) = figure.subplots(2, 2, sharex=True)
    _draw_cores(share, found, NAMES, lambda row, name: 100.0 * row["shares"][name])
    draw_limits(share, found)
    _draw_cores(count, found, COUNTS, lambda row, name: float(row[name]))
    functions = {function: function for function in found["functions"]}
    _draw_cores(latency, found, functions, lambda row, function: float(row["latency"][function]))
    _draw_rates(rate, found)
    chosen = (found["chosen"] or {}).get("ii")
    intervals = sorted({row["ii"] for row in found["rows"] if row["ii"] in INTERVALS or row["ii"] != chosen})
    for axes in (share, count, latency, rate):
        axes.set_xscale("log", base=2)
        axes.set_xticks(intervals, [str(ii) for ii in intervals])
        axes.xaxis.minorticks_off()
        _draw_chosen(axes, found["chosen"])
    finish_panels((share, count, latency, rate), found["target"])
    for axes in (latency, rate):
        axes.set_xlabel("initiation interval II (cycles between tasks)")
    figure.suptitle(_title(found), fontsize="medium")


def finish_panels(panels: tuple[Any, Any, Any, Any], target: str) -> None:
    """Add titles, grids, legends and vertical scales to the panels of shares, counts, latencies and rates."""
    from matplotlib.ticker import LogLocator

    titles = (
        f"share of {target} (by estimate)",
        "hardware (count, by estimate)",
        "latency (cycles)",
        "rate (tasks a second)",
    )
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    share, count, latency, rate = panels
    for axes, unit in ((share, "%"), (count, ""), (rate, " M")):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _, unit=unit: f"{value:,.10g}{unit}")
    latency.set_ylim(bottom=0)


def _title(found: dict[str, Any]) -> str:
    """Return the title: robot and target, then the interval that ``generate`` takes, or why it takes none."""
    title = f"{found['robot']} on {found['target']} at {found['clock_mhz']:g} MHz"
    chosen = found["chosen"]
    if chosen is None:
        return title
    if chosen["ii"] is None:
        why = f"no II can be chosen: {chosen['why']}"
        return f"{title}\n{fill(why, TITLE_WIDTH, break_on_hyphens=False)}"
    return f"{title}\n{_chosen_text(chosen)}: {chosen['why']}"


def _chosen_text(chosen: dict[str, Any]) -> str:
    return f"chosen: II {chosen['ii']}, {chosen['core']}"


def _draw_cores(
    axes: Any,
    found: dict[str, Any],
    names: Mapping[str, str],
    value: Callable[[dict[str, Any], str], float],
) -> None:
    """Draw a line for each quantity and core; the quantity determines the colour, the core the style."""
    for core in dict.fromkeys(row["core"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["core"] == core]
        for k, (name, label) in enumerate(names.items()):
            values = [value(row, name) for row in rows]
            intervals = [row["ii"] for row in rows]
            axes.plot(intervals, values, MARKS[core], color=f"C{k}", markersize=4, label=f"{label}, {core}")


def draw_limits(axes: Any, found: dict[str, Any]) -> None:
    """Draw the whole device and the share of it that the accelerator may use."""
    axes.axhline(100.0, color="black", linestyle="-", label=f"all of {found['target']}")
    if found["fit"] is not None:
        axes.axhline(100.0 * found["fit"], color="black", linestyle=":", label=f"--fit {found['fit']:.0%}")


def _draw_rates(axes: Any, found: dict[str, Any]) -> None:
    """Draw the rate of the accelerator, which is the same for both cores, and the rates of the link."""
    rates = {row["ii"]: row["tasks_per_second"] / 1e6 for row in found["rows"]}
    axes.plot(
        list(rates), list(rates.values()), "o-", color="black", markersize=4, label="accelerator, each core"
    )
    carried: dict[int, list[str]] = {}
    for function, own in found["link"].items():
        carried.setdefault(own["tasks_per_second"], []).append(function)
    for k, (tasks, functions) in enumerate(carried.items()):
        label = f"link, {', '.join(functions)}"
        axes.axhline(tasks / 1e6, linestyle="--", color=f"C{k}", label=label)


def _draw_chosen(axes: Any, chosen: dict[str, Any] | None) -> None:
    """Mark the interval that ``generate`` takes."""
    if chosen is not None and chosen["ii"] is not None:
        axes.axvline(chosen["ii"], color="magenta", linewidth=3, alpha=0.4, label=_chosen_text(chosen))
