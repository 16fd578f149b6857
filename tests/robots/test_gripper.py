"""A gripper whose jaws mimic one joint: read, and computed as by Pinocchio with the joints bound."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.robot.model import Mimic
from rbdhw.robot.reroot import reroot
from rbdhw.robot.urdf import load_urdf
from tests.support.graph_results import assert_graph_is_golden
from tests.support.oracle import to_pinocchio_q, velocity_map
from tests.support.strategies import random_states

FILE = Path(__file__).with_name("gripper.urdf")


def test_two_joints_move_five_links():
    robot = load_urdf(FILE)
    assert (robot.joints, len(robot.bodies), robot.nv, robot.depth) == (("wrist", "rack"), 5, 2, 3)
    mimics = {body.joint.name: body.joint.mimic for body in robot.bodies if body.joint.mimic}
    assert mimics == {
        "left": Mimic("rack", 0.5, 0.01),
        "right": Mimic("rack", -0.5, -0.01),
        "hinge": Mimic("rack", 20.0),
    }


def test_it_is_that_of_pinocchio_reading_the_same_file_with_the_joints_bound():
    robot, model = load_urdf(FILE), pin.buildModelFromUrdf(str(FILE))
    places = [model.joints[model.getJointId(body.joint.name)].idx_v for body in robot.bodies]
    states = random_states(robot, 4, seed=1)
    del states["fext"]
    tau = golden.evaluate(robot, "id", states)["tau"]
    G = np.zeros((model.nv, robot.nv))
    G[places] = velocity_map(robot)
    for task in range(4):
        q = np.zeros(model.nq)
        q[places] = to_pinocchio_q(robot, states["q"][task])
        v, a = G @ states["v"][task], G @ states["a"][task]
        np.testing.assert_allclose(tau[task], G.T @ pin.rnea(model, model.createData(), q, v, a), atol=1e-12)


@pytest.mark.parametrize("link", [None, "hand", "flap"])
def test_all_functions_on_a_fixed_base_and_from_any_root(link):
    robot = load_urdf(FILE)
    assert_graph_is_golden(reroot(robot.with_floating_base(), link) if link else robot, 3)
