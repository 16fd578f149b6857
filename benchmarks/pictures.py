"""The pictures of the documentation, drawn from the rows of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.rows import Rows, robot_label
from benchmarks.second_order import ERROR
from rbdhw.runtime.files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES = {"Pinocchio": "#9a9a9a", "C float": "#4c78a8", "accelerator": "#e4572e"}
"""The ways to compute a function, as the columns of the table name them, and their colours."""

LABELS = {
    "Pinocchio": "Pinocchio in C++, one core",
    "C float": "generated C, one core",
    "accelerator": "accelerator (VU9P, 125 MHz by estimate)",
}

STEP_COLOURS = ("#72b7b2", "#4c78a8", "#e4572e", "#54a24b", "#b279a2")
"""The colours of steps, one after the other."""

PANELS = {"latency (µs)": "one task (µs, less is better)", "(tasks/s)": "tasks a second (more is better)"}
"""The ends of the columns' names, and the titles of the panels."""


def draw_beside(rows: Rows, path: Path) -> None:
    """Draw latency and rate of each function: Pinocchio, the generated C, and the accelerator.

    Parameters
    ----------
    rows
        The rows of :func:`benchmarks.processors.accelerator_rows`. Equal rows give identical files.
    """
    with _drawn(path) as figure:
        for axes, (end, title) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
            for k, (series, colour) in enumerate(SERIES.items()):
                (column,) = (name for name in rows[0] if name.startswith(series) and name.endswith(end))
                places = [group + (k - 1) * 0.27 for group in range(len(rows))]
                axes.bar(places, [row[column] for row in rows], 0.27, color=colour, label=LABELS[series])
            axes.set_yscale("log")
            axes.set_xticks(range(len(rows)), [row["function"] for row in rows])
            axes.set_title(title, fontsize=9.5)
            axes.grid(axis="y", alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(SERIES), frameon=False)


def draw_steps(rows: Rows, path: Path) -> None:
    """Draw the errors of differences of inverse dynamics over their step, and those of its derivatives.

    Parameters
    ----------
    rows
        The rows of :func:`benchmarks.gradients.step_rows`. Equal rows give identical files.
    """
    shown = [row for row in rows if row["function"] == "id"]
    curves: dict[str, Curves] = {}
    for robot in dict.fromkeys(row["robot"] for row in shown):
        exact, *stepped = (row for row in shown if row["robot"] == robot)
        curves[robot_label({"robot": robot})] = [
            Curve(f"{kind}, {name}", colour, style, [(row["step"], row[name + end]) for row in stepped])
            for kind, end, style in (("forward", "", "o-"), ("central", ", central", "s:"))
            for name, colour in (("by position", "#4c78a8"), ("by velocity", "#e4572e"))
        ] + [Curve("analytical, by position", "#9a9a9a", "-", [(None, exact["by position"])])]
    _draw_errors(curves, path)


def draw_second_steps(rows: Rows, path: Path) -> None:
    """Draw the errors of second derivatives by differences over their step, and those by the graph.

    Parameters
    ----------
    rows
        The rows of :func:`benchmarks.second_order.second_steps`. Equal rows give identical files.
    """
    curves: dict[str, Curves] = {}
    for row in rows:
        panel = curves.setdefault(f"{row['function']}, {row['robot']}", [])
        if not panel or panel[-1].label != row["method"]:
            colour = ("#9a9a9a", "#4c78a8", "#e4572e")[len(panel)]
            panel.append(Curve(row["method"], colour, "o-", []))
        panel[-1].points.append((row["step"], row[ERROR]))
    _draw_errors(curves, path)


@dataclass(frozen=True)
class Curve:
    """Errors by the step; one without a step is a horizontal line."""

    label: str
    colour: str
    style: str
    points: list[tuple[float | None, float]]


Curves = list[Curve]


def _draw_errors(panels: Mapping[str, Curves], path: Path) -> None:
    """Draw the curves of each panel."""
    with _drawn(path) as figure:
        for axes, (title, curves) in zip(
            figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels.items(), strict=True
        ):
            for curve in curves:
                steps, errors = zip(*curve.points, strict=True)
                if steps == (None,):
                    axes.axhline(errors[0], color=curve.colour, label=curve.label)
                else:
                    axes.loglog(steps, errors, curve.style, color=curve.colour, ms=3, label=curve.label)
            axes.set_title(title, fontsize=9.5)
            axes.set_xlabel("step (rad, rad/s)")
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)


def draw_latency(rows: Rows, path: Path) -> None:
    """Draw the steps of a task over its cycles, a bar for each joint, and where the next tasks start.

    Parameters
    ----------
    rows
        The rows of :func:`benchmarks.latency_steps.latency_rows`. Equal rows give identical files.
    """
    intervals = list(dict.fromkeys(row["ii"] for row in rows))
    with _drawn(path) as figure:
        panels = figure.subplots(1, len(intervals), sharex=True, sharey=True, squeeze=False)[0]
        for axes, ii in zip(panels, intervals, strict=True):
            steps = [row for row in rows if row["ii"] == ii]
            for index, row in enumerate(steps):
                thick = 0.8 / len(row["joints"])
                axes.barh(
                    [index - 0.4 + thick * k for k in range(len(row["joints"]))],
                    [last - first + 1 for first, last in row["joints"]],
                    height=0.8 * thick,
                    left=[first for first, _ in row["joints"]],
                    align="edge",
                    color=STEP_COLOURS[index % len(STEP_COLOURS)],
                )
            end = 1 + max(row["last"] for row in rows)
            for start in range(0, end + 1, ii):
                axes.axvline(start, color="#d0d0d0", linewidth=0.5, zorder=0)
            axes.set(xlim=(0, end), ylim=(len(steps) - 0.5, -0.5), xlabel="cycle of a task")
            axes.set_yticks(range(len(steps)), [row["step"] for row in steps])
            axes.set_title(f"a task each {ii} cycles" if ii > 1 else "a task each cycle", fontsize=9.5)
            axes.spines[["top", "right"]].set_visible(False)


@contextmanager
def _drawn(path: Path) -> Iterator[Figure]:
    """Give a figure that is written when the block ends, always with the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "rbdhw", "svg.fonttype": "path", "font.size": 9.0}):
        figure = Figure(figsize=(8.5, 3.2), layout="constrained")
        yield figure
        with replace_file(path) as made:
            figure.savefig(made, format="svg", metadata={"Date": None})
