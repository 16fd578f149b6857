"""The plot of a study: errors and plans in the loop, problems alone, and hardware, over the candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbdhw.control.table import WORSE, Row, excess

LEAST = 1e-9
"""What stands for smaller numbers on a logarithmic axis."""


def draw_study(figure: Any, results: Mapping[str, Any]) -> None:
    """Draw panels of what is known, with the candidates that could be built on a common axis."""
    exact, *others = [row for row in results["rows"] if "refused" not in row]
    loop, plans, alone, hardware = figure.subplots(2, 2, sharex=True).ravel()
    for key in ("median", "max"):
        label = ", ".join(filter(None, (f"{key} error in the loop", results["unit"])))
        _draw(loop, others, label, [row[key] for row in others])
        loop.axhline(exact[key], color="k", linestyle=":")
    if "failed" in exact:
        _draw(plans, others, "plans whose line search failed, %", [100.0 * row["failed"] for row in others])
    _draw(plans, others, "flagged answers, %", [100.0 * row["flagged"] for row in others])
    loop.set_yscale("log")
    drawn = [loop, plans]
    if "costs" in exact:
        _draw(alone, others, "excess of the cost, alone", [max(excess(row, exact), LEAST) for row in others])
        _draw(alone, others, "iterations, alone", [np.mean(row["iterations"]) for row in others])
        alone.set_yscale("log")
        drawn.append(alone)
    built = [row for row in others if "luts" in row]
    if built:
        hardware.set_yscale("log")
        for key in ("luts", "dsp_blocks"):
            _draw(hardware, built, key, [row[key] for row in built])
        _draw(hardware, built, "bytes of a task of each", [sum(row["bytes"].values()) for row in built])
        drawn.append(hardware)
    for axes in drawn:
        axes.grid(visible=True, alpha=0.3)
        axes.tick_params("x", labelrotation=90)
        axes.legend(fontsize="small")
    narrowest = results["narrowest"] or "none"
    figure.suptitle(
        f"{results['robot']}, {results['task']}; dots: double precision; the narrowest whose error is within "
        f"{WORSE:g} of it: {narrowest}",
        fontsize="medium",
    )


def _draw(axes: Any, rows: Sequence[Row], label: str, values: Sequence[float]) -> None:
    axes.plot([row["candidate"] for row in rows], values, "o-", label=label)
