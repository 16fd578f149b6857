"""Derivatives by columns, compared with the golden model and the composite form."""

import numpy as np
import pytest
from hypothesis import given

from rbdhw import golden
from rbdhw.dynamics.columns import column_derivatives
from rbdhw.dynamics.joint import coordinates
from rbdhw.emit.manifest import function_counts
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.functions import trace
from rbdhw.robot.frames import align_axes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from tests.support.strategies import random_states, robots

TASKS = 3


def assert_golden(source):
    """Both derivatives equal the golden model's, with external forces."""
    robot = align_axes(source)
    states = random_states(source, TASKS, seed=4)
    fext = {i: (tuple(f[:, 3:].T), tuple(f[:, :3].T)) for i, f in enumerate(states["fext"].swapaxes(0, 1))}
    q = coordinates(robot, states["q"].T)
    found = column_derivatives(robot, q, list(states["v"].T), list(states["a"].T), fext)
    expected = golden.evaluate(source, "did", states)
    for rows, name in zip(found, ("dtau_dq", "dtau_dv"), strict=True):
        reference = expected[name]
        for i, row in enumerate(rows):
            for j, entry in enumerate(row):
                scale = max(1.0, np.abs(reference).max())
                np.testing.assert_allclose(entry, reference[:, i, j], rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("name", sorted(bundled().keys() - {"tiago"}))  # tiago has a mimic
def test_bundled_robot(name):
    assert_golden(load_urdf(bundled()[name]))


@given(robots(max_bodies=7))
def test_random_robot(source):
    assert_golden(source)


def test_columns_exist_only_along_the_ancestors():
    robot = align_axes(load_urdf(bundled()["hyq"]))
    states = random_states(robot, TASKS, seed=0)
    q = coordinates(robot, states["q"].T)
    for rows in column_derivatives(robot, q, list(states["v"].T), list(states["a"].T)):
        unrelated = [rows[i][j] for i in range(12) for j in range(12) if i // 3 != j // 3]
        assert unrelated == [0.0] * 108


@pytest.mark.parametrize(("name", "products"), [("iiwa14", 4313), ("hyq", 2126)])
def test_operations_are_at_most_those_of_the_published_way(name, products):
    robot = align_axes(load_urdf(bundled()[name]))
    graph = trace(robot, ("did",), (), Algorithms(derivatives="columns"))
    found = function_counts(graph, "did").multiplications
    assert found.variable + found.constant <= products
