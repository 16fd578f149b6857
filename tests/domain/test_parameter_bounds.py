"""Bounds of inertial parameters from a domain file, and for payloads."""

import numpy as np
import pytest

from rbdhw.domain.bounds import input_domain
from rbdhw.domain.overrides import ParameterBounds, read_overrides
from rbdhw.domain.parameter_bounds import bound_parameters
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.robot.parameters import (
    bounds_by_link,
    linear_parameters,
    load_inertias,
    nominal_parameters,
    unphysical,
)
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

ARM = load_urdf(path("iiwa14"))
LAST = "iiwa_link_7"


def bounds(carries=False, **given):
    robot = bound_parameters(load_inertias(ARM, [LAST], carries), ParameterBounds(**given))
    return nominal_parameters(robot)[0], bounds_by_link(robot)[0]


def test_the_default_is_a_fifth_of_each():
    nominal, pairs = bounds()
    np.testing.assert_allclose(pairs[:, 1] - nominal, 0.2 * np.abs(nominal), rtol=1e-9, atol=1e-15)


def test_a_file_gives_other_shares():
    nominal, pairs = bounds(mass=0.5, centre=0.03, inertia=0.1)
    slack = pairs[:, 1] - nominal
    assert slack[0] == pytest.approx(0.5 * nominal[0])
    np.testing.assert_allclose(slack[1:4], 0.03)
    np.testing.assert_allclose(slack[[4, 7, 9]], 0.1 * nominal[[4, 7, 9]])
    assert (slack[[5, 6, 8]] > 0.0).all()


def test_any_payload_is_within_the_bounds():
    """The link with a payload of points within reach, at random."""
    nominal, pairs = bounds(carries=True, payload=2.0, reach=0.1)
    rng = np.random.default_rng(3)
    for _ in range(100):
        masses, points = rng.dirichlet(np.ones(5)) * rng.uniform(0.0, 2.0), rng.uniform(-0.1, 0.1, (5, 3))
        total = linear_parameters(nominal)
        for mass, point in zip(masses, points, strict=True):
            total = total + linear_parameters(np.r_[mass, point, np.zeros(6)])
        centre = total[1:4] / total[0]
        about = total[4:] - linear_parameters(np.r_[total[0], centre, np.zeros(6)])[4:]
        parameters = np.r_[total[0], centre, about]
        assert (parameters >= pairs[:, 0] - 1e-12).all()
        assert (parameters <= pairs[:, 1] + 1e-12).all()


def test_random_parameters_are_those_of_bodies():
    robot = bound_parameters(load_inertias(ARM, [LAST]), ParameterBounds(inertia=0.8))
    drawn = sample(robot, input_domain(robot), 300, np.random.default_rng(4))["parameters"]
    assert not any(unphysical(parameters) for parameters in drawn[:, 0])


def test_bounds_without_parameters_are_refused():
    with pytest.raises(
        InputError, match=r"all inertial parameters of iiwa14 are constant; .* --parameters LINK"
    ):
        bound_parameters(ARM, ParameterBounds(mass=0.1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mass = 1.5", "parameters.mass: is 1.5; expected 1e-06 to 0.9 of the value in the URDF"),
        ("centre = -1", "parameters.centre: is -1; expected 1e-06 to"),
        ("payload = true", "parameters.payload: is True; expected 1e-12 to"),
        ("size = 1", "parameters.size: unknown; expected one of mass, centre, inertia, payload, reach"),
    ],
)
def test_bad_entries(tmp_path, text, message):
    file = tmp_path / "domain.toml"
    file.write_text(f"[parameters]\n{text}\n")
    with pytest.raises(InputError, match=message):
        read_overrides(file)
