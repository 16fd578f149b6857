"""balance: the same sums are ready earlier."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from rbdhw.frontend.functions import trace
from rbdhw.graph.check import check
from rbdhw.graph.graph import GraphBuilder, Op
from rbdhw.graph.interpret import interpret
from rbdhw.graph.text import dumps, loads
from rbdhw.passes.balance import balance
from rbdhw.passes.prune import prune
from tests.support.builds import model_of
from tests.support.graphs import REGION, counts, depth, exact, graphs, rationals
from tests.support.marks import long

BEFORE = """\
n0 = input a @ decode
n1 = input b @ decode
n2 = input c @ decode
n3 = input d @ decode
n4 = add n0 -n1 @ rnea_forward 0
n5 = add n2 n4 @ rnea_forward 0
n6 = add n3 -n5<<1 @ rnea_forward 0
out tau n6
"""

AFTER = """\
n0 = input a @ decode
n1 = input b @ decode
n2 = input c @ decode
n3 = input d @ decode
n4 = add n2 -n3<<-1 @ rnea_forward 0
n5 = add n0 -n1 @ rnea_forward 0
n6 = add n4 n5 @ rnea_forward 0
out tau -n6<<1
"""


def unit(op):
    return 1.0 if op is Op.ADD else 0.0


def slow_products(op):
    return {Op.ADD: 1.0, Op.MULTIPLY: 3.5, Op.SCALE: 3.5}.get(op, 0.0)


def arrival(graph, delay):
    """Return the time at which the last output is ready."""
    times = []
    for node in graph.nodes:
        times.append(max((times[edge.node] for edge in node.args), default=0.0) + delay(node.op))
    return max((times[edge.node] for _, edge in graph.outputs), default=0.0)


def chain(terms):
    """Return the graph of a sum of inputs that is added from left to right."""
    builder = GraphBuilder()
    total = builder.input("x[0]", REGION)
    for k in range(1, terms):
        term = builder.input(f"x[{k}]", REGION)
        total = builder.add(total, term.negated() if k % 3 == 0 else term, REGION)
    return builder.finish([("tau", total)])


def test_a_chain_becomes_a_tree():
    assert dumps(balance(loads(BEFORE), unit)) == AFTER


@pytest.mark.parametrize(("terms", "levels"), [(2, 1), (3, 2), (16, 4), (17, 5)])
def test_a_chain_of_terms_has_logarithmic_depth(terms, levels):
    graph = chain(terms)
    balanced = balance(graph, unit)
    assert (depth(graph, Op.ADD), depth(balanced, Op.ADD)) == (terms - 1, levels)
    assert balanced.count(Op.ADD) == terms - 1
    inputs = {f"x[{k}]": np.array([2.0**k]) for k in range(terms)}
    assert interpret(balanced, inputs)["tau"] == interpret(graph, inputs)["tau"]


def test_a_late_term_is_added_last():
    builder = GraphBuilder()
    edges = [builder.input(f"x[{k}]", REGION) for k in range(4)]
    late = builder.multiply(edges[0], edges[1], REGION)
    total = builder.add(late, edges[1], REGION)
    for edge in edges[2:]:
        total = builder.add(total, edge, REGION)
    graph = builder.finish([("tau", total)])
    assert arrival(graph, slow_products) == 6.5
    assert arrival(balance(graph, slow_products), slow_products) == 4.5


def test_late_terms_become_a_tree():
    builder = GraphBuilder()
    edges = [builder.input(f"x[{k}]", REGION) for k in range(5)]
    total, *others = (builder.multiply(a, b, REGION) for a, b in pairwise(edges))
    for term in others:
        total = builder.add(total, term, REGION)
    graph = builder.finish([("tau", total)])
    assert arrival(graph, slow_products) == 6.5
    assert arrival(balance(graph, slow_products), slow_products) == 5.5


def test_a_sum_that_is_used_twice_is_computed_once():
    builder = GraphBuilder()
    a, b, c, d = (builder.input(name, REGION) for name in "abcd")
    shared = builder.add(a, b, REGION)
    outputs = [("f", builder.add(shared, c, REGION)), ("g", builder.add(shared, d, REGION))]
    assert balance(builder.finish(outputs), unit).count(Op.ADD) == 3


def test_a_state_counts_as_ready_at_once():
    """Sums of a later stage are balanced as those of the first, whatever its state has waited for."""

    def total(builder, a, b, c):
        product = builder.multiply(a, b, REGION)
        return builder.add(builder.add(product, c, REGION), a, REGION)

    builder = GraphBuilder()
    inputs = [builder.input(f"x[{k}]", REGION) for k in range(3)]
    late = builder.multiply(builder.multiply(inputs[0], inputs[1], REGION), inputs[2], REGION)
    state = [builder.round(edge, REGION) for edge in (late, *inputs[1:])]
    graph = builder.finish([("one", total(builder, *inputs)), ("two", total(builder, *state))])
    balanced = balance(graph, slow_products)
    shapes = []
    for _, edge in balanced.outputs:
        first, second = (balanced.nodes[argument.node].op for argument in balanced.nodes[edge.node].args)
        shapes.append({first, second})
    assert shapes == [{Op.ADD, Op.MULTIPLY}] * 2


@given(graphs(), rationals())
def test_values_stay_and_nothing_grows(graph, inputs):
    live = prune(graph)
    balanced = balance(live, slow_products)
    check(balanced)
    assert exact(balanced, inputs) == exact(live, inputs)
    assert all(counts(balanced)[op] <= count for op, count in counts(live).items() if op is not Op.CONSTANT)


@pytest.mark.parametrize("robot", ["toy", "iiwa14", long("hyq")])
def test_robots_compute_the_same_with_the_same_operations_sooner(robot):
    graph = trace(model_of(robot).robot, ("id",))
    balanced = balance(graph, slow_products)
    check(balanced)
    assert all(counts(balanced)[op] <= count for op, count in counts(graph).items())
    assert arrival(balanced, slow_products) <= arrival(graph, slow_products)
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=20) for name in graph.inputs}
    expected = interpret(graph, inputs)
    for name, value in interpret(balanced, inputs).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-10)
