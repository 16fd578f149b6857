"""The states of a method's stages: their nodes are found in the graph of every robot."""

import pytest

from rbdhw.frontend.build_graph import optimise
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.stages import find_states
from rbdhw.graph.text import dumps, loads
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.target import target
from tests.support.builds import model_of
from tests.support.mechanisms import mechanism


def graph_of(robot: Robot, *functions: str) -> Graph:
    return optimise(trace(robot, functions), target("xcvu9p").delays)


def test_a_stage_has_its_numbers():
    graph = graph_of(model_of("toy").robot, "rk4", "fd")
    first, *later = find_states(graph)
    assert len(later) + 1 == FUNCTIONS["rk4"].stages == FUNCTIONS["drk4"].stages
    assert set(first) == {"q[0]", "q[1]", "v[0]@1", "v[1]@1"}
    assert later == [
        {f"{number}@{k}": number for number in ("q[0]", "q[1]", "v[0]", "v[1]")} for k in (2, 3, 4)
    ]
    named = {node.name: node.op for node in graph.nodes if node.name in first | later[0]}
    assert named.pop("q[0]") is named.pop("q[1]") is Op.INPUT
    assert set(named.values()) == {Op.ROUND}
    assert loads(dumps(graph)) == graph


def test_derivatives_of_rates_are_numbers_of_the_next_stage():
    """The first stage has none. In the second those of the velocities are known without the task."""
    states = find_states(graph_of(model_of("toy").robot, "drk4"))
    rates = [{number.partition("[")[0] for number in state.values() if "," in number} for state in states]
    assert rates == [set(), {"pushed"}, {"moved", "pushed"}, {"moved", "pushed"}]


@pytest.mark.parametrize("kind", [JointKind.SPHERICAL, JointKind.PLANAR, JointKind.PRISMATIC])
def test_all_stages_have_the_same_numbers(kind):
    robot = mechanism([JointKind.REVOLUTE, kind], (BASE, 0), seed=3)
    numbers = [set(state.values()) for state in find_states(graph_of(robot, "rk4"))]
    assert len(numbers) == 4
    assert numbers[1] == numbers[2] == numbers[3] <= numbers[0]


@pytest.mark.parametrize("function", ["fd", "step", "dstep"])
def test_other_functions_have_no_stages(function):
    assert find_states(graph_of(model_of("toy").robot, function)) == ()
