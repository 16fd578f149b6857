"""Forward and reverse differentiation, compared with the complex step and with each other."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.graph.graph import Edge, Graph, GraphBuilder, Node, Op
from rbdhw.passes.differentiate import derivatives, gradient
from rbdhw.protocol import FLAGS
from rbdhw.scalar import Region
from tests.support.graphs import INPUTS, REGION, graphs

STEP = 1e-100
"""The length of the imaginary step. Its square vanishes, so derivatives are exact to rounding."""

INPUT_VALUES = dict(zip(INPUTS, (0.7, -1.3, 0.45, 2.1), strict=True)) | {
    name: float(k % 2) for k, name in enumerate(FLAGS)
}


def builder_of(graph: Graph) -> GraphBuilder:
    """Return a builder with the nodes of a graph, to which others can be added."""
    builder = GraphBuilder()
    for node in graph.nodes:
        builder.copy(node, list(map(Edge, range(len(builder.nodes)))))
    assert tuple(builder.nodes) == graph.nodes
    return builder


def values_of(builder: GraphBuilder, seeds: Mapping[int, complex]) -> list[complex]:
    """Return the value of each node if some nodes change by ``STEP`` times their seeds, and no others do."""
    values: list[complex] = []
    for i, node in enumerate(builder.nodes):
        value = evaluate(node, [edge_value(values, edge) for edge in node.args])
        values.append(value.real + STEP * 1j * seeds[i] if i in seeds else value)
    return values


def edge_value(values: list[complex], edge: Edge) -> complex:
    return values[edge.node] * math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)


def evaluate(node: Node, args: list[complex]) -> complex:
    match node.op:
        case Op.INPUT:
            return complex(INPUT_VALUES[node.name])
        case Op.CONSTANT:
            return complex(node.value)
        case Op.ADD:
            return args[0] + args[1]
        case Op.MULTIPLY:
            return args[0] * args[1]
        case Op.SCALE:
            return args[0] * node.value
        case Op.SIN:
            return complex(np.sin(2.0 * np.pi * (args[0] + node.value)))
        case Op.COS:
            return complex(np.cos(2.0 * np.pi * (args[0] + node.value)))
        case Op.RECIPROCAL:
            return 1.0 / args[0]
        case Op.SELECT:
            return args[1] if args[0].real else args[2]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Graph, dict[int, float]]:
    """Draw a graph and seeds of some of its nodes: inputs and others."""
    graph = draw(graphs(trigonometry=True, choices=True))
    flags = {graph.inputs[name] for name in FLAGS}
    places = [i for i, node in enumerate(graph.nodes) if node.op is not Op.CONSTANT and i not in flags]
    chosen = draw(st.sets(st.sampled_from(places), min_size=1, max_size=4))
    number = st.sampled_from((1.0, -1.0, 0.5, 3.0, -0.7))
    return graph, {i: draw(number) for i in sorted(chosen)}


def is_finite(graph: Graph) -> bool:
    """Return whether no reciprocal of a graph is of a number near zero."""
    with np.errstate(all="ignore"):
        try:
            values = values_of(builder_of(graph), {})
        except ZeroDivisionError:
            return False
    return all(abs(value) < 1e6 for value in values)


def constants(builder: GraphBuilder, seeds: Mapping[int, float]) -> dict[int, Edge]:
    return {i: builder.constant(seed, REGION) for i, seed in seeds.items()}


def assert_close(actual: float, expected: float) -> None:
    assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(problems())
def test_forward_derivatives_are_those_of_the_complex_step(problem: tuple[Graph, dict[int, float]]) -> None:
    graph, seeds = problem
    if not is_finite(graph):
        return
    builder = builder_of(graph)
    expected = values_of(builder, seeds)
    slopes = derivatives(builder, [edge for _, edge in graph.outputs], constants(builder, seeds))
    values = values_of(builder, {})
    for (_, edge), derivative in zip(graph.outputs, slopes, strict=True):
        assert_close(edge_value(values, derivative).real, edge_value(expected, edge).imag / STEP)


@given(problems())
def test_reverse_derivatives_are_those_of_the_complex_step(problem: tuple[Graph, dict[int, float]]) -> None:
    """One direction moves all seeded nodes but the last; another the last but one, and one half of them."""
    graph, seeds = problem
    if not is_finite(graph):
        return
    builder = builder_of(graph)
    *moved, fixed = seeds
    directions = [{i: seeds[i] for i in nodes} for nodes in (moved, moved[-1:], moved[::2])]
    _, value = graph.outputs[0]
    slopes = gradient(builder, value, [constants(builder, direction) for direction in directions], [fixed])
    values = values_of(builder, {})
    for direction, derivative in zip(directions, slopes, strict=True):
        expected = values_of(builder_of(graph), dict.fromkeys(seeds, 0.0) | direction)
        assert_close(edge_value(values, derivative).real, edge_value(expected, value).imag / STEP)


@given(problems())
def test_second_derivatives_by_reverse_then_forward(problem: tuple[Graph, dict[int, float]]) -> None:
    graph, seeds = problem
    if not is_finite(graph):
        return
    builder = builder_of(graph)
    _, value = graph.outputs[0]
    first = gradient(builder, value, [{i: builder.constant(1.0, REGION)} for i in seeds])
    expected = values_of(builder, seeds)
    second = derivatives(builder, first, constants(builder, seeds))
    values = values_of(builder, {})
    for edge, derivative in zip(first, second, strict=True):
        assert_close(edge_value(values, derivative).real, edge_value(expected, edge).imag / STEP)


class Scene:
    """A builder with two inputs ``x`` and ``y`` and a flag."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.x, self.y, self.flag = (
            self.builder.input(name, REGION) for name in (*INPUTS[:2], "acceleration_given")
        )
        self.one = self.builder.constant(1.0, REGION)

    def by_x(self, value: Edge) -> Edge:
        """Return the forward derivative by ``x``, which must equal the reverse one."""
        (slope,) = derivatives(self.builder, [value], {self.x.node: self.one})
        assert gradient(self.builder, value, [{self.x.node: self.one}]) == [slope]
        return slope

    def turn(self) -> tuple[Edge, Edge, dict[int, Edge]]:
        """Return cosine and sine of a third input, and their seeds along this angle in radians."""
        angle = self.builder.input(INPUTS[2], REGION)
        cos, sin = self.builder.cos(angle, 0.0, REGION), self.builder.sin(angle, 0.0, REGION)
        assert not cos.negative
        assert not sin.negative
        return cos, sin, {cos.node: sin.negated(), sin.node: cos}

    def constant(self, value: float) -> Edge:
        return self.builder.constant(value, REGION)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_sum(scene: Scene) -> None:
    total = scene.builder.add(scene.x.shifted(3).negated(), scene.y, REGION)
    assert scene.by_x(total) == scene.constant(-8.0)
    assert scene.by_x(total.negated()) == scene.constant(8.0)


