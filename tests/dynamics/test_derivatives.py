"""Mass matrix and derivatives by composite bodies, compared with the golden model."""

import numpy as np
import pytest
from hypothesis import given

from rbdhw import golden
from rbdhw.dynamics.derivatives import inverse_dynamics_derivatives, mass_matrix
from rbdhw.dynamics.joint import coordinates
from rbdhw.dynamics.rnea import at_rest, newton_euler
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from tests.support.strategies import random_states, robots

TASKS = 4


def derivatives(robot: Robot, states: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return ``M``, ``dtau_dq`` and ``dtau_dv`` (N, nv, nv) of a robot whose axes are z."""
    q = coordinates(robot, states["q"].T)
    v, a = list(states["v"].T), list(states["a"].T)
    fext = {i: (tuple(f[:, 3:].T), tuple(f[:, :3].T)) for i, f in enumerate(states["fext"].swapaxes(0, 1))}
    result = inverse_dynamics_derivatives(
        robot, q, v, newton_euler(robot, q, v, a, at_rest(robot.gravity), fext)
    )
    return [stack(m) for m in (result.mass_matrix, result.by_position, result.by_velocity)]


def stack(matrix: list[list[object]]) -> np.ndarray:
    """Convert rows of arrays (N,) and floats to an array (N, n, n)."""
    rows = [np.stack([np.broadcast_to(entry, (TASKS,)) for entry in row]) for row in matrix]
    return np.moveaxis(np.stack(rows), -1, 0)


def expected(robot: Robot, states: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return the same matrices of the golden model."""
    by = golden.evaluate(robot, "did", states)
    return [golden.evaluate(robot, "m", states)["M"], by["dtau_dq"], by["dtau_dv"]]


def assert_equal(actual: list[np.ndarray], reference: list[np.ndarray]) -> None:
    for one, other in zip(actual, reference, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9 * max(1.0, abs(other).max()))


@pytest.mark.parametrize("name", sorted(bundled().keys() - {"tiago"}))  # tiago has a mimic
@pytest.mark.parametrize("rewrite", [align_axes, lambda robot: regroup_inertias(align_axes(robot))])
def test_bundled_robot(name, rewrite):
    source = load_urdf(bundled()[name])
    states = random_states(source, TASKS, seed=3)
    assert_equal(derivatives(rewrite(source), states), expected(source, states))


@given(robots(max_bodies=8))
def test_random_robot(robot):
    states = random_states(robot, TASKS, seed=5)
    assert_equal(derivatives(align_axes(robot), states), expected(robot, states))


@given(robots(max_bodies=8))
def test_mass_matrix_alone_is_the_same(robot):
    aligned = align_axes(robot)
    states = random_states(robot, TASKS, seed=7)
    alone = stack(mass_matrix(aligned, coordinates(aligned, states["q"].T)))
    np.testing.assert_allclose(alone, derivatives(aligned, states)[0], rtol=1e-12, atol=1e-12)


def test_entries_between_different_limbs_are_zero():
    robot = align_axes(load_urdf(bundled()["hyq"]))
    states = random_states(robot, TASKS, seed=0)
    q = coordinates(robot, states["q"].T)
    trip = newton_euler(robot, q, list(states["v"].T), list(states["a"].T), at_rest(robot.gravity))
    result = inverse_dynamics_derivatives(robot, q, list(states["v"].T), trip)
    for matrix in (result.mass_matrix, result.by_position, result.by_velocity):
        unrelated = [matrix[i][j] for i in range(12) for j in range(12) if i // 3 != j // 3]
        assert unrelated == [0.0] * 108
