"""Powers of two between twins, and the resulting formats."""

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.cores.pipeline.limb_sharing import find_shared_limbs, limb_inputs
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.graph_inputs import graph_inputs, graph_ranges
from rbdhw.domain.sampling import sample
from rbdhw.fixed.alignment import comparable, exponents, unify
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.gains import gains
from rbdhw.fixed.lower import lower
from rbdhw.fixed.planner import Planner
from rbdhw.frontend.build_graph import optimise, prepare
from rbdhw.frontend.functions import trace
from rbdhw.golden.error_norm import relative_errors
from rbdhw.graph.graph import Graph, GraphBuilder, Op
from rbdhw.graph.interpret import node_values
from rbdhw.graph.twins import Twins, no_twins
from rbdhw.model.packets import quantise
from rbdhw.passes.twins import find_twins
from rbdhw.scalar import Region
from rbdhw.schedule.twins import shareable
from rbdhw.target import target
from tests.support.builds import of_the_box, torques
from tests.support.limbs import limbed
from tests.support.marks import long

REGION = Region("rnea_forward", 0)
LIMBS = [[{"x": "own"}, {"y": "own"}]]


def scale_graph(a: float, b: float, tail=None) -> tuple[Graph, Twins]:
    """Return a graph with a constant times x or y plus z, processed further by ``tail``."""
    builder = GraphBuilder()
    x, y, z = (builder.input(name, REGION) for name in ("x", "y", "z"))
    sums = [
        builder.add(builder.scale(x, a, REGION), z, REGION),
        builder.add(builder.scale(y, b, REGION), z, REGION),
    ]
    ends = [tail(builder, edge) if tail else edge for edge in sums]
    graph = builder.finish([(f"id.tau[{k}]", edge) for k, edge in enumerate(ends)])
    return graph, find_twins(graph, LIMBS)


def of_group(graph: Graph, twins: Twins, op: Op) -> list[int]:
    """Return the exponents of the only group with this operation."""
    (group,) = (group for group in twins.groups if graph.nodes[group[0]].op is op)
    by_node = exponents(graph, twins)
    return [by_node[i] for i in group]


def test_a_factor_has_the_exponent_that_aligns_its_sum():
    """In 1.1 z' + z and 0.9 z' + z the mantissas are 1.1 and 1.8; the second product is used halved."""
    graph, twins = scale_graph(1.1, 0.9)
    assert of_group(graph, twins, Op.SCALE) == [0, -1]
    assert of_group(graph, twins, Op.ADD) == [0, 0]
    assert of_group(graph, twins, Op.INPUT) == [0, 0]


def test_exponents_of_products_and_reciprocals_follow_from_their_arguments():
    def square(builder, edge):
        return builder.reciprocal(builder.multiply(edge, edge, REGION), REGION)

    builder = GraphBuilder()
    x, y = (builder.input(name, REGION) for name in ("x", "y"))
    ends = [
        square(builder, builder.add(edge, builder.scale(edge, c, REGION), REGION))
        for edge, c in ((x, 1.1), (y, 0.3))
    ]
    graph = builder.finish([(f"id.tau[{k}]", edge) for k, edge in enumerate(ends)])
    twins = find_twins(graph, LIMBS)
    assert of_group(graph, twins, Op.SCALE) == [0, -2]
    assert of_group(graph, twins, Op.ADD) == [0, 0]
    assert of_group(graph, twins, Op.MULTIPLY) == of_group(graph, twins, Op.RECIPROCAL) == [0, 0]


def test_a_product_adds_exponents_and_a_reciprocal_negates_them():
    """The mantissas of 1.1 and 0.9 are 1.1 and 1.8; the sums with z make the exponent of the second -1."""
    builder = GraphBuilder()
    x, y, z = (builder.input(name, REGION) for name in ("x", "y", "z"))
    products = [builder.scale(edge, factor, REGION) for edge, factor in ((x, 1.1), (y, 0.9))]
    sums = [builder.add(product, z, REGION) for product in products]
    inverses = [builder.reciprocal(builder.multiply(p, p, REGION), REGION) for p in products]
    graph = builder.finish([(f"id.tau[{k}]", edge) for k, edge in enumerate([*sums, *inverses])])
    twins = find_twins(graph, LIMBS)
    assert of_group(graph, twins, Op.SCALE) == [0, -1]
    assert of_group(graph, twins, Op.MULTIPLY) == [0, -2]
    assert of_group(graph, twins, Op.RECIPROCAL) == [0, 2]


def test_without_twins_every_exponent_is_zero():
    graph, _ = scale_graph(1.1, 0.9)
    assert exponents(graph, no_twins(graph)) == [0] * len(graph.nodes)


def test_twins_have_the_largest_magnitude_of_their_group():
    twins = Twins(((0, 2), (1, 3)), (0, 2, 1, 3))
    assert unify([1.0, 5.0, 3.0, 0.5], twins, [0, 0, -1, 2]) == [1.5, 5.0, 3.0, 1.25]


