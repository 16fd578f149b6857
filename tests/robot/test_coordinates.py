"""The joint, part, unit and limits of each coordinate of q and v."""

import math

from rbdhw.robot.coordinates import CoordinateEntry, configuration_coordinates, velocity_coordinates
from rbdhw.robot.model import BASE, Body, Inertia, Joint, JointKind, Limits, Mimic, Placement, Robot
from tests.support.strategies import ALL_KINDS

FREE = Limits(-math.inf, math.inf, math.inf, math.inf)


def robot_of(*joints: Joint) -> Robot:
    bodies = (Body(f"link_{i}", i - 1, joint, Inertia(1.0)) for i, joint in enumerate(joints))
    return Robot("robot", "base", tuple(bodies))


def joint_of(name: str, kind: JointKind, limits: Limits = FREE, mimic: Mimic | None = None) -> Joint:
    return Joint(name, kind, (0.0, 0.0, 1.0), Placement(), (limits,) * kind.nv, mimic=mimic)


def test_limits_and_units_of_joints_of_one_freedom():
    bent, slid = Limits(-1.0, 2.0, 3.0, 4.0), Limits(-0.1, 0.2, 0.3, 0.4)
    robot = robot_of(
        joint_of("bend", JointKind.REVOLUTE, bent),
        joint_of("follow", JointKind.REVOLUTE, bent, Mimic("bend")),
        joint_of("spin", JointKind.CONTINUOUS),
        joint_of("lift", JointKind.PRISMATIC, slid),
    )
    assert robot.bodies[0].parent == BASE
    assert configuration_coordinates(robot) == (
        CoordinateEntry(0, "bend", JointKind.REVOLUTE, "", "rad", -1.0, 2.0),
        CoordinateEntry(1, "spin", JointKind.CONTINUOUS, "", "rad", None, None),
        CoordinateEntry(2, "lift", JointKind.PRISMATIC, "", "m", -0.1, 0.2),
    )
    assert velocity_coordinates(robot) == (
        CoordinateEntry(0, "bend", JointKind.REVOLUTE, "", "rad/s", -3.0, 3.0, 4.0),
        CoordinateEntry(1, "spin", JointKind.CONTINUOUS, "", "rad/s", None, None, None),
        CoordinateEntry(2, "lift", JointKind.PRISMATIC, "", "m/s", -0.3, 0.3, 0.4),
    )


def test_a_floating_base_and_a_planar_joint():
    robot = robot_of(joint_of("root", JointKind.FLOATING), joint_of("drift", JointKind.PLANAR))
    q, v = configuration_coordinates(robot), velocity_coordinates(robot)
    assert [c.label for c in q] == [
        *(f"root, {part}" for part in ("x", "y", "z", "qx", "qy", "qz", "qw")),
        *(f"drift, {part}" for part in ("x", "y", "angle")),
    ]
    assert [c.unit for c in q] == ["m"] * 3 + ["1"] * 4 + ["m", "m", "rad"]
    assert [(c.lower, c.upper) for c in q[3:7]] == [(-1.0, 1.0)] * 4
    assert [c.unit for c in v] == ["m/s"] * 3 + ["rad/s"] * 3 + ["m/s", "m/s", "rad/s"]


def test_every_kind_has_the_right_number_of_coordinates():
    for kind in ALL_KINDS:
        robot = robot_of(joint_of("one", kind))
        assert [c.index for c in configuration_coordinates(robot)] == list(range(kind.nq))
        assert [c.index for c in velocity_coordinates(robot)] == list(range(kind.nv))
        assert len({c.label for c in configuration_coordinates(robot)}) == kind.nq
