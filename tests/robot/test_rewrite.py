"""The search for the cheapest rewrite: what it keeps, what it drops, and how often it asks."""

import pytest
from hypothesis import given, settings

from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.rewrite import best_rewrite
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.robot.invariance import assert_same_dynamics
from tests.strategies import ALL_KINDS, robots


def constants(robot):
    """How many of a robot's constants are neither 0 nor 1: a stand-in for its operation count."""
    count = 0
    for body in robot.bodies:
        placement, inertia = body.joint.placement, body.inertia
        numbers = [*placement.translation, inertia.mass, *inertia.first_moment, *inertia.rotational]
        numbers += [entry for row in placement.rotation for entry in row]
        count += sum(number not in (0.0, 1.0, -1.0) for number in numbers)
    return count


def indifferent(_robot):
    """A cost that nothing lowers."""
    return 1.0


class Counted:
    """A cost that remembers how often it was asked, and never for the same robot twice."""

    def __init__(self, cost):
        self.cost = cost
        self.asked = []

    def __call__(self, robot):
        assert robot not in self.asked
        self.asked.append(robot)
        return self.cost(robot)


FEWEST = {
    "atlas": (238, 222),
    "hand22": (118, 113),
    "hyq": (112, 108),
    "iiwa14": (46, 42),
    "spot_arm": (161, 156),
    "tiago": (116, 106),
    "toy": (8, 8),
}
"""Constants of each robot with its axes aligned and its inertias regrouped, and of the best rewrite."""


@pytest.mark.parametrize("name", bundled())
def test_the_bundled_robots_get_cheaper_and_stay_themselves(name):
    robot = load_urdf(path(name))
    cost = Counted(constants)
    best, names = best_rewrite(robot, cost)
    assert_same_dynamics(robot, best, tasks=1)
    assert (constants(regroup_inertias(align_axes(robot))), constants(best)) == FEWEST[name]
    assert names[-1] == "regroup_inertias"
    assert len(cost.asked) <= 4 * len(robot.bodies) + 10


def test_the_search_ends_where_its_evaluations_do():
    """Were every robot cheaper than the one before, it would go on and on."""
    robot = load_urdf(path("iiwa14"))
    asked = []

    def falling(_robot):
        asked.append(_robot)
        return -float(len(asked))

    best_rewrite(robot, falling)
    assert len(asked) == 4 * len(robot.bodies) + 10


def test_what_the_iiwa_keeps():
    _, names = best_rewrite(load_urdf(path("iiwa14")), constants)
    assert names == ["intersect_axes toward children", "regroup_inertias"]


def test_nothing_is_kept_that_saves_nothing():
    robot = load_urdf(path("iiwa14"))
    assert best_rewrite(robot, indifferent) == (robot, [])


def test_axes_are_aligned_whatever_it_costs():
    robot = load_urdf(path("toy"))
    best, names = best_rewrite(robot, indifferent)
    assert best == align_axes(robot)
    assert names == ["align_axes"]


def test_single_frames_are_placed_where_that_helps():
    robot = load_urdf(path("hyq"))

    def product_of_one_leg(robot):
        return abs(robot.bodies[2].inertia.rotational[1])

    best, names = best_rewrite(robot, product_of_one_leg)
    assert names == ["frame of lf_lowerleg"]
    assert best.bodies[2].inertia.rotational[1] == 0.0


def test_a_robot_without_joints_is_left_alone():
    robot = load_urdf(path("toy")).with_bodies([])
    assert best_rewrite(robot, indifferent) == (robot, [])


@settings(max_examples=20)
@given(robots(max_bodies=6, kinds=ALL_KINDS, mimics=True))
def test_any_robot_stays_itself_and_gets_no_dearer(robot):
    robot = elementary(robot)
    best, _ = best_rewrite(robot, constants)
    assert_same_dynamics(robot, best, tasks=1)
    assert constants(best) <= constants(align_axes(robot))
