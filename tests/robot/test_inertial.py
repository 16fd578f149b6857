"""The rules for inertias: bodies that move no inertia, and principal moments that no rigid body has."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.frontend.solvability import check_solvable
from rbdhw.robot.elementary import elementary
from rbdhw.robot.inertial import needs_inertia
from rbdhw.robot.model import Inertia, JointKind
from rbdhw.robot.spatial import point_inertia, scale
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import ALL_KINDS, random_states, robots
from tests.support.urdf_documents import arm_with

X = (1.0, 0.0, 0.0)
NONE = ((0.0,) * 3,) * 3
POINT = point_inertia(2.0, (0.3, 0.4, 0.5), NONE)
CENTRED_POINT = point_inertia(2.0, (0.0, 0.0, 0.0), NONE)
ROD_OF_Y = point_inertia(2.0, (0.0, 0.0, 0.0), ((0.1, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.1)))
ROD_OF_X_AWAY = point_inertia(2.0, (0.0, 0.5, 0.0), ((0.0, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1)))
CASES = {"nothing": Inertia(), "point": POINT, "centred": CENTRED_POINT, "y": ROD_OF_Y, "x": ROD_OF_X_AWAY}

ENOUGH = {
    JointKind.REVOLUTE: {"point", "y", "x"},
    JointKind.CONTINUOUS: {"point", "y", "x"},
    JointKind.PRISMATIC: {"point", "centred", "y", "x"},
    JointKind.HELICAL: {"point", "centred", "y", "x"},
    JointKind.CYLINDRICAL: {"point", "y", "x"},
    JointKind.TRANSLATION: {"point", "centred", "y", "x"},
    JointKind.PLANAR: {"y"},
    JointKind.SPHERICAL: {"x"},
    JointKind.FLOATING: set(),
}
"""For each inertia, the joint kinds about or along x whose every motion it resists."""


def single(kind, inertia):
    robot = mechanism([kind], [-1], seed=1, axis=X)
    return robot.with_bodies([replace(robot.bodies[0], inertia=inertia)])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ENOUGH)
def test_one_body(kind, case):
    robot = single(kind, CASES[case])
    assert needs_inertia(robot) == (None if case in ENOUGH[kind] else 0)
    least = np.linalg.eigvalsh(golden.evaluate(robot, "m", random_states(robot, 1, seed=2))["M"][0])[0]
    assert (least > 1e-12) == (case in ENOUGH[kind])


@pytest.mark.parametrize(
    ("along", "distance", "enough"),
    [(0.5, 0.0, False), (0.5, 1e-8, False), (0.5, 1e-6, True), (0.0, 1e-15, False), (0.0, 1e-12, True)],
)
def test_a_point_is_on_an_axis_if_its_distance_is_lost_in_rounding(along, distance, enough):
    point = point_inertia(2.0, (along, distance, 0.0), NONE)
    assert needs_inertia(single(JointKind.REVOLUTE, point)) == (None if enough else 0)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ENOUGH)
def test_the_size_of_a_robot_does_not_matter(kind, case):
    """A gripper of a tenth of a millimetre has moments of inertia of 1e-17 kg m^2."""
    robot = scaled(single(kind, CASES[case]), 1e-9, 1e-4)
    assert needs_inertia(robot) == (None if case in ENOUGH[kind] else 0)


def scaled(robot, mass, length):
    """Return a robot with its masses and lengths multiplied."""
    bodies = []
    for body in robot.bodies:
        moved = replace(body.joint.placement, translation=scale(length, body.joint.placement.translation))
        unscaled = body.inertia
        inertia = Inertia(
            mass * unscaled.mass,
            scale(mass * length, unscaled.first_moment),
            tuple(mass * length**2 * entry for entry in unscaled.rotational),
        )
        joint = replace(body.joint, placement=moved, pitch=length * body.joint.pitch)
        bodies.append(replace(body, inertia=inertia, joint=joint))
    return robot.with_bodies(bodies)


@pytest.mark.parametrize(("case", "enough"), [("nothing", False), ("centred", False), ("x", True)])
def test_a_universal_joint_turns_last_about_its_second_axis(case, enough):
    robot = single(JointKind.UNIVERSAL, CASES[case])
    assert needs_inertia(robot) == (None if enough else 0)


@pytest.mark.parametrize("kind", JointKind)
def test_a_descendant_with_inertia_is_enough(kind):
    robot = mechanism([kind, JointKind.REVOLUTE], [-1, 0], seed=1)
    first, second = robot.bodies
    robot = robot.with_bodies([replace(first, inertia=Inertia()), second])
    assert needs_inertia(robot) is None


@given(robots(max_bodies=5, kinds=ALL_KINDS, mimics=True))
def test_solid_bodies_are_enough(robot):
    assert needs_inertia(robot) is None
    assert needs_inertia(elementary(robot)) is None


class TestMimics:
    def hand(self, first, second, multiplier):
        """Return a hand with two fingers, the second of which mimics the first."""
        robot = mechanism([JointKind.REVOLUTE] * 2, [-1, -1], seed=1)
        inertias = zip(robot.bodies, (first, second), strict=True)
        robot = robot.with_bodies([replace(body, inertia=inertia) for body, inertia in inertias])
        return with_mimic(robot, 1, 0, multiplier)

    @pytest.mark.parametrize(
        ("first", "second", "multiplier", "expected"),
        [
            (POINT, Inertia(), 1.0, None),
            (Inertia(), POINT, -1.0, None),
            (Inertia(), POINT, 0.0, 0),
            (Inertia(), Inertia(), 1.0, 0),
        ],
    )
    def test_move_inertia_for_the_joint_they_follow(self, first, second, multiplier, expected):
        assert needs_inertia(self.hand(first, second, multiplier)) == expected


class TestRoundedFigures:
    """The tolerance of the rules for principal moments is a millionth, since URDFs hold rounded numbers."""

    def arm(self, least, middle, largest):
        moments = f'ixx="{least!r}" iyy="{middle!r}" izz="{largest!r}" ixy="0" ixz="0" iyz="0"'
        return arm_with(f'<inertial><mass value="2"/><inertia {moments}/></inertial>')

    @pytest.mark.parametrize(
        ("excess", "taken"), [(0.0, True), (8e-7, True), (1.5e-6, False), (1e-4, False), (5e-3, False)]
    )
    def test_the_largest_moment_is_the_sum_of_the_others(self, load, excess, taken):
        text = self.arm(0.02, 0.03, 0.05 * (1.0 + excess))
        assert [("triangle" in remark) for remark in load(text).remarks] == [True] * (not taken)
        if taken:
            assert load(text, strict=True).bodies[0].inertia.rotational[5] == 0.05 * (1.0 + excess)
        else:
            with pytest.raises(InputError, match="breaks the triangle inequality"):
                load(text, strict=True)

    @pytest.mark.parametrize(("below", "taken"), [(8e-7, True), (1.5e-6, False), (5e-3, False)])
    def test_the_least_moment_is_zero(self, load, below, taken):
        text = self.arm(-0.05 * below, 0.05, 0.05)
        assert [("semidefinite" in remark) for remark in load(text).remarks] == [True] * (not taken)
        if not taken:
            with pytest.raises(InputError, match="is not positive semidefinite"):
                load(text, strict=True)


class TestNegativeMoments:
    ARM = (
        '<inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="-0.01" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )

    def test_have_a_remark_that_says_so(self, load):
        assert load(arm_with(self.ARM)).remarks == (
            "link 'arm': <inertia> is not positive semidefinite (principal moments -0.01, 0.02, 0.02); taken "
            "as it is",
            "link 'arm': has a moment of inertia of -0.01 kg m^2, and joint 'shoulder' meets no resistance; "
            "taken as it is, with a mass matrix that is not definite",
        )

    def test_refuse_forward_dynamics(self, load):
        with pytest.raises(InputError) as error:
            check_solvable(load(arm_with(self.ARM)), ("fd",))
        assert str(error.value) == (
            "link 'arm': has a moment of inertia of -0.01 kg m^2, and joint 'shoulder' can move without "
            "energy: the mass matrix of robot 'r' is not positive definite; expected positive moments; "
            "correct its <inertia>, or use --functions id,m,did"
        )

    def test_that_no_joint_feels_are_harmless(self, load):
        robot = load(
            arm_with(self.ARM.replace('izz="-0.01"', 'izz="0.03"').replace('ixx="0.02"', 'ixx="-1"'))
        )
        assert len(robot.remarks) == 1
        check_solvable(robot, ("fd",))
