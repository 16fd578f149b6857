"""Comparison of two robots' dynamics by the golden model: torques, mass matrix and derivatives."""

import numpy as np

from rbdhw import golden
from rbdhw.robot.model import Robot
from tests.support.strategies import random_states


def assert_same_dynamics(robot: Robot, other: Robot, seed: int = 0, tasks: int = 2) -> None:
    """Check that tau under external forces, M, dtau/dq and dtau/dv agree to 1e-12 relative, task by task.

    Forces act on all links. Virtual bodies, which only one of the robots may have, have no force.
    """
    states = random_states(robot, tasks, seed)
    theirs = states | {"fext": _on_links(states["fext"][:, list(robot.links)], other)}
    states["fext"] = _on_links(states["fext"][:, list(robot.links)], robot)
    tau = golden.evaluate(robot, "id", states)["tau"]
    for function, size in (("id", None), ("m", None), ("did", tau)):
        expected = golden.evaluate(robot, function, states)
        for name, array in golden.evaluate(other, function, theirs).items():
            for task in range(tasks):
                scale = 0.0 if size is None else float(np.abs(size[task]).max(initial=0.0))
                assert_close(array[task], expected[name][task], scale)


def assert_close(value: np.ndarray, expected: np.ndarray, scale: float = 0.0) -> None:
    """Check equality to 1e-12 of the largest entry, or of ``scale`` if that is larger."""
    largest = max(scale, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12 * largest)


def _on_links(wrenches: np.ndarray, robot: Robot) -> np.ndarray:
    """Return external forces (tasks, links, 6) as those on all bodies of ``robot``."""
    on_bodies = np.zeros((len(wrenches), len(robot.bodies), 6))
    on_bodies[:, list(robot.links)] = wrenches
    return on_bodies