def test_sums_in_another_order_are_aligned_by_their_terms():
    """No argument of the two sums corresponds. One is in steps of its largest term, 32 times the others'."""
    builder = GraphBuilder()
    x, y, z = (builder.input(name, REGION) for name in ("x", "y", "z"))
    sums = []
    for edge, order in ((x, (0, 1, 2)), (y, (2, 1, 0))):
        square = builder.multiply(edge, edge, REGION)
        parts = [builder.multiply(edge, z, REGION), square, builder.multiply(square, z, REGION)]
        parts[2] = builder.scale(parts[2], 32.0, REGION)
        first, second, third = (parts[k] for k in order)
        sums.append(builder.add(builder.add(first, second, REGION), third, REGION))
    # further products, so that the sums are not part of others
    ends = [builder.multiply(edge, z, REGION) for edge in sums]
    graph = builder.finish([(f"id.tau[{k}]", edge) for k, edge in enumerate(ends)])
    assert [edge.shift for edge in sums] == [5, 0]
    assert of_group(graph, find_twins(graph, LIMBS), Op.ADD) == [0, -5]


def test_twins_of_very_different_magnitudes_are_none():
    """The magnitudes of the products are 8 and 9 times apart, without the power of two between them."""
    graph, twins = scale_graph(1.1, 0.9)
    for apart, left in ((8.0, 3), (9.0, 2)):
        sizes = [0.0] * len(graph.nodes)
        for group in twins.groups:
            product = graph.nodes[group[0]].op is Op.SCALE
            sizes[group[0]], sizes[group[1]] = (1.0, 2.0 * apart) if product else (1.0, 1.0)
        kept = comparable(graph, twins, sizes)
        assert len(kept.groups) == left
        assert kept.order == twins.order
        assert set(kept.groups) <= set(twins.groups)


def lower_robot(limbs: int, trunk: bool, width: int = 18):
    """Return a robot with limbs, its twins, and the program of its inverse dynamics and mass matrix."""
    model = prepare(limbed(limbs, 2, seed=limbs, trunk=trunk), ("id", "minv"))
    graph = optimise(trace(model.robot, ("id", "minv")), target("xcvu9p").delays)
    twins = find_twins(graph, limb_inputs(model.robot, find_shared_limbs(model.robot, "on", limbs)))
    domain = input_domain(model.source)
    arrays = sample(model.source, domain, 512, np.random.default_rng(0))
    inputs = graph_inputs(model.source, arrays)
    sizes = [float(np.abs(value).max()) for value in node_values(graph, inputs)]
    sizes = unify(sizes, twins, exponents(graph, twins))
    widths = Planner(
        graph, sizes, gains(graph, inputs, of_the_box(512), np.random.default_rng(1)), twins
    ).widths(width)
    return model, graph, twins, lower(graph, sizes, graph_ranges(model.source, domain, ()), widths, twins)


@pytest.mark.parametrize(("limbs", "width"), [(2, 14), long(4, 18), (2, 27), long(4, 14), long(4, 27)])
def test_operations_of_twins_differ_in_constants_and_signs_alone(limbs, width):
    _, graph, twins, program = lower_robot(limbs, False, width)
    for group in twins.groups:
        operations = [program.operations[i] for i in group]
        constant = {graph.nodes[edge.node].op is Op.CONSTANT for edge in graph.nodes[group[0]].args}
        assert len({(o.kind, o.format.width, o.drop) for o in operations}) == 1
        if True not in constant:
            assert len({tuple(operand.shift for operand in o.operands) for o in operations}) == 1
    assert shareable(program, twins.groups)[: len(twins.groups)] == twins.groups


def test_most_twins_that_take_from_a_trunk_are_of_one_width_and_rounding():
    _, _, twins, program = lower_robot(3, True)
    kept = set(shareable(program, twins.groups))
    assert sum(group in kept for group in twins.groups) > 0.9 * len(twins.groups)


@pytest.mark.parametrize("width", [18, long(14), long(27)])
def test_products_of_twins_fit_their_ports(width):
    *_, program = lower_robot(4, False, width)
    assert program.wide == {}


def test_equal_formats_cost_little_exactness():
    model, _, _, program = lower_robot(4, False)
    arrays = sample(model.source, input_domain(model.source), 400, np.random.default_rng(5))
    inputs = graph_inputs(model.source, arrays)
    words = {word.name: quantise(word, inputs[word.name]) for word in program.inputs}
    result = evaluate(program, words, ("id",))
    assert not result.overflow.any()
    errors = relative_errors(
        {"tau": torques(program, result)}, {"tau": golden.evaluate(model.source, "id", arrays)["tau"]}
    )
    assert np.median(errors) < 1e-4
