"""Random problems of a solver on words, and the sweep with the formats that they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.bounds import Domain
from rbdhw.fixed.knots import REGULARISATION, knot_program
from rbdhw.frontend.knot_step import driven, record_sweep
from rbdhw.golden.evaluation import evaluate
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.quantize.knots import knot_magnitudes, solver_numbers
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

SHARE, NEAR = 0.4, 1.2
"""The share of its bounds within which a coordinate starts, and how far from zero at most (rad, m)."""

AWAY, SPEED = 0.3, 0.2
"""How far a goal is from the first coordinates at most (rad, m), and how fast they are (rad/s, m/s)."""

WEIGHT = 1e-3
"""The weight of each force."""

MOST_REGULARISATION = 10.0 * WEIGHT
"""The largest regularisation that sweeps are to take."""


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


def observed_sweep(
    robot: Robot, problems: Iterable[Mapping[str, Array]], knots: int, width: int
) -> FixedSweep:
    """Return the bit-exact sweep with the formats that a solver's sweeps of these problems take.

    Their costs are those of :func:`random_problem`.
    """
    sweeps, forces, problems = record_sweep(robot, knots, coupled=False), driven(robot), list(problems)
    numbers = solver_numbers(robot, problems, forces)
    numbers[0] |= {REGULARISATION: np.array(MOST_REGULARISATION)}
    program = knot_program(sweeps, knot_magnitudes(sweeps, numbers), width)
    return FixedSweep(sweeps, program, float(problems[0]["h"]), forces)
