"""The tables of steps in time: operations, and the state after many steps of the bit-exact model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.bench.builds import graph_of
from rbdhw.bench.rows import Rows, by_function, robot_label
from rbdhw.config import BuildOptions, Pacing
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.explore.search import make_plan
from rbdhw.fixed.result_words import result_words
from rbdhw.frontend.base import mount
from rbdhw.frontend.build_graph import multiplications
from rbdhw.robot.model import BASE, UNLIMITED, Body, Inertia, Joint, JointKind, Placement, Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.software.exact_library import ExactLibrary

Array = NDArray[np.float64]
Arrays = Mapping[str, Array]
Advance = Callable[[Arrays], Array]
"""Returns the states (N, nx) that follow from tasks."""

STEPS = ("step", "dstep", "rk4", "drk4")

INSIDE = {"step": ("fd", 1), "dstep": ("dfd", 1), "rk4": ("fd", 4), "drk4": ("dfd", 4)}
"""The function that each integrator contains, and how often."""

COUNTED = (("iiwa14", "fixed"), ("hyq", "fixed"), ("hyq", "floating"))

BUILDS = (
    ("iiwa14", "fixed", "step", 1),
    ("iiwa14", "fixed", "dstep", 1),
    ("iiwa14", "fixed", "rk4", 1),
    ("iiwa14", "fixed", "drk4", 4),
    ("hyq", "floating", "step", None),
    ("hyq", "floating", "dstep", None),
)
"""The robots and functions that are built, and their intervals: None for the least within :data:`SHARE`."""

SHARE = 0.6
"""The share of the device's resources that a build with the least interval may take."""

BITS = 24
"""The width of these builds."""

POINTS = 100
"""The tasks of a horizon."""

WIDTHS = (18, 24, 32)

ROLLS = 16
"""The trajectories of which the worst error is stated."""

LENGTHS = (100, 1000)
"""The numbers of steps after which errors are stated."""

TIME_STEPS = (0.001, 0.01)

SWING = 0.3
"""The amplitude (rad) of each joint of the arm, at a radian per second."""

STEP = 0.001
"""The step (s) of the pendulum and of the body that turns."""

SWINGS = 10_000
"""The steps of the pendulum: ten seconds, some five swings."""

TURNS = 100_000
"""The steps of the body that turns: a hundred seconds."""

SLOW = Overrides(default=JointBounds(velocity=(-8.0, 8.0), effort=(-1.0, 1.0)))
"""The domain of the pendulum and of the body that turns."""

HANGING = Mounting(gravity=(0.0, 0.0, 9.81))
"""An arm under a ceiling: small motions stay small, so that differences are not amplified."""


# Operations


def step_operations(robots: Iterable[tuple[str, str]] = COUNTED) -> Rows:
    """Return the multiplications and words of each function's graph alone, and those of what it contains."""
    rows = []
    for name, base in robots:
        inside = {function: multiplications(graph_of(name, (function,), base)) for function in ("fd", "dfd")}
        for function in STEPS:
            graph = graph_of(name, (function,), base)
            other, times = INSIDE[function]
            rows.append(
                {
                    "robot": name,
                    "base": base,
                    "function": function,
                    "multiplications": multiplications(graph),
                    "contained": times * inside[other],
                    "words": len(result_words(graph)),
                }
            )
    return rows


def step_operations_layout(rows: Rows) -> Rows:
    """Return lines of each robot's multiplications, of those beyond forward dynamics, and of words."""
    return by_function(
        rows,
        (robot_label, lambda row: f"{row['multiplications']:,}, {row['words']:,} words"),
        (
            lambda row: f"{robot_label(row)}, beyond what it contains",
            lambda row: f"{row['multiplications'] - row['contained']:,}",
        ),
    )


