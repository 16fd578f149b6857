"""The plot of a study: errors in the loop, costs alone, and hardware, over the candidates."""

from __future__ import annotations

from typing import Any

from rbdhw.control.table import WORSE, excess

LEAST = 1e-9
"""What stands for smaller numbers on a logarithmic axis."""


def draw_study(figure: Any, results: dict[str, Any]) -> None:
    """Draw three panels with the candidates that could be built on a common axis."""
    exact, *others = [row for row in results["rows"] if "refused" not in row]
    names = [row["candidate"] for row in others]
    panels = figure.subplots(3, 1, sharex=True)
    loop, alone, hardware = panels
    for key, mark in (("median", "o-"), ("max", "s--")):
        loop.plot(names, [max(row[key], LEAST) for row in others], mark, label=f"{key} error in the loop")
        loop.axhline(exact[key], color="k", linestyle=":")
    loop.set_ylabel(results["unit"])
    alone.plot(names, [max(excess(row, exact), LEAST) for row in others], "o-", label="excess of the cost")
    alone.plot(names, [max(row["flagged"], LEAST) for row in others], "s--", label="share of flagged answers")
    for key in ("luts", "dsp_blocks"):
        built = [row for row in others if key in row]
        hardware.plot([row["candidate"] for row in built], [row[key] for row in built], "o-", label=key)
    for axes in panels:
        if axes.lines and any(len(line.get_ydata()) for line in axes.lines):
            axes.set_yscale("log")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    narrowest = results["narrowest"] or "none"
    figure.suptitle(
        f"{results['robot']}, {results['task']}; dots: double precision; the narrowest whose error is within "
        f"{WORSE:g} of it: {narrowest}",
        fontsize="medium",
    )
