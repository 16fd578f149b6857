"""First derivatives beside differences, in time and in accuracy, and two ways to the inverse mass matrix.

These are Table I and Fig. 3 of J. Carpentier and N. Mansard, "Analytical derivatives of rigid body dynamics
algorithms", Robotics: Science and Systems, 2018.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

import numpy as np

from benchmarks.builds import robot_of, software_of, tasks_of
from benchmarks.double_precision import Array, Arrays, by_graph, evaluated, random_states, shifted
from benchmarks.rows import Row, Rows, microseconds_text, robot_label
from benchmarks.timing import TimedLibrary, timed_software
from rbdhw import golden
from rbdhw.protocol import FUNCTIONS as PROTOCOL
from rbdhw.robot.model import Robot
from rbdhw.software import arrays as software_arrays

ROBOTS = (("iiwa14", "fixed"), ("hyq", "floating"), ("atlas", "floating"))

DERIVATIVES = {"id": "did", "fd": "dfd"}
"""The function with the derivatives of each, by positions and velocities."""

FUNCTIONS = ("id", "did", "fd", "dfd", "m", "minv")

COLUMNS = (
    "function",
    "derivatives, or inverse",
    "forward differences, one after the other",
    "in a batch",
    "central differences, one after the other",
    "`m` and its Cholesky factors",
)
"""The columns of times."""

STEPS = tuple(10.0**-k for k in range(1, 14))
"""The steps of differences (rad, rad/s)."""

STEPPED = ("iiwa14", "hyq")
"""The robots, on fixed bases, whose differences are compared over their step."""

DIRECTIONS = {"by position": "q", "by velocity": "v"}
"""What the derivatives are by."""


# Time


def gradient_rows(robots: Iterable[tuple[str, str]] = ROBOTS) -> Rows:
    """Return the times (µs) of functions, of their derivatives, and of differences, in C on one core.

    Forward differences take one task more than coordinates and velocities, one after the other or in a batch,
    and central ones twice as many as these.
    """
    rows = []
    for name, base in robots:
        library = timed_software(software_of(name, base, functions=FUNCTIONS), "float64")
        evaluations = 2 * robot_of(name, base).nv + 1
        tasks = tasks_of(name, base, max(evaluations, 64))
        alone = {function: 1e6 * library.seconds(function, tasks) for function in FUNCTIONS}
        for function, derivatives in DERIVATIVES.items():
            rows.append(
                {
                    "robot": name,
                    "base": base,
                    "function": function,
                    "alone": alone[function],
                    "analytical": alone[derivatives],
                    "evaluations": evaluations,
                    "batch": 1e6 * library.seconds(function, tasks, evaluations),
                }
            )
        rows.append(
            {
                "robot": name,
                "base": base,
                "function": "minv",
                "alone": alone["m"],
                "analytical": alone["minv"],
                "Cholesky": alone["m"] + _cholesky_microseconds(robot_of(name, base).nv),
            }
        )
    return rows


def _cholesky_microseconds(size: int) -> float:
    """Return the time of the inverse of a matrix by its Cholesky factorisation."""
    matrix, inverse = (software_arrays.Array(name, (size, size)) for name in ("M", "Minv"))
    arrays = {"inverse": ((matrix,), (inverse,))}
    library = TimedLibrary(cholesky_sources(), "cholesky.h", arrays, flags=[f"-DNV={size}"], exact=True)
    drawn = np.random.default_rng(0).normal(size=(64, size, size))
    return 1e6 * library.seconds("inverse", {"M": drawn @ drawn.swapaxes(1, 2) + size * np.eye(size)})


def cholesky_sources() -> dict[str, str]:
    """Return the C of the inverse of matrices of ``NV`` rows, by name."""
    return {
        name: files("benchmarks").joinpath(name).read_text(encoding="utf-8")
        for name in ("cholesky.h", "cholesky.c")
    }


def gradient_layout(rows: Rows) -> Rows:
    """Return a line for each robot and function, times as multiples of the analytical derivatives'."""
    return [{"": f"{robot_label(row)}, {row['function']}"} | _times(row) for row in rows]


