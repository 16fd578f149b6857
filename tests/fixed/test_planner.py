"""The choice of widths: narrow operands, spared nodes, and the bits of all other nodes."""

import numpy as np
import pytest

from rbdhw.fixed.gains import Gains, Row, gains
from rbdhw.fixed.planner import Planner
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.graph import Op
from rbdhw.graph.text import loads
from tests.support.builds import graph_of, of_the_box

ID = ("id", "box")

STAR = """n0 = input x @ decode
n1 = input y @ decode
n2 = input z @ decode
n3 = multiply n0 n1 @ decode
n4 = multiply n0 n2 @ decode
out id.a[0] n3
out id.a[1] n4
"""


def planner(text, noise, functions=("id",)):
    graph, rows = loads(text), tuple((function, "box") for function in functions)
    noise = np.array(noise, dtype=float)
    return Planner(graph, [0.7] * len(graph.nodes), Gains(rows, noise, np.zeros_like(noise)))


@pytest.mark.parametrize(("harm", "narrow"), [(1.0, [True, False, False]), (9.0, [False, True, True])])
def test_the_harmless_operands_are_narrow(harm, narrow):
    """One node of two products, or two nodes of one product each."""
    bits = planner(STAR, [[harm, 1.0, 1.0, 0.0, 0.0]]).widths(27).bits[:3]
    assert [width == 18 for width in bits] == narrow
    assert all(18 <= width <= 27 for width in bits)


def test_a_squared_node_is_narrow():
    square = "n0 = input x @ decode\nn1 = multiply n0 n0 @ decode\nout id.a[0] n1\n"
    assert planner(square, [[1.0, 1.0]]).widths(27).bits[0] == 18


def test_a_factor_fills_the_wide_port_where_the_scaled_node_is_narrow():
    text = "n0 = input x @ decode\nn1 = scale n0 0x1.23456789p+0 @ decode\nout id.a[0] n1\n"
    graph = loads(text)
    careless = Planner(graph, [0.7, 0.7], Gains((ID,), np.array([[0.0, 1.0]]), np.array([[0.0, 1.0]])))
    assert careless.widths(27).constants == {1: 27}
    assert careless.widths(27).bits[0] <= 18
    careful = Planner(graph, [0.7, 0.7], Gains((ID,), np.array([[1.0, 1.0]]), np.array([[0.0, 1e-9]])))
    assert careful.widths(27).constants == {1: 18}
    assert careful.widths(27).bits[0] > 18


def test_only_operands_that_need_it_exceed_the_wide_port():
    """Without a choice, every operand of a wide product might."""
    star = planner(STAR, [[30.0, 1.0, 1.0, 0.0, 0.0]])
    allowed = {ID: 6.59e-9}
    widths = star.widths(27, allowed, 32)
    assert widths.bits[:3] == (30, 28, 27)
    assert widths.spared == {0, 1, 2}
    assert star.predict(widths)[ID] <= allowed[ID]


def test_numbers_in_packets_are_coarser_within_a_budget(monkeypatch):
    """The node in the middle is neither input nor output."""
    chain = "n0 = input x @ decode\nn1 = add n0 n0 @ decode\nn2 = add n1 n1 @ decode\nout id.a[0] n2\n"
    allowed, noise = {ID: 1e-4}, [[16.0, 4.0, 1.0]]
    widths = planner(chain, noise).widths(27, allowed)
    monkeypatch.setattr("rbdhw.fixed.planner.TRAVELLING", 0.0)
    equal = planner(chain, noise).widths(27, allowed)
    finer = [a - b for a, b in zip(widths.bits, equal.bits, strict=True)]
    assert [bits - finer[1] for bits in finer] == [-2, 0, -2]
    assert planner(chain, noise).predict(widths)[ID] <= 1e-4


@pytest.mark.parametrize("width", [16, 18, 23, 27, 28, 32])
def test_cut_bits_cost_little(width):
    """Errors at the chosen widths are at most a little above those with every bit that ports allow."""
    graph = graph_of("iiwa14")
    rng = np.random.default_rng(1)
    noise = np.exp(rng.normal(0.0, 4.0, (1, len(graph.nodes))))
    subject = Planner(graph, [1.0] * len(graph.nodes), Gains((ID,), noise, np.zeros_like(noise)))
    plain, chosen = plain_widths(graph, width), subject.widths(width)
    assert subject.predict(chosen)[ID] <= 1.05 * subject.predict(plain)[ID]
    assert sum(chosen.bits) < 0.9 * sum(plain.bits)
    assert all(a <= max(b, width) for a, b in zip(chosen.bits, plain.bits, strict=True))


