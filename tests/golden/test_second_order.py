"""Second derivatives of the golden model, compared with differences of Pinocchio's first derivatives."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.oracle import pinocchio_model, to_pinocchio_fext, to_pinocchio_q
from tests.support.references import reference
from tests.support.strategies import random_states, robots

Arrays = dict[str, np.ndarray]

STEP = 1e-5
"""The step of the differences; their error is about its square."""

KINDS = (
    JointKind.REVOLUTE,
    JointKind.PRISMATIC,
    JointKind.PLANAR,
    JointKind.SPHERICAL,
    JointKind.FLOATING,
)


def differences(robot: Robot, function: str, arrays: Arrays, row: int) -> Arrays:
    """Return the central differences of Pinocchio's ``did`` or ``dfd``, and of ``M`` or its inverse."""
    model = pinocchio_model(robot)
    q, v = to_pinocchio_q(robot, arrays["q"][row]), arrays["v"][row]
    u = arrays["tau" if function == "dfd" else "a"][row]
    fext = to_pinocchio_fext(robot, arrays["fext"][row])
    matrix = "minv" if function == "dfd" else "m"

    def results(q: np.ndarray, v: np.ndarray) -> Arrays:
        matrices = reference(model, matrix, q, v, u, fext)
        return reference(model, function, q, v, u, fext) | matrices

    def difference(step: np.ndarray, push: np.ndarray) -> Arrays:
        ends = [results(pin.integrate(model, q, sign * step), v + sign * push) for sign in (1, -1)]
        return {name: (ends[0][name] - ends[1][name]) / (2 * STEP) for name in ends[0]}

    still, steps = np.zeros(model.nv), STEP * np.eye(model.nv)
    moved = [difference(step, still) for step in steps]
    pushed = [difference(still, step) for step in steps]
    slopes = {f"{name} by q": np.stack([change[name] for change in moved], axis=-1) for name in moved[0]}
    return slopes | {
        f"{name} by v": np.stack([change[name] for change in pushed], axis=-1) for name in pushed[0]
    }


def assert_near(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6 * max(1.0, np.abs(expected).max()))


def assert_golden_is_difference(robot: Robot, seed: int) -> None:
    """Check the second derivatives and their contractions at one random state."""
    arrays = random_states(robot, 1, seed)
    by = differences(robot, "did", arrays, 0)
    tensors = {name: array[0] for name, array in golden.evaluate(robot, "sid", arrays).items()}
    assert_near(tensors["d2tau_dqdq"], by["dtau_dq by q"])
    assert_near(tensors["d2tau_dqdv"], by["dtau_dq by v"])
    assert_near(tensors["d2tau_dvdv"], by["dtau_dv by v"])
    assert_near(tensors["dM_dq"], by["M by q"])
    by = differences(robot, "dfd", arrays, 0)
    tensors = {name: array[0] for name, array in golden.evaluate(robot, "sfd", arrays).items()}
    assert_near(tensors["d2a_dqdq"], by["da_dq by q"])
    assert_near(tensors["d2a_dqdv"], by["da_dq by v"])
    assert_near(tensors["d2a_dvdv"], by["da_dv by v"])
    assert_near(tensors["dMinv_dq"], by["Minv by q"])


@pytest.mark.parametrize(
    ("name", "floating"),
    [long("iiwa14", False), ("iiwa14", True), ("hyq", False), long("hyq", True)],
)
def test_bundled_robots(name: str, floating: bool) -> None:
    robot = load_urdf(path(name))
    assert_golden_is_difference(robot.with_floating_base() if floating else robot, seed=5)


@settings(max_examples=12)
@given(robots(max_bodies=4, kinds=KINDS), st.integers(0, 2**16))
def test_random_trees(robot: Robot, seed: int) -> None:
    assert_golden_is_difference(robot, seed)


@pytest.mark.parametrize(("whole", "contracted", "x"), [("sid", "hid", "tau"), ("sfd", "hfd", "a")])
def test_contractions_are_sums_over_the_results(whole: str, contracted: str, x: str) -> None:
    robot = mechanism([JointKind.SPHERICAL, JointKind.REVOLUTE, JointKind.PLANAR], (-1, 0, 0), seed=2)
    arrays = random_states(robot, 3, seed=4)
    tensors, contractions = (golden.evaluate(robot, function, arrays) for function in (whole, contracted))
    weights = arrays[f"lambda_{x}"]
    for part in ("qq", "qv", "vv"):
        tensor = tensors[f"d2{x}_d{part[0]}d{part[1]}"]
        np.testing.assert_allclose(
            contractions[f"H_{part}"], np.einsum("ni,nijk->njk", weights, tensor), atol=1e-10
        )
    matrix, driven = ("Minv", "tau") if x == "a" else ("M", "a")
    expected = np.einsum("ni,nikj->njk", weights, tensors[f"d{matrix}_dq"])
    np.testing.assert_allclose(contractions[f"H_q{driven}"], expected, atol=1e-10)
