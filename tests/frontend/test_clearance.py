"""Clearances: graphs against the golden model on every base, what does not move, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.frontend.functions import trace
from rbdhw.options.syntax import parse_spheres
from rbdhw.robot.link_frames import choose_spheres
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robot.serialize import robot_from_json, robot_to_json
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_graph_is_golden, prepared
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import random_states

SPHERES = (("b3@0.1:0.2:0", 0.1), ("b1@0:0:0.2", 0.2), ("world@0.5:0.1:-0.3", 0.3), ("b2@0:0.1:0", 0.0))


def tree():
    kinds = [JointKind.REVOLUTE, JointKind.SPHERICAL, JointKind.PRISMATIC, JointKind.REVOLUTE]
    return with_mimic(mechanism(kinds, [BASE, 0, 0, 2], seed=8), 3, 0, 0.5, 0.1)


@pytest.mark.parametrize("base", ["fixed", "floating", "given"])
def test_graphs_are_golden_on_every_base(base):
    robot = tree().with_floating_base() if base == "floating" else replace(tree(), base_given=base == "given")
    assert_graph_is_golden(choose_spheres(robot, SPHERES), 8, functions=("clearance",))


def test_joints_that_carry_both_spheres_do_not_count():
    leg = [("lf_upperleg@0.2:0:0", 0.1), ("lf_lowerleg@0.3:0:0", 0.1), ("rf_lowerleg@0.3:0:0", 0.1)]
    robot = choose_spheres(load_urdf(path("hyq")).with_floating_base(), leg)
    graph = trace(prepared(robot), ("clearance",))
    names = {name for name, _ in graph.outputs if "dclearance" in name}
    assert {name for name in names if name.startswith("clearance.dclearance_dq[0,")} == {
        "clearance.dclearance_dq[0,8]"
    }
    slopes = golden.evaluate(robot, "clearance", random_states(robot, 2, 1))["dclearance_dq"]
    assert np.abs(slopes[..., :6]).max() < 1e-12


def test_spheres_touch_at_zero():
    robot = choose_spheres(tree(), [("b0@0:0:0", 0.75), ("world@0:0:0", 0.25)])
    q = random_states(robot, 1, 2)["q"]
    clearance = golden.evaluate(robot, "clearance", {"q": q})["clearance"]
    placed = choose_spheres(tree(), [("b0@0:0:0", 0.0), ("world@0:0:0", 0.0)])
    distance = golden.evaluate(placed, "clearance", {"q": q})["clearance"]
    np.testing.assert_allclose(clearance, distance - 1.0, atol=1e-12)


def test_spheres_are_kept_in_files():
    robot = choose_spheres(tree(), SPHERES)
    assert robot_from_json(robot_to_json(robot)).spheres == robot.spheres


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tip@0:0:0:-0.1", "'tip@0:0:0:-0.1' has the radius -0.1 m; expected a radius from 0 on"),
        ("tip:0.1", "'tip:0.1' is no sphere; expected LINK@X:Y:Z:RADIUS, in metres"),
        ("tip@0:0:0:nan", "'tip@0:0:0:nan' is no sphere; expected LINK@X:Y:Z:RADIUS, in metres"),
        ("tip@0:0:0:0.1,tip@0:0:0:0.2", "'tip@0:0:0' appears twice; expected each point once"),
    ],
)
def test_refused_texts(text, reason):
    with pytest.raises(InputError) as refusal:
        parse_spheres([text])
    assert str(refusal.value) == f"spheres: {reason}"


@pytest.mark.parametrize(
    ("spheres", "reason"),
    [
        ([("hand@0:0:0", 0.1)], "link 'hand' is unknown"),
        ([("b1@0:0:0", 0.1), ("b1@0:0:1", 0.1)], "all are on one body"),
        ([("world@0:0", 0.1)], "'world@0:0' has no point '0:0'"),
    ],
)
def test_refused_spheres(spheres, reason):
    with pytest.raises(InputError) as refusal:
        choose_spheres(tree(), spheres)
    assert (refusal.value.where, refusal.value.reason) == ("spheres", reason)