def step_builds(builds: Iterable[tuple[str, str, str, int | None]] = BUILDS) -> Rows:
    """Return interval, resources, latency and packets of builds on the VU9P."""
    rows = []
    for name, base, function, ii in builds:
        own = {"ii": ii} if ii else {"fit": SHARE, "pacing": Pacing(link=False)}
        options = BuildOptions(functions=(function,), width=BITS, data_width=1024, samples=1024, **own)
        plan = make_plan(mount(load_urdf(bundled()[name]), Mounting(base)), options)
        interface = plan.accelerator.interface
        beats = interface.beats(interface.response_widths(function))
        latency = plan.core.latency[function]
        share = plan.core.dsp_blocks / plan.core.device.dsp_blocks
        rows.append(
            {
                "robot": robot_label({"robot": name, "base": base}),
                "function": function,
                "II": plan.ii,
                "DSP blocks": f"{plan.core.dsp_blocks:,} ({share:.0%})",
                "LUTs, by estimate": f"{plan.estimate.luts:,}",
                "core latency": f"{latency} cycles",
                "beats of an answer": beats,
                "100 tasks": f"{latency + (POINTS - 1) * max(plan.ii, beats):,} cycles",
            }
        )
    return rows


# Many steps


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
                found = _states(model, expected[0], forces, h)
                for count, state in enumerate(found):
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
        found = f"{row['q']:.1e} rad, {row['v']:.1e} rad/s"
        line[f"after {row['steps']:,} steps"] = "out of the domain" if math.isnan(row["q"]) else found
    return list(lines.values())


def drifts(widths: Iterable[int] = WIDTHS, swings: int = SWINGS, turns: int = TURNS) -> Rows:
    """Return the energy of a pendulum and the length of a quaternion after many steps, and in float64."""
    swinging, turning = pendulum(), spinning_body()
    start, turned = np.array([[1.0, 0.0]]), np.array([[0.0, 0.6, 0.0, 0.8, 1.0, -2.0, 0.5]])
    still, free = np.zeros((swings, 1, 1)), np.zeros((turns, 1, 3))
    rows: Rows = []
    for function in ("step", "rk4"):
        for width in widths:
            *_, last = _states(_model(swinging, function, width, SLOW), start, still, STEP)
            *_, rest = _states(_model(turning, function, width, SLOW), turned, free, STEP)
            length = abs(float(np.linalg.norm(rest[0, :4])) - 1.0)
            rows.append(
                {"function": function, "bits": width, "energy": _drift(start, last), "length": length}
            )
        *_, last = _states(_golden(swinging, function), start, still, STEP)
        rows.append({"function": function, "bits": None, "energy": _drift(start, last), "length": None})
    return rows


def drifts_layout(rows: Rows) -> Rows:
    """Return a line for each function and width."""
    return [
        {
            "function": row["function"],
            "bits": "float64" if row["bits"] is None else str(row["bits"]),
            f"change of energy, {SWINGS:,} steps": f"{row['energy']:.1e}",
            f"error of length, {TURNS:,} steps": "-" if row["length"] is None else f"{row['length']:.1e}",
        }
        for row in rows
    ]


def pendulum() -> Robot:
    """Return a rod of a kilogram and half a metre that swings about one end."""
    inertia = Inertia(1.0, (0.0, 0.0, -0.25), (0.25 / 3.0, 0.0, 0.0, 0.25 / 3.0, 0.0, 1e-4))
    joint = Joint("hinge", JointKind.CONTINUOUS, (0.0, 1.0, 0.0), Placement(), (UNLIMITED,))
    return Robot("pendulum", "base", (Body("rod", BASE, joint, inertia),))


def spinning_body() -> Robot:
    """Return a body with three different moments of inertia on a spherical joint at its centre of mass."""
    inertia = Inertia(1.0, (0.0, 0.0, 0.0), (0.02, 0.0, 0.0, 0.03, 0.0, 0.04))
    joint = Joint("ball", JointKind.SPHERICAL, (0.0, 0.0, 1.0), Placement(), (UNLIMITED,) * 3)
    return Robot("spinning", "base", (Body("body", BASE, joint, inertia),))


def _drift(first: Array, last: Array) -> float:
    """Return the relative change of the pendulum's energy from one state to another."""
    return abs(_energy(last) / _energy(first) - 1.0)


def _energy(state: Array) -> float:
    """Return the energy (J) of the pendulum above its rest."""
    q, v = map(float, state[0])
    return 0.5 * (0.25 / 3.0) * v**2 + 9.81 * 0.25 * (1.0 - math.cos(q))


def _golden(robot: Robot, function: str) -> Advance:
    return lambda tasks: golden.evaluate(robot, function, tasks)["x_next"]


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
