"""factor: fewer products give the same values."""

import numpy as np
import pytest
from hypothesis import given

from rbdhw.frontend.functions import trace
from rbdhw.graph.check import check
from rbdhw.graph.graph import Op
from rbdhw.graph.interpret import interpret
from rbdhw.graph.sums import sum_roots, terms
from rbdhw.graph.text import dumps, loads
from rbdhw.passes.factor import factor
from rbdhw.passes.prune import prune
from tests.support.builds import model_of
from tests.support.graphs import counts, exact, graphs, rationals

CONSTANT = """\
n0 = input a @ decode
n1 = input b @ decode
n2 = scale n0 0x1.8000000000000p+0 @ rnea_forward 0
n3 = scale n1 0x1.8000000000000p+0 @ rnea_forward 0
n4 = add n2 -n3<<1 @ rnea_forward 1
out tau n4
"""

CONSTANT_AFTER = """\
n0 = input a @ decode
n1 = input b @ decode
n2 = add n0 -n1<<1 @ rnea_forward 1
n3 = scale n2 0x1.8000000000000p+0 @ rnea_forward 1
out tau n3
"""

VARIABLE = """\
n0 = input a @ decode
n1 = input b @ decode
n2 = input c @ decode
n3 = multiply n0 n1 @ rnea_forward 0
n4 = multiply n0 n2 @ rnea_forward 0
n5 = multiply n0 n0 @ rnea_forward 0
n6 = add n3 n4 @ rnea_forward 1
n7 = add n5 n6 @ rnea_forward 1
out tau n7
"""

VARIABLE_AFTER = """\
n0 = input a @ decode
n1 = input b @ decode
n2 = input c @ decode
n3 = add n0 n1 @ rnea_forward 1
n4 = add n2 n3 @ rnea_forward 1
n5 = multiply n0 n4 @ rnea_forward 1
out tau n5
"""

LIKE = """\
n0 = input a @ decode
n1 = input b @ decode
n2 = add n0 n0<<1 @ rnea_forward 1
n3 = add n0 n2 @ rnea_forward 1
n4 = add n1 n3 @ rnea_forward 1
out tau n4
"""

LIKE_AFTER = """\
n0 = input a @ decode
n1 = input b @ decode
n2 = add n0 n1<<-2 @ rnea_forward 1
out tau n2<<2
"""

SHARED = """\
n0 = input a @ decode
n1 = input b @ decode
n2 = scale n0 0x1.8000000000000p+0 @ rnea_forward 0
n3 = scale n1 0x1.8000000000000p+0 @ rnea_forward 0
n4 = add n2 n3 @ rnea_forward 1
out f n3
out tau n4
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [(CONSTANT, CONSTANT_AFTER), (VARIABLE, VARIABLE_AFTER), (LIKE, LIKE_AFTER), (SHARED, SHARED)],
)
def test_a_common_factor_of_products_used_once_is_factored_out(before, after):
    assert dumps(factor(loads(before))) == after


def test_factors_are_factored_out_repeatedly():
    """x a + x b + y c + y d + 3 e + 3 f: six products become three."""
    lines = [f"n{i} = input {name} @ decode" for i, name in enumerate("xyabcdef")]
    pairs = ((0, 2), (0, 3), (1, 4), (1, 5))
    lines += [f"n{8 + k} = multiply n{a} n{b} @ decode" for k, (a, b) in enumerate(pairs)]
    lines += [f"n{12 + k} = scale n{6 + k} 0x1.8000000000000p+0 @ decode" for k in range(2)]
    lines += ["n14 = add n8 n9 @ decode"]
    lines += [f"n{15 + k} = add n{10 + k} n{14 + k} @ decode" for k in range(4)]
    graph = loads("\n".join([*lines, "out tau n18<<1"]))
    check(graph)
    factored = factor(graph)
    assert [factored.count(op) for op in (Op.MULTIPLY, Op.SCALE, Op.ADD)] == [2, 1, 5]
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=8) for name in "xyabcdef"}
    np.testing.assert_allclose(
        interpret(factored, inputs)["tau"], interpret(graph, inputs)["tau"], rtol=1e-12
    )


@given(graphs(), rationals())
def test_values_stay_and_products_do_not_grow(graph, inputs):
    live = prune(graph)
    factored = factor(graph)
    check(factored)
    assert exact(factored, inputs) == exact(graph, inputs)
    before, after = (counts(g) for g in (live, factored))
    assert after[Op.MULTIPLY] + after[Op.SCALE] <= before[Op.MULTIPLY] + before[Op.SCALE]
    assert after[Op.ADD] <= before[Op.ADD]


@pytest.mark.parametrize(("robot", "saved"), [("toy", 0), ("iiwa14", 1), ("hyq", 0)])
def test_robots_compute_the_same_with_no_more_products(robot, saved):
    graph = trace(model_of(robot).robot, ("id",))
    factored = factor(graph)
    check(factored)
    before, after = counts(graph), counts(factored)
    assert before[Op.MULTIPLY] + before[Op.SCALE] - after[Op.MULTIPLY] - after[Op.SCALE] >= saved
    assert after[Op.ADD] <= before[Op.ADD]
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=20) for name in graph.inputs}
    expected = interpret(graph, inputs)
    for name, value in interpret(factored, inputs).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-10)


def test_values_used_elsewhere_are_terms_of_a_sum():
    graph = loads("""\
n0 = input a @ decode
n1 = input b @ decode
n2 = input c @ decode
n3 = add n0 -n1 @ decode
n4 = add n2 n3<<1 @ decode
n5 = add n0 n4 @ decode
n6 = multiply n5 n5 @ decode
out f n6
out g n5
""")
    roots = sum_roots(graph)
    assert roots == {5}
    parts = [(edge.node, edge.negative, edge.shift) for edge in terms(graph, 5, roots)]
    assert parts == [(0, False, 0), (2, False, 0), (0, False, 1), (1, True, 1)]
