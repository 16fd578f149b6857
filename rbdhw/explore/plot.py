"""The plot of an exploration: hardware, latency and rate against the initiation interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

from rbdhw.errors import InputError
from rbdhw.estimate.model import NAMES
from rbdhw.explore.initiation_interval import INTERVALS
from rbdhw.runtime.extras import check_installed
from rbdhw.runtime.files import check_folder, replace_file

FORMATS = ("png", "svg")

TITLE_WIDTH = 120
"""Characters of a line of the title."""

COUNTS = NAMES | {"multipliers": "multipliers"}
"""What is counted of the hardware, and its name in the legends."""

MARKS = {"pipeline": "o-", "array": "s--"}
"""Marks and lines of each core."""


def check_plotting(folder: Path) -> None:
    """Refuse to plot without a library for it or a place for it, before the work that comes first.

    Raises
    ------
    InputError
        Where matplotlib is not installed, or the folder cannot be written.
    """
    check_installed("matplotlib")
    check_folder(folder, "to plot to")


def plot(found: dict[str, Any], folder: Path) -> list[Path]:
    """Draw what :func:`rbdhw.explore.intervals.explore` found: the same bytes for the same figures.

    Returns
    -------
    list
        The files written: ``explore.png`` and ``explore.svg``.

    Raises
    ------
    InputError
        Where matplotlib is not installed, or the folder cannot be written.
    """
    check_plotting(folder)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    paths = [folder / f"explore.{name}" for name in FORMATS]
    with mpl.rc_context({"svg.hashsalt": "rbdhw", "svg.fonttype": "path"}):
        figure = Figure(figsize=(13.0, 8.0), layout="constrained")
        _draw(figure, found)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in paths:
                with replace_file(path) as made:
                    figure.savefig(made, dpi=120, metadata=_metadata(path.suffix))
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be written ({error.strerror}); expected a folder that can be"
            ) from error
    return paths


def _metadata(suffix: str) -> dict[str, str | None]:
    """Nothing that differs from run to run."""
    return {"Date": None} if suffix == ".svg" else {"Software": None}


def _draw(figure: Any, found: dict[str, Any]) -> None:
    """Four panels with one axis of intervals. The legend beside each names every line and its core."""
    from matplotlib.ticker import LogLocator

    (share, count), (latency, rate) = figure.subplots(2, 2, sharex=True)
    _draw_cores(share, found, NAMES, lambda row, name: 100.0 * row["shares"][name])
    _draw_limits(share, found)
    _draw_cores(count, found, COUNTS, lambda row, name: float(row[name]))
    functions = {function: function for function in found["functions"]}
    _draw_cores(latency, found, functions, lambda row, function: float(row["latency"][function]))
    _draw_rates(rate, found)
    titles = (
        f"share of {found['target']} (by estimate)",
        "hardware (count, by estimate)",
        "latency (cycles)",
        "rate (tasks a second)",
    )
    intervals = sorted({row["ii"] for row in found["rows"]} & {*INTERVALS})
    for axes, title in zip((share, count, latency, rate), titles, strict=True):
        axes.set_title(title)
        axes.set_xscale("log", base=2)
        axes.set_xticks(intervals, [str(ii) for ii in intervals])
        axes.xaxis.minorticks_off()
        axes.grid(visible=True, alpha=0.3)
        _draw_chosen(axes, found["chosen"])
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    for axes, unit in ((share, "%"), (count, ""), (rate, " M")):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _, unit=unit: f"{value:,.10g}{unit}")
    latency.set_ylim(bottom=0)
    for axes in (latency, rate):
        axes.set_xlabel("initiation interval II (cycles between tasks)")
    figure.suptitle(_title(found), fontsize="medium")


def _title(found: dict[str, Any]) -> str:
    """What is drawn, and below it the interval that ``generate`` takes, or why it takes none."""
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
    """A line for each quantity of each core; the quantity decides its colour, the core its style."""
    for core in dict.fromkeys(row["core"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["core"] == core]
        for k, (name, label) in enumerate(names.items()):
            values = [value(row, name) for row in rows]
            intervals = [row["ii"] for row in rows]
            axes.plot(intervals, values, MARKS[core], color=f"C{k}", markersize=4, label=f"{label}, {core}")


def _draw_limits(axes: Any, found: dict[str, Any]) -> None:
    """The whole device, and the share of it that the accelerator may take."""
    axes.axhline(100.0, color="black", linestyle="-", label=f"all of {found['target']}")
    if found["fit"] is not None:
        axes.axhline(100.0 * found["fit"], color="black", linestyle=":", label=f"--fit {found['fit']:.0%}")


def _draw_rates(axes: Any, found: dict[str, Any]) -> None:
    """The rate of the accelerator, which is that of both cores, and the rates that the link carries."""
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
    """The interval that ``generate`` takes."""
    if chosen is not None and chosen["ii"] is not None:
        axes.axvline(chosen["ii"], color="magenta", linewidth=3, alpha=0.4, label=_chosen_text(chosen))
