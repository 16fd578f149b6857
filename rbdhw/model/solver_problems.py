"""Random problems of a solver on words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.bounds import Domain
from rbdhw.golden.evaluation import evaluate
from rbdhw.golden.integrators import integrate
from rbdhw.golden.kinematics import placements
from rbdhw.golden.solver import simple_elements
from rbdhw.robot.model import Robot
from rbdhw.robot.wide_joints import floating_coordinates, wide_joints

Array = NDArray[np.float64]

INSIDE = 0.95
"""The share of its bounds within which a goal is."""

SHARE, NEAR = 0.4, 1.2
"""The share of its bounds within which a coordinate starts, and how far from the middle at most (rad, m)."""

AWAY, SPEED = 0.3, 0.2
"""How far a goal is from the first coordinates at most (rad, m), and how fast they are (rad/s, m/s)."""

BESIDE = 0.05
"""How far a reference of a position is from that at the goal at most, in each direction (m)."""

WEIGHT = 1e-3
"""The weight of each force."""


def random_problem(robot: Robot, domain: Domain, knots: int, h: float, seed: int) -> dict[str, Array]:
    """Return a problem of :func:`rbdhw.golden.solver.solve` from a random state of the domain to rest nearby.

    It has costs of differences, of forces, and of the positions of tracked frames near those of the goal. Its
    first trajectory holds the first state. The forces on a floating base hold it, and do not change.
    """
    rng, nv = np.random.default_rng(seed), robot.nv
    bounds = np.asarray(domain.bounds["q"])
    middle = np.clip(0.0, *bounds.T)  # zero, or what is nearest to it
    low, high = middle + np.clip(SHARE * (bounds.T - middle), -NEAR, NEAR)
    q, v = _with_unit_quaternions(robot, rng.uniform(low, high)), rng.uniform(-SPEED, SPEED, nv)
    away = integrate(robot, q[np.newaxis], rng.uniform(-AWAY, AWAY, (1, nv)))[0]
    goal = np.hstack([_within(robot, middle + INSIDE * (bounds.T - middle), away), np.zeros(nv)])
    weights = np.hstack([rng.uniform(5.0, 10.0, nv), rng.uniform(0.5, 1.0, nv)])
    Q = np.tile(weights, (knots + 1, 1))
    Q[-1] *= 10.0
    held = evaluate(robot, "id", {"q": q[np.newaxis], "v": np.zeros((1, nv)), "a": np.zeros((1, nv))})
    limits = np.array(domain.bounds["tau"])
    of_base = floating_coordinates(robot)
    limits[of_base] = held["tau"][0, of_base, np.newaxis]
    return {
        "q": q,
        "v": v,
        "h": np.array(h),
        "x_ref": np.tile(goal, (knots + 1, 1)),
        "Q": Q,
        "R": np.full((knots, nv), WEIGHT),
        "tau_min": limits[:, 0],
        "tau_max": limits[:, 1],
        "tau": np.tile(held["tau"], (knots, 1)),
        "states": np.tile(np.append(q, np.zeros(nv)), (knots + 1, 1)),
        "K": np.zeros((knots, nv, 2 * nv)),
        **_no_other_costs(robot, knots),
        **(_positions(robot, goal[: robot.nq], knots, rng) if robot.tracks else {}),
    }


def moving_problem(robot: Robot, domain: Domain, knots: int, h: float, seed: int) -> dict[str, Array]:
    """Return a :func:`random_problem` whose first trajectory moves from rest, up to the speeds of the domain.

    Its forces accelerate each coordinate evenly to a random velocity, by which it stays within its bounds.
    Forces that are held for long lead to such speeds, too: from most positions a robot falls.
    """
    rng, problem = np.random.default_rng((seed, 1)), random_problem(robot, domain, knots, h, seed)
    rates, bounds = np.arange(knots + 1) / knots, np.asarray(domain.bounds["v"])
    last = np.array(rng.uniform(*bounds.T))
    time = h * np.sum(rates)
    simple = simple_elements(robot)[robot.nv :]  # after those of the velocity
    coordinates, elements = simple.T
    low, high = np.asarray(domain.bounds["q"])[elements].T
    start = problem["q"][elements]
    last[coordinates] = (np.clip(start + time * last[coordinates], low, high) - start) / time
    v = np.outer(rates, last)
    q = integrate(robot, np.tile(problem["q"], (knots + 1, 1)), h * np.cumsum(v, axis=0))
    tasks = {"q": q[:-1], "v": v[:-1], "a": np.diff(v, axis=0) / h}
    return {**problem, "tau": evaluate(robot, "id", tasks)["tau"]}


def _within(robot: Robot, bounds: Array, q: Array) -> Array:
    """Return a configuration (nq,) within bounds (2, nq), apart from quaternions."""
    within = np.clip(q, *bounds)
    for joint in wide_joints(robot):
        within[list(joint.quaternion)] = q[list(joint.quaternion)]
    return within


def _with_unit_quaternions(robot: Robot, q: Array) -> Array:
    """Return a configuration (nq,) whose quaternions have unit length."""
    for joint in wide_joints(robot):
        quaternion = list(joint.quaternion)
        q[quaternion] /= np.linalg.norm(q[quaternion]) if quaternion else 1.0
    return q


def _positions(robot: Robot, q: Array, knots: int, rng: np.random.Generator) -> dict[str, Array]:
    """Return poses near those of the frames in a configuration, and weights of their positions."""
    (poses,), frames = placements(robot, q[np.newaxis]), len(robot.frames)
    poses[:, :3, 3] += rng.uniform(-BESIDE, BESIDE, (frames, 3))
    weights = np.tile(rng.uniform(5.0, 100.0, (frames, 3)), (knots + 1, 1, 1))
    weights[-1] *= 10.0
    return {"placement_ref": np.tile(poses, (knots + 1, 1, 1, 1)), "position_weight": weights}


def _no_other_costs(robot: Robot, knots: int) -> dict[str, Array]:
    nv, frames = robot.nv, len(robot.frames)
    return {
        "C": np.zeros((0, 2 * nv)),
        "y": np.zeros((knots + 1, 0)),
        "W": np.zeros((knots + 1, 0)),
        "limit_weight": np.zeros(2 * nv),
        "x_min": np.full(robot.nq + nv, -np.inf),
        "x_max": np.full(robot.nq + nv, np.inf),
        "tau_ref": np.zeros((knots, nv)),
        "placement_ref": np.zeros((knots + 1, frames, 4, 4)),
        "position_weight": np.zeros((knots + 1, frames, 3)),
        "orientation_weight": np.zeros((knots + 1, frames)),
    }