def _times(row: Row) -> dict[str, str]:
    analytical = row["analytical"]
    times = dict.fromkeys(COLUMNS, "-") | {"derivatives, or inverse": microseconds_text(analytical)}
    if "Cholesky" in row:
        return times | {"`m` and its Cholesky factors": _multiple(row["Cholesky"], analytical)}
    return times | {
        "function": microseconds_text(row["alone"]),
        "forward differences, one after the other": _multiple(row["evaluations"] * row["alone"], analytical),
        "in a batch": _multiple(row["batch"], analytical),
        "central differences, one after the other": _multiple(
            2 * (row["evaluations"] - 1) * row["alone"], analytical
        ),
    }


def _multiple(time: float, analytical: float) -> str:
    return f"{microseconds_text(time)} ({time / analytical:.1f}×)"


# Accuracy


def step_rows(robots: Iterable[str] = STEPPED, functions: Iterable[str] = tuple(DERIVATIVES)) -> Rows:
    """Return the largest relative errors of differences by their step, and what they leave at rest.

    Errors are relative to the largest element of each matrix. ``rest`` is the largest derivative by velocity
    (N m s/rad, or 1/s) at rest, where it is zero, by forward differences.
    """
    return [row for name in robots for function in functions for row in _stepped(name, function)]


def _stepped(name: str, function: str) -> Rows:
    robot = robot_of(name)
    arrays = random_states(robot)
    still = arrays | {key: np.zeros_like(arrays[key]) for key in ("v", "a")}
    for states in (arrays, still):
        states["tau"] = golden.evaluate(robot, "id", states)["tau"]
    exact, truth = (
        _by_direction(results)
        for results in (
            by_graph(robot, arrays, DERIVATIVES[function]),
            golden.evaluate(robot, DERIVATIVES[function], arrays),
        )
    )
    label = {"robot": name, "function": function}
    rows = [label | {"step": None} | _errors(exact, truth) | {"rest": 0.0}]
    for step in STEPS:
        forward, central = (_by_differences(robot, function, arrays, step, both) for both in (False, True))
        rest = _by_differences(robot, function, still, step, False)["by velocity"]
        row: Row = label | {"step": step} | _errors(forward, truth)
        row |= {f"{key}, central": error for key, error in _errors(central, truth).items()}
        rows.append(row | {"rest": float(np.abs(rest).max())})
    return rows


def _by_direction(results: Arrays) -> Arrays:
    return dict(zip(DIRECTIONS, results.values(), strict=True))


def _by_differences(robot: Robot, function: str, arrays: Arrays, step: float, central: bool) -> Arrays:
    """Return the derivatives of a function by forward or by central differences."""
    (result,) = PROTOCOL[function].outputs

    def slope(moved: str) -> Array:
        ahead = evaluated(robot, function, result, shifted(robot, arrays, [(moved, step)]))
        behind = shifted(robot, arrays, [(moved, -step)]) if central else arrays
        difference = ahead - evaluated(robot, function, result, behind)
        return np.moveaxis(difference / (2 * step if central else step), 0, -1)

    return {direction: slope(moved) for direction, moved in DIRECTIONS.items()}


def _errors(results: Arrays, truth: Arrays) -> dict[str, float]:
    errors = {}
    for name in DIRECTIONS:
        size = np.abs(truth[name]).max(axis=(1, 2), keepdims=True)
        errors[name] = float(np.max(np.abs(results[name] - truth[name]) / size))
    return errors


def step_layout(rows: Rows) -> Rows:
    """Return lines for the analytical derivatives of each function, and the best differences of each kind."""
    lines = []
    for name, function in dict.fromkeys((row["robot"], row["function"]) for row in rows):
        exact, *stepped = (row for row in rows if (row["robot"], row["function"]) == (name, function))
        label = f"{robot_label({'robot': name})}, {function}"
        lines.append(_step_line(label, "analytical", exact, ""))
        for kind, end in (("forward", ""), ("central", ", central")):
            best = min(stepped, key=lambda row, end=end: row[f"by position{end}"])  # type: ignore[misc]
            lines.append(_step_line(label, f"{kind}, step {best['step']:.0e}", best, end))
    return lines


def _step_line(label: str, way: str, row: Row, end: str) -> dict[str, str]:
    return {
        "robot, function": label,
        "derivatives": way,
        "error, by position": f"{row[f'by position{end}']:.1e}",
        "error, by velocity": f"{row[f'by velocity{end}']:.1e}",
        "by velocity at rest": "-" if end else f"{row['rest']:.1e}",
    }
