"""Rotations in <origin>: angles, and quaternions from version 1.1 on, as Pinocchio takes them."""

import re

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.errors import InputError
from tests.support.urdf_documents import AXIS, INERTIAL, LIMIT, joint, link

TURNED = '<origin xyz="0 0 0.4" {}/>'
EIGHTH = 'quat_xyzw="0 0.3826834323650898 0 0.9238795325112867"'


def arm(version="", elbow="", inertial=""):
    """Return an arm of two joints; ``elbow`` and ``inertial`` are attributes of the second link's origins."""
    fore = INERTIAL.replace('xyz="0.1 0.2 0.3"', f'xyz="0.1 0.2 0.3" {inertial}')
    parts = (
        *(link("base"), link("upper"), link("fore", fore), joint("shoulder", "base", "upper")),
        joint("elbow", "upper", "fore", rest=TURNED.format(elbow) + AXIS.replace("0 0 1", "1 0 0") + LIMIT),
    )
    return f'<robot name="r" {version}>{"".join(parts)}</robot>'


TAKEN = {
    "quaternion of 1.1": (arm('version="1.1"', EIGHTH), ""),
    "quaternion of 1.2": (arm('version=" 1.2"', EIGHTH), ""),
    "quaternion of an inertia": (arm('version="1.1"', inertial=EIGHTH), ""),
    "a sign for the whole": (arm('version="+1.1"', 'quat_xyzw="0.5 -0.5 0.5 -0.5"'), ""),
    "not of unit length": (arm('version="1.1"', 'quat_xyzw="1 2 -3 5"'), "length 6.245; taken divided by it"),
    "small": (arm('version="1.1"', 'quat_xyzw="0 1e-200 0 1e-200"'), "taken divided by it"),
    "rounded": (arm('version="1.1"', 'quat_xyzw="0 0.383 0 0.924"'), ""),
    "zeros": (arm('version="1.1"', 'quat_xyzw="0 0 0 0"'), "quat_xyzw of zeros; taken as 0 0 0 1"),
    "no version": (arm("", EIGHTH), "from version 1.1 on; taken without it"),
    "version 1.0": (arm('version="1.0"', EIGHTH), "from version 1.1 on; taken without it"),
    "below 1.1 beside rpy": (arm("", f'{EIGHTH} rpy="1 2 3"'), "from version 1.1 on; taken without it"),
    "malformed below 1.1": (arm("", 'quat_xyzw="to do"'), "from version 1.1 on; taken without it"),
    "angles of 1.1": (arm('version="1.1"', 'rpy="1 2 3"'), ""),
}


@pytest.mark.parametrize("case", [case for case in TAKEN if case != "small"])
def test_a_rotation_is_that_of_pinocchio(load, case):
    text, remark = TAKEN[case]
    ours, theirs = load(text), pin.buildModelFromXML(text)
    assert [remark in line for line in ours.remarks] == [True] * bool(remark)
    rng = np.random.default_rng(3)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 2))
    tau = golden.evaluate(ours, "id", {"q": q[None], "v": v[None], "a": a[None]})["tau"][0]
    np.testing.assert_allclose(tau, pin.rnea(theirs, theirs.createData(), q, v, a), atol=1e-12)


def test_a_quaternion_of_any_length_turns(load):
    """Pinocchio's squares underflow to zero."""
    x, y, z = load(TAKEN["small"][0]).bodies[1].joint.placement.rotation
    assert (x, y, z) == ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0))


@pytest.mark.parametrize("case", [case for case, (_, remark) in TAKEN.items() if remark])
def test_a_strict_reading_refuses_what_has_a_remark(load, case):
    with pytest.raises(InputError, match="joint 'elbow': <origin> has"):
        load(TAKEN[case][0], strict=True)


REFUSED = {
    "beside rpy": (arm('version="1.1"', f'{EIGHTH} rpy="0 0 0"'), "has both rpy and quat_xyzw; expected one"),
    "beside rpy of an inertia": (
        arm('version="1.1"', inertial=f'{EIGHTH} rpy="0 0 0"'),
        "link 'fore': <origin> has both rpy and quat_xyzw",
    ),
    "three numbers": (arm('version="1.1"', 'quat_xyzw="1 2 3"'), "expected four finite numbers"),
    "five numbers": (arm('version="1.1"', 'quat_xyzw="1 2 3 4 5"'), "expected four finite numbers"),
    "no number": (arm('version="1.1"', 'quat_xyzw="a 0 0 1"'), "expected four finite numbers"),
    "infinite": (arm('version="1.1"', 'quat_xyzw="inf 0 0 1"'), "expected four finite numbers"),
    "empty": (arm('version="1.1"', 'quat_xyzw=""'), "has no quat_xyzw"),
    **{
        f"version {version!r}": (
            arm(f'version="{version}"'),
            f'<robot>: has version="{version}"; expected a version of URDF from 1.0 to 1.2',
        )
        for version in ("", "1", "2.0", "1.10", "0.9", "1.1.0", "1.x", "1.2b", "-1.1", ".1", "1.", "1.1 ")
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_malformed_rotation_or_version_is_refused_as_by_pinocchio(load, case):
    text, message = REFUSED[case]
    with pytest.raises(InputError, match=re.escape(message)):
        load(text)
    try:
        placed = pin.buildModelFromXML(text)
    except ValueError:
        return
    assert placed.inertias[2].mass == 0.0  # of an inertial with both, Pinocchio makes no inertia
