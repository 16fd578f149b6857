"""Rotor inertia and viscous friction in the golden model, compared with Pinocchio."""

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.golden.pinocchio import Reference
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.drives import Drives
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.mechanisms import every_kind_driven, mechanism, with_random_drives
from tests.support.references import assert_close, assert_golden_is_pinocchio
from tests.support.strategies import random_states

TURN = JointKind.REVOLUTE


@pytest.mark.parametrize("base", ["fixed", "floating", "given"])
def test_every_kind_of_joint_and_a_mimic(base: str) -> None:
    assert_golden_is_pinocchio(every_kind_driven(base))


def test_a_rotor_and_friction_of_one_joint() -> None:
    """The textbook: a rotor's inertia times the acceleration, and the coefficient times the velocity."""
    robot = mechanism([TURN, TURN], (BASE, 0), seed=5)
    arrays = random_states(robot, 3, seed=6)
    driven = with_random_drives(robot, seed=7)
    more = np.array(driven.armature) * arrays["a"] + np.array(driven.damping) * arrays["v"]
    expected = golden.evaluate(robot, "id", arrays)["tau"] + more
    np.testing.assert_allclose(golden.evaluate(driven, "id", arrays)["tau"], expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["iiwa14", "tiago"])
def test_the_reference_of_a_file(name: str) -> None:
    """Pinocchio's own reading of a file, with the drives of a build; tiago has a mimic."""
    names = load_urdf(path(name)).joints
    single = [body.joint for body in load_urdf(path(name)).bodies if body.joint.kind.nv == 1]
    given = tuple((joint.name, (0.1 + 0.02 * k,)) for k, joint in enumerate(single))
    robot = load_urdf(path(name), drives=Drives(damping=given, armature=given))
    assert names == robot.joints
    arrays = random_states(robot, 2, seed=8)
    del arrays["fext"]
    oracle = Reference.read(path(name), robot)
    for function in DEFAULT_FUNCTIONS:
        assert_close(golden.evaluate(robot, function, arrays), oracle.evaluate(function, arrays))
