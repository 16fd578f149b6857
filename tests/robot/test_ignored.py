"""Remarks on friction, damping and rotor inertia in a URDF, which are not modelled."""

import pytest

from tests.support.urdf_documents import ARM, AXIS, LIMIT, arm_with, joint, link, robot

DAMPING = "damping in <dynamics> is not computed; --damping urdf adds damping * v to tau"
FRICTION = (
    "friction in <dynamics> is not computed; add friction * sign(v) to tau after id, or subtract it from tau "
    "before fd"
)
ROTORS = (
    "the inertia of rotors is not computed; --armature JOINT=J adds J = (gear ratio)^2 * inertia to the "
    "joint's entry on the diagonal of M"
)


def with_dynamics(text):
    return arm_with(rest=AXIS + LIMIT + text)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("dynamics", "lost"),
    [
        ('damping="0.1"', [DAMPING]),
        ('friction="2"', [FRICTION]),
        ('damping="0" friction="1e-3"', [FRICTION]),
        ('damping="1" friction="1e-3"', [DAMPING, FRICTION]),
        ('other:D="1" damping="0.003"', [DAMPING]),
    ],
)
def test_friction_and_damping(load, dynamics, lost, strict):
    text = with_dynamics(f"<dynamics {dynamics}/>")
    assert load(text, strict=strict).remarks == tuple(f"joint 'shoulder': {remark}" for remark in lost)


@pytest.mark.parametrize("dynamics", ['damping="0.0" friction="0"', "", 'a:spring="3"', 'damping="none"'])
def test_no_friction_and_no_damping(load, dynamics):
    assert load(with_dynamics(f"<dynamics {dynamics}/>")).remarks == ()


def test_many_joints_share_one_remark(load):
    links = [link("base"), *(link(f"l{k}") for k in range(12))]
    rest = AXIS + LIMIT + '<dynamics damping="0.5"/>'
    joints = [joint(f"j{k:02}", "base", f"l{k}", rest=rest) for k in range(12)]
    assert load(robot(*links, *joints)).remarks == (f"joints 'j00', 'j01', 'j02' and 9 more: {DAMPING}",)


def test_fixed_joints_have_no_friction(load):
    assert load(arm_with(kind="fixed", rest='<dynamics damping="1"/>')).remarks == ()


def transmission(text):
    return f'<transmission name="t"><joint name="shoulder"/>{text}</transmission>'


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        robot(*ARM, transmission("<actuator name='m'><rotorInertia>1e-5</rotorInertia></actuator>")),
        robot(*ARM, transmission("<motorInertia> 0.2 </motorInertia>")),
        robot(*ARM, transmission("<motor_inertia value='0.2'/>")),
        with_dynamics('<drake:rotor_inertia value="3"/>'),
        with_dynamics('<dynamics armature="0.01"/>'),
    ],
)
def test_the_inertia_of_rotors(load, text, strict):
    assert load(text, strict=strict).remarks == (f"joint 'shoulder': {ROTORS}",)


@pytest.mark.parametrize(
    "text",
    ["<mechanicalReduction>100</mechanicalReduction>", "<rotorInertia>0</rotorInertia>", "<rotorInertia/>"],
)
def test_no_inertia_of_rotors(load, text):
    assert load(robot(*ARM, transmission(text))).remarks == ()


def test_other_joints_have_no_remark(load):
    text = '<transmission name="t"><joint name="nobody"/><rotorInertia>1</rotorInertia></transmission>'
    assert load(robot(*ARM, text)).remarks == ()
