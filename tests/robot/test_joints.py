"""Reading the joints of URDFs: kinds, poses, axes, limits and mimics, and the refusals."""

from math import inf

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.robot.model import UNLIMITED, JointKind, Limits, Mimic, Placement
from rbdhw.robot.pinocchio import PinocchioLayout
from tests.support.bad.joints import OWN, REFUSED, SILENT, TAKEN, arm_with_limit
from tests.support.refusals import assert_refused, assert_taken
from tests.support.strategies import random_states
from tests.support.urdf_documents import AXIS, LIMIT, UNRANGED, arm_with, hand, joint, link, mimic, robot


def assert_inverse_dynamics(ours, theirs):
    """Check golden's torques against Pinocchio's, whose model has the joints in the same order."""
    arrays = random_states(ours, 2, seed=1)
    tau = golden.evaluate(ours, "id", {name: arrays[name] for name in ("q", "v", "a")})["tau"]
    for k in range(2):
        q, v, a = (arrays[name][k] for name in ("q", "v", "a"))
        if theirs.nq > ours.nq:  # a planar joint's angle by its cosine and sine
            q = np.concatenate([q[:2], [np.cos(q[2]), np.sin(q[2])], q[3:]])
        np.testing.assert_allclose(tau[k], pin.rnea(theirs, theirs.createData(), q, v, a), atol=1e-9)


class TestReading:
    def test_a_joint_with_all_elements(self, load):
        rest = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><axis xyz="0 -2 0"/>' + LIMIT
        (body,) = load(robot(link("base"), link("arm"), joint("j", "base", "arm", "prismatic", rest))).bodies
        assert body.joint.kind is JointKind.PRISMATIC
        assert body.joint.axis == (0.0, -1.0, 0.0)
        assert body.joint.placement == Placement(
            ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (1.0, 2.0, 3.0)
        )
        assert body.joint.limits == (Limits(lower=-1.0, upper=2.0, velocity=3.0, effort=4.0),)
        assert body.joint.offset == 0.0

    def test_a_continuous_joint_has_no_range(self, load):
        rest = AXIS + '<limit lower="-1" upper="1" velocity="3" effort="4"/>'
        (body,) = load(robot(link("base"), link("arm"), joint("j", "base", "arm", "continuous", rest))).bodies
        assert body.joint.limits == (Limits(lower=-inf, upper=inf, velocity=3.0, effort=4.0),)

    def test_a_skew_axis_is_normalised(self, load):
        rest = '<axis xyz="1e200 -2e200 2e200"/>' + LIMIT
        (body,) = load(robot(link("base"), link("arm"), joint("j", "base", "arm", rest=rest))).bodies
        assert body.joint.axis == pytest.approx((1 / 3, -2 / 3, 2 / 3), rel=1e-15)

    def test_roll_pitch_yaw_turn_about_fixed_axes(self, load):
        rest = f'<origin rpy="0.1 0.2 0.3"/>{AXIS}{LIMIT}'
        (body,) = load(robot(link("base"), link("arm"), joint("j", "base", "arm", rest=rest))).bodies
        expected = pin.rpy.rpyToMatrix(0.1, 0.2, 0.3)
        np.testing.assert_allclose(body.joint.placement.rotation, expected, rtol=0, atol=1e-15)

    @pytest.mark.parametrize("quarter", ["1.57079632679", "1.5707963267948966", "-4.7123889804"])
    def test_rounded_right_angles_become_exact(self, load, quarter):
        rest = f'<origin rpy="{quarter} 0 3.14159265359"/>{AXIS}{LIMIT}'
        (body,) = load(robot(link("base"), link("arm"), joint("j", "base", "arm", rest=rest))).bodies
        assert body.joint.placement.rotation == ((-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0))

    def test_a_small_angle_is_not_snapped(self, load):
        rest = f'<origin rpy="0 0 1e-5"/>{AXIS}{LIMIT}'
        (body,) = load(robot(link("base"), link("arm"), joint("j", "base", "arm", rest=rest))).bodies
        assert body.joint.placement.rotation[0] == (np.cos(1e-5), -np.sin(1e-5), 0.0)