def test_product(scene: Scene) -> None:
    make = scene.builder
    assert scene.by_x(make.multiply(scene.x.negated(), scene.y.shifted(1), REGION)) == Edge(
        scene.y.node, True, 1
    )
    assert scene.by_x(make.multiply(scene.x, scene.x, REGION)) == scene.x.shifted(1)


def test_product_with_a_constant(scene: Scene) -> None:
    assert scene.by_x(scene.builder.scale(scene.x, -3.0, REGION)) == scene.constant(-3.0)


def test_sine_and_cosine_of_turns(scene: Scene) -> None:
    make = scene.builder
    cos, sin = make.cos(scene.x, 0.1, REGION), make.sin(scene.x, 0.1, REGION)
    assert scene.by_x(cos) == make.scale(sin, -2.0 * math.pi, REGION)
    assert scene.by_x(sin) == make.scale(cos, 2.0 * math.pi, REGION)


def test_reciprocal(scene: Scene) -> None:
    make = scene.builder
    inverse = make.reciprocal(scene.x, REGION)
    assert scene.by_x(inverse) == make.multiply(inverse, inverse, REGION).negated()


def test_choice_is_differentiated_on_both_sides(scene: Scene) -> None:
    make = scene.builder
    square = make.multiply(scene.x, scene.x, REGION)
    chosen = make.select(scene.flag, square, make.multiply(scene.x, scene.y, REGION), REGION)
    (slope,) = derivatives(make, [chosen], {scene.x.node: scene.one})
    assert slope == make.select(scene.flag, scene.x.shifted(1), scene.y, REGION)


