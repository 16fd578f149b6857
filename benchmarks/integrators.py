"""The table of steps in time: the state after many steps of the bit-exact model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Rows
from rbdhw import golden
from rbdhw.domain.overrides import Overrides
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.frontend.read import mount
from rbdhw.options.build import BuildOptions
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.software.exact_library import ExactLibrary

Array = NDArray[np.float64]
Arrays = Mapping[str, Array]
Advance = Callable[[Arrays], Array]
"""Returns the states (N, nx) that follow from tasks."""

WIDTHS = (18, 24, 32)

ROLLS = 16
"""The trajectories of which the worst error is stated."""

LENGTHS = (100, 1000)
"""The numbers of steps after which errors are stated."""

TIME_STEPS = (0.001, 0.01)

SWING = 0.3
"""The amplitude (rad) of each joint of the arm, at a radian per second."""

HANGING = Mounting(gravity=(0.0, 0.0, 9.81))
"""An arm under a ceiling: small motions stay small, so that differences are not amplified."""


def trajectories(
    name: str = "iiwa14", widths: Iterable[int] = WIDTHS, lengths: Iterable[int] = LENGTHS
) -> Rows:
    """Return the largest error of the state after many steps, beside float64 with the same forces.

    The forces are those by which the reference in float64 swings slowly.
    """
    robot = mount(load_urdf(bundled()[name]), HANGING)
    rows = []
    for function in ("step", "rk4"):
        models = {width: _model(robot, function, width) for width in widths}
        for h in TIME_STEPS:
            expected, forces = _reference(robot, function, h, max(lengths))
            for width, model in models.items():
                states = _states(model, expected[0], forces, h)
                for count, state in enumerate(states):
                    if count in lengths:
                        error = np.abs(state - expected[count]).max(axis=0)
                        rows.append(
                            {
                                "function": function,
                                "h": h,
                                "bits": width,
                                "steps": count,
                                "q": float(error[: robot.nq].max()),
                                "v": float(error[robot.nq :].max()),
                            }
                        )
    return rows


def _reference(robot: Robot, function: str, h: float, steps: int) -> tuple[Array, Array]:
    """Return states (steps + 1, N, nx) in float64 and the forces (steps, N, nv) that lead to them."""
    rng = np.random.default_rng(5)
    phase = rng.uniform(0.0, 2.0 * np.pi, (ROLLS, robot.nv))
    states = [np.hstack([SWING * np.sin(phase), SWING * np.cos(phase)])]
    forces = []
    for k in range(steps):
        q, v = np.split(states[-1], 2, axis=1)
        tasks = {"q": q, "v": v, "a": -SWING * np.sin(k * h + phase), "h": np.full(ROLLS, h)}
        forces.append(golden.evaluate(robot, "id", tasks)["tau"])
        states.append(golden.evaluate(robot, function, {**tasks, "tau": forces[-1]})["x_next"])
    return np.array(states), np.array(forces)


def trajectories_layout(rows: Rows) -> Rows:
    """Return a line for each function, width and step, with a column for each number of steps."""
    lines: dict[tuple[str, float, int], dict[str, str]] = {}
    for row in rows:
        key = row["function"], row["h"], row["bits"]
        start = {"function": row["function"], "h": f"{1e3 * row['h']:g} ms", "bits": str(row["bits"])}
        line = lines.setdefault(key, start)
        cell = f"{row['q']:.1e} rad, {row['v']:.1e} rad/s"
        line[f"after {row['steps']:,} steps"] = "out of the domain" if math.isnan(row["q"]) else cell
    return list(lines.values())


def _model(robot: Robot, function: str, width: int, bounds: Overrides | None = None) -> Advance:
    """Return the steps of the bit-exact model of a build; flagged ones lead to states of NaN."""
    options = BuildOptions(functions=(function,), width=width, ii=1)
    library = ExactLibrary(make_plan(robot, options, bounds).accelerator)

    def advance(tasks: Arrays) -> Array:
        state = np.empty((len(tasks["q"]), robot.nq + robot.nv))
        flagged = library.compute(function, tasks, {"x_next": state}) != 0
        state[flagged] = np.nan
        return state

    return advance


def _states(advance: Advance, state: Array, forces: Array, h: float) -> Iterator[Array]:
    """Yield the states (N, nx) before some steps with forces (steps, N, nv), and after each of them."""
    tasks, nv = forces.shape[1:]
    yield state
    for tau in forces:
        q, v = state[:, :-nv].copy(), state[:, -nv:].copy()
        state = advance({"q": q, "v": v, "tau": tau, "h": np.full(tasks, h)})
        yield state
