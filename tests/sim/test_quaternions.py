"""Quaternions of a base and of a joint in the bit-exact model."""

import numpy as np
import pytest

from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.domain.sampling import sample
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.header import Status
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions
from rbdhw.robot.model import BASE, JointKind, Robot
from tests.support.marks import long
from tests.support.mechanisms import mechanism

K = JointKind
LIMITED = Overrides(default=JointBounds(velocity=2.0, effort=50.0))


def model_of(robot: Robot) -> AcceleratorModel:
    """Return the model of a robot's inverse dynamics, without its hardware."""
    options = BuildOptions(functions=("id",), ii=2, width=18, samples=1024)
    return make_plan(robot, options, LIMITED).accelerator


def small(kind: JointKind) -> Robot:
    """Return a robot with this joint between two revolute ones, or first of three if it floats."""
    kinds = [kind, K.REVOLUTE, K.REVOLUTE] if kind is K.FLOATING else [K.REVOLUTE, kind, K.REVOLUTE]
    return mechanism(kinds, [BASE, 0, 1], seed=8)


@pytest.mark.parametrize("kind", [long(K.FLOATING), K.SPHERICAL])
def test_a_quaternion_far_from_unit_length_is_flagged(kind):
    design = model_of(small(kind))
    robot = design.robot
    first = robot.q_of[0 if kind is K.FLOATING else 1].start + (3 if kind is K.FLOATING else 0)
    arrays = sample(robot, design.domain, 64, np.random.default_rng(4))
    expected = respond(design, "id", encode(design, "id", arrays))[0]
    assert np.count_nonzero(expected) <= 1
    arrays["q"][:, first : first + 4] *= np.linspace(0.9, 0.99, 64)[:, None]
    status, _ = respond(design, "id", encode(design, "id", arrays))
    assert (status & 1 << Status.OVERFLOW).all()
