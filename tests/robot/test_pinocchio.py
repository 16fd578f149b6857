"""Conversion to and from Pinocchio's layout: every kind of joint, with and without mimics, in any order."""

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.robot.pinocchio import UNIT_SLACK, PinocchioLayout, layout_of
from rbdhw.robot.unit_length import off_unit
from rbdhw.robot.urdf import load_urdf

LINK = """<link name="{0}"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="1.5"/>
<inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0.01" ixz="0" iyz="0.02"/></inertial></link>"""
LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="3"/>'
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="0.2 0 0.1" rpy="0.3 0.2 0.1"/><axis xyz="{axis}"/>{more}</joint>"""

ROBOT = "<robot name='zoo'>{}</robot>".format(
    "\n".join(
        [
            *(LINK.format(name) for name in ("base", "a", "b", "c", "d", "e")),
            JOINT.format(name="wheel", kind="continuous", parent="base", child="a", axis="0 1 0", more=LIMIT),
            JOINT.format(name="lift", kind="prismatic", parent="a", child="b", axis="1 0 0", more=LIMIT),
            JOINT.format(
                name="follower",
                kind="revolute",
                parent="d",
                child="c",
                axis="0 0 1",
                more=LIMIT + '<mimic joint="bend" multiplier="-0.5" offset="0.1"/>',
            ),
            JOINT.format(name="bend", kind="revolute", parent="b", child="d", axis="1 0 0", more=LIMIT),
            JOINT.format(name="drift", kind="planar", parent="base", child="e", axis="0 0 1", more=LIMIT),
        ]
    )
)


@pytest.fixture
def urdf(tmp_path):
    file = tmp_path / "zoo.urdf"
    file.write_text(ROBOT)
    return file


def configurations(robot, tasks=5):
    return np.random.default_rng(0).uniform(-1.0, 1.0, (tasks, robot.nq))


@pytest.mark.parametrize("mimic", [False, True])
@pytest.mark.parametrize("order", ["pinocchio", "file"])
def test_arrays_go_to_pinocchio_and_back(urdf, mimic, order):
    robot = load_urdf(urdf, joint_order=order)
    model = pin.buildModelFromUrdf(str(urdf), mimic=mimic)
    layout = PinocchioLayout(robot, mimic=mimic, names=tuple(model.names)[1:])
    assert (layout.nq, layout.nv) == (model.nq, model.nv)
    q, v = configurations(robot), np.random.default_rng(1).normal(size=(5, robot.nv))
    a = np.random.default_rng(2).normal(size=(5, robot.nv))
    theirs = layout.pinocchio_configuration(q)
    np.testing.assert_allclose(layout.configuration(theirs), q, atol=1e-12)
    np.testing.assert_allclose(layout.velocity(layout.pinocchio_velocity(v)), v, atol=1e-12)
    data = model.createData()
    tau = [
        pin.rnea(model, data, *row).copy()
        for row in zip(theirs, layout.pinocchio_velocity(v), layout.pinocchio_velocity(a), strict=True)
    ]
    expected = golden.evaluate(robot, "id", {"q": q, "v": v, "a": a})["tau"]
    np.testing.assert_allclose(layout.force(np.array(tau)), expected, rtol=1e-9, atol=1e-9)
    M = [pin.crba(model, data, row).copy() for row in theirs]
    full = np.array([np.triu(m) + np.triu(m, 1).T for m in M])
    expected = golden.evaluate(robot, "m", {"q": q})["M"]
    np.testing.assert_allclose(layout.matrix(full), expected, rtol=1e-9, atol=1e-9)


def test_the_default_order_needs_no_names(urdf):
    robot = load_urdf(urdf)
    q = configurations(robot)
    names = tuple(pin.buildModelFromUrdf(str(urdf)).names)[1:]
    with_names = PinocchioLayout(robot, names=names).pinocchio_configuration(q)
    np.testing.assert_array_equal(PinocchioLayout(robot).pinocchio_configuration(q), with_names)
    assert robot.joints == ("drift", "wheel", "lift", "bend")


def test_the_number_of_columns_of_q_selects_the_layout(urdf):
    robot = load_urdf(urdf)
    assert layout_of(robot, robot.nq) is None
    assert layout_of(robot, robot.nq + 2) == PinocchioLayout(robot, mimic=True)
    assert layout_of(robot, robot.nq + 3) == PinocchioLayout(robot)
    assert layout_of(robot, robot.nq + 4) is None


@pytest.mark.parametrize("joint", ["wheel", "drift"])
def test_a_cosine_and_a_sine_off_the_circle_are_refused(urdf, joint):
    robot = load_urdf(urdf)
    layout, body = PinocchioLayout(robot), [body.joint.name for body in robot.bodies].index(joint)
    theirs = layout.pinocchio_configuration(configurations(robot))
    circle = slice(layout.q_of[body].stop - 2, layout.q_of[body].stop)
    theirs[2, circle] *= 1.0 + 0.9 * UNIT_SLACK
    layout.configuration(theirs.astype(np.float32))
    assert not off_unit(robot, theirs).any()
    theirs[2, circle] = 1.0, np.pi / 2
    assert off_unit(robot, theirs).tolist() == [False, False, True, False, False]
    reason = f"joint '{joint}': its cosine and sine have length 1.86.*; expected a point of the unit circle"
    with pytest.raises(InputError, match=reason):
        layout.configuration(theirs)


def test_a_mimic_off_its_position_is_refused(urdf):
    robot = load_urdf(urdf)
    layout = PinocchioLayout(robot)
    free = pin.neutral(pin.buildModelFromUrdf(str(urdf)))
    law = "expected -0.5 times that of joint 'bend'"
    with pytest.raises(InputError) as refusal:
        layout.configuration(free[np.newaxis])
    assert str(refusal.value) == f"joint 'follower': its position is not that of its <mimic>; {law} plus 0.1"
    with pytest.raises(InputError) as refusal:
        layout.velocity(np.ones((1, layout.nv)))
    assert str(refusal.value) == f"joint 'follower': its velocity is not that of its <mimic>; {law}"


def test_a_mimic_that_turns_may_be_whole_turns_off(urdf):
    robot = load_urdf(urdf)
    layout, model, q = PinocchioLayout(robot), pin.buildModelFromUrdf(str(urdf)), configurations(robot)
    theirs = layout.pinocchio_configuration(q)
    theirs[:, model.joints[model.getJointId("follower")].idx_q] += 2 * np.pi
    np.testing.assert_allclose(layout.configuration(theirs), q, atol=1e-12)


def test_a_continuous_mimic_follows_for_several_turns(urdf):
    """Pinocchio has only its cosine and sine, so the number of turns is lost."""
    urdf.write_text(ROBOT.replace('name="follower" type="revolute"', 'name="follower" type="continuous"'))
    robot = load_urdf(urdf)
    layout, q = PinocchioLayout(robot), configurations(robot)
    q[:, -1] = 20.0
    np.testing.assert_allclose(layout.configuration(layout.pinocchio_configuration(q)), q, atol=1e-12)


def test_names_of_other_joints_are_refused(urdf):
    with pytest.raises(InputError) as refusal:
        PinocchioLayout(load_urdf(urdf), names=("wheel", "lift"))
    assert str(refusal.value) == (
        "names: wheel, lift are not the joints of robot 'zoo'; "
        "expected bend, drift, follower, lift, wheel in the model's order"
    )
