"""Every joint kind in the golden model, compared with Pinocchio and with finite differences."""

from itertools import product

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.golden.joints import constant_parts, motion_subspace
from rbdhw.robot.model import BASE, JointKind, Placement, Vector3
from tests.support.marks import some
from tests.support.mechanisms import BRANCHED, mechanism, random_parents, with_mimic
from tests.support.oracle import pinocchio_model, rnea, to_pinocchio_q
from tests.support.references import assert_golden_is_pinocchio
from tests.support.strategies import random_states

KINDS = tuple(JointKind)
TURN = JointKind.REVOLUTE


@pytest.mark.parametrize(("kind", "at"), some(product(KINDS, range(len(BRANCHED))), 5))
def test_a_kind_among_revolute_joints(kind: JointKind, at: int) -> None:
    kinds = [kind if i == at else TURN for i in range(len(BRANCHED))]
    assert_golden_is_pinocchio(mechanism(kinds, BRANCHED, seed=at), seed=at)


@pytest.mark.parametrize(
    ("kind", "axis"),
    some(product(KINDS, [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)]), 5),
)
def test_a_chain_of_one_kind_about_an_axis(kind: JointKind, axis: Vector3) -> None:
    assert_golden_is_pinocchio(mechanism([kind] * 3, (BASE, 0, 1), seed=11, axis=axis))


@pytest.mark.parametrize(("seed", "floating"), some(product(range(12), [False, True]), 5))
def test_random_trees_of_all_kinds(seed: int, floating: bool) -> None:
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 9)
    kinds = [KINDS[k] for k in rng.integers(0, len(KINDS), count)]
    robot = mechanism(kinds, random_parents(count, rng), seed)
    assert_golden_is_pinocchio(robot.with_floating_base() if floating else robot, seed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_recursion_agrees_and_its_complex_steps(kind: JointKind) -> None:
    kinds = [TURN, kind, JointKind.PRISMATIC, TURN]
    robot = with_mimic(mechanism(kinds, (BASE, 0, 1, 0), seed=20), 3, 2, multiplier=-0.4, offset=0.2)
    arrays = random_states(robot, 1, seed=20)
    q, v, a, fext = (arrays[name][0] for name in ("q", "v", "a", "fext"))
    results = golden.evaluate(robot, "id", arrays) | golden.evaluate(robot, "did", arrays)
    np.testing.assert_allclose(results["tau"][0], rnea(robot, q, v, a, fext), rtol=1e-12, atol=1e-12)
    steps = 1e-30j * np.eye(robot.nv)
    by_v = np.stack([rnea(robot, q, v + step, a, fext).imag / 1e-30 for step in steps], axis=1)
    np.testing.assert_allclose(results["dtau_dv"][0], by_v, rtol=1e-12, atol=1e-12)
    if kind.quaternion is None and kind is not JointKind.PLANAR:  # the coordinates are the tangent space
        by_q = np.stack([rnea(robot, q + step, v, a, fext).imag / 1e-30 for step in steps], axis=1)
        np.testing.assert_allclose(results["dtau_dq"][0], by_q, rtol=1e-12, atol=1e-12)


def test_a_universal_joints_derivatives_are_the_differences_of_pinocchios_own() -> None:
    robot = mechanism([TURN, JointKind.UNIVERSAL, JointKind.HELICAL], (BASE, 0, 1), seed=21)
    model, arrays, step = pinocchio_model(robot), random_states(robot, 1, seed=21), 1e-6
    assert model.joints[2].shortname() == "JointModelUniversal"
    q, v, a = to_pinocchio_q(robot, arrays["q"][0]), arrays["v"][0], arrays["a"][0]

    def torque(dq: np.ndarray | float, dv: np.ndarray | float) -> np.ndarray:
        return pin.rnea(model, model.createData(), q + dq, v + dv, a).copy()

    steps = step * np.eye(robot.nv)
    results = golden.evaluate(robot, "did", {name: arrays[name] for name in ("q", "v", "a")})
    by_q = np.stack([torque(along, 0.0) - torque(-along, 0.0) for along in steps], axis=1) / (2 * step)
    by_v = np.stack([torque(0.0, along) - torque(0.0, -along) for along in steps], axis=1) / (2 * step)
    np.testing.assert_allclose(results["dtau_dq"][0], by_q, atol=1e-6)
    np.testing.assert_allclose(results["dtau_dv"][0], by_v, atol=1e-6)


def test_a_universal_joint_is_two_revolute_ones() -> None:
    joint = mechanism([JointKind.UNIVERSAL], (BASE,), seed=22).bodies[0].joint
    first, second = constant_parts(joint)
    assert (first.kind, first.axis, first.placement) == (JointKind.REVOLUTE, joint.axis, joint.placement)
    assert (second.kind, second.axis, second.placement) == (TURN, joint.second_axis, Placement())
    with pytest.raises(KeyError):
        motion_subspace(joint)
