"""The plot of an exploration: hardware, latency and rate of each initiation interval, or set of cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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

Results = dict[str, Any]

Draw = Callable[[Any, Results], None]
"""Draws the results of an exploration on a figure."""

Value = Callable[[dict[str, Any], str], float]
"""Returns a quantity of a row of the results."""

MARKS = dict(zip(KINDS, ("o-", "s--", "^-.", "d:", "v-", "p--"), strict=False))
"""The marker and line style of each kind of core."""


def check_plotting(folder: Path) -> None:
    """Refuse, before a long exploration, a folder that :func:`plot` cannot write, or a missing matplotlib."""
    check_installed("matplotlib")
    check_folder(folder, "to plot to")


def plot(results: Results, folder: Path, draw: Draw, stem: str = "explore") -> list[Path]:
    """Plot results to ``STEM.png`` and ``STEM.svg``; return these files.

    Equal results give identical files.
    """
    check_plotting(folder)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    paths = [folder / f"{stem}.{name}" for name in FORMATS]
    with mpl.rc_context({"svg.hashsalt": "rbdhw", "svg.fonttype": "path"}):
        figure = Figure(figsize=(13.0, 8.0), layout="constrained")
        draw(figure, results)
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


def draw_intervals(figure: Any, results: Results) -> None:
    """Draw four panels with a common axis of intervals; the legend beside each names its lines and cores."""
    chosen = results["chosen"] or {"ii": None}
    intervals = sorted({row["ii"] for row in results["rows"]} - ({chosen["ii"]} - set(INTERVALS)))
    panels = figure.subplots(2, 2, sharex=True).flatten()
    for core in dict.fromkeys(row["core"] for row in results["rows"]):
        rows = {row["ii"]: row for row in results["rows"] if row["core"] == core}
        _draw_hardware(panels, rows, results["functions"], MARKS[core], f", {core}")
    _draw_limits(panels[0], results)
    _draw_rates(panels[-1], results)
    for axes in panels:
        axes.set_xscale("log", base=2)
        axes.set_xticks(intervals, [str(ii) for ii in intervals])
        axes.xaxis.minorticks_off()
        if chosen["ii"] is not None:
            _mark_chosen(axes, chosen["ii"], _chosen_text(chosen))
    _finish(figure, panels, results, "initiation interval II (cycles between tasks)", _title(results))


def draw_sets(figure: Any, results: Results) -> None:
    """Draw four panels with a common axis of sets, whose cores stand in the title."""
    panels, functions = figure.subplots(2, 2, sharex=True).flatten(), results["functions"]
    rows, chosen = dict(enumerate(results["rows"], 1)), results["chosen"]["set"]
    _draw_hardware(panels, rows, functions, "o-")
    _draw_limits(panels[0], results)
    _draw_lines(
        panels[-1], rows, _same(functions), lambda row, name: row["tasks_per_second"][name] / 1e6, "o-"
    )
    if any("mixes_per_second" in row for row in results["rows"]):
        rates = [row["mixes_per_second"] / 1e6 for row in rows.values()]
        panels[-1].plot(list(rows), rates, "o-", color="black", markersize=4, label="mixes")
    for axes in panels:
        axes.set_xticks(list(rows))
        if chosen is not None:
            _mark_chosen(axes, chosen, f"chosen: set {chosen}")
    _finish(figure, panels, results, "set of cores", _title_of_sets(results))


def _finish(figure: Any, panels: Sequence[Any], results: Results, axis: str, title: str) -> None:
    """Add titles, grids, legends and scales to the panels of shares, counts, latencies and rates."""
    from matplotlib.ticker import LogLocator

    titles = (
        f"share of {results['target']} (by estimate)",
        "hardware (count, by estimate)",
        "latency (cycles)",
        "rate (tasks a second)",
    )
    share, count, latency, rate = panels
    for axes, heading in zip(panels, titles, strict=True):
        axes.set_title(heading)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    for axes, unit in ((share, "%"), (count, ""), (rate, " M")):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _, unit=unit: f"{value:,.10g}{unit}")
    latency.set_ylim(bottom=0)
    for axes in (latency, rate):
        axes.set_xlabel(axis)
    figure.suptitle(title, fontsize="medium")


def _title(results: Results) -> str:
    """Return the title: robot and target, then the interval that ``generate`` takes, or why it takes none."""
    title = f"{results['robot']} on {results['target']} at {results['clock_mhz']:g} MHz"
    chosen = results["chosen"]
    if chosen is None:
        return title
    if chosen["ii"] is None:
        why = f"no II can be chosen: {chosen['why']}"
        return f"{title}\n{fill(why, TITLE_WIDTH, break_on_hyphens=False)}"
    return f"{title}\n{_chosen_text(chosen)}: {chosen['why']}"


def _chosen_text(chosen: dict[str, Any]) -> str:
    return f"chosen: II {chosen['ii']}, {chosen['core']}"


def _title_of_sets(results: Results) -> str:
    """Return the title: robot and target, the cores of each set, and why ``generate`` takes none."""
    lines = [f"{results['robot']} on {results['target']}"]
    lines += [f"set {number}: {row['cores']}" for number, row in enumerate(results["rows"], 1)]
    if results["chosen"]["set"] is None:
        lines.append(f"none is chosen: {results['chosen']['why']}")
    return "\n".join(fill(line, TITLE_WIDTH, break_on_hyphens=False) for line in lines)


def _same(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}


def _draw_hardware(
    panels: Sequence[Any], rows: Mapping[int, Any], functions: list[str], mark: str, suffix: str = ""
) -> None:
    """Draw shares, counts and latencies of rows, by their positions on the common axis."""
    share, count, latency, _ = panels
    _draw_lines(share, rows, NAMES, lambda row, name: 100.0 * row["shares"][name], mark, suffix)
    _draw_lines(count, rows, COUNTS, lambda row, name: float(row[name]), mark, suffix)
    _draw_lines(latency, rows, _same(functions), lambda row, name: float(row["latency"][name]), mark, suffix)


def _draw_lines(
    axes: Any, rows: Mapping[int, Any], names: Mapping[str, str], value: Value, mark: str, suffix: str = ""
) -> None:
    """Draw a line for each quantity, which determines the colour."""
    for k, (name, label) in enumerate(names.items()):
        values = [value(row, name) for row in rows.values()]
        axes.plot(list(rows), values, mark, color=f"C{k}", markersize=4, label=f"{label}{suffix}")


def _draw_limits(axes: Any, results: Results) -> None:
    """Draw the whole device and the share of it that the accelerator may use."""
    axes.axhline(100.0, color="black", linestyle="-", label=f"all of {results['target']}")
    if (share := results["fit"]) is not None:
        axes.axhline(100.0 * share, color="black", linestyle=":", label=f"--fit {share:.0%}")


def _draw_rates(axes: Any, results: Results) -> None:
    """Draw the rate of the accelerator, which is the same for both cores, and the rates of the link."""
    rates = {row["ii"]: row["tasks_per_second"] / 1e6 for row in results["rows"]}
    axes.plot(
        list(rates), list(rates.values()), "o-", color="black", markersize=4, label="accelerator, each core"
    )
    carried: dict[int, list[str]] = {}
    for function, entry in results["link"].items():
        carried.setdefault(entry["tasks_per_second"], []).append(function)
    for k, (tasks, functions) in enumerate(carried.items()):
        label = f"link, {', '.join(functions)}"
        axes.axhline(tasks / 1e6, linestyle="--", color=f"C{k}", label=label)


def _mark_chosen(axes: Any, position: int, label: str) -> None:
    axes.axvline(position, color="magenta", linewidth=3, alpha=0.4, label=label)
