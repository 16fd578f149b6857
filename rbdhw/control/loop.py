"""The closed loop of a study: a robot in double precision, and a controller on a candidate's functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.control.optimiser import LostAnswer, Mpc, Optimiser
from rbdhw.control.task import Setting, Task, Unreliable
from rbdhw.errors import InputError
from rbdhw.golden.kinematics import placements
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

H, TICKS, KNOTS = 0.02, 10, 20
"""The step of a plan in seconds, the ticks of the loop in it, and the steps of a horizon."""

FINER = 5
"""Steps of the robot in a tick."""

MISMATCH = 0.02
"""The standard deviation of the robot's inertias relative to the model's."""

NOISE = 1e-4, 2e-3
"""Standard deviations of what is measured: of positions (rad, m) and of velocities (rad/s, m/s)."""

PERIOD, SWING = 2.0, 0.3
"""Of the figure that joints draw, in seconds, and rad or m."""

PROBLEMS, REACH, ITERATIONS, CONVERGED = 4, 0.1, 30, 1e-7
"""Problems that are solved alone, how far a goal may be (rad, m), the most iterations, and the relative gain
at which they end."""


TASKS = ("track", "reach")


@dataclass(frozen=True)
class Tracking(Task):
    """Optimal control that lets all joints, or frames if there are any, ``track`` a figure, or ``reach`` for
    one goal after another."""

    seed: int = 0
    least: ClassVar[float] = H

    def functions(self, given: str | None, frames: bool) -> str:
        if given is not None:
            raise InputError("functions", f"task '{self.name}' has its own", "a loop of yours, or none")
        return "step,dstep,position" if frames else "step,dstep"

    def unit(self, robot: Robot) -> str:
        if robot.nq != robot.nv or robot.floats:
            expected = "a fixed base, and joints with as many coordinates as degrees of freedom"
            raise InputError("study", f"robot '{robot.name}' has orientations", expected)
        return "m" if robot.frames else "rad"

    def measure(self, setting: Setting) -> dict[str, Any]:
        alone = convergence(setting.robot, setting.functions, setting.exact, self.seed)
        return {**closed_loop(setting, self), **alone}


def centre_of(robot: Robot) -> Array:
    """Return the middle of all joints' ranges, or zero where there is none."""
    limits = np.array([(limit.lower, limit.upper) for body in robot.bodies for limit in body.joint.limits])
    middle: Array = np.where(np.isfinite(limits).all(axis=1), limits.sum(axis=1) / 2.0, 0.0)
    return middle


def efforts_of(robot: Robot) -> Array:
    """Return the largest forces of all joints."""
    return np.array([limit.effort for body in robot.bodies for limit in body.joint.limits])


def goals_of(robot: Robot, task: Tracking, times: Array) -> Array:
    """Return the states (N, 2 nv) where the robot should be."""
    nv, rng = robot.nv, np.random.default_rng(task.seed)
    swing = SWING * rng.uniform(0.5, 1.0, nv) * np.where(np.arange(nv) % 2, -1.0, 1.0)
    if task.name == "reach":
        corner = np.where(np.floor_divide(times, PERIOD / 2.0) % 2.0, 1.0, -1.0)
        return np.hstack([centre_of(robot) + np.outer(corner, swing), np.zeros((len(times), nv))])
    rate = 2.0 * np.pi / PERIOD * np.where(np.arange(nv) % 2, 2.0, 1.0)  # a figure-eight in pairs of joints
    angle = np.outer(times, rate)
    return np.hstack([centre_of(robot) + swing * np.sin(angle), swing * rate * np.cos(angle)])


def costs_of(robot: Robot, goals: Array) -> dict[str, Any]:
    """Return the costs of a horizon by the names of :meth:`rbdhw.control.optimiser.Optimiser.solve`."""
    nv, knots = robot.nv, len(goals)
    still = {"q": goals[:, :nv], "v": np.zeros((knots, nv)), "a": np.zeros((knots, nv))}
    rest = golden.evaluate(robot, "id", still)["tau"][:-1]
    weights = np.tile(np.repeat([100.0, 1.0], nv), (knots, 1))
    weights[-1] *= 10.0
    costs: dict[str, Any] = {
        "x_ref": goals,
        "Q": H * weights,
        "R": np.full((knots - 1, nv), H * 1e-3),
        "tau_ref": rest,
    }
    costs |= {"tau_min": -efforts_of(robot), "tau_max": efforts_of(robot)}
    if robot.frames:
        placement = placements(robot, goals[:, :nv])
        costs |= {"placement_ref": placement, "position_weight": np.full((*placement.shape[:2], 3), H * 1e4)}
    return costs


