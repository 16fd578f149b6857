"""The plot of an exploration: hardware, latency and rate against the initiation interval."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rbdhw.errors import InputError

FORMATS = ("png", "svg")

LABELS = {
    "multipliers": "multipliers",
    "dsp_blocks": "DSP blocks",
    "luts": "LUTs, estimated",
    "flip_flops": "flip-flops, estimated",
}


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
    """Four panels that share their axis of intervals."""
    (blocks, luts), (latency, rate) = figure.subplots(2, 2, sharex=True)
    intervals = [row["ii"] for row in found["rows"]]

    def lines(axes: Any, names: tuple[str, ...]) -> None:
        for name in names:
            axes.plot(intervals, [row[name] for row in found["rows"]], marker="o", label=LABELS[name])

    lines(blocks, ("multipliers", "dsp_blocks"))
    lines(luts, ("luts", "flip_flops"))
    for function in found["functions"]:
        cycles = [row["latency"][function] for row in found["rows"]]
        latency.plot(intervals, cycles, marker="o", label=function)
    rates = [row["tasks_per_second"] / 1e6 for row in found["rows"]]
    rate.plot(intervals, rates, marker="o", color="black", label="accelerator")
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
