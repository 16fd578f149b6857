"""Random problems of a solver on words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.bounds import Domain
from rbdhw.golden.evaluation import evaluate
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

SHARE, NEAR = 0.4, 1.2
"""The share of its bounds within which a coordinate starts, and how far from zero at most (rad, m)."""

AWAY, SPEED = 0.3, 0.2
"""How far a goal is from the first coordinates at most (rad, m), and how fast they are (rad/s, m/s)."""

WEIGHT = 1e-3
"""The weight of each force."""


def random_problem(robot: Robot, domain: Domain, knots: int, h: float, seed: int) -> dict[str, Array]:
    """Return a problem of :func:`rbdhw.golden.solver.solve` from a random state of the domain to rest nearby.

    It has costs of differences and of forces. Its first trajectory holds the first state. Joints have one
    degree of freedom each.
    """
    rng, nv = np.random.default_rng(seed), robot.nv
    low, high = np.clip(SHARE * np.asarray(domain.bounds["q"]), -NEAR, NEAR).T
    q, v = rng.uniform(low, high), rng.uniform(-SPEED, SPEED, nv)
    goal = np.hstack([q + rng.uniform(-AWAY, AWAY, nv), np.zeros(nv)])
    weights = np.hstack([rng.uniform(5.0, 10.0, nv), rng.uniform(0.5, 1.0, nv)])
    Q = np.tile(weights, (knots + 1, 1))
    Q[-1] *= 10.0
    held = evaluate(robot, "id", {"q": q[np.newaxis], "v": np.zeros((1, nv)), "a": np.zeros((1, nv))})
    limits = np.asarray(domain.bounds["tau"])
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
        "states": np.zeros((knots + 1, 2 * nv)),
        "K": np.zeros((knots, nv, 2 * nv)),
        **_no_other_costs(robot, knots),
    }


def moving_problem(robot: Robot, domain: Domain, knots: int, h: float, seed: int) -> dict[str, Array]:
    """Return a :func:`random_problem` whose first trajectory moves from rest, up to the speeds of the domain.

    Its forces accelerate each coordinate evenly to a random velocity, by which it stays within its bounds.
    Forces that are held for long lead to such speeds, too: from most positions a robot falls.
    """
    rng, problem = np.random.default_rng((seed, 1)), random_problem(robot, domain, knots, h, seed)
    rates, (low, high) = np.arange(knots + 1) / knots, np.asarray(domain.bounds["q"]).T
    time = h * np.sum(rates)
    end = problem["q"] + time * rng.uniform(*np.asarray(domain.bounds["v"]).T)
    last = (np.clip(end, low, high) - problem["q"]) / time
    v = np.outer(rates, last)
    q = problem["q"] + h * np.cumsum(v, axis=0)
    tasks = {"q": q[:-1], "v": v[:-1], "a": np.diff(v, axis=0) / h}
    return {**problem, "tau": evaluate(robot, "id", tasks)["tau"]}


def _no_other_costs(robot: Robot, knots: int) -> dict[str, Array]:
    nv, frames = robot.nv, len(robot.frames)
    return {
        "C": np.zeros((0, 2 * nv)),
        "y": np.zeros((knots + 1, 0)),
        "W": np.zeros((knots + 1, 0)),
        "limit_weight": np.zeros(2 * nv),
        "x_min": np.full(2 * nv, -np.inf),
        "x_max": np.full(2 * nv, np.inf),
        "tau_ref": np.zeros((knots, nv)),
        "placement_ref": np.zeros((knots + 1, frames, 4, 4)),
        "position_weight": np.zeros((knots + 1, frames, 3)),
        "orientation_weight": np.zeros((knots + 1, frames)),
    }
