"""The regressor of inverse dynamics: of every joint, on every base, beside functions that share bodies."""

from dataclasses import replace

import pytest

from rbdhw.robot.link_frames import choose_frames
from rbdhw.robot.model import BASE, JointKind
from tests.support.graph_results import assert_graph_is_golden
from tests.support.mechanisms import mechanism, with_mimic

K = JointKind


@pytest.mark.parametrize("base", ["fixed", "floating", "given"])
def test_every_joint_on_every_base(base):
    robot = mechanism(
        [K.REVOLUTE, K.PRISMATIC, K.SPHERICAL, K.PLANAR, K.UNIVERSAL], [BASE, 0, 1, 0, BASE], seed=4
    )
    robot = robot.with_floating_base() if base == "floating" else replace(robot, base_given=base == "given")
    robot = choose_frames(robot, ["b2", "b3", "b4"], "local")
    assert_graph_is_golden(robot, 1, functions=("regressor",))


def test_a_mimic_and_functions_that_share_its_bodies():
    robot = with_mimic(
        mechanism([K.REVOLUTE, K.PRISMATIC, K.REVOLUTE], [BASE, 0, 1], seed=2), 2, 0, -0.7, 0.3
    )
    assert_graph_is_golden(choose_frames(robot, ["b2"], "local"), 2, functions=("id", "fd", "regressor"))
