"""The invariants of a graph: the builder satisfies them, and each is violated by one test."""

import math

import pytest
from hypothesis import given

from rbdhw.graph.check import GraphError, check
from rbdhw.graph.graph import Edge, Graph, Node, Op
from tests.support.graphs import REGION, graphs


def node(op, *args, value=0.0, name=""):
    return Node(op, args, value, name, REGION)


X, Y = node(Op.INPUT, name="x"), node(Op.INPUT, name="y")


@given(graphs(trigonometry=True))
def test_the_builder_makes_well_formed_graphs(graph):
    check(graph)


def test_every_kind_of_node_can_be_well_formed():
    nodes = (
        X,
        Y,
        node(Op.CONSTANT, value=0.0),
        node(Op.CONSTANT, value=1.0),
        node(Op.ADD, Edge(0), Edge(1, True, 3)),
        node(Op.MULTIPLY, Edge(0), Edge(4)),
        node(Op.SCALE, Edge(5), value=1.5),
        node(Op.SIN, Edge(0, False, 2), value=0.1),
        node(Op.COS, Edge(0), value=0.1),
        node(Op.RECIPROCAL, Edge(8)),
    )
    check(Graph(nodes, (("a", Edge(9, True, -1)), ("b", Edge(0)))))


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ((X, node(Op.ADD, Edge(0))), "node 1: add takes 2 arguments, not 1"),
        ((X, node(Op.SIN, Edge(0), Edge(0))), "node 1: sin takes 1 arguments, not 2"),
        ((node(Op.INPUT, Edge(0), name="x"),), "node 0: input takes 0 arguments, not 1"),
        ((X, node(Op.MULTIPLY, Edge(0), Edge(1))), "node 1: an argument does not come before it"),
        ((X, node(Op.COS, Edge(-1))), "node 1: an argument does not come before it"),
        ((node(Op.INPUT),), "node 0: inputs must have a name, and other nodes must not"),
        ((X, node(Op.SIN, Edge(0), name="s")), "node 1: inputs must have a name, and other nodes must not"),
        (
            (X, Y, node(Op.ADD, Edge(0, True), Edge(1))),
            "node 2: an argument of add has a sign or shift that belongs on its result",
        ),
        (
            (X, Y, node(Op.MULTIPLY, Edge(0), Edge(1, False, 1))),
            "node 2: an argument of multiply has a sign or shift that belongs on its result",
        ),
        (
            (X, node(Op.SCALE, Edge(0, True), value=1.5)),
            "node 1: an argument of scale has a sign or shift that belongs on its result",
        ),
        (
            (X, node(Op.RECIPROCAL, Edge(0, False, -1))),
            "node 1: an argument of reciprocal has a sign or shift that belongs on its result",
        ),
        ((X, node(Op.SCALE, Edge(0), value=1.0)), "node 1: factor 1.0 is not between 1 and 2"),
        ((X, node(Op.SCALE, Edge(0), value=math.nan)), "node 1: factor nan is not between 1 and 2"),
        ((node(Op.CONSTANT, value=2.0),), "node 0: constant 2.0 is not a mantissa"),
        ((node(Op.CONSTANT, value=-1.0),), "node 0: constant -1.0 is not a mantissa"),
        ((X, node(Op.SIN, Edge(0), value=math.inf)), "node 1: value inf is not finite"),
        ((X, Y, X), "node 2: duplicates an earlier node (input)"),
        (
            (X, node(Op.MULTIPLY, Edge(0), Edge(0)), node(Op.MULTIPLY, Edge(0), Edge(0))),
            "node 2: duplicates an earlier node (multiply)",
        ),
    ],
)
def test_a_node_that_breaks_a_rule_is_named(nodes, text):
    with pytest.raises(GraphError) as error:
        check(Graph(nodes, ()))
    assert str(error.value) == text


def test_an_output_must_exist_and_be_named_once():
    with pytest.raises(GraphError, match=r"^output tau: node 1 does not exist$"):
        check(Graph((X,), (("tau", Edge(1)),)))
    with pytest.raises(GraphError, match=r"^outputs: a name is not unique$"):
        check(Graph((X,), (("tau", Edge(0)), ("tau", Edge(0, True)))))
