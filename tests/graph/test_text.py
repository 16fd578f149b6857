"""Graphs as text: the round trip is exact, and an unreadable line is refused."""

import pytest
from hypothesis import given

from rbdhw.graph.graph import Edge, Graph, Node, Op
from rbdhw.graph.text import GraphTextError, dumps, loads
from rbdhw.scalar import Region
from tests.support.builds import graph_of
from tests.support.graphs import graphs

TEXT = """\
n0 = input q[0] @ decode
n1 = cos n0<<1 0x1.999999999999ap-4 @ trigonometry
n2 = sin n0 0x0.0p+0 @ trigonometry
n3 = add n1 -n2<<-3 @ rnea_forward 0
n4 = constant 0x1.8000000000000p+0 @ rnea_forward 0
n5 = multiply n3 n3 @ rnea_backward 12
n6 = scale n5 0x1.2000000000000p+0 @ rnea_backward 12
n7 = reciprocal n6 @ rnea_backward 12
n8 = input acceleration_given @ decode
n9 = select n8 n4 -n7<<2 @ inverse 3
out id.tau[0] -n7<<4
out id.tau[1] n4
out id.tau[2] n9
"""


def test_text_says_every_field():
    graph = loads(TEXT)
    assert dumps(graph) == TEXT
    assert graph.nodes[0] == Node(Op.INPUT, (), 0.0, "q[0]", Region("decode"))
    assert graph.nodes[1] == Node(Op.COS, (Edge(0, False, 1),), 0.1, "", Region("trigonometry"))
    assert graph.nodes[3].args == (Edge(1), Edge(2, True, -3))
    assert graph.nodes[6] == Node(Op.SCALE, (Edge(5),), 1.125, "", Region("rnea_backward", 12))
    assert graph.nodes[9].args == (Edge(8), Edge(4), Edge(7, True, 2))
    assert graph.outputs == (("id.tau[0]", Edge(7, True, 4)), ("id.tau[1]", Edge(4)), ("id.tau[2]", Edge(9)))


@pytest.mark.parametrize("robot", ["toy", "iiwa14", "hyq"])
def test_real_graphs_survive(robot):
    graph = graph_of(robot)
    assert loads(dumps(graph)) == graph


@given(graphs(trigonometry=True, choices=True))
def test_random_graphs_survive(graph):
    assert loads(dumps(graph)) == graph


def test_the_empty_text_is_the_empty_graph():
    assert loads("") == Graph((), ())


@pytest.mark.parametrize(
    "line",
    [
        "n1 = cube n0 @ decode",
        "n2 = sin n0 0x0.0p+0 @ decode",
        "n1 := sin n0 0x0.0p+0 @ decode",
        "n1 = sin n0 zero @ decode",
        "n1 = add n0 +n0 @ decode",
        "n1 = add n0 n0<<x @ decode",
        "n1 = add n0 n0",
        "n1 = input @ decode",
        "n1 = add n0 n0 @ rnea_forward three",
        "out id.tau[0]",
        "out id.tau[0] 3",
        "",
    ],
)
def test_a_line_that_is_no_graph_text_is_quoted(line):
    with pytest.raises(GraphTextError) as error:
        loads(f"n0 = input x @ decode\n{line}\n")
    assert str(error.value) == f"line 2: not a node or an output: {line!r}"
