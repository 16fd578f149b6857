"""The builder: folding, sharing and normalisation."""

import math

import pytest

from rbdhw.graph.graph import Edge, GraphBuilder, Op, mantissa
from rbdhw.scalar import Region
from tests.support.graphs import REGION


@pytest.fixture
def build():
    return GraphBuilder()


@pytest.fixture
def x(build):
    return build.input("x", REGION)


@pytest.fixture
def y(build, x):
    assert x == Edge(0)
    return build.input("y", REGION)


def operations(build):
    """Return the operations of the nodes so far, in order, without constants."""
    return [str(node.op) for node in build.nodes if node.op is not Op.CONSTANT]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, (1.0, False, 0)),
        (-6.0, (1.5, True, 2)),
        (0.3125, (1.25, False, -2)),
        (-1e-3, (1.024, True, -10)),
    ],
)
def test_a_number_is_a_mantissa_a_sign_and_a_power(value, expected):
    assert mantissa(value) == expected


def test_edges_compose_signs_and_shifts():
    edge = Edge(3, negative=True, shift=2)
    assert edge.negated() == Edge(3, False, 2)
    assert edge.shifted(-5) == Edge(3, True, -3)
    assert edge.applied(Edge(7, True, 1)) == Edge(7, False, 3)


def test_zeros_are_folded_in_sums_and_products(build, x):
    zero = build.constant(0.0, REGION)
    assert build.add(x, zero, REGION) == x
    assert build.add(zero, x, REGION) == x
    assert build.constant_value(build.multiply(x, zero, REGION)) == 0.0
    assert build.constant_value(build.scale(x, 0.0, REGION)) == 0.0
    assert operations(build) == ["input"]


def test_ones_signs_and_powers_of_two_are_edges(build, x):
    for factor, edge in (
        (1.0, x),
        (-1.0, Edge(0, True)),
        (8.0, Edge(0, False, 3)),
        (-0.25, Edge(0, True, -2)),
    ):
        assert build.scale(x, factor, REGION) == edge
        assert build.multiply(build.constant(factor, REGION), x, REGION) == edge
    assert operations(build) == ["input"]


def test_a_difference_of_equals_is_zero_and_their_sum_a_shift(build, x):
    assert build.constant_value(build.add(x, x.negated(), REGION)) == 0.0
    assert build.add(x, x, REGION) == Edge(0, False, 1)
    assert build.add(x.shifted(2), x.shifted(2).negated(), REGION) == build.constant(0.0, REGION)
    assert build.add(x.shifted(1), x.negated(), REGION) == x
    assert operations(build) == ["input"]


def test_an_odd_multiple_is_a_sum_and_not_a_product(build, x):
    assert build.add(x, x.shifted(1), REGION) == build.add(x.shifted(1), x, REGION)
    assert build.add(x.negated(), x.shifted(1).negated(), REGION).negative
    assert operations(build) == ["input", "add"]


def test_constants_fold(build):
    two, three = (build.constant(value, REGION) for value in (2.0, 3.0))
    assert build.constant_value(build.add(two, three.negated(), REGION)) == -1.0
    assert build.constant_value(build.multiply(two, three, REGION)) == 6.0
    assert build.constant_value(build.scale(three, -0.5, REGION)) == -1.5
    assert build.constant_value(build.reciprocal(two.negated(), REGION)) == -0.5
    assert build.constant_value(build.cos(build.constant(0.5, REGION), 0.0, REGION)) == -1.0
    assert operations(build) == []


def test_one_mantissa_serves_all_its_multiples(build):
    assert build.constant(3.0, REGION) == Edge(0, False, 1)
    assert build.constant(-6.0, REGION) == Edge(0, True, 2)
    assert [node.value for node in build.nodes] == [1.5]


def test_scales_of_scales_are_one(build, x):
    once = build.scale(x, 1.5, REGION)
    assert build.scale(once, 3.0, REGION) == Edge(2, False, 2)
    assert build.nodes[2].value == 1.125
    assert build.scale(once, 2.0 / 3.0, REGION) == x


def test_the_same_computation_is_made_once(build, x, y):
    total = build.add(x, y, REGION)
    assert build.add(y, x, Region("rnea_forward", 3)) == total
    assert build.add(x.negated(), y.negated(), REGION) == total.negated()
    assert build.add(y.shifted(3), x.shifted(3), REGION) == total.shifted(3)
    product = build.multiply(x, y, REGION)
    assert build.multiply(y.negated(), x.shifted(-1), REGION) == Edge(product.node, True, -1)
    assert build.multiply(y.shifted(2), x.negated(), REGION) == Edge(product.node, True, 2)
    assert build.multiply(y.negated(), x.negated(), REGION) == product
    assert build.scale(x, 3.0, REGION).node == build.scale(x, -0.75, REGION).node
    assert operations(build) == ["input", "input", "add", "multiply", "scale"]


