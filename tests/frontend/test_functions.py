"""Traced robots: names of inputs and outputs, regions, flags, and the golden results."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.arrays import WordName
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.emit.manifest import function_counts
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.functions import trace
from rbdhw.frontend.recordings import RECORDINGS
from rbdhw.graph.check import check
from rbdhw.graph.graph import Op
from rbdhw.graph.interpret import interpret
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.passes.factor import factor
from rbdhw.protocol import DEFAULT_FUNCTIONS, FLAGS, FUNCTIONS
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.scalar import Region
from tests.support.combinations import covering
from tests.support.graph_results import assert_results_are_golden, prepared
from tests.support.marks import long, some
from tests.support.mechanisms import mechanism
from tests.support.strategies import random_states, robots


def aligned(name):
    return align_axes(load_urdf(path(name)))


@pytest.mark.parametrize("with_fext", [False, True])
@pytest.mark.parametrize("name", ["iiwa14", "hyq", "atlas"])
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


def test_a_coordinate_without_effect_on_any_torque_is_no_input():
    """The iiwa's first axis is vertical, so no torque depends on its angle."""
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


def test_sine_and_cosine_of_each_angle_are_computed_once():
    graph = trace(aligned("iiwa14"), ("id",))
    assert (graph.count(Op.SIN), graph.count(Op.COS), graph.count(Op.RECIPROCAL)) == (6, 6, 0)
    turns = [node for node in graph.nodes if node.op in (Op.SIN, Op.COS)]
    assert {node.region for node in turns} == {Region("trigonometry")}


def test_nothing_is_traced_for_no_function():
    assert trace(aligned("toy"), ()).nodes == ()


# All functions in one graph

ALL = (*DEFAULT_FUNCTIONS, "gravity", "bias")
TASKS = 2

STEPS = [step for step in ALGORITHMS if step not in ("second", "rates")]
"""The steps that functions without second derivatives may contain."""

CHOICES = [
    algorithms
    for names in product(*(ALGORITHMS[step] for step in STEPS))
    if (algorithms := Algorithms(**dict(zip(STEPS, names, strict=True)))).possible
]


def states_of(robot, seed):
    """Return random states with an inverse mass matrix that does not belong to them."""
    states = random_states(robot, TASKS, seed)
    other = random_states(robot, TASKS, seed + 1)
    return states | {"Minv": golden.evaluate(robot, "minv", other)["Minv"]}


@pytest.mark.parametrize(
    "algorithms",
    some(
        [(CHOICES[k],) for k in covering([tuple(vars(algorithms).values()) for algorithms in CHOICES])],
        5,
    ),
    ids=lambda algorithms: "-".join(vars(algorithms).values()),
)
def test_every_function_by_every_pair_of_algorithms(algorithms):
    kinds = [JointKind.REVOLUTE, JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE]
    robot = align_axes(mechanism(kinds, [BASE, 0, 1, 0], seed=8))
    graph = trace(robot, ALL, range(robot.nv), algorithms)
    states = states_of(robot, 8)
    assert_results_are_golden(graph, robot, states, ALL)
    if algorithms.products == "dense":
        assert_results_are_golden(graph, robot, states, ("difd",), extended=True)


@pytest.mark.parametrize("name", ["toy", long("hyq"), long("atlas")])
def test_every_function_of_other_robots(name):
    robot = aligned(name)
    graph = trace(robot, ALL)
    states = states_of(robot, 9) | {"fext": np.zeros((TASKS, robot.nv, 6))}
    assert_results_are_golden(graph, robot, states, ALL)


@pytest.mark.verify
@settings(max_examples=8)
@given(robots(max_bodies=4), st.sampled_from(CHOICES), st.sets(st.sampled_from(ALL), min_size=1))
def test_any_subset_of_the_functions_of_any_robot(source, algorithms, chosen):
    robot = align_axes(source)
    functions = tuple(function for function in ALL if function in chosen)
    graph = trace(robot, functions, range(robot.nv), algorithms)
    assert_results_are_golden(graph, source, states_of(source, 10), functions)


@pytest.mark.parametrize("name", ["toy", long("iiwa14"), long("hyq"), long("atlas")])
@pytest.mark.parametrize("algorithms", [long(Algorithms()), Algorithms(gradient="repeated")])
def test_gradients_also_return_the_matrices_forces_and_accelerations_in_them(name, algorithms):
    robot = aligned(name)
    states = states_of(robot, 12) | {"fext": np.zeros((TASKS, robot.nv, 6))}
    for functions in (("dfd",), ("did", "dfd")):
        graph = trace(robot, functions, (), algorithms)
        assert_results_are_golden(graph, robot, states, functions, extended=True)


@pytest.mark.parametrize(
    ("functions", "flags"),
    [
        (("id",), []),
        (("fd", "minv"), []),
        (("id", "fd"), ["acceleration_given"]),
        (("did", "m"), []),
        (("difd",), ["inverse_given"]),
        (ALL, ["acceleration_given", "inverse_given"]),
    ],
)
def test_a_flag_is_an_input_only_if_the_functions_differ_in_it(functions, flags):
    inputs = trace(aligned("toy"), functions).inputs
    assert [name for name in inputs if name in FLAGS] == flags


def test_inputs_of_all_functions_have_the_order_of_the_packets():
    inputs = list(trace(aligned("toy"), ALL, (1,)).inputs)
    arrays = [name.partition("[")[0] for name in inputs]
    order = ["q", "v", "a", "tau", "fext", "Minv", "acceleration_given", "inverse_given"]
    assert list(dict.fromkeys(arrays)) == order


def test_only_one_triangle_of_symmetric_matrices_is_an_output():
    outputs = [name for name, _ in trace(aligned("iiwa14"), ("m", "minv")).outputs]
    assert {"m.M[3,1]", "minv.Minv[6,2]"} <= set(outputs)
    indices = [name.rstrip("]").partition("[")[2].split(",") for name in outputs]
    assert all(int(j) <= int(i) for i, j in indices)
    assert len(set(outputs)) == len(outputs)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("iiwa14", {"did": 1060, "minv": 335, "difd": 1840, "dfd": 2190}),
        long("hyq", {"did": 1010, "dfd": 1640}),
    ],
)
def test_operations_of_each_function_stay_below_a_limit_in_a_build_of_all(name, most):
    graph = factor(trace(prepared(load_urdf(path(name))), ALL))
    for function, limit in most.items():
        counts = function_counts(graph, function).multiplications
        assert counts.variable + counts.constant <= limit, (function, counts)


def test_each_function_has_a_word_that_travels_with_every_task():
    """Of a single slide, which feels no change of gravity, all derivatives are zero."""
    slide = mechanism([JointKind.PRISMATIC], [-1], seed=1)
    graph = trace(align_axes(slide), DEFAULT_FUNCTIONS)
    words = [WordName.parse(name) for name, _ in graph.outputs]
    for function in DEFAULT_FUNCTIONS:
        assert {word.array for word in words if word.function == function} & set(FUNCTIONS[function].outputs)


def test_every_function_is_recorded() -> None:
    assert RECORDINGS.keys() == FUNCTIONS.keys()
