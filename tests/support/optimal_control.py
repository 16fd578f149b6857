"""Random problems of optimal control."""

import numpy as np

from rbdhw.golden.contacts import contact_jacobians
from rbdhw.golden.evaluation import evaluate
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


LEGS = ("lf", "rf", "lh", "rh")
FEET = ",".join(f"{leg}_lowerleg@0.346:0:0:point" for leg in LEGS)
"""The option ``contacts`` for the feet of HyQ."""


def trot(robot, knots):
    """Return a problem of a floating HyQ: to trot forward, on one diagonal after the other."""
    front, hind = [-0.1, 0.75, -1.5], [-0.1, -0.75, 1.5]
    stance = np.array([*np.zeros(6), 1.0, *front, *hind, *front, *hind])
    weights = np.tile(np.repeat([1.0, 10.0, 1.0, 0.1], [6, 12, 6, 12]), (knots + 1, 1))
    x_ref = np.tile(np.hstack([stance, 0.3, np.zeros(17)]), (knots + 1, 1))
    contact = np.ones((knots, 4))
    for k in range(knots):
        if (phase := k * 6 // knots) % 3:
            contact[k, [1, 2] if phase < 3 else [0, 3]] = 0.0
    weight = evaluate(robot, "gravity", {"q": stance[np.newaxis]})["tau"][0]
    feet = np.hstack([rows[0].T for rows in contact_jacobians(robot, stance[np.newaxis]).values()])
    tau = weight - feet @ np.linalg.lstsq(feet[:6], weight[:6], rcond=None)[0]
    tau[:6], driven = 0.0, np.diag(np.repeat([0.0, 1.0], [6, 12]))
    return {
        "q": stance,
        "v": np.zeros(18),
        "h": np.array(0.01),
        "x_ref": x_ref,
        "Q": weights,
        "R": np.full((knots, 18), 1e-3),
        "tau_ref": np.tile(tau, (knots, 1)),
        "tau": np.tile(tau, (knots, 1)),
        "tau_min": np.append(np.zeros(6), np.full(12, -1e3)),
        "tau_max": np.append(np.zeros(6), np.full(12, 1e3)),
        "contact": contact,
        "states": x_ref,
        "K": np.tile(np.hstack([-100.0 * driven, -1.0 * driven]), (knots, 1, 1)),
    }


def random_problem(robot, knots, seed, rows=2, momentum=False):
    """Return all arrays of one problem: every term of the cost has weights, and limits are active.

    ``momentum`` costs something if it may.
    """
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
    if contacts := robot.sizes["contacts"]:
        problem["contact"] = rng.integers(0, 2, (knots, contacts)).astype(float)
    if momentum:
        problem["momentum_ref"] = rng.normal(size=(knots + 1, 6))
        problem["momentum_weight"] = rng.uniform(0.0, 2.0, (knots + 1, 6))
    if frames:
        problem["placement_ref"] = placements(robot, x_ref[:, : robot.nq])
    return problem