class TestJointsOfSeveralFreedoms:
    @pytest.mark.parametrize("kind", [JointKind.PLANAR, JointKind.SPHERICAL, JointKind.FLOATING])
    def test_need_no_limits(self, load, kind):
        (body,) = load(arm_with(kind=kind, rest=AXIS)).bodies
        assert body.joint.kind is kind
        assert body.joint.limits == (UNLIMITED,) * kind.nv

    @pytest.mark.parametrize("kind", [JointKind.PLANAR, JointKind.SPHERICAL, JointKind.FLOATING])
    def test_have_one_velocity_and_effort_for_all(self, load, kind):
        (body,) = load(arm_with(kind=kind)).bodies
        assert body.joint.limits == (Limits(-inf, inf, 3.0, 4.0),) * kind.nv

    def test_take_the_axis_of_a_plane(self, load):
        robot = load(arm_with(kind="planar", rest='<axis xyz="0 3 4"/>'))
        assert robot.bodies[0].joint.axis == pytest.approx((0.0, 0.6, 0.8), rel=1e-15)
        assert robot.remarks == (
            "joint 'shoulder': planar across 0 3 4; Pinocchio takes the plane across 0 0 1 whatever <axis> "
            "says, and its coordinates differ",
        )
        assert load(arm_with(kind="planar", rest=AXIS + UNRANGED)).remarks == ()

    @pytest.mark.parametrize("kind", ["planar", "floating"])
    def test_are_those_of_pinocchio(self, load, kind):
        origin = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'
        text = robot(
            *(link(name) for name in ("world", "trunk", "leg")),
            joint("free", "world", "trunk", kind, origin + AXIS),
            joint("hip", "trunk", "leg", rest=origin + '<axis xyz="1 0 0"/>' + LIMIT),
        )
        assert_inverse_dynamics(load(text), pin.buildModelFromXML(text))


def test_a_screw_turns_by_many_radians_for_each_metre(load):
    """A lead of 4 mm; its inertia is felt a million times enlarged."""
    ratio = 2.0 * np.pi / 0.004
    text = robot(
        *(link("base"), link("slide"), link("screw")),
        joint("shift", "base", "slide", "prismatic"),
        joint("turn", "base", "screw", "continuous", AXIS + mimic("shift", f'multiplier="{ratio!r}"')),
    )
    ours, theirs = load(text), pin.buildModelFromXML(text)
    layout, q = PinocchioLayout(ours), np.array([0.01])
    M = pin.crba(theirs, theirs.createData(), layout.pinocchio_configuration(q), pin.Convention.WORLD)
    expected = layout.matrix(np.triu(M) + np.triu(M, 1).T)
    np.testing.assert_allclose(golden.evaluate(ours, "m", {"q": q[None]})["M"][0], expected, rtol=1e-12)


class TestMimics:
    def test_follow_as_they_say(self, load):
        first, second = (mimic("shoulder", rest) for rest in ("", 'multiplier="-2" offset="0.5"'))
        palm, finger, thumb = load(hand(first, second)).bodies
        assert palm.joint.mimic is None
        assert finger.joint.mimic == Mimic("shoulder", multiplier=1.0, offset=0.0)
        assert thumb.joint.mimic == Mimic("shoulder", multiplier=-2.0, offset=0.5)

    def test_have_no_coordinates(self, load):
        closed = load(hand(first=mimic("second")))
        assert (closed.nq, closed.nv, closed.joints) == (2, 2, ("shoulder", "second"))
        assert closed.v_of == (slice(0, 1), slice(1, 2), slice(1, 2))

    @pytest.mark.parametrize("kind", ["revolute", "prismatic"])
    def test_are_those_of_pinocchio(self, load, kind):
        text = hand(second=mimic("first", 'multiplier="-2" offset="0.5"')).replace(
            'name="second" type="revolute"', f'name="second" type="{kind}"'
        )
        assert_inverse_dynamics(load(text), pin.buildModelFromXML(text, mimic=True))


@pytest.mark.parametrize("case", [case for case in REFUSED if case not in TAKEN and case not in SILENT])
@pytest.mark.parametrize("strict", [False, True])
def test_bad_input_is_refused_in_one_clear_line(load, case, strict):
    assert_refused(load, *REFUSED[case], strict=strict)


