"""Compound joints as chains of elementary joints: the shape of the chains, and equal dynamics."""

import math
from dataclasses import replace

import pytest
from hypothesis import given

from rbdhw.robot.check import check_robot
from rbdhw.robot.elementary import elementary
from rbdhw.robot.model import Inertia, Joint, JointKind, Limits, Mimic, Placement
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.support.invariance import assert_same_dynamics
from tests.support.mechanisms import BRANCHED, mechanism, with_mimic
from tests.support.strategies import ALL_KINDS, robots

SPLIT = {
    JointKind.HELICAL: ["j0", "j0.shift"],
    JointKind.CYLINDRICAL: ["j0.1", "j0.2"],
    JointKind.UNIVERSAL: ["j0.1", "j0.2"],
    JointKind.TRANSLATION: ["j0.1", "j0.2", "j0.3"],
}
WHOLE = [kind for kind in JointKind if kind not in SPLIT]


def alone(kind):
    return mechanism([kind], [-1], seed=1)


class TestDynamics:
    @given(robots(max_bodies=6, kinds=ALL_KINDS, mimics=True))
    def test_have_the_dynamics_of_the_original_robot(self, robot):
        chained = elementary(robot)
        check_robot(chained)
        assert {body.joint.kind for body in chained.bodies} <= set(WHOLE)
        assert_same_dynamics(robot, chained, tasks=1)

    @pytest.mark.parametrize("kind", SPLIT)
    def test_under_forces_in_link_frames_with_offsets(self, kind):
        robot = mechanism([kind, *SPLIT], BRANCHED, seed=3)
        assert_same_dynamics(robot, elementary(robot))

    @pytest.mark.parametrize(("follower", "leader"), [(0, 1), (1, 0), (2, 0), (1, 2)])
    def test_support_helical_joints_that_mimic_and_are_mimicked(self, follower, leader):
        kinds = [JointKind.HELICAL, JointKind.HELICAL, JointKind.PRISMATIC]
        robot = with_mimic(mechanism(kinds, [-1, 0, 1], seed=4), follower, leader, -1.5, offset=0.4)
        chained = elementary(robot)
        assert (chained.nq, chained.nv) == (robot.nq, robot.nv) == (2, 2)
        assert_same_dynamics(robot, chained)


class TestChains:
    @pytest.mark.parametrize("kind", SPLIT)
    def test_keep_the_order_of_the_coordinates(self, kind):
        chained = elementary(alone(kind))
        assert [body.joint.name for body in chained.bodies] == SPLIT[kind]
        assert (chained.nq, chained.nv) == (kind.nq, kind.nv)

    @pytest.mark.parametrize("kind", SPLIT)
    def test_end_in_the_link(self, kind):
        (link,) = alone(kind).bodies
        *virtual, last = elementary(alone(kind)).bodies
        assert (last.name, last.inertia, last.link_frame) == (link.name, link.inertia, link.link_frame)
        assert [body.name for body in virtual] == [f"b0.{k}" for k in range(1, len(SPLIT[kind]))]
        assert all(body.virtual and body.inertia == Inertia() for body in virtual)
        assert not last.virtual

    @pytest.mark.parametrize("kind", SPLIT)
    def test_start_at_the_placement_of_the_joint(self, kind):
        placements = [body.joint.placement for body in elementary(alone(kind)).bodies]
        assert placements[0] == alone(kind).bodies[0].joint.placement
        assert placements[1:] == [Placement()] * (len(placements) - 1)

    def test_give_each_part_its_limits(self):
        robot = alone(JointKind.CYLINDRICAL)
        limits = (Limits(-1.0, 1.0, 2.0, 3.0), Limits(-0.1, 0.1, 0.2, 30.0))
        (body,) = robot.bodies
        first, second = elementary(
            robot.with_bodies([replace(body, joint=replace(body.joint, limits=limits))])
        ).bodies
        assert (first.joint.kind, first.joint.limits) == (JointKind.REVOLUTE, limits[:1])
        assert (second.joint.kind, second.joint.limits) == (JointKind.PRISMATIC, limits[1:])

    def test_are_continuous_without_limits(self):
        assert elementary(alone(JointKind.UNIVERSAL)).bodies[1].joint.kind is JointKind.CONTINUOUS

    def test_carry_what_hangs_from_the_link(self):
        robot = mechanism([JointKind.TRANSLATION, *[JointKind.REVOLUTE] * 4], BRANCHED, seed=2)
        chained = elementary(robot)
        assert [body.parent for body in chained.bodies] == [-1, 0, 1, 2, 3, 2, 5]
        assert chained.links == (2, 3, 4, 5, 6)

    def test_avoid_names_in_use(self):
        robot = mechanism([JointKind.UNIVERSAL, JointKind.REVOLUTE], [-1, 0], seed=2)
        first, second = robot.bodies
        second = replace(second, name="b0.1", joint=replace(second.joint, name="j0.2"))
        chained = elementary(replace(robot.with_bodies([first, second]), fixed_links=(("b0.1_", "b0"),)))
        assert [body.name for body in chained.bodies] == ["b0.1__", "b0", "b0.1"]
        assert chained.joints == ("j0.1", "j0.2_", "j0.2")


class TestScrew:
    LIMITS = Limits(-2.0, 1.0, 4.0, 6.0)

    def screw(self, pitch, offset=0.0, limits=LIMITS):
        robot = alone(JointKind.HELICAL)
        (body,) = robot.bodies
        joint = replace(body.joint, pitch=pitch, offset=offset, limits=(limits,))
        return elementary(robot.with_bodies([replace(body, joint=joint)])).bodies

    def test_shifts_as_it_turns(self):
        turn, shift = self.screw(-0.5, offset=0.25)
        assert (turn.joint.kind, turn.joint.offset, turn.joint.limits) == ("revolute", 0.25, (self.LIMITS,))
        assert turn.joint.pitch == 0.0
        assert shift.joint == Joint(
            "j0.shift",
            JointKind.PRISMATIC,
            turn.joint.axis,
            Placement(),
            (Limits(-0.5, 1.0, 2.0, 12.0),),
            offset=-0.125,
            mimic=Mimic("j0", -0.5),
        )

    def test_without_limits_is_unlimited(self):
        turn, shift = self.screw(0.5, limits=Limits(-math.inf, math.inf, 4.0, 6.0))
        assert turn.joint.kind is JointKind.CONTINUOUS
        assert shift.joint.limits == (Limits(-math.inf, math.inf, 2.0, 12.0),)

    def test_without_pitch_only_turns(self):
        (turn,) = self.screw(0.0)
        assert (turn.name, turn.joint.kind) == ("b0", JointKind.REVOLUTE)


class TestElementaryRobots:
    @pytest.mark.parametrize("name", bundled())
    def test_are_left_alone(self, name):
        robot = load_urdf(path(name)).with_floating_base()
        assert elementary(robot) == robot

    @given(robots(max_bodies=4, kinds=ALL_KINDS, mimics=True))
    def test_stay_as_they_are(self, robot):
        assert elementary(elementary(robot)) == elementary(robot)

    def test_have_the_offset_of_a_mimic_in_the_joint(self):
        robot = with_mimic(mechanism([JointKind.REVOLUTE] * 2, [-1, 0], seed=5), 0, 1, 2.0, offset=0.5)
        before, after = robot.bodies[0].joint, elementary(robot).bodies[0].joint
        assert after.mimic == Mimic("j1", 2.0)
        assert after.offset == before.offset + 0.5
