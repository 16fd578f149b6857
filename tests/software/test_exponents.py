"""Powers of two within the values of float code: those of a graph, and sums that shift nothing."""

from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.text import loads
from rbdhw.software import exponents as module
from rbdhw.software.exponents import exponents

CONSTANTS = """n0 = input x @ decode
n1 = input y @ decode
n2 = scale n0 0x1.8p+0 @ decode
n3 = multiply n2 n1 @ decode
n4 = multiply n1 n1 @ decode
n5 = add n4 n3<<-4 @ decode
n6 = reciprocal n5 @ decode
n7 = multiply n6 n2 @ decode
out id.tau[0] n7
"""
"""Three thirty-seconds of x times y, beside the square of y."""


def shifts(graph: Graph, chosen: list[int]) -> list[int]:
    """Return the shifts that are left in sums."""
    sums = ((i, edge) for i, node in enumerate(graph.nodes) if node.op is Op.ADD for edge in node.args)
    return [edge.shift + chosen[i] - chosen[edge.node] for i, edge in sums]


def test_a_constant_takes_the_shift_of_the_sum():
    chosen = exponents(loads(CONSTANTS), ())
    assert chosen == [0, 0, -4, -4, 0, 0, 0, -4]
    assert shifts(loads(CONSTANTS), chosen) == [0, 0]


def test_what_only_a_sum_multiplies_is_as_it_is():
    graph = loads("n0 = input x @ decode\nn1 = scale n0 0x1.8p+0 @ decode\nn2 = add n0 n1<<-4 @ decode\n")
    assert exponents(graph, (1,)) == [0, 0, 0]


def test_a_contradiction_leaves_a_shift():
    graph = loads("n0 = input x @ decode\nn1 = input y @ decode\nn2 = add n0 n1<<3 @ decode\n")
    chosen = exponents(graph, ())
    assert (chosen, shifts(graph, chosen)) == ([0, 0, 0], [0, 3])


def test_exponents_that_could_leave_single_precision_are_not_taken(monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)
    assert exponents(loads(CONSTANTS), ()) == [0] * 8
