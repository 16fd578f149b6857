"""The graphs of all joints, bases and gravities compute the golden model's results."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.forward_dynamics import LARGEST_BLOCK
from rbdhw.frontend.inputs import shrink
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.robot.reroot import reroot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_graph_is_golden
from tests.support.marks import long, quick_among, some
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import ALL_KINDS, robots

K = JointKind
QUICK = (K.REVOLUTE, K.PRISMATIC, K.CONTINUOUS, K.HELICAL, K.UNIVERSAL)
WAYS = (Algorithms(), Algorithms(inverse="single_pivots", products="solves", gradient="repeated"))


@pytest.mark.parametrize(
    ("kind", "algorithms"),
    [
        *((kind, WAYS[0]) if kind in QUICK else long(kind, WAYS[0]) for kind in K),
        *(long(kind, WAYS[1]) for kind in K),
    ],
)
def test_every_joint_at_the_root_within_and_at_a_leaf(kind, algorithms):
    inner = K.SPHERICAL if kind is K.FLOATING else kind
    robot = mechanism([kind, inner, K.REVOLUTE, inner], [BASE, 0, 1, 1], seed=4)
    assert_graph_is_golden(robot, 1, algorithms, ("fd", "m", "difd", "gravity", "bias"))


@pytest.mark.parametrize(
    ("kind", "offset"), [long(K.REVOLUTE, 0.3), long(K.PRISMATIC, 0.0), (K.HELICAL, 0.3)]
)
def test_a_mimicking_joint_with_multiplier_zero_is_fixed(kind, offset):
    robot = mechanism([K.REVOLUTE, kind, K.REVOLUTE, K.PRISMATIC], [BASE, 0, 1, 1], seed=3)
    assert_graph_is_golden(with_mimic(robot, 1, 2, 0.0, offset), 2, functions=("id", "dfd"))


@pytest.mark.parametrize(("follower", "leader"), [long(4, 2), (0, 1), long(1, 4), long(3, 0)])
def test_mimics_follow_joints_of_other_branches_later_joints_and_other_kinds(follower, leader):
    kinds = [K.REVOLUTE, K.PRISMATIC, K.REVOLUTE, K.HELICAL, K.CONTINUOUS]
    robot = mechanism(kinds, [BASE, 0, 1, 1, 3], seed=9)
    assert_graph_is_golden(with_mimic(robot, follower, leader, -1.5, 0.3), 2, functions=("fd", "m", "did"))


BASES = ("floating", "given", "gravity", "floating, gravity", "given, gravity")


@pytest.mark.parametrize(
    ("base", "algorithms"),
    [
        *(long(base, WAYS[0]) if "floating" in base else (base, WAYS[0]) for base in BASES),
        *(long(base, WAYS[1]) for base in BASES),
    ],
)
def test_every_base_and_gravity(base, algorithms):
    robot = mechanism([K.SPHERICAL, K.REVOLUTE, K.PRISMATIC], [BASE, 0, 0], seed=5)
    robot = robot.with_floating_base() if "floating" in base else robot
    robot = replace(robot, base_given="given" in base, gravity_given="gravity" in base)
    assert_graph_is_golden(robot, 3, algorithms, ("m", "difd", "gravity", "bias"))


CHOSEN = [
    Algorithms(inverse=inverse, products=products, gradient=gradient)
    for inverse in LARGEST_BLOCK
    for products, gradient in (("dense", "corrected"), ("dense", "repeated"), ("solves", "corrected"))
]


@pytest.mark.parametrize(
    "algorithms",
    some([(algorithms,) for algorithms in CHOSEN], 12),
    ids=lambda algorithms: f"{algorithms.inverse}, {algorithms.products}, {algorithms.gradient}",
)
@pytest.mark.parametrize("kinds", [long((K.REVOLUTE, K.SPHERICAL, K.PRISMATIC)), (K.PRISMATIC, K.REVOLUTE)])
def test_a_base_that_each_task_may_hold(kinds, algorithms):
    robot = mechanism(kinds, [BASE, 0, BASE][: len(kinds)], seed=6).with_floating_base()
    assert_graph_is_golden(replace(robot, base_chosen=True), 3, algorithms)


SECOND = ("fd", "minv", "sid", "hid"), ("sfd",), ("fd", "hid", "hfd")


@pytest.mark.parametrize(
    ("functions", "algorithms"),
    quick_among(product(SECOND, WAYS), (SECOND[1], WAYS[1]), (SECOND[2], WAYS[0])),
)
def test_second_derivatives_on_a_base_that_each_task_may_hold(functions, algorithms):
    robot = replace(mechanism([K.REVOLUTE], [BASE], seed=7).with_floating_base(), base_chosen=True)
    assert_graph_is_golden(robot, 3, algorithms, functions=functions, within=1e-8)


@pytest.mark.verify
@pytest.mark.parametrize("name", ["hyq", "iiwa14"])
def test_a_bundled_robot_that_floats(name):
    assert_graph_is_golden(load_urdf(path(name)).with_floating_base(), 6)


@pytest.mark.verify
@pytest.mark.parametrize("algorithms", WAYS, ids=("dense", "solves"))
def test_a_bundled_robot_with_a_planar_base_and_a_mimic(algorithms):
    assert_graph_is_golden(load_urdf(path("tiago")), 6, algorithms)


def test_a_bundled_robot_from_another_root():
    robot = load_urdf(path("iiwa14")).with_floating_base()
    assert_graph_is_golden(reroot(robot, robot.bodies[4].name), 6, functions=("fd", "did"))


@st.composite
def any_robot(draw: st.DrawFn, bodies: int) -> Robot:
    """Draw a random tree of joints of any kind, on any base, with some mimics."""
    robot = draw(robots(max_bodies=bodies, kinds=ALL_KINDS, mimics=True))
    base = draw(st.sampled_from(["fixed", "floating", "given", "any"]))
    robot = robot.with_floating_base() if base in ("floating", "any") and not robot.floats else robot
    robot = replace(robot, base_chosen=base == "any", base_given=base == "given" and not robot.floats)
    return replace(robot, gravity_given=draw(st.booleans()))


@pytest.mark.parametrize(("examples", "bodies"), [(4, 3), long(60, 6)])
def test_random_robots_of_all_joints(examples, bodies):
    @settings(max_examples=examples)
    @given(any_robot(bodies), st.sampled_from(WAYS))
    def check(robot, algorithms):
        assert_graph_is_golden(robot, 7, algorithms)

    check()


def test_a_quaternion_of_length_near_one_is_normalised():
    quaternion = 1.0005 * np.array([0.5, -0.5, 0.5, 0.5])
    assert shrink(quaternion) == pytest.approx(1.0 / 1.0005**2, rel=2e-9)
