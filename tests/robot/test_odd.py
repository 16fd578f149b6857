"""Unusual URDFs that Pinocchio loads: the robot here is the same, or a remark states the difference."""

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from tests.support.bad import documents, joints
from tests.support.urdf_documents import ARM, AXIS, INERTIAL, LIMIT, arm_with, hand, joint, link, mimic, robot

TAKEN = {
    name: module.REFUSED[name][0]
    for module in (joints, documents)
    for name in module.TAKEN
    if isinstance(module.REFUSED[name][0], str)
}
ODD = {
    **TAKEN,
    **{name: joints.REFUSED[name][0] for name in joints.SILENT},
    **documents.UNNOTICED,
    "a joint within another element": robot(*ARM, "<gazebo><joint name='x'/></gazebo>"),
    "a limit of a fixed joint": robot(
        *(*ARM, link("tool")),
        joint("flange", "arm", "tool", "fixed", '<limit lower="1" upper="0" effort="1" velocity="1"/>'),
    ),
    "a limit without lower and upper": arm_with(
        kind="continuous", rest=AXIS + '<limit effort="1" velocity="1"/>'
    ),
    "a limit of a planar joint": arm_with(kind="planar", rest=AXIS + '<limit effort="1" velocity="1"/>'),
    "an axis that is no unit vector": arm_with(rest='<axis xyz="0 30 -40"/>' + LIMIT),
    "an origin without xyz": arm_with(rest='<origin rpy="0.1 0.2 0.3"/>' + AXIS + LIMIT),
    "two origins": arm_with(rest='<origin xyz="1 0 0"/><origin xyz="2 0 0"/>' + AXIS + LIMIT),
    "a calibration and a safety controller": arm_with(
        rest=AXIS + LIMIT + '<calibration rising="0"/><safety_controller k_velocity="1"/>'
    ),
    "friction": arm_with(rest=AXIS + LIMIT + '<dynamics damping="1" friction="0.5"/>'),
    "a mass of zero": arm_with(INERTIAL.replace('<mass value="2"/>', '<mass value="0"/>')),
    "an inertia about turned axes": arm_with(INERTIAL.replace('0.3"', '0.3" rpy="1 2 3"', 1)),
    "a mimic of multiplier zero": hand(second=mimic("first", 'multiplier="0"')),
    "an empty name": robot(*ARM).replace('name="r"', 'name=""'),
    "an empty origin": arm_with(rest="<origin/>" + AXIS + LIMIT),
    "exponents": arm_with(INERTIAL.replace('value="2"', 'value="+.2E1"')),
}
REFUSED_BY_PINOCCHIO = {
    *("mimic of nobody", "mimic with several freedoms", "negative velocity of a spherical joint"),
    *("negative velocity", "negative effort", "no limit", "no velocity", "no effort"),
    *("unnamed robot", "point on a spherical joint"),
}
DIFFERENT = {
    "mimic of a mimic": "a joint that follows has no coordinate here",
    "floating without mass": "a joint that is held has no coordinate here",
    "floating without mass, below an arm": "a joint that is held has no coordinate here",
    "a mimic of multiplier zero": "a joint that follows has no coordinate here",
}


def pinocchio_of(text):
    try:
        return pin.buildModelFromXML(text)
    except ValueError:
        return None


@pytest.mark.parametrize("case", ODD)
def test_pinocchio_takes_these(case):
    assert (pinocchio_of(ODD[case]) is None) == (case in REFUSED_BY_PINOCCHIO)


@pytest.mark.parametrize("case", [case for case in ODD if case not in REFUSED_BY_PINOCCHIO])
def test_pinocchio_reads_the_same_robot(load, case):
    ours, theirs = load(ODD[case]), pinocchio_of(ODD[case])
    if case in DIFFERENT:
        assert ours.nv < theirs.nv
        return
    assert [body.joint.name for body in ours.bodies] == list(theirs.names)[1:]
    rng = np.random.default_rng(3)
    q = pin.randomConfiguration(theirs, np.full(theirs.nq, -1.0), np.full(theirs.nq, 1.0))
    v, a = rng.normal(size=(2, theirs.nv))
    tau = golden.evaluate(ours, "id", {"q": ours_of(theirs, q), "v": v[None], "a": a[None]})["tau"][0]
    np.testing.assert_allclose(tau, pin.rnea(theirs, theirs.createData(), q, v, a), atol=1e-12)


def ours_of(model, q):
    """Convert Pinocchio's configuration (1, nq) to angles instead of cosines and sines."""
    parts = [np.zeros(0)]
    for moving in list(model.joints)[1:]:
        part = q[moving.idx_q : moving.idx_q + moving.nq]
        circular = moving.shortname().startswith(("JointModelRUB", "JointModelPlanar"))
        parts.append(np.append(part[:-2], np.arctan2(part[-1], part[-2])) if circular else part)
    return np.concatenate(parts)[None]
