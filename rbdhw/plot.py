"""The plot of an exploration: hardware, latency and rate against the initiation interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rbdhw.errors import InputError

FORMATS = ("png", "svg")

BLOCKS = {"multipliers": "multipliers", "dsp_blocks": "DSP blocks"}
LOGIC = {"luts": "LUTs, estimated", "flip_flops": "flip-flops, estimated"}

STYLES = ("o-", "s--")
"""Marks and lines of each core."""


def check_plotting() -> None:
    """Refuse to plot without a library for it, before the work that comes first.

    Raises
    ------
    InputError
        Where matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise InputError(
            "output: plots need matplotlib, which is not installed; expected pip install 'rbdhw[plot]'"
        )


def plot(found: dict[str, Any], folder: Path) -> list[Path]:
    """Draw what :func:`rbdhw.explore.explore` found: the same bytes for the same figures.

    Returns
    -------
    list
        The files written: ``explore.png`` and ``explore.svg``.

    Raises
    ------
    InputError
        Where matplotlib is not installed, or the folder cannot be written.
    """
    check_plotting()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    paths = [folder / f"explore.{name}" for name in FORMATS]
    with mpl.rc_context({"svg.hashsalt": "rbdhw", "svg.fonttype": "path"}):
        figure = Figure(figsize=(10.0, 7.5), layout="constrained")
        _draw(figure, found)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in paths:
                figure.savefig(path, dpi=120, metadata=_metadata(path.suffix))
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be written ({error.strerror}); expected a folder that can be"
            ) from error
    return paths


def _metadata(suffix: str) -> dict[str, str | None]:
    """Nothing that differs from run to run."""
    return {"Date": None} if suffix == ".svg" else {"Software": None}


def _draw(figure: Any, found: dict[str, Any]) -> None:
    """Four panels that share their axis of intervals; the first core's lines are solid, another's dashed."""
    (blocks, luts), (latency, rate) = figure.subplots(2, 2, sharex=True)
    intervals = sorted({row["ii"] for row in found["rows"]})
    cores = list(dict.fromkeys(row["core"] for row in found["rows"]))

    def lines(axes: Any, names: Mapping[str, str], value: Callable[[dict[str, Any], str], float]) -> None:
        for core, style in zip(cores, STYLES, strict=False):
            rows = [row for row in found["rows"] if row["core"] == core]
            for k, (name, label) in enumerate(names.items()):
                told = label if core == cores[0] else f"{label}, {core}"
                values = [value(row, name) for row in rows]
                axes.plot([row["ii"] for row in rows], values, style, color=f"C{k}", label=told)

    lines(blocks, BLOCKS, lambda row, name: float(row[name]))
    lines(luts, LOGIC, lambda row, name: float(row[name]))
    functions = {function: function for function in found["functions"]}
    lines(latency, functions, lambda row, function: float(row["latency"][function]))
    rates = [max(row["tasks_per_second"] for row in found["rows"] if row["ii"] == ii) for ii in intervals]
    rate.plot(intervals, [own / 1e6 for own in rates], "o-", color="black", label="accelerator")
    for k, (function, own) in enumerate(found["link"].items()):
        rate.axhline(own["tasks_per_second"] / 1e6, linestyle="--", color=f"C{k}", label=f"link, {function}")
    titles = ("multipliers and DSP blocks", "logic", "latency (cycles)", "rate (million tasks a second)")
    for axes, title in zip((blocks, luts, latency, rate), titles, strict=True):
        axes.set_title(title)
        axes.set_xscale("log", base=2)
        axes.set_xticks(intervals, [str(ii) for ii in intervals])
        axes.minorticks_off()
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    for axes in (blocks, rate):
        axes.set_yscale("log")
    for axes in (luts, latency):
        axes.set_ylim(bottom=0)
    for axes in (latency, rate):
        axes.set_xlabel("initiation interval II (cycles between tasks)")
    figure.suptitle(f"{found['robot']} on {found['target']} at {found['clock_mhz']:g} MHz")
