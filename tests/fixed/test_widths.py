"""Widths: the ports of multipliers, and covers of the products by narrow operands."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed.widths import FactorLimits, plain_widths, port_widths
from rbdhw.graph.graph import Op
from rbdhw.graph.text import loads
from tests.support.builds import graph_of
from tests.support.graphs import graphs

STAR = """n0 = input x @ decode
n1 = input y @ decode
n2 = input z @ decode
n3 = multiply n0 n1 @ decode
n4 = multiply n0 n2 @ decode
out id.a[0] n3
out id.a[1] n4
"""


@pytest.mark.parametrize(
    ("width", "ports"), [(8, (8, 8)), (18, (18, 18)), (19, (19, 18)), (27, (27, 18)), (28, (28, 28))]
)
def test_the_second_port_is_narrow_up_to_27_bits(width, ports):
    assert port_widths(width) == ports


@given(graphs(trigonometry=True), st.integers(0, 5))
def test_a_cover_has_a_member_of_every_pair_and_none_to_spare(graph, seed):
    factors = FactorLimits(graph)
    cover = factors.cover(np.random.default_rng(seed).uniform(0.1, 9.0, 2 * factors.nodes))
    assert all(a in cover or b in cover for a, b in factors.pairs)
    assert factors.forced <= cover
    for member in cover - factors.forced:
        assert any(other not in cover for other in factors.partners[member])


def test_the_fewest_operands_are_narrow():
    assert plain_widths(loads(STAR), 27).bits == (18, 27, 27, 31, 31)


def test_a_node_that_is_larger_than_thought_keeps_its_step_where_the_narrow_port_has_room():
    chosen = replace(plain_widths(loads(STAR), 27), bits=(6, 15, 27, 31, 31))
    before, after = [1.0, 1.0, 1.0, 1.0, 0.0], [8.0, 1000.0, 8.0, 1.0, 1e-9]
    assert chosen.fit_magnitudes(before, after).bits == (9, 18, 27, 31, 31)


def test_sines_and_cosines_are_narrow():
    graph = graph_of("iiwa14")
    turns = {i for i, node in enumerate(graph.nodes) if node.op in (Op.SIN, Op.COS)}
    assert {plain_widths(graph, 27).bits[i] for i in turns} == {18}
