"""The float interpreter, compared with direct evaluation."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from rbdhw.graph.interpret import interpret, node_values
from rbdhw.graph.text import loads
from tests.support.graphs import exact, graphs, rationals

EVERYTHING = loads("""\
n0 = input x @ decode
n1 = input y @ decode
n2 = constant 0x1.8000000000000p+0 @ decode
n3 = add n0 -n1<<2 @ decode
n4 = multiply n0 n3 @ decode
n5 = scale n4 0x1.4000000000000p+0 @ decode
n6 = sin n0<<1 0x1.999999999999ap-4 @ decode
n7 = cos n1 0x0.0p+0 @ decode
n8 = reciprocal n1 @ decode
n9 = add n3 n2<<-1 @ decode
n10 = input flag @ decode
n11 = select n10 n8 -n1<<1 @ decode
out sum n9
out product -n5<<3
out sin n6
out cos -n7
out reciprocal n8
out chosen -n11
""")


def test_every_operation_computes_what_it_says():
    x, y = np.array([0.3, -1.2, 4.0]), np.array([0.7, 2.5, -0.1])
    flag = np.array([1.0, 0.0, 1.0])
    results = interpret(EVERYTHING, {"x": x, "y": y, "flag": flag})
    np.testing.assert_allclose(results["sum"], x - 4 * y + 0.75, rtol=1e-15)
    np.testing.assert_allclose(results["product"], -8 * 1.25 * x * (x - 4 * y), rtol=1e-15)
    np.testing.assert_allclose(results["sin"], np.sin(2 * np.pi * (2 * x + 0.1)), atol=1e-14)
    np.testing.assert_allclose(results["cos"], -np.cos(2 * np.pi * y), atol=1e-14)
    np.testing.assert_allclose(results["reciprocal"], 1 / y, rtol=1e-15)
    np.testing.assert_allclose(results["chosen"], -np.where(flag == 1.0, 1 / y, -2 * y), rtol=1e-15)


def test_every_value_has_the_shape_of_the_inputs():
    values = node_values(EVERYTHING, {"x": np.ones(5), "y": np.ones(5), "flag": np.ones(())})
    assert [value.shape for value in values] == [(5,)] * 12
    np.testing.assert_array_equal(values[2], 1.5)


def test_a_missing_input_is_named():
    with pytest.raises(KeyError, match=r"^'y'$"):
        interpret(EVERYTHING, {"x": np.ones(2)})


@given(graphs(), rationals())
def test_random_graphs_agree_with_rational_arithmetic(graph, inputs):
    reals = {name: np.array([float(value)]) for name, value in inputs.items()}
    truth = exact(graph, {name: Fraction(float(value)) for name, value in inputs.items()})
    scale = max(1.0, *(float(np.abs(value).max()) for value in node_values(graph, reals)))
    for name, value in interpret(graph, reals).items():
        assert abs(float(value[0]) - float(truth[name])) <= 1e-12 * scale**2
