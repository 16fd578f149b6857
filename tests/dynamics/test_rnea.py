"""Inverse dynamics on floats and traced, compared with the golden model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.dynamics.joint import coordinates
from rbdhw.dynamics.rnea import Motion, rnea, square_across_z
from rbdhw.dynamics.spatial import ZERO, multiply
from rbdhw.frontend.build_graph import optimise, prepare, trace_model
from rbdhw.graph.interpret import interpret
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import IDENTITY
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.target import target
from tests.support.builds import model_of
from tests.support.marks import long
from tests.support.strategies import ALL_KINDS, random_rotation, random_states, robots
from tests.support.wrenches import wrenches

TOLERANCE = 1e-9


def floats(robot, states, with_fext):
    """Return ``tau`` (N, nv) by the algorithm on arrays."""
    fext = wrenches(states["fext"]) if with_fext else None
    tau = rnea(robot, coordinates(robot, states["q"].T), states["v"].T, states["a"].T, fext)
    count = len(states["q"])
    return np.stack([np.broadcast_to(value, count) for value in tau], axis=1)


def reference(robot, states, with_fext):
    given_arrays = states if with_fext else {k: v for k, v in states.items() if k != "fext"}
    return golden.evaluate(robot, "id", given_arrays)["tau"]


def assert_close(tau, expected):
    np.testing.assert_allclose(tau, expected, rtol=0, atol=TOLERANCE * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("with_fext", [False, True])
@pytest.mark.parametrize("name", ["toy", "iiwa14", "hyq", "atlas"])
def test_bundled_robots_with_aligned_axes(name, with_fext):
    robot = align_axes(load_urdf(path(name)))
    states = random_states(robot, 20, seed=1)
    assert_close(floats(robot, states, with_fext), reference(robot, states, with_fext))


@pytest.mark.parametrize("name", ["toy", long("iiwa14"), long("hyq")])
def test_rewritten_robots_have_the_torques_of_their_source(name):
    model = model_of(name, "all")
    states = random_states(model.source, 20, seed=2)
    assert_close(floats(model.robot, states, True), reference(model.source, states, True))


@given(robots(), st.integers(0, 2**16), st.booleans())
def test_random_trees(robot, seed, with_fext):
    robot = align_axes(robot)
    states = random_states(robot, 3, seed)
    assert_close(floats(robot, states, with_fext), reference(robot, states, with_fext))


@given(robots(max_bodies=3, kinds=ALL_KINDS, mimics=True), st.integers(0, 2**16), st.booleans())
@settings(max_examples=3)
def test_rewritten_random_trees_traced_and_optimised(robot, seed, with_fext):
    model = prepare(robot, ("id",), "all" if with_fext else "none")
    graph = optimise(trace_model(model, ("id",)), target("xcvu9p").delays)
    states = random_states(robot, 3, seed)
    results = interpret(graph, graph_inputs(robot, states))
    tau = np.stack([results[f"id.tau[{i}]"] for i in range(robot.nv)], axis=1)
    assert_close(tau, reference(robot, states, with_fext))


def test_a_body_without_motion_carries_its_weight():
    robot = align_axes(load_urdf(path("toy")))
    zero = np.zeros((1, robot.nv))
    states = {"q": zero, "v": zero, "a": zero}
    assert_close(floats(robot, states, False), reference(robot, states, False))


@pytest.mark.parametrize("rotation", [IDENTITY, random_rotation(np.random.default_rng(3))])
def test_the_square_across_z_is_known_from_the_parent(rotation):

    x, y, z = velocity = (0.3, -1.1, 0.8)
    parent = Motion(velocity, ZERO, ZERO, (x * x, y * y, z * z), (y * z, x * z, x * y))
    turned = multiply(rotation, velocity)
    assert square_across_z(rotation, turned, parent) == pytest.approx(turned[0] ** 2 + turned[1] ** 2)
