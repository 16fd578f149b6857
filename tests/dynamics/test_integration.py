"""The exponential maps of joints by series, compared with Pinocchio's."""

import numpy as np
import pinocchio as pin
import pytest

from rbdhw.dynamics.integration import (
    LARGEST_ANGLE,
    SERIES_ERROR,
    arc,
    displacement_derivatives,
    lengthen,
    sweep,
    turn,
)
from rbdhw.robot.model import JointKind

ANGLES = (0.0, 0.01, 0.2, LARGEST_ANGLE)

MODELS = {
    JointKind.SPHERICAL: pin.JointModelSpherical,
    JointKind.FLOATING: pin.JointModelFreeFlyer,
    JointKind.PLANAR: pin.JointModelPlanar,
}


def bound(angle: float) -> float:
    """Return the error that the series may have at an angle, and rounding."""
    return 3.0 * SERIES_ERROR * (angle / LARGEST_ANGLE) ** 6 + 1e-14


def displacement(kind: JointKind, angle: float) -> np.ndarray:
    rng = np.random.default_rng(3)
    axis = rng.normal(size=3)
    phi = angle * axis / np.linalg.norm(axis)
    linear = rng.uniform(-0.5, 0.5, 3)
    return {
        JointKind.SPHERICAL: phi,
        JointKind.FLOATING: np.concatenate([linear, phi]),
        JointKind.PLANAR: np.array([*linear[:2], angle]),
    }[kind]


@pytest.mark.parametrize("angle", ANGLES)
def test_displacements(angle):
    d = displacement(JointKind.FLOATING, angle)
    rotation = pin.exp6(d)
    identity = (0.0, 0.0, 0.0, 1.0)
    quaternion = np.array(identity) + turn(identity, tuple(d[3:]))
    np.testing.assert_allclose(quaternion, pin.Quaternion(rotation.rotation).coeffs(), atol=bound(angle))
    np.testing.assert_allclose(sweep(tuple(d[:3]), tuple(d[3:])), rotation.translation, atol=bound(angle))
    x, y, angle = displacement(JointKind.PLANAR, angle)
    flat = pin.exp6(np.array([x, y, 0.0, 0.0, 0.0, angle])).translation
    np.testing.assert_allclose(arc(x, y, angle), flat[:2], atol=bound(angle))


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("kind", MODELS)
def test_derivatives(kind, angle):
    model = pin.Model()
    model.addJoint(0, MODELS[kind](), pin.SE3.Identity(), "joint")
    d = displacement(kind, angle)
    expected = pin.dIntegrate(model, pin.neutral(model), d)
    for derivative, reference in zip(displacement_derivatives(kind, d.tolist()), expected, strict=True):
        np.testing.assert_allclose(derivative, reference, atol=bound(angle))


def test_lengths_are_corrected_to_second_order():
    quaternion = np.array([0.1, -0.5, 0.7, 0.5])
    quaternion /= np.linalg.norm(quaternion)
    for excess in (-1e-3, 1e-3):
        longer = lengthen((1.0 + excess) * quaternion)
        assert (1.0 + longer) * (1.0 + excess) == pytest.approx(1.0, abs=5e-9)
