"""The search for the cheapest rewrite: which rewrites it keeps, and how often it evaluates the cost."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import JointKind
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.rewrite import REACH, best_rewrite, neighbourhood
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.support.invariance import assert_same_dynamics
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import ALL_KINDS, robots


def constants(robot):
    """Count the constants of a robot that are neither 0 nor 1, in place of its operation count."""
    count = 0
    for body in robot.bodies:
        placement, inertia = body.joint.placement, body.inertia
        numbers = [*placement.translation, inertia.mass, *inertia.first_moment, *inertia.rotational]
        numbers += [entry for row in placement.rotation for entry in row]
        count += sum(number not in (0.0, 1.0, -1.0) for number in numbers)
    return count


def indifferent(_robot):
    """Return a constant cost."""
    return 1.0


class Counted:
    """A cost that counts its evaluations and fails if it is evaluated twice for the same robot."""

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
"""For each robot, the constants after aligning axes and regrouping inertias, and after the best rewrite."""


@pytest.mark.parametrize("name", [long(name) if name == "atlas" else name for name in bundled()])
def test_bundled_robots_get_cheaper_and_keep_their_dynamics(name):
    robot = load_urdf(path(name))
    cost = Counted(constants)
    best, names, skipped = best_rewrite(robot, cost)
    assert skipped == ""
    assert_same_dynamics(robot, best, tasks=1)
    assert (constants(regroup_inertias(align_axes(robot))), constants(best)) == FEWEST[name]
    assert names[-1] == "regroup_inertias"
    assert len(cost.asked) <= 4 * len(robot.bodies) + 10


def test_the_search_respects_its_evaluation_budget():
    """The budget of evaluations ends a search whose cost falls at every evaluation."""
    robot = load_urdf(path("iiwa14"))
    asked = []

    def falling(_robot):
        asked.append(_robot)
        return -float(len(asked))

    best_rewrite(robot, falling)
    assert len(asked) == 4 * len(robot.bodies) + 10


def test_what_the_iiwa_keeps():
    names = best_rewrite(load_urdf(path("iiwa14")), constants).names
    assert names == ["intersect_axes toward children", "regroup_inertias"]


def test_rewrites_that_save_nothing_are_dropped():
    robot = load_urdf(path("iiwa14"))
    assert best_rewrite(robot, indifferent) == (robot, [], "")


def test_axes_are_aligned_whatever_it_costs():
    robot = load_urdf(path("toy"))
    best, names, _ = best_rewrite(robot, indifferent)
    assert best == align_axes(robot)
    assert names == ["align_axes"]


def test_single_frames_are_placed_where_that_helps():
    robot = load_urdf(path("hyq"))

    def product_of_one_leg(robot):
        return abs(robot.bodies[2].inertia.rotational[1])

    best, names, _ = best_rewrite(robot, product_of_one_leg)
    assert names == ["frame of lf_lowerleg"]
    assert best.bodies[2].inertia.rotational[1] == 0.0


def test_a_robot_without_joints_is_left_alone():
    robot = load_urdf(path("toy")).with_bodies([])
    assert best_rewrite(robot, indifferent) == (robot, [], "")


@settings(max_examples=10)
@given(robots(max_bodies=6, kinds=ALL_KINDS, mimics=True))
def test_random_robots_keep_their_dynamics_and_do_not_cost_more(robot):
    robot = elementary(robot)
    best = best_rewrite(robot, constants).robot
    assert_same_dynamics(robot, best, tasks=1)
    assert constants(best) <= constants(align_axes(robot))


def dear(robot):
    """Return a cost so high that a robot of about ten bodies counts as large."""
    return 400.0 * constants(robot)


class TestLarge:
    """Robots too large for evaluating the whole robot for each frame of each body."""

    def test_frames_are_judged_by_their_neighbourhood(self):
        robot = load_urdf(path("tiago"))
        cost = Counted(dear)
        best, _, skipped = best_rewrite(robot, cost)
        sizes = [len(asked.bodies) for asked in cost.asked]
        parts = [size for size in sizes if size < len(robot.bodies)]
        assert len(sizes) - len(parts) <= 8  # two ways to regroup, five of all frames, and the result
        assert len(sizes) <= 4 * len(robot.bodies) + 10 + 1
        assert sum(parts) < 7 * len(parts)
        assert skipped == "frames were compared by 3 joints around each body, not by the whole robot"
        assert constants(best) == FEWEST["tiago"][1]
        assert_same_dynamics(robot, best, tasks=1)

    def test_a_frame_is_placed_where_that_helps_its_neighbourhood(self):
        robot = load_urdf(path("hyq"))

        def product_of_one_leg(robot):
            legs = [body for body in robot.bodies if body.name == "lf_lowerleg"]
            return 3.5e4 * (1.0 + sum(abs(body.inertia.rotational[1]) for body in legs))

        best, names, skipped = best_rewrite(robot, product_of_one_leg)
        assert names == ["frame of lf_lowerleg"]
        assert best.bodies[2].inertia.rotational[1] == 0.0
        assert skipped

    def test_the_search_respects_its_work_limit(self):
        cost = Counted(lambda robot: 100.0 * dear(robot))
        best = best_rewrite(load_urdf(path("atlas")), cost)
        assert len(cost.asked) == 1
        assert best.skipped.endswith("not by the whole robot, and the search ended after evaluation 1")

    def test_moves_that_do_not_make_the_whole_robot_cheaper_are_dropped(self):
        def only_parts_fall(robot):
            return dear(robot) if len(robot.bodies) < 13 else 1e5

        robot = load_urdf(path("tiago"))
        best, names, _ = best_rewrite(robot, only_parts_fall)
        assert (best, names) == (align_axes(robot), ["align_axes"])


class TestNeighbourhood:
    def test_a_neighbourhood_has_a_base_of_given_motion(self):
        robot = load_urdf(path("atlas"))
        k = [body.name for body in robot.bodies].index("l_ufarm")
        part = neighbourhood(robot, k)
        whole = {body.name: body for body in robot.bodies}
        assert [body.name for body in part.bodies] == [
            "l_scap",
            "l_uarm",
            "l_larm",
            "l_ufarm",
            "l_lfarm",
            "l_hand",
        ]
        assert [body.parent for body in part.bodies] == [-1, 0, 1, 2, 3, 4]
        for body in part.bodies:
            assert replace(body, parent=0) == replace(whole[body.name], parent=0)
        assert part.base_given

    def test_near_the_base_a_neighbourhood_has_the_robots_base(self):
        robot = load_urdf(path("hyq"))
        part = neighbourhood(robot, 0)
        assert not part.base_given
        assert part.bodies == robot.bodies[:3]
        floating = robot.with_floating_base()
        assert neighbourhood(floating, 0) == floating

    @pytest.mark.parametrize(("bodies", "cut"), [(REACH + 1, False), (REACH + 2, True)])
    def test_the_base_is_given_if_one_body_is_cut_off(self, bodies, cut):
        robot = mechanism([JointKind.REVOLUTE] * bodies, range(-1, bodies - 1), seed=3)
        part = neighbourhood(robot, bodies - 1)
        assert len(part.bodies) == REACH + 1
        assert part.base_given == cut

    def test_a_mimic_of_a_joint_outside_becomes_independent(self):
        robot = with_mimic(mechanism([JointKind.REVOLUTE] * 6, [-1, 0, 1, 2, 3, 4], seed=2), 5, 0, 2.0)
        robot = with_mimic(robot, 4, 3, 2.0)
        part = neighbourhood(robot, 5)
        assert [body.name for body in part.bodies] == ["b2", "b3", "b4", "b5"]
        assert [body.joint.mimic and body.joint.mimic.joint for body in part.bodies] == [
            None,
            None,
            "j3",
            None,
        ]
        assert part.nv == 3
