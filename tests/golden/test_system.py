"""Mimics in the golden model, compared with Pinocchio: reduced with ``G``, and by Pinocchio itself."""

from itertools import product

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.golden.pinocchio import symmetric
from rbdhw.golden.system import system
from rbdhw.robot.model import BASE, JointKind
from tests.support.marks import long, some
from tests.support.mechanisms import BRANCHED, ONE_DOF, mechanism, random_parents, with_mimic
from tests.support.oracle import pinocchio_model, to_pinocchio_fext
from tests.support.references import assert_close, assert_golden_is_pinocchio, references
from tests.support.strategies import random_states

TURN, SHIFT = JointKind.REVOLUTE, JointKind.PRISMATIC

PAIRS = ((3, 1), (1, 3), (4, 2), (0, 4), (2, 1))
"""Followers and leaders."""


@pytest.mark.parametrize(("follower", "leader"), some(product(ONE_DOF, ONE_DOF), 3))
def test_a_kind_follows_a_kind(follower: JointKind, leader: JointKind) -> None:
    robot = mechanism([leader, follower, TURN], (BASE, 0, 1), seed=1)
    assert_golden_is_pinocchio(with_mimic(robot, 1, 0, multiplier=-0.7, offset=0.3))


@pytest.mark.parametrize(
    ("follower", "leader", "floating"),
    some(((*pair, floating) for floating in (False, True) for pair in PAIRS), 2),
)
def test_mimics_in_other_branches_and_of_later_joints(follower: int, leader: int, floating: bool) -> None:
    robot = with_mimic(
        mechanism([TURN, SHIFT, TURN, TURN, SHIFT], BRANCHED, seed=2), follower, leader, 1.5, -0.2
    )
    assert_golden_is_pinocchio(robot.with_floating_base() if floating else robot)


def test_several_follow_one() -> None:
    robot = mechanism([TURN] * 5, BRANCHED, seed=3)
    for follower, multiplier in ((0, 2.0), (2, -1.0), (4, 0.0)):
        robot = with_mimic(robot, follower, 1, multiplier, offset=0.1 * follower)
    assert robot.nv == 2
    assert_golden_is_pinocchio(robot)


@pytest.mark.parametrize("seed", [0, 1, 2, *map(long, range(3, 8))])
def test_mimics_among_all_kinds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [TURN, SHIFT, JointKind.HELICAL, *(tuple(JointKind)[k] for k in rng.integers(0, 10, 4))]
    order = rng.permutation(len(kinds))
    robot = mechanism([kinds[k] for k in order], random_parents(len(kinds), rng), seed)
    follower, leader = (int(np.flatnonzero(order == k)[0]) for k in (0, 1))
    assert_golden_is_pinocchio(with_mimic(robot, follower, leader, 0.8, 0.2))


def test_pinocchios_own_mimics_agree() -> None:
    """Pinocchio has its own recursions for mimics in inverse dynamics and the mass matrix."""
    free = mechanism([TURN, SHIFT, TURN, TURN, SHIFT], BRANCHED, seed=4)
    robot = with_mimic(free, 4, 1, multiplier=-1.3, offset=0.4)
    q_offset = [body.joint.offset for body in free.bodies]
    lead, follow = q_offset[1], q_offset[4]
    model = pin.transformJointIntoMimic(pinocchio_model(free), 2, 5, -1.3, 0.4 + follow + 1.3 * lead)
    arrays = random_states(robot, 1, seed=4)
    data = model.createData()
    q = arrays["q"][0] + q_offset[:4]
    fext = to_pinocchio_fext(robot, arrays["fext"][0])
    tau = pin.rnea(model, data, q, arrays["v"][0], arrays["a"][0], fext)
    results = golden.evaluate(robot, "id", arrays)
    assert_close(results, {"tau": tau[np.newaxis].copy()})
    assert_close(results, references(robot, "id", arrays))
    M = symmetric(pin.crba(model, data, q))[np.newaxis]
    assert_close(golden.evaluate(robot, "m", arrays), {"M": M})


def test_the_map_of_velocities() -> None:
    kinds = [TURN, JointKind.UNIVERSAL, SHIFT, JointKind.SPHERICAL]
    model = system(with_mimic(mechanism(kinds, (BASE, 0, 1, 2), seed=5), 2, 0, -2.5))
    expected = np.zeros((7, 6))
    expected[:3, :3] = np.eye(3)
    expected[3, 0] = -2.5
    expected[4:, 3:] = np.eye(3)
    np.testing.assert_array_equal(model.G, expected)
    assert [link.body for link in model.links] == [0, None, 1, 2, 3]
    assert [link.parent for link in model.links] == [BASE, 0, 1, 2, 3]
