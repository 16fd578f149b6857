"""Random problems of optimal control."""

import numpy as np

from rbdhw.golden.integrators import integrate
from rbdhw.golden.kinematics import placements
from rbdhw.robot.link_frames import choose_frames
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.strategies import random_states

STEP = 0.02


def toy():
    """Return an arm of two joints with a frame at its tip."""
    return choose_frames(load_urdf(path("toy")), ("tip",), "world")


def random_problem(robot, knots, seed, rows=2):
    """Return all arrays of one problem: every term of the cost has weights, and limits are active."""
    rng = np.random.default_rng(seed)
    first, nv, frames = random_states(robot, 1, seed), robot.nv, len(robot.frames)
    motions = rng.uniform(-0.4, 0.4, (2, knots + 1, nv))
    x_ref = np.hstack([integrate(robot, np.tile(first["q"], (knots + 1, 1)), motions[0]), motions[1]])
    problem = {
        "q": first["q"][0],
        "v": 0.3 * first["v"][0],
        "h": np.array(STEP),
        "x_ref": x_ref,
        "Q": rng.uniform(0.0, 2.0, (knots + 1, 2 * nv)),
        "C": rng.normal(size=(rows, 2 * nv)),
        "y": rng.normal(size=(knots + 1, rows)),
        "W": rng.uniform(0.0, 1.0, (knots + 1, rows)),
        "limit_weight": rng.uniform(1.0, 5.0, 2 * nv),
        "x_min": np.full(robot.nq + nv, -0.5),
        "x_max": np.full(robot.nq + nv, 0.4),
        "tau_ref": rng.normal(size=(knots, nv)),
        "R": rng.uniform(1e-3, 1e-2, (knots, nv)),
        "tau_min": np.full(nv, -1e3),
        "tau_max": np.full(nv, 1e3),
        "placement_ref": np.zeros((knots + 1, frames, 4, 4)),
        "position_weight": rng.uniform(0.0, 5.0, (knots + 1, frames, 3)),
        "orientation_weight": rng.uniform(0.0, 1.0, (knots + 1, frames)),
        "states": np.zeros_like(x_ref),
        "tau": rng.normal(size=(knots, nv)),
        "K": np.zeros((knots, nv, 2 * nv)),
    }
    if frames:
        problem["placement_ref"] = placements(robot, x_ref[:, : robot.nq])
    return problem
