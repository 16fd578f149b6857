"""prune: nodes that no output depends on are removed, and nothing else changes."""

import pytest
from hypothesis import given

from rbdhw.graph.check import check
from rbdhw.graph.graph import GraphBuilder
from rbdhw.graph.text import dumps, loads
from rbdhw.passes.prune import prune
from tests.support.builds import graph_of
from tests.support.graphs import REGION, counts, exact, graphs, rationals

BEFORE = """\
n0 = input x @ decode
n1 = input y @ decode
n2 = multiply n0 n1 @ rnea_forward 0
n3 = cos n0 0x0.0p+0 @ rnea_forward 0
n4 = add n1 -n3<<2 @ rnea_forward 0
n5 = scale n2 0x1.8000000000000p+0 @ rnea_backward 0
out tau -n4<<1
"""

AFTER = """\
n0 = input x @ decode
n1 = input y @ decode
n2 = cos n0 0x0.0p+0 @ rnea_forward 0
n3 = add n1 -n2<<2 @ rnea_forward 0
out tau -n3<<1
"""


def test_dead_nodes_are_removed():
    assert dumps(prune(loads(BEFORE))) == AFTER


@given(graphs(), rationals())
def test_values_stay_and_only_live_nodes_are_left(graph, inputs):
    pruned = prune(graph)
    check(pruned)
    assert exact(pruned, inputs) == exact(graph, inputs)
    assert min(pruned.uses) >= 1
    assert all(counts(pruned)[op] <= count for op, count in counts(graph).items())


@pytest.mark.parametrize("robot", ["toy", "iiwa14", "hyq"])
def test_pruning_twice_changes_nothing(robot):
    graph = prune(graph_of(robot))
    assert prune(graph) == graph
    assert min(graph.uses) >= 1


def test_nothing_is_left_of_a_graph_without_outputs():
    builder = GraphBuilder()
    builder.input("x", REGION)
    assert prune(builder.finish([])).nodes == ()
