"""The bundled robots: found by name, and read by Pinocchio as by us."""

import numpy as np
import pinocchio as pin
import pytest

from rbdhw.errors import InputError
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.oracle import pinocchio_model

SIZES = {"atlas": (30, 10), "hyq": (12, 3), "iiwa14": (7, 7), "toy": (2, 2)}


def test_bundled_robots_are_listed_by_name():
    assert list(bundled()) == list(SIZES)
    assert all(file.name == f"{name}.urdf" for name, file in bundled().items())


def test_an_unknown_robot_is_refused():
    with pytest.raises(InputError) as refusal:
        path("spot")
    assert str(refusal.value) == "robot 'spot': not bundled; expected one of atlas, hyq, iiwa14, toy"


@pytest.mark.parametrize("name", SIZES)
def test_size_and_total_mass(name):
    robot = load_urdf(path(name))
    assert robot.name == name
    assert (robot.nv, robot.depth) == SIZES[name]
    mass = robot.base_inertia.mass + sum(body.inertia.mass for body in robot.bodies)
    assert mass == pytest.approx({"atlas": 175.11796, "hyq": 86.774, "iiwa14": 30.61, "toy": 3.0}[name])


@pytest.mark.parametrize("name", SIZES)
def test_every_placement_of_the_bundled_robots_is_a_signed_permutation(name):
    for body in load_urdf(path(name)).bodies:
        assert {abs(entry) for row in body.joint.placement.rotation for entry in row} <= {0.0, 1.0}


@pytest.mark.parametrize("name", SIZES)
def test_inverse_dynamics_is_that_of_pinocchio_reading_the_same_file(name):
    robot = load_urdf(path(name))
    ours, theirs = pinocchio_model(robot), pin.buildModelFromUrdf(str(path(name)))
    columns = [list(theirs.names).index(joint) - 1 for joint in robot.joints]
    rng = np.random.default_rng(3)
    for _ in range(5):
        state = rng.normal(size=(3, robot.nv))
        reordered = np.zeros_like(state)
        reordered[:, columns] = state
        expected = pin.rnea(theirs, theirs.createData(), *reordered)[columns]
        tau = pin.rnea(ours, ours.createData(), *state)
        np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12 * abs(expected).max())
