"""Traced steps in time, compared with the golden model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.frontend.alternatives import DEFAULT
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, optimise
from rbdhw.frontend.functions import trace
from rbdhw.graph.check import check
from rbdhw.protocol import functions_with
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import results, to_radians
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import ALL_KINDS, random_states, robots

STEPS = functions_with(lambda own: own.integrates)

COMPOSED = (JointKind.CYLINDRICAL, JointKind.UNIVERSAL, JointKind.TRANSLATION)
"""Joints that a robot is rewritten without: joints of one freedom stand for them."""

TASKS = 2

TOLERANCE = 1e-7
"""The error of the exponential map's series at the angles of these tasks, relative to the largest result."""


def assert_golden(robot: Robot, functions: tuple[str, ...] = STEPS, seed: int = 0, **algorithms: str) -> None:
    """Check functions at random states."""
    arrays = random_states(robot, TASKS, seed)
    arrays["Minv"] = golden.evaluate(robot, "minv", arrays)["Minv"]
    own = regroup_inertias(align_axes(elementary(robot)))
    graph = optimise(trace(own, functions, own.links, replace(DEFAULT, **algorithms)), DEFAULT_DELAYS)
    check(graph)
    for function, found in results(graph, robot, arrays, functions).items():
        to_radians(robot, found)
        for name, expected in golden.evaluate(robot, function, arrays).items():
            tolerance = TOLERANCE * max(1e-3, np.abs(expected).max())
            np.testing.assert_allclose(
                found[name], expected, rtol=0, atol=tolerance, err_msg=f"{function}.{name}"
            )


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.verify if kind in COMPOSED else ()) for kind in JointKind]
)
def test_every_kind_of_joint(kind):
    if kind is JointKind.FLOATING:
        assert_golden(mechanism([kind, JointKind.REVOLUTE], [-1, 0], seed=3))
    else:
        assert_golden(mechanism([JointKind.REVOLUTE, kind, JointKind.PRISMATIC], [-1, 0, 1], seed=3))


@pytest.mark.parametrize("products", ["dense", "solves"])
def test_a_base_that_each_task_may_hold(products):
    robot = mechanism([JointKind.REVOLUTE], [-1], seed=6).with_floating_base()
    assert_golden(replace(robot, base_chosen=True), ("step", "drk4"), products=products)


@pytest.mark.parametrize(
    ("name", "base"), [("toy", "given"), long("iiwa14", "fixed"), ("iiwa14", "floating")]
)
def test_bundled_robots(name, base):
    robot = replace(load_urdf(path(name)), base_given=base == "given", gravity_given=base == "given")
    if base == "floating":
        assert_golden(robot.with_floating_base(), ("step", "dstep"))
    else:
        assert_golden(robot)


def test_all_functions_share_the_pipeline():
    robot = load_urdf(path("toy"))
    assert_golden(robot, ("id", "fd", "did", "dfd", "difd", "minv", *STEPS))


@pytest.mark.parametrize(
    "algorithms", [{"gradient": "repeated"}, {"products": "solves"}, {"inverse": "articulated"}]
)
def test_other_algorithms(algorithms):
    assert_golden(load_urdf(path("toy")), **algorithms)


def test_mimics():
    chain = mechanism([JointKind.REVOLUTE, JointKind.REVOLUTE, JointKind.PRISMATIC], [-1, 0, 1], seed=5)
    assert_golden(with_mimic(chain, 1, 0, 0.7, 0.1))
    assert_golden(with_mimic(chain, 1, 0, 2.0))


def test_a_fixed_time_step_is_a_constant():
    robot = replace(load_urdf(path("toy")), time_step=0.004)
    assert "h" not in trace(robot, STEPS).inputs
    assert_golden(robot)


@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(robots(max_bodies=2, kinds=ALL_KINDS, mimics=True), st.integers(0, 100))
def test_small_random_trees(robot, seed):
    assert_golden(robot, seed=seed)


@pytest.mark.verify
@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(robots(max_bodies=4, kinds=ALL_KINDS, mimics=True), st.integers(0, 100))
def test_random_trees(robot, seed):
    assert_golden(robot, seed=seed)
