"""The inverse mass matrix by articulated bodies, compared with the golden model."""

import numpy as np
import pytest
from hypothesis import given

from rbdhw import golden
from rbdhw.dynamics.articulated import articulated_inverse
from rbdhw.dynamics.joint import coordinates
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Op
from rbdhw.robot.frames import align_axes
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from tests.support.strategies import random_states, robots


def assert_golden(source, robot):
    """A rewritten robot has the inverse of the original robot."""
    states = random_states(source, 3, seed=6)
    rows = articulated_inverse(robot, coordinates(robot, states["q"].T))
    expected = golden.evaluate(source, "minv", {"q": states["q"]})["Minv"]
    for i, row in enumerate(rows):
        assert len(row) == i + 1
        for j, entry in enumerate(row):
            np.testing.assert_allclose(entry, expected[:, i, j], rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("rewrite", [align_axes, lambda robot: regroup_inertias(align_axes(robot))])
@pytest.mark.parametrize("name", sorted(bundled().keys() - {"tiago"}))  # tiago has a mimic
def test_bundled_robot(name, rewrite):
    source = load_urdf(bundled()[name])
    assert_golden(source, rewrite(source))


@given(robots(max_bodies=7))
def test_random_robot(source):
    assert_golden(source, align_axes(source))


def test_limbs_on_one_base_stay_apart():
    robot = align_axes(load_urdf(bundled()["hyq"]))
    rows = articulated_inverse(robot, coordinates(robot, np.zeros((12, 1))))
    assert [rows[i][j] for i in range(12) for j in range(i + 1) if i // 3 != j // 3] == [0.0] * 54


@pytest.mark.parametrize(
    ("name", "products", "reciprocals"), [("iiwa14", 630, 5), ("hyq", 290, 8), ("atlas", 6040, 25)]
)
def test_operations_stay_few(name, products, reciprocals):
    robot = regroup_inertias(align_axes(load_urdf(bundled()[name])))
    graph = trace(robot, ("minv",), (), Algorithms(inverse="articulated"))
    assert graph.count(Op.MULTIPLY) + graph.count(Op.SCALE) <= products
    assert graph.count(Op.RECIPROCAL) == reciprocals
