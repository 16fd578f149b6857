"""Traced robots: names, regions, what is left out, and the same torques."""

import numpy as np
import pytest

from rbdhw.domain import graph_inputs
from rbdhw.graph.check import check
from rbdhw.graph.graph import Op
from rbdhw.graph.interpret import interpret
from rbdhw.robot.frames import align_axes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.scalar import Region
from rbdhw.sim import golden
from rbdhw.tracing import trace
from tests.strategies import random_states


def aligned(name):
    return align_axes(load_urdf(path(name)))


@pytest.mark.parametrize("with_fext", [False, True])
@pytest.mark.parametrize("name", ["toy", "iiwa14", "hyq", "atlas"])
def test_the_graph_computes_the_golden_torques(name, with_fext):
    robot = aligned(name)
    graph = trace(robot, ("id",), range(robot.nv) if with_fext else ())
    check(graph)
    states = random_states(robot, 10, seed=4)
    results = interpret(graph, graph_inputs(robot, states))
    tau = np.stack([results[f"id.tau[{i}]"] for i in range(robot.nv)], axis=1)
    if not with_fext:
        del states["fext"]
    expected = golden.evaluate(robot, "id", states)["tau"]
    np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_inputs_and_outputs_have_the_names_of_the_arrays():
    graph = trace(aligned("iiwa14"), ("id",), (6,))
    expected = [f"q[{i}]" for i in range(1, 7)]
    expected += [f"{array}[{i}]" for array in "va" for i in range(7)]
    expected += [f"fext[6,{k}]" for k in range(6)]
    assert list(graph.inputs) == expected
    assert [name for name, _ in graph.outputs] == [f"id.tau[{i}]" for i in range(7)]


def test_what_no_torque_needs_is_no_input():
    """The iiwa's first axis is vertical: its angle is felt by nothing."""
    assert "q[0]" not in trace(aligned("iiwa14"), ("id",)).inputs


def test_every_joint_has_its_two_regions():
    robot = aligned("hyq")
    regions = {node.region for node in trace(robot, ("id",)).nodes}
    joints = range(robot.nv)
    expected = {Region("decode"), Region("trigonometry")}
    expected |= {Region(step, i) for step in ("rnea_forward", "rnea_backward") for i in joints}
    assert {r for r in regions if r.joint is None} == {Region("decode"), Region("trigonometry")}
    assert regions <= expected
    assert {r.joint for r in regions} == {None, *joints}


def test_each_angle_is_turned_once():
    graph = trace(aligned("iiwa14"), ("id",))
    assert (graph.count(Op.SIN), graph.count(Op.COS), graph.count(Op.RECIPROCAL)) == (6, 6, 0)
    turns = [node for node in graph.nodes if node.op in (Op.SIN, Op.COS)]
    assert {node.region for node in turns} == {Region("trigonometry")}


def test_nothing_is_traced_for_no_function():
    assert trace(aligned("toy"), ()).nodes == ()
