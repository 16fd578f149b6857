"""Groups of nodes that one piece of hardware computes in turn."""

from rbdhw.graph.graph import Graph, GraphBuilder
from rbdhw.graph.twins import delays, no_twins, order_twins
from rbdhw.scalar import Region

REGION = Region("rnea_forward", 0)


def two_chains() -> tuple[Graph, list[list[int]]]:
    """Return a graph that multiplies each of two inputs twice by a third, and the nodes of both chains."""
    builder = GraphBuilder()
    x, y, z = (builder.input(name, REGION) for name in ("x", "y", "z"))
    chains = []
    for edge in (x, y):
        first = builder.multiply(edge, z, REGION)
        second = builder.multiply(first, z, REGION)
        chains.append([first.node, second.node])
    return builder.finish([("id.tau[0]", second)]), chains


def test_twins_follow_each_other_at_equal_distances():
    assert [list(delays(limbs, 8)) for limbs in (1, 2, 4)] == [[0], [0, 4], [0, 2, 4, 6]]


def test_without_twins_nodes_are_in_their_own_order():
    graph, _ = two_chains()
    twins = no_twins(graph)
    assert twins.groups == ()
    assert twins.order == tuple(range(len(graph.nodes)))
    assert twins.leader == {}


def test_members_of_a_group_are_consecutive_after_their_arguments():
    graph, ((a, b), (c, d)) = two_chains()
    twins = order_twins(graph, [(a, c), (b, d)])
    assert twins.groups == ((a, c), (b, d))
    assert twins.order == (0, 1, 2, a, c, b, d)
    assert twins.leader == {a: a, c: a, b: b, d: b}
    assert twins.group_of == {a: (a, c), b: (b, d)}


def test_a_group_that_depends_on_itself_is_removed():
    graph, ((a, b), _) = two_chains()
    assert order_twins(graph, [(a, b)]).groups == ()


def test_one_of_two_groups_in_a_cycle_is_removed():
    graph, ((a, b), (c, d)) = two_chains()
    twins = order_twins(graph, [(a, d), (b, c)])
    assert len(twins.groups) == 1
    assert sorted(twins.order) == list(range(len(graph.nodes)))