def test_predictions_fall_fourfold_with_each_bit():
    star = planner(STAR, [[1.0] * 5])
    graph = loads(STAR)
    errors = [star.predict(plain_widths(graph, width))[ID] for width in (12, 13, 14)]
    assert errors[0] == pytest.approx(2.0 * errors[1]) == pytest.approx(4.0 * errors[2])


def test_nodes_are_spared_where_errors_allowed_are_below_what_ports_reach():
    """The last member of a cover is spared, too, if nothing less meets the budget."""
    star = planner(STAR, [[100.0, 1.0, 2.0, 0.01, 0.01]])
    reached = star.predict(star.widths(27))[ID]
    assert star.widths(27, {ID: 1.01 * reached}).spared == frozenset()
    one = star.widths(27, {ID: 0.7 * reached})
    assert one.spared == {2}
    assert star.predict(one)[ID] <= 0.7 * reached
    assert [pair.tolist() for pair in star.products(one) if pair[1] > 18] == [[one.bits[0], one.bits[2]]]
    two = star.widths(27, {ID: 0.02 * reached})
    assert two.spared == {1, 2}
    assert star.predict(two)[ID] <= 0.02 * reached


def test_errors_allowed_for_each_function_are_kept():
    text = STAR.replace("out id.a[1]", "out fd.a[1]")
    subject = planner(text, [[1.0, 1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0, 1.0]], ("id", "fd"))
    for allowed in ({"id": 1e-3, "fd": 1e-6}, {"id": 1e-6, "fd": 1e-3}, {"id": 1e-5, "fd": 1e-5}):
        predicted = subject.predict(
            subject.widths(27, {(name, "box"): most for name, most in allowed.items()})
        )
        assert all(most / 4.0 <= predicted[name, "box"] <= most for name, most in allowed.items())


def test_all_sines_and_cosines_have_the_same_width():
    graph = graph_of("iiwa14")
    inputs = {name: np.random.default_rng(0).uniform(-0.5, 0.5, 64) for name in graph.inputs}
    subject = Planner(
        graph, [1.0] * len(graph.nodes), gains(graph, inputs, of_the_box(64), np.random.default_rng(1))
    )
    turns = {i for i, node in enumerate(graph.nodes) if node.op in (Op.SIN, Op.COS)}
    for allowed in (1e-2, 1e-4, 1e-6):
        widths = subject.widths(27, {Row("id.tau", "box"): allowed})
        assert {widths.bits[i] for i in turns} == {widths.turn}
        assert turns <= widths.spared if widths.turn > 18 else not turns & widths.spared
    assert widths.turn > 18


def test_other_nodes_are_narrow_in_place_of_spared_ones():
    """A hub is spared; of its partners, as few as possible stay wide: those with the largest effect."""
    text = "".join(f"n{i} = input x{i} @ decode\n" for i in range(6))
    text += "".join(f"n{i + 5} = multiply n0 n{i} @ decode\n" for i in range(1, 6))
    text += "".join(f"out id.a[{i}] n{i + 5}\n" for i in range(1, 6))
    subject = planner(text, [[5.0, 40.0, 1.1, 1.1, 1.1, 1.1, *[1e-3] * 5]])
    narrow = subject.widths(27)
    assert [width > 18 for width in narrow.bits[:6]] == [False, True, True, True, True, True]
    for share, wide in ((0.9, 2), (0.8, 3), (0.6, 4), (0.4, 5)):
        allowed = share * subject.predict(narrow)[ID]
        widths = subject.widths(27, {ID: allowed})
        assert subject.predict(widths)[ID] <= allowed
        assert widths.spared == {0}
        assert (widths.bits[0] > 18, widths.bits[1] > 18) == (True, True)
        assert sum(width > 18 for width in widths.bits[1:6]) == wide
