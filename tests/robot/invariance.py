"""Whether two robots are the same to their joints: torques, mass matrix, and derivatives."""

import numpy as np

from rbdhw.robot.model import JointKind, Robot
from tests.oracle import rnea
from tests.strategies import random_states

STEP = 1e-30
"""A complex step: small enough that the derivative it gives is exact."""


def assert_same_dynamics(robot: Robot, other: Robot, seed: int = 0, tasks: int = 2) -> None:
    """tau under external forces, M, and for fixed bases dtau/dq and dtau/dv agree to 1e-12 relative."""
    states = random_states(robot, tasks, seed)
    floating = any(body.joint.kind is JointKind.FLOATING for body in robot.bodies)
    for task in range(tasks):
        q, v, a, fext = (states[key][task] for key in ("q", "v", "a", "fext"))
        tau = rnea(robot, q, v, a, fext)
        assert_close(rnea(other, q, v, a, fext), tau)
        assert_close(mass_matrix(other, q), mass_matrix(robot, q))
        if not floating:
            for ours, theirs in zip(derivatives(other, q, v, a), derivatives(robot, q, v, a), strict=True):
                assert_close(ours, theirs, scale=float(np.abs(tau).max()))


def assert_close(value: np.ndarray, expected: np.ndarray, scale: float = 0.0) -> None:
    """Equal to 1e-12 of the largest entry, or of ``scale`` where that is larger."""
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12 * max(scale, np.abs(expected).max()))


def mass_matrix(robot: Robot, q: np.ndarray) -> np.ndarray:
    """M(q), a column from each unit acceleration."""
    still = np.zeros(robot.nv)
    rest = rnea(robot, q, still, still)
    return np.array([rnea(robot, q, still, unit) - rest for unit in np.eye(robot.nv)]).T


def derivatives(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """dtau/dq and dtau/dv by complex steps."""
    steps = STEP * 1j * np.eye(robot.nv)
    by_q = [rnea(robot, q + step, v, a).imag / STEP for step in steps]
    by_v = [rnea(robot, q, v + step, a).imag / STEP for step in steps]
    return np.array(by_q).T, np.array(by_v).T
