"""twins: nodes of symmetric limbs that do the same computation."""

import pytest

from rbdhw.cores.pipeline.limb_sharing import find_shared_limbs, limb_inputs
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Graph, GraphBuilder, Op
from rbdhw.passes.twins import find_twins
from rbdhw.robot.symmetry import limb_groups
from rbdhw.scalar import Region
from tests.support.builds import graph_of, model_of
from tests.support.limbs import limbed
from tests.support.marks import long

REGION = Region("rnea_forward", 0)
LIMBS = [[{"x": "own"}, {"y": "own"}]]


def build(record) -> Graph:
    """Return a graph of inputs x, y and z whose outputs ``record(builder, x, y, z)`` returns."""
    builder = GraphBuilder()
    edges = [builder.input(name, REGION) for name in ("x", "y", "z")]
    outputs = record(builder, *edges)
    return builder.finish([(f"id.tau[{k}]", edge) for k, edge in enumerate(outputs)])


def describe(graph: Graph, twins) -> set[tuple[tuple[Op, float], ...]]:
    """Return the groups of twins with each node replaced by its operation and constant."""
    return {tuple((graph.nodes[i].op, graph.nodes[i].value) for i in group) for group in twins.groups}


def test_constants_and_signs_may_differ():
    def record(builder, x, y, z):
        return [
            builder.add(builder.scale(x, 0.3, REGION), z, REGION),
            builder.add(builder.scale(y, -0.7, REGION), z.negated(), REGION),
        ]

    graph = build(record)
    twins = find_twins(graph, LIMBS)
    assert describe(graph, twins) == {
        ((Op.INPUT, 0.0), (Op.INPUT, 0.0)),
        ((Op.SCALE, 1.2), (Op.SCALE, 1.4)),
        ((Op.ADD, 0.0), (Op.ADD, 0.0)),
    }


def test_values_of_one_limb_only_have_no_twins():
    def record(builder, x, y, z):
        return [builder.multiply(x, z, REGION), builder.multiply(builder.multiply(y, z, REGION), z, REGION)]

    graph = build(record)
    assert {graph.nodes[group[0]].op for group in find_twins(graph, LIMBS).groups} == {Op.INPUT, Op.MULTIPLY}
    assert len(find_twins(graph, LIMBS).groups) == 2


def test_values_common_to_all_limbs_have_no_twins():
    def record(builder, x, y, z):
        both = builder.add(x, y, REGION)
        return [builder.multiply(both, z, REGION), x, y]

    graph = build(record)
    (inputs,) = find_twins(graph, LIMBS).groups
    assert [graph.nodes[i].name for i in inputs] == ["x", "y"]


def test_products_by_constants_are_distinguished_by_their_users():
    def record(builder, x, y, z):
        one, other = (
            [builder.scale(edge, factor, REGION) for factor in factors]
            for edge, factors in ((x, (0.3, 0.7)), (y, (0.6, 0.55)))
        )
        products = [builder.multiply(one[0], z, REGION), builder.multiply(other[1], z, REGION)]
        sums = [builder.add(one[1], z, REGION), builder.add(other[0], z, REGION)]
        return products + sums

    graph = build(record)
    twins = find_twins(graph, LIMBS)
    assert describe(graph, twins) >= {((Op.SCALE, 1.2), (Op.SCALE, 1.1)), ((Op.SCALE, 1.4), (Op.SCALE, 1.2))}


def test_sums_are_twins_in_whatever_order_they_add():
    def record(builder, x, y, z):
        terms = [[builder.scale(edge, c, REGION) for c in (0.3, 0.55, 0.7)] for edge in (x, y)]
        products = [builder.multiply(scaled[0], z, REGION) for scaled in terms]
        one = builder.add(builder.add(terms[0][0], terms[0][1], REGION), products[0], REGION)
        other = builder.add(builder.add(terms[1][1], products[1], REGION), terms[1][0], REGION)
        return [builder.multiply(edge, z, REGION) for edge in (one, other)]

    graph = build(record)
    roots = [i for i, node in enumerate(graph.nodes) if node.op is Op.MULTIPLY][-2:]
    assert tuple(roots) in find_twins(graph, LIMBS).groups


def test_products_of_two_limbs_are_twins_around_the_cycle():
    def record(builder, x, y, _):
        seen = {edge: builder.multiply(edge, edge, REGION) for edge in (x, y)}
        return [builder.multiply(seen[x], y, REGION), builder.multiply(seen[y], x, REGION)]

    graph = build(record)
    twins = find_twins(graph, LIMBS)
    assert sum(graph.nodes[group[0]].op is Op.MULTIPLY for group in twins.groups) == 2


def test_sums_over_three_limbs_have_no_twins():
    def record(builder, x, y, z):
        squares = [builder.multiply(edge, edge, REGION) for edge in (x, y, z)]
        products = [builder.multiply(a, b, REGION) for a, b in zip(squares, (y, z, x), strict=True)]
        return [builder.add(product, edge, REGION) for product, edge in zip(products, (z, x, y), strict=True)]

    graph = build(record)
    twins = find_twins(graph, [[{"x": "own"}, {"y": "own"}, {"z": "own"}]])
    assert {graph.nodes[group[0]].op for group in twins.groups} == {Op.INPUT, Op.MULTIPLY}


def test_every_operation_of_a_leg_has_twins():
    robot, graph = model_of("hyq").robot, graph_of("hyq")
    twins = find_twins(graph, limb_inputs(robot, limb_groups(robot)))
    legs = {op: graph.count(op) for op in (Op.ADD, Op.MULTIPLY, Op.SCALE, Op.SIN, Op.COS, Op.RECIPROCAL)}
    members = {op: sum(len(g) for g in twins.groups if graph.nodes[g[0]].op is op) for op in legs}
    assert members == legs


@pytest.mark.parametrize("ii", [2, long(3), long(4)])
def test_groups_are_disjoint_and_ordered(ii):
    robot = limbed(4, trunk=True)
    graph = trace(robot, ("id", "minv", "did", "dfd"))
    twins = find_twins(graph, limb_inputs(robot, find_shared_limbs(robot, "on", ii)))
    members = [i for group in twins.groups for i in group]
    assert len(members) == len(set(members)) > len(graph.nodes) // 3
    rank = {i: k for k, i in enumerate(twins.order)}
    for i, node in enumerate(graph.nodes):
        group = twins.group_of.get(twins.leader.get(i, i), (i,))
        assert all(rank[edge.node] < min(rank[twin] for twin in group) for edge in node.args)
