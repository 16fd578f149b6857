"""Differences are turned where results negate them: the same values, without an adder for the sign."""

import numpy as np
import pytest

from rbdhw.graph.check import check
from rbdhw.graph.graph import GraphBuilder
from rbdhw.graph.interpret import interpret
from rbdhw.passes.signs import turn_differences
from rbdhw.scalar import Region

REGION = Region("step")
NAMES = "abcd"


def built(outputs):
    """Return the graph of the outputs that a function makes of a builder and inputs."""
    builder = GraphBuilder()
    inputs = [builder.input(name, REGION) for name in NAMES]
    found = outputs(lambda a, b: builder.add(a, b, REGION), *inputs)
    return builder.finish([(f"id.tau[{k}]", edge) for k, edge in enumerate(found)])


def turned(outputs):
    """Return the turned graph, whose values are the same."""
    graph = built(outputs)
    result = turn_differences(graph)
    check(result)
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=8) for name in NAMES}
    for (name, expected), (other, found) in zip(
        interpret(graph, values).items(), interpret(result, values).items(), strict=True
    ):
        assert name == other
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    return result


def signs(graph):
    return [edge.negative for _, edge in graph.outputs]


def test_a_difference_is_turned():
    graph = turned(lambda add, a, b, _c, _d: [add(a, b.negated()).negated()])
    assert signs(graph) == [False]


def test_shifts_move_to_the_result():
    graph = turned(lambda add, a, b, _c, _d: [add(a.shifted(2), b.shifted(-3).negated()).negated()])
    assert signs(graph) == [False]


def test_a_sum_with_a_difference_is_turned():
    def outputs(add, a, b, c, d):
        return [add(d, add(c.shifted(1), add(a, b.negated()).shifted(-2))).negated()]

    graph = turned(outputs)
    assert signs(graph) == [False]
    assert sum(edge.negative for node in graph.nodes for edge in node.args) == 3


def test_a_sum_of_inputs_keeps_its_sign():
    assert signs(turned(lambda add, a, b, c, _d: [add(add(a, b), c).negated()])) == [True]


def test_a_shift_beyond_the_largest_stays():
    graph = built(lambda add, a, b, _c, _d: [add(a, b.shifted(-20).negated()).negated()])
    assert turn_differences(graph) is graph


def test_what_is_read_with_both_signs_stays():
    def outputs(add, a, b, c, _d):
        difference = add(a, b.negated())
        return [difference.negated(), add(c, difference)]

    graph = built(outputs)
    assert turn_differences(graph) is graph


@pytest.mark.parametrize("negated", [False, True])
def test_what_a_sum_reads_stays(negated):
    """It would be turned once for itself and once for the sum."""

    def outputs(add, a, b, c, _d):
        difference = add(a, b.negated())
        total = add(c, difference.negated())
        return [difference.negated(), total.negated() if negated else total]

    assert signs(turned(outputs)) == [True, False]


def test_an_inner_sum_that_others_read_stays():
    def outputs(add, a, b, c, d):
        inner = add(a, b.negated())
        return [add(c, inner).negated(), add(d, inner)]

    assert signs(turned(outputs)) == [True, False]