def test_a_sum_keeps_its_first_edge_plain(build, x, y):
    edge = build.add(y.negated().shifted(4), x.negated().shifted(1), REGION)
    assert edge == Edge(2, True, 1)
    assert build.nodes[2].args == (Edge(0), Edge(1, False, 3))


def test_the_larger_edge_of_a_lopsided_sum_is_plain(build, x, y):
    edge = build.add(x.shifted(-40), y.negated(), REGION)
    assert edge == Edge(2, True, 0)
    assert build.nodes[2].args == (Edge(1), Edge(0, True, -40))
    assert build.add(y.negated(), x.shifted(-40), REGION) == edge


@pytest.mark.parametrize(
    ("offset", "op", "rest", "negative"),
    [
        (0.0, Op.COS, 0.0, False),
        (0.25, Op.SIN, 0.0, True),
        (0.5, Op.COS, 0.0, True),
        (-0.25, Op.SIN, 0.0, False),
        (1.0, Op.COS, 0.0, False),
        (0.375 - 1e-15, Op.SIN, 0.125 - 1e-15, True),
    ],
)
def test_quarter_turns_of_a_cosine_are_signs_and_names(build, x, offset, op, rest, negative):
    edge = build.cos(x, offset, REGION)
    assert (build.nodes[1].op, edge.negative) == (op, negative)
    assert build.nodes[1].value == pytest.approx(rest, abs=1e-15)


def test_sine_and_cosine_know_their_parity(build, x):
    assert build.sin(x.negated(), 0.0, REGION) == build.sin(x, 0.0, REGION).negated()
    assert build.cos(x.negated(), 0.0, REGION) == build.cos(x, 0.0, REGION)
    assert operations(build) == ["input", "sin", "cos"]


def test_a_reciprocal_takes_sign_and_shift_to_its_result(build, x):
    assert build.reciprocal(x.negated().shifted(3), REGION) == Edge(1, True, -3)
    with pytest.raises(ZeroDivisionError):
        build.reciprocal(build.constant(0.0, REGION), REGION)


def test_a_choice_takes_the_common_sign_and_shift_to_its_result(build, x, y):
    flag = build.input("flag", REGION)
    assert build.select(flag, x.negated().shifted(3), y.shifted(1), REGION) == Edge(3, True, 3)
    assert build.nodes[3].args == (flag, Edge(0), Edge(1, True, -2))
    assert build.select(flag, x, y.negated().shifted(-2), REGION) == Edge(3)


def test_a_choice_of_zero_keeps_the_zero_plain(build, x):
    flag, zero = build.input("flag", REGION), build.constant(0.0, REGION)
    assert build.select(flag, x.negated(), zero, REGION) == Edge(3, True)
    assert build.select(flag, zero.negated(), x.shifted(2), REGION) == Edge(4, False, 2)
    assert [node.args for node in build.nodes[3:]] == [(flag, x, zero), (flag, zero, x)]


def test_a_choice_between_equal_values_is_folded(build, x, y):
    flag = build.input("flag", REGION)
    one, zero = build.constant(1.0, REGION), build.constant(0.0, REGION)
    assert build.select(one, x, y.negated(), REGION) == x
    assert build.select(zero, x, y.negated(), REGION) == y.negated()
    assert build.select(flag, x.shifted(1), x.shifted(1), REGION) == x.shifted(1)
    assert operations(build) == ["input"] * 3


def test_copying_a_node_makes_the_same_node(build, x, y):
    build.add(x, y.negated(), REGION)
    build.multiply(x, y, REGION)
    build.scale(x, 1.7, REGION)
    build.cos(x, 0.1, REGION)
    build.sin(x, 0.1, REGION)
    build.reciprocal(y, REGION)
    build.select(y, x, y.negated().shifted(2), REGION)
    build.constant(1.25, REGION)
    nodes = tuple(build.nodes)
    for i, node in enumerate(nodes):
        assert build.copy(node, list(map(Edge, range(i)))) == Edge(i)
    assert tuple(build.nodes) == nodes


def test_uses_and_inputs_of_a_graph(build, x, y):
    product = build.multiply(x, x, REGION)
    graph = build.finish([("id.tau[0]", product), ("id.tau[1]", y.negated()), ("id.tau[2]", product)])
    assert graph.inputs == {"x": 0, "y": 1}
    assert graph.uses == (2, 1, 2)
    assert graph.count(Op.MULTIPLY) == 1
    assert math.prod(graph.uses) == 4
