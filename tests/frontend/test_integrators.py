"""Traced steps in time, compared with the golden model."""

from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.frontend.alternatives import DEFAULT
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, optimise
from rbdhw.frontend.functions import trace
from rbdhw.protocol import functions_with
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_results_are_golden, prepared
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import ALL_KINDS, random_states, robots

STEPS = functions_with(lambda entry: entry.integrates and not entry.touches)

COMPOSED = (JointKind.CYLINDRICAL, JointKind.UNIVERSAL, JointKind.TRANSLATION)
"""Joints that a robot is rewritten without: joints of one freedom stand for them."""

TASKS = 2

TOLERANCE = 1e-7
"""The error of the exponential map's series at the angles of these tasks, relative to the largest result."""


def assert_golden(
    robot: Robot, functions: tuple[str, ...] = STEPS, seed: int = 0, length: float = 1.0, **algorithms: str
) -> None:
    """Check functions at random states; ``length`` is that of the quaternion, of a robot of one joint."""
    arrays = random_states(robot, TASKS, seed)
    arrays["q"] = length * arrays["q"]
    arrays["Minv"] = golden.evaluate(robot, "minv", arrays)["Minv"]
    model = prepared(robot)
    graph = optimise(trace(model, functions, model.links, replace(DEFAULT, **algorithms)), DEFAULT_DELAYS)
    assert_results_are_golden(graph, robot, arrays, functions, TOLERANCE)


OTHERS = (
    JointKind.FLOATING,
    JointKind.SPHERICAL,
    JointKind.REVOLUTE,
    JointKind.CONTINUOUS,
    JointKind.PRISMATIC,
)
"""Joints that other tests of steps have, as well."""


@pytest.mark.parametrize("kind", [long(kind) if kind in COMPOSED + OTHERS else kind for kind in JointKind])
def test_every_kind_of_joint(kind):
    assert_golden(mechanism([kind, JointKind.REVOLUTE], [-1, 0], seed=3), ("dstep", "drk4"))


def test_a_quaternion_comes_to_unit_length():
    assert_golden(mechanism([JointKind.SPHERICAL], [-1], seed=3), ("step",), length=1.0 - 1e-4)


@pytest.mark.parametrize("products", [long("dense"), "solves"])
def test_a_base_that_each_task_may_hold(products):
    robot = mechanism([JointKind.REVOLUTE], [-1], seed=6).with_floating_base()
    assert_golden(replace(robot, base_chosen=True), ("step", "dstep"), products=products)


@pytest.mark.parametrize(
    ("name", "base"), [("toy", "given"), long("iiwa14", "fixed"), long("iiwa14", "floating")]
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
    assert_golden(with_mimic(chain, 1, 0, 0.7, 0.1), ("rk4", "dstep"))
    assert_golden(with_mimic(chain, 1, 0, 2.0), ("dstep",))


def test_a_fixed_time_step_is_a_constant():
    robot = replace(load_urdf(path("toy")), time_step=0.004)
    assert "h" not in trace(robot, STEPS).inputs
    assert_golden(robot)


@pytest.mark.parametrize(("examples", "bodies"), [(4, 2), long(40, 4)])
def test_random_trees(examples, bodies):
    @settings(max_examples=examples, phases=[Phase.explicit, Phase.generate])
    @given(robots(max_bodies=bodies, kinds=ALL_KINDS, mimics=True), st.integers(0, 100))
    def check(robot, seed):
        assert_golden(robot, seed=seed)

    check()