def test_flag_has_no_derivative(scene: Scene) -> None:
    chosen = scene.builder.select(scene.flag, scene.x, scene.y, REGION)
    (slope,) = derivatives(scene.builder, [chosen], {scene.flag.node: scene.one})
    assert scene.builder.constant_value(slope) == 0.0
    (slope,) = gradient(scene.builder, chosen, [{scene.flag.node: scene.one}])
    assert scene.builder.constant_value(slope) == 0.0


def test_value_that_is_a_seed_has_its_derivative(scene: Scene) -> None:
    square = scene.builder.multiply(scene.x, scene.x, REGION)
    seeds = {scene.x.node: scene.one, square.node: scene.y}
    slopes = derivatives(scene.builder, [square.negated(), scene.x], seeds)
    assert slopes == [scene.y.negated(), scene.one]


def test_seeds_may_be_functions_of_other_seeded_nodes(scene: Scene) -> None:
    """With ``d cos = -sin`` and ``d sin = cos``, the second derivative of a sine is minus the sine."""
    make = scene.builder
    cos, sin, seeds = scene.turn()
    value = make.multiply(sin, scene.y, REGION)
    first = derivatives(make, [value], seeds)
    assert first == [make.multiply(cos, scene.y, REGION)]
    assert derivatives(make, first, seeds) == [value.negated()]


def test_turned_vector_is_differentiated_forward(scene: Scene) -> None:
    """The derivative of one coordinate of a turned vector is the other, so there is only one new product."""
    make = scene.builder
    cos, sin, seeds = scene.turn()
    other = make.input(INPUTS[3], REGION)
    along, across = (
        make.add(make.multiply(cos, one, REGION), make.multiply(sin, two, REGION), REGION)
        for one, two in ((scene.x, scene.y), (scene.y, scene.x.negated()))
    )
    assert gradient(make, make.multiply(along, other, REGION), [seeds]) == [
        make.multiply(across, other, REGION)
    ]


def test_what_is_constant_adds_no_operation(scene: Scene) -> None:
    make = scene.builder
    other = make.cos(make.multiply(scene.y, scene.y, REGION), 0.0, REGION)
    value = make.multiply(other, scene.x, REGION)
    before = len(make.nodes)
    assert scene.by_x(value) == other
    assert [make.constant_value(edge) for edge in derivatives(make, [other], {scene.x.node: scene.one})] == [
        0
    ]
    assert [make.constant_value(edge) for edge in gradient(make, other, [{scene.x.node: scene.one}])] == [0]
    assert {node.op for node in make.nodes[before:]} <= {Op.CONSTANT}


def test_seed_of_zero_stops_the_derivative(scene: Scene) -> None:
    make = scene.builder
    square = make.multiply(scene.x, scene.x, REGION)
    seeds = {scene.x.node: scene.one, square.node: make.constant(0.0, REGION)}
    (slope,) = derivatives(make, [make.add(square, scene.x, REGION)], seeds)
    assert slope == scene.one


@pytest.mark.parametrize("reverse", [False, True])
def test_new_nodes_belong_to_steps_after_those_that_they_differentiate(reverse: bool) -> None:
    builder = GraphBuilder()
    region = Region("rnea_forward", 2)
    x, y, z = (builder.input(name, REGION) for name in INPUTS[:3])
    value = builder.multiply(builder.multiply(builder.multiply(x, y, region), z, region), x, region)
    before = len(builder.nodes)
    if reverse:
        gradient(builder, value, [{x.node: y}])
    else:
        derivatives(builder, [value], {x.node: y})
    added = {str(node.region) for node in builder.nodes[before:] if node.args}
    steps = ("adjoint", "tangent") if reverse else ("tangent",)
    assert added == {f"rnea_forward_{step}_2" for step in steps}