def closed_loop(setting: Setting, task: Tracking) -> dict[str, float]:
    """Return what is measured in a loop: errors, failed line searches, lost plans and flagged answers."""
    robot, rng = setting.robot, np.random.default_rng(task.seed)
    plant = Plant(robot, setting.plant(), rng)
    answers = Unreliable(setting.functions, rng)
    period = H / TICKS

    def problem(tick: int) -> Mapping[str, Any]:
        ahead = H * np.arange(KNOTS + 1, dtype=np.float64)
        return costs_of(robot, goals_of(robot, task, tick * period + ahead))

    control = Mpc(Optimiser(answers).solve, H, TICKS, problem)
    first = costs_of(robot, goals_of(robot, task, np.zeros(2)))["tau_ref"][0]
    errors = follow(plant, task, control, first, period)
    plans = round(task.seconds / period) // TICKS
    return {
        "median": float(np.median(errors)),
        "max": float(errors.max()),
        "failed": control.failed / plans,
        "lost": control.lost / plans,
        "flagged": answers.share_flagged,
    }


Control = Callable[[int, Array, Array], Array]
"""Returns the forces of a tick from measured positions and velocities."""


class Plant:
    """A robot with other inertias than the model, in finer steps than the controller's.

    ``plant`` has its ``step`` in double precision, with inertial parameters.
    """

    def __init__(self, robot: Robot, plant: Any, rng: np.random.Generator) -> None:
        self.robot, self.rng, self._plant = robot, rng, plant
        self._parameters = plant.parameters
        heavy = [0, *range(4, 10)]  # the mass and the inertia, not the centre of mass
        self._parameters[:, heavy] *= 1.0 + MISMATCH * rng.standard_normal((len(self._parameters), 1))
        self._efforts = efforts_of(robot)

    def measure(self, x: Array) -> Array:
        """Return what is measured of a state: it and noise."""
        nv = self.robot.nv
        measured: Array = x + np.repeat(NOISE, nv) * self.rng.standard_normal(2 * nv)
        return measured

    def move(self, x: Array, tau: Array, period: float) -> Array:
        """Return the state after a tick; motors are limited."""
        limited = np.clip(tau, -self._efforts, self._efforts)
        for _ in range(FINER):
            q, v = np.split(x, 2)
            x = self._plant.step(q, v, limited, period / FINER, parameters=self._parameters).x_next
        return x


def follow(plant: Plant, task: Tracking, control: Control, tau: Array, period: float) -> Array:
    """Return the errors of all ticks but the first quarter; the loop begins at rest with forces ``tau``.

    Errors are distances of joints from their goals, or of frames if there are any.
    """
    nv, states = plant.robot.nv, []
    times: Array = period * np.arange(round(task.seconds / period), dtype=np.float64)
    goals = goals_of(plant.robot, task, times)
    x = np.hstack([goals[0, :nv], np.zeros(nv)])
    for tick in range(len(times)):
        states.append(x)
        measured = plant.measure(x)
        with suppress(LostAnswer):  # the last forces go on
            tau = control(tick, measured[:nv], measured[nv:])
        x = plant.move(x, tau, period)
    return _errors(plant.robot, np.array(states), goals)[len(times) // 4 :]


def _errors(robot: Robot, states: Array, goals: Array) -> Array:
    q, q_ref = states[:, : robot.nv], goals[:, : robot.nv]
    if robot.frames:
        apart = placements(robot, q)[..., :3, 3] - placements(robot, q_ref)[..., :3, 3]
        distances: Array = np.linalg.norm(apart, axis=-1).max(axis=1)
        return distances
    differences: Array = np.linalg.norm(q - q_ref, axis=1)
    return differences


def convergence(robot: Robot, functions: Any, exact: Any, seed: int) -> dict[str, list[float]]:
    """Return the iterations of some problems to the end, and their costs.

    The costs are those of the forces in ``exact``, functions in double precision.
    """
    rng = np.random.default_rng(seed)
    iterations, costs = [], []
    for _ in range(PROBLEMS):
        start = centre_of(robot) + SWING * rng.uniform(-1.0, 1.0, robot.nv)
        goal = start + REACH * rng.uniform(-1.0, 1.0, robot.nv)
        problem = costs_of(robot, np.tile(np.hstack([goal, 0.0 * goal]), (KNOTS + 1, 1)))
        plan, taken, before = None, 0, np.inf
        while taken < ITERATIONS:
            plan = Optimiser(functions).solve(start, 0.0 * start, H, warm=plan, shift=0, **problem)
            taken += 1
            if not plan.cost < before * (1.0 - CONVERGED):
                break
            before = plan.cost
        iterations.append(float(taken))
        costs.append(_exact_cost(exact, problem, start, plan.tau if plan else problem["tau_ref"]))
    return {"iterations": iterations, "costs": costs}


def _exact_cost(exact: Any, problem: Mapping[str, Any], start: Array, tau: Array) -> float:
    """Return the cost of forces by functions in double precision."""
    nv, x = len(start), np.hstack([start, 0.0 * start])
    states = [x]
    for forces in tau:
        x = exact.step(x[:nv], x[nv:], forces, H).x_next
        states.append(x)
    frames = problem.get("placement_ref"), problem.get("position_weight")
    of_states = Optimiser(exact).cost_of(np.array([states]), problem["x_ref"], problem["Q"], *frames)[0]
    return float(of_states + 0.5 * (problem["R"] * (tau - problem["tau_ref"]) ** 2).sum())