class TestTolerantReading:
    @pytest.mark.parametrize("case", TAKEN)
    def test_tolerates_problems_with_a_remark(self, load, case):
        assert_taken(load, *REFUSED[case], TAKEN[case])

    @pytest.mark.parametrize("case", SILENT)
    def test_takes_missing_limits_as_none(self, load, case):
        assert_taken(load, *REFUSED[case], "as no limit", remarked=False)

    def test_of_a_joint_without_anything(self, load):
        (body,) = load(arm_with(rest="")).bodies
        assert body.joint.axis == (1.0, 0.0, 0.0)
        assert body.joint.limits == (Limits(-inf, inf, inf, inf),)

    @pytest.mark.parametrize(
        ("limit", "limits"),
        [
            ('lower="1" upper="-2" velocity="3" effort="4"', (-2.0, 1.0, 3.0, 4.0)),
            ('upper="2" velocity="3" effort="4"', (0.0, 2.0, 3.0, 4.0)),
            ('lower="-2" velocity="3" effort="4"', (-2.0, 0.0, 3.0, 4.0)),
            ('velocity="0" effort="-1"', (-inf, inf, 0.0, inf)),
            ('lower="-2" upper="2"', (-2.0, 2.0, inf, inf)),
            ("", (-inf, inf, inf, inf)),
        ],
    )
    def test_of_limits(self, load, limit, limits):
        (body,) = load(arm_with_limit(f"<limit {limit}/>")).bodies
        assert body.joint.limits == (Limits(*limits),)

    def test_of_several_elements_takes_the_first_as_pinocchio_does(self, load):
        text = arm_with(rest='<origin xyz="1 0 0"/><origin xyz="2 0 0"/>' + AXIS + LIMIT)
        arm = load(text)
        assert arm.remarks == ("joint 'shoulder': 2 <origin> elements; taken the first",)
        assert_inverse_dynamics(arm, pin.buildModelFromXML(text))

    def test_counts_elements_of_one_kind(self, load):
        links = [link("base"), *(link(f"l{k}") for k in range(5))]
        joints = [joint(f"j{k}", "base", f"l{k}", rest=LIMIT) for k in range(5)]
        assert load(robot(*links, *joints)).remarks == (
            "joints 'j0', 'j1', 'j2' and 2 more: no <axis>; taken as 1 0 0, as URDF says",
        )


class TestUnresolvedMimics:
    def test_of_a_mimic_follow_what_that_one_follows(self, load):
        first = mimic("second", 'multiplier="2" offset="0.5"')
        second = mimic("shoulder", 'multiplier="-3" offset="0.25"')
        tree = load(hand(first=first, second=second))
        assert tree.joints == ("shoulder",)
        mimics = {body.joint.name: body.joint.mimic for body in tree.bodies}
        assert mimics["first"] == Mimic("shoulder", -6.0, 1.0)
        assert mimics["second"] == Mimic("shoulder", -3.0, 0.25)
        assert tree.remarks == (
            "joint 'first': mimics joint 'second', which mimics joint 'shoulder'; "
            "taken as -6 times joint 'shoulder' plus 1",
        )

    def test_of_each_other_are_independent(self, load):
        tree = load(hand(first=mimic("second"), second=mimic("first")))
        assert tree.joints == ("shoulder", "first", "second")
        assert sorted(tree.remarks) == [
            "joint 'first': mimics joint 'second', which mimics joint 'first'; taken as a joint of its own",
            "joint 'second': mimics joint 'first', which mimics joint 'second'; taken as a joint of its own",
        ]

    def test_of_an_unresolved_mimic_follow_it(self, load):
        tree = load(hand(first=mimic("second"), second=mimic("nobody")))
        assert tree.joints == ("shoulder", "second")
        assert tree.remarks == ("joint 'second': mimics unknown joint 'nobody'; taken as a joint of its own",)

    @pytest.mark.parametrize(
        "case",
        [
            "mimic of an unknown joint",
            "mimic of itself",
            "mimic of a fixed joint",
            "mimic of several freedoms",
        ],
    )
    def test_leave_the_joints_of_pinocchios_default_model(self, load, case):
        text = REFUSED[case][0]
        assert TAKEN[case] == OWN
        assert_inverse_dynamics(load(text), pin.buildModelFromXML(text))
