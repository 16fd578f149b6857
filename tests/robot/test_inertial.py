"""The rules for inertias: bodies that move no inertia, and principal moments that no rigid body has."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.robot.elementary import elementary
from rbdhw.robot.inertial import needs_inertia
from rbdhw.robot.model import Inertia, JointKind
from rbdhw.robot.spatial import point_inertia
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


@pytest.mark.parametrize(("moment", "enough"), [(0.9e-15, False), (1.1e-15, True)])
def test_a_moment_of_a_speck_of_dust_counts_as_none(moment, enough):
    speck = Inertia(rotational=(moment, 0.0, 0.0, moment, 0.0, moment))
    assert needs_inertia(single(JointKind.REVOLUTE, speck)) == (None if enough else 0)


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
        ("first", "second", "multiplier", "found"),
        [
            (POINT, Inertia(), 1.0, None),
            (Inertia(), POINT, -1.0, None),
            (Inertia(), POINT, 0.0, 0),
            (Inertia(), Inertia(), 1.0, 0),
        ],
    )
    def test_move_inertia_for_the_joint_they_follow(self, first, second, multiplier, found):
        assert needs_inertia(self.hand(first, second, multiplier)) == found


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
