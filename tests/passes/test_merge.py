"""merge: equal numbers are computed once, zeros not at all, and nothing else changes."""

import numpy as np
import pytest
from hypothesis import given

from rbdhw.graph.check import check
from rbdhw.graph.graph import Graph, GraphBuilder, Op
from rbdhw.graph.interpret import interpret
from rbdhw.passes.merge import TOLERANCE, merge
from rbdhw.passes.prune import prune
from tests.support.graphs import INPUTS, REGION, graphs


def states(*names: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {name: rng.uniform(-1.0, 1.0, 8) for name in names}


def squares(factor: float = 1.0) -> Graph:
    """Return a graph of ``(x + y)(x - y)`` and of ``factor (y y - x x)``."""
    builder = GraphBuilder()
    x, y = builder.input("x", REGION), builder.input("y", REGION)
    product = builder.multiply(builder.add(x, y, REGION), builder.add(x, y.negated(), REGION), REGION)
    others = builder.multiply(x, x, REGION), builder.multiply(y, y, REGION)
    difference = builder.add(others[1], others[0].negated(), REGION)
    return builder.finish([("one", product), ("other", builder.scale(difference, factor, REGION))])


@pytest.mark.parametrize(("factor", "negative", "shift"), [(1.0, True, 0), (-4.0, False, 2), (0.5, True, -1)])
def test_equal_products_become_one(factor, negative, shift):
    merged = prune(merge(squares(factor), states("x", "y")))
    assert merged.count(Op.MULTIPLY) == 1
    (_, one), (_, other) = merged.outputs
    assert (other.node, other.negative, other.shift) == (one.node, negative, shift)


def test_constants_stay():
    builder = GraphBuilder()
    graph = builder.finish([("one", builder.constant(3.0, REGION)), ("zero", builder.constant(0.0, REGION))])
    assert merge(graph, {}) == graph


@pytest.mark.parametrize("factor", [3.0, 1.0 + 10.0 * TOLERANCE])
def test_other_multiples_do_not(factor):
    (_, one), (_, other) = prune(merge(squares(factor), states("x", "y"))).outputs
    assert other.node != one.node


def test_cancelling_terms_are_zero():
    """In ``(x + y)(x - y) + (y y - x x) + z`` only ``z`` remains."""
    graph = squares()
    builder = GraphBuilder()
    moved = []
    for node in graph.nodes:
        moved.append(builder.copy(node, moved))
    one, other = (edge.applied(moved[edge.node]) for _, edge in graph.outputs)
    z = builder.input("z", REGION)
    total = builder.add(builder.add(one, other, REGION), z, REGION)
    merged = prune(merge(builder.finish([("total", total)]), states("x", "y", "z")))
    assert [node.name for node in merged.nodes] == ["z"]


def test_numbers_that_never_change_are_constants():
    """The squares of sine and cosine add up to one, and a product with that is no product."""
    builder = GraphBuilder()
    x, y = builder.input("x", REGION), builder.input("y", REGION)
    squares = [
        builder.multiply(factor, factor, REGION)
        for factor in (builder.sin(x, 0.0, REGION), builder.cos(x, 0.0, REGION))
    ]
    product = builder.multiply(y, builder.scale(builder.add(*squares, REGION), 0.75, REGION), REGION)
    merged = prune(merge(builder.finish([("product", product)]), states("x", "y")))
    assert [(node.op, node.name, node.value) for node in merged.nodes] == [
        (Op.INPUT, "y", 0.0),
        (Op.SCALE, "", 1.5),
    ]


def test_a_quotient_times_its_divisor_stays():
    """It has the quotient's rounding error, so neither the dividend nor a constant replaces it."""
    builder = GraphBuilder()
    x, y = builder.input("x", REGION), builder.input("y", REGION)
    divisor, outputs = builder.add(x, y, REGION), []
    for dividend in (builder.multiply(x, y, REGION), builder.constant(0.75, REGION)):
        quotient = builder.multiply(dividend, builder.reciprocal(divisor, REGION), REGION)
        outputs += [dividend, quotient, builder.multiply(quotient, divisor, REGION)]
    graph = builder.finish([(str(k), edge) for k, edge in enumerate(outputs)])
    assert merge(graph, states("x", "y")) == graph


def test_rounded_copies_stay():
    builder = GraphBuilder()
    x, y = builder.input("x", REGION), builder.input("y", REGION)
    total = builder.add(x, y, REGION)
    product = builder.multiply(builder.round(total, REGION), y, REGION)
    graph = builder.finish([("total", total), ("product", product)])
    assert merge(graph, states("x", "y")) == graph


def test_what_a_flag_tells_apart_is_not_merged():
    builder = GraphBuilder()
    x, y, flag = (builder.input(name, REGION) for name in ("x", "y", "flag"))
    twice = builder.multiply(x, y, REGION)
    chosen = builder.select(flag, twice, builder.multiply(x, x, REGION), REGION)
    graph = builder.finish([("chosen", chosen), ("twice", twice)])
    merged = merge(graph, states("x", "y") | {"flag": np.arange(8) % 2.0})
    assert merged == graph


@given(graphs(trigonometry=True))
def test_the_values_of_random_graphs_stay(graph):
    given = states(*INPUTS)
    merged = merge(graph, {name: given[name] for name in graph.inputs})
    check(merged)
    assert merged.count(Op.MULTIPLY) <= graph.count(Op.MULTIPLY)
    other = {name: values + 0.125 for name, values in given.items()}
    before, after = interpret(graph, other), interpret(merged, other)
    for name, value in before.items():
        np.testing.assert_allclose(after[name], value, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(value).max()))


def test_a_quotient_in_a_state_is_a_number_like_others():
    """What is constant at the first state of a method is so at later ones, which follow from quotients."""
    builder = GraphBuilder()
    x = builder.input("x", REGION)
    outputs = []
    for angle in (x, builder.round(builder.reciprocal(x, REGION), REGION)):
        cos, sin = builder.cos(angle, 0.0, REGION), builder.sin(angle, 0.0, REGION)
        outputs.append(
            builder.add(builder.multiply(cos, cos, REGION), builder.multiply(sin, sin, REGION), REGION)
        )
    merged = prune(merge(builder.finish([("one", outputs[0]), ("two", outputs[1])]), states("x")))
    assert [merged.nodes[edge.node].op for _, edge in merged.outputs] == [Op.CONSTANT] * 2
