"""The recording scalar: arithmetic creates the nodes it needs, and no others."""

import math

import numpy as np
import pytest

from rbdhw.graph.graph import Op
from rbdhw.graph.interpret import interpret
from rbdhw.graph.text import dumps
from rbdhw.graph.trace import Recorder, Signal
from rbdhw.scalar import Region, current_region, label, reciprocal, region


def trace(function, *names):
    """Return the graph of a function of named inputs."""
    recorder = Recorder()
    recorder.output("f", function(*(recorder.input(name) for name in names)))
    return recorder.builder.finish(recorder.outputs)


def test_arithmetic_with_floats_from_both_sides():
    graph = trace(lambda x, y: (3.0 - x) * 2.0 + 0.75 * (-y) - (1.0 + x) - 0.5, "x", "y")
    x, y = np.array([0.4, -2.0]), np.array([1.1, 5.0])
    expected = (3 - x) * 2 - 0.75 * y - (1 + x) - 0.5
    np.testing.assert_allclose(interpret(graph, {"x": x, "y": y})["f"], expected, rtol=1e-15)


def test_constant_results_are_floats_again():
    recorder = Recorder()
    x = recorder.input("x")
    for value, expected in ((x * 0.0, 0.0), (0.0 * x, 0.0), (x - x, 0.0), ((x - x) + 2.5, 2.5)):
        assert value == expected
        assert isinstance(value, float)
    assert isinstance(x * 1.0, Signal)
    assert (x * 1.0).edge == x.edge


def test_zeros_and_ones_leave_no_nodes():
    graph = trace(lambda x, y: (x * 1.0 + 0.0 * y) * -1.0 + 4.0 * x, "x", "y")
    assert [graph.count(op) for op in (Op.MULTIPLY, Op.SCALE, Op.ADD)] == [0, 0, 1]


def test_numpy_numbers_mix_in_from_the_left():
    recorder = Recorder()
    x = recorder.input("x")
    assert (np.float64(2.0) * x).edge == x.edge.shifted(1)
    assert isinstance(np.float64(0.0) + x, Signal)


def test_cos_and_sin_of_an_angle_in_turns():
    recorder = Recorder()
    turns = recorder.input("q")
    for name, value in zip(("c", "s"), recorder.cos_sin(turns, 0.15), strict=True):
        recorder.output(name, value)
    graph = recorder.builder.finish(recorder.outputs)
    q = np.array([0.0, 0.3, -0.8, 12.25])
    results = interpret(graph, {"q": q})
    np.testing.assert_allclose(results["c"], np.cos(2 * np.pi * (q + 0.15)), atol=1e-12)
    np.testing.assert_allclose(results["s"], np.sin(2 * np.pi * (q + 0.15)), atol=1e-12)


@pytest.mark.parametrize(
    ("turns", "offset", "cosine", "sine"),
    [
        (0.0, 0.0, 1.0, 0.0),
        (0.0, 0.25, 0.0, 1.0),
        (-0.25, 0.0, 0.0, -1.0),
        (0.0, 7.5, -1.0, 0.0),
        (0.0, 1 / 12, 0.75**0.5, 0.5),
        (0.3, -1.1, math.cos(1.6 * math.pi), -math.sin(1.6 * math.pi)),
    ],
)
def test_cos_and_sin_of_a_known_angle_are_numbers(turns, offset, cosine, sine):
    """Quarter turns are exact, so their zeros are folded in products."""
    recorder = Recorder()
    numbers = recorder.cos_sin(turns, offset)
    assert all(isinstance(value, float) for value in numbers)
    assert numbers == pytest.approx((cosine, sine), rel=1e-14, abs=0.0)
    assert {node.op for node in recorder.builder.nodes} == {Op.CONSTANT}


def test_choices_and_reciprocals():
    recorder = Recorder()
    flag, x = recorder.input("flag"), recorder.input("x")
    recorder.output("mask", recorder.select(flag, 3.0 * x, 0.0))
    recorder.output("inverse", reciprocal(-2.0 * x))
    assert recorder.select(flag, 2.5, 2.5) == 2.5
    assert (recorder.select(True, x, 1.0), recorder.select(False, x, 1.0)) == (x, 1.0)
    graph = recorder.builder.finish(recorder.outputs)
    assert (graph.count(Op.SELECT), graph.count(Op.RECIPROCAL)) == (1, 1)
    values = np.array([0.5, -4.0])
    for raised in (0.0, 1.0):
        results = interpret(graph, {"flag": np.asarray(raised), "x": values})
        np.testing.assert_array_equal(results["mask"], raised * 3.0 * values)
        np.testing.assert_array_equal(results["inverse"], -0.5 / values)


def test_nodes_remember_the_region_that_first_needed_them():
    recorder = Recorder()
    with region("decode"):
        x, y = recorder.input("x"), recorder.input("y")
    with region("rnea_forward", 2):
        first = x * y
        with region("rnea_backward", 1):
            assert current_region() == Region("rnea_backward", 1)
            assert (y * x).edge == first.edge
            recorder.output("f", x + y)
        assert current_region() == Region("rnea_forward", 2)
    recorder.output("g", first)
    recorder.output("h", 0.0)
    assert dumps(recorder.builder.finish(recorder.outputs)) == (
        "n0 = input x @ decode\n"
        "n1 = input y @ decode\n"
        "n2 = multiply n0 n1 @ rnea_forward 2\n"
        "n3 = add n0 n1 @ rnea_backward 1\n"
        "n4 = constant 0x0.0p+0 @ accelerator\n"
        "out f n3\n"
        "out g n2\n"
        "out h n4\n"
    )


def test_regions_have_names():
    assert str(Region("rnea_forward", 3)) == "rnea_forward_3"
    assert str(Region("decode")) == "decode"
    assert current_region() == Region("accelerator")


def test_quantities_name_nodes_of_their_region() -> None:
    recorder = Recorder()
    x, y = recorder.input("x"), recorder.input("y")
    with region("step", 3):
        vector = (x + y, x * y, 0.0)
        label("alpha", vector)
        label("beta", vector[0])
        label("gamma", -(x - y))
        label("delta", x)
    with region("other", 3):
        label("epsilon", vector[1] + 1.0)
        label("zeta", vector[1])
    nodes = recorder.builder.nodes
    assert [node.region.quantity for node in nodes if node.args] == ["alpha_x", "alpha_y", "", "epsilon"]
    assert {node.region for node in nodes if node.args} == {Region("step", 3), Region("other", 3)}
    assert not any(node.region.quantity for node in nodes if not node.args)
