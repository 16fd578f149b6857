"""Warnings about arrays that seem to be in degrees or millimetres, and no warnings about others."""

import numpy as np
import pytest

from rbdhw.design.folder import Design
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.front.units import suspicions
from rbdhw.robot.coordinates import configuration_coordinates
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.designs import rail_design


@pytest.fixture(scope="module")
def tiago():
    """Return TIAGo with a planar base: revolute, prismatic and continuous joints; it is not built."""
    robot = load_urdf(path("tiago"))
    rails = rail_design()
    return Design(robot, input_domain(robot), rails.programs, (), rails.interface, {}, "")


def arrays_of(design, tasks=20):
    return sample(design.robot, design.domain, tasks, np.random.default_rng(0))


def test_tasks_of_the_domain_are_not(tiago):
    assert list(suspicions(tiago, arrays_of(tiago))) == []


def test_nor_are_tasks_a_little_outside(tiago):
    arrays = {name: 1.5 * array for name, array in arrays_of(tiago).items()}
    assert list(suspicions(tiago, arrays)) == []


def test_degrees_and_millimetres_are(tiago):
    arrays = arrays_of(tiago)
    q, v = arrays["q"].copy(), arrays["v"].copy()
    places = {coordinate.joint: coordinate.index for coordinate in configuration_coordinates(tiago.robot)}
    k, slide = places["arm_1"], places["torso_lift"]
    q[:, k] = np.degrees(q[:, k])
    q[:, slide] *= 1e3
    v[:, k] = np.degrees(v[:, k])
    remarks = list(suspicions(tiago, {"q": q, "v": v}))
    assert sorted(text.rpartition("; ")[2] for text in remarks) == [
        "degrees per second? expected radians per second",
        "degrees? expected radians",
        "millimetres? expected metres",
    ]
    assert all("'arm_1'" in text or "'torso_lift'" in text for text in remarks)
