"""Lowering: formats fit ports and magnitudes, words at the edge say what the domain is."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Format
from rbdhw.fixed.lower import GUARD_BITS, InputRange, lower, narrow_nodes, port_widths
from rbdhw.fixed.program import Kind, exact_interval
from rbdhw.graph.graph import Edge, GraphBuilder, Op
from rbdhw.graph.text import loads
from tests.builds import graph_of, program_of
from tests.graphs import INPUTS, REGION, graphs

UNIT = {"x": InputRange(-1.0, 1.0, "m"), "y": InputRange(-2.0, 3.0, "rad/s")}


def program(text, magnitudes, width, ranges=UNIT):
    return lower(loads(text), magnitudes, ranges, width)


def rows(program):
    """Operations in short."""
    return [
        (
            str(op.kind),
            tuple((o.value, o.negative, o.shift) for o in op.operands),
            (op.format.width, op.format.binary_point),
            op.drop,
            op.checked,
        )
        for op in program.operations
    ]


@pytest.mark.parametrize(
    ("width", "ports"), [(8, (8, 8)), (18, (18, 18)), (19, (19, 18)), (27, (27, 18)), (28, (28, 28))]
)
def test_the_second_port_is_narrow_up_to_27_bits(width, ports):
    assert port_widths(width) == ports


@pytest.mark.parametrize("width", [8, 18, 22, 27, 28, 32])
@pytest.mark.parametrize(("robot", "fext"), [("toy", "all"), ("iiwa14", "none"), ("hyq", "none")])
def test_of_each_product_one_operand_fits_each_port(robot, fext, width):
    built = program_of(robot, width, fext)
    wide, narrow = built.port_widths
    formats = [op.format for op in built.operations]
    for op in built.operations:
        assert 2 <= op.format.width <= max(wide + GUARD_BITS, built.trigonometry.phase_bits + 4)
        if op.kind is Kind.MULTIPLY:
            a, b = op.operands
            assert formats[a.value].width <= wide
            assert formats[b.value].width <= narrow
            assert (a.shift, a.negative, b.shift, b.negative) == (0, False, 0, False)
        if op.kind is Kind.SCALE:
            assert formats[op.operands[0].value].width <= wide
            assert 0 < op.constant < 2 ** (narrow - 1)
            assert op.constant % 2 == 1


def test_unchecked_operations_cannot_leave_their_formats():
    """The intervals again, from the program alone."""
    built = program_of("iiwa14", 18)
    intervals = []
    for op in built.operations:
        low, high = exact_interval(op, intervals)
        fits = op.format.lowest <= low and high <= op.format.highest
        assert fits or op.checked
        intervals.append((low, high) if fits else (op.format.lowest, op.format.highest))


@given(graphs(trigonometry=True), st.sampled_from((8, 18, 24, 32)))
@settings(max_examples=40)
def test_random_graphs_cover_every_product_with_a_narrow_operand(graph, width):
    assert all(
        {edge.node for edge in node.args} & narrow_nodes(graph)
        for node in graph.nodes
        if node.op is Op.MULTIPLY
    )
    ranges = dict.fromkeys(INPUTS, InputRange(-1.0, 1.0, "turn"))
    if not any(node.op in (Op.SIN, Op.COS) for node in graph.nodes):
        ranges = dict.fromkeys(INPUTS, InputRange(-1.0, 1.0, "m"))
        built = lower(graph, [1.0] * len(graph.nodes), ranges, width)
        wide, narrow = built.port_widths
        for op in built.operations:
            if op.kind is Kind.MULTIPLY:
                a, b = (built.operations[o.value].format.width for o in op.operands)
                assert (a <= wide, b <= narrow) == (True, True)


def test_a_product_keeps_the_bits_its_width_allows():
    built = program(
        "n0 = input x @ decode\nn1 = input y @ decode\nn2 = multiply n0 n1 @ decode\nout id.p n2\n",
        [1.0, 3.0, 3.0],
        18,
    )
    assert rows(built)[2] == ("multiply", ((1, False, 0), (0, False, 0)), (22, 19), 12, True)
    assert [word.format for word in built.inputs] == [Format(18, 16), Format(18, 15)]


def test_a_sum_aligns_its_operands_two_bits_below_its_last():
    text = "n0 = input x @ decode\nn1 = input y @ decode\nn2 = add n0 -n1<<-20 @ decode\nout id.s n2\n"
    built = program(text, [1.0, 3.0, 1.0], 18)
    assert [op.format for op in built.operations] == [Format(22, 20), Format(22, 19), Format(22, 20)]
    assert rows(built)[2] == ("add", ((0, False, 2), (1, True, -17)), (22, 20), 2, True)


def test_exact_values_take_no_bits_they_do_not_need():
    text = "n0 = input x @ decode\nn1 = scale n0 0x1.8p+0 @ decode\nout id.s n1<<3\n"
    built = program(text, [1.0, 1.5], 12)
    assert built.operations[1].constant == 3
    assert (built.operations[1].format, built.operations[1].drop) == (Format(13, 11), 0)
    assert built.outputs["id"][0].format == Format(13, 8)


def test_a_negative_output_is_a_negation():
    text = "n0 = input x @ decode\nout id.a -n0<<2\nout id.b n0\n"
    built = program(text, [1.0], 12)
    assert rows(built)[1] == ("add", ((0, True, 0),), (16, 14), 0, True)
    assert [(w.name, w.value, w.format) for w in built.outputs["id"]] == [
        ("id.a", 1, Format(16, 12)),
        ("id.b", 0, Format(16, 14)),
    ]
    words = {"x": np.array([5, -32768])}
    result = evaluate(built, words)
    assert result.words["id.a"].tolist() == [-5, -32768]
    assert result.overflow.tolist() == [False, True]


def test_outputs_are_grouped_by_function():
    text = (
        "n0 = input x @ decode\nn1 = input y @ decode\nout id.tau[0] n0\nout fd.a[0] n1\nout id.tau[1] n1\n"
    )
    built = program(text, [1.0, 1.0], 12)
    assert {f: [w.name for w in words] for f, words in built.outputs.items()} == {
        "id": ["id.tau[0]", "id.tau[1]"],
        "fd": ["fd.a[0]"],
    }


def test_angles_travel_in_steps_of_the_phase():
    text = "n0 = input x @ decode\nn1 = sin n0<<1 0x1.0p-4 @ trigonometry\nout id.s n1\n"
    for ranges, width in (
        (InputRange(-0.5, 0.5, "turn", wraps=True), 21),
        (InputRange(-0.3, 0.45, "turn"), 21),
        (InputRange(-1.5, 0.2, "turn"), 23),
        (InputRange(-0.1, 0.05, "turn"), 19),
    ):
        built = program(text, [0.5, 1.0], 18, {"x": ranges})
        assert built.inputs[0].format == Format(width, 21)
        assert built.operations[1].operands[0].shift == 1
        assert built.operations[1].constant == 2**21 // 16
        assert (built.inputs[0].lowest is None) == ranges.wraps


@pytest.mark.parametrize("width", [8, 9, 18, 32])
@pytest.mark.parametrize("bound", [0.9895, 0.99, 1.0, 1.97, 1.98, 0.0625, 123.4])
def test_a_word_beyond_the_domain_never_saturates_onto_its_bound(bound, width):
    """Or a number far outside would pass for one inside."""
    text = "n0 = input x @ decode\nn1 = multiply n0 n0 @ decode\nout id.p n1\n"
    built = program(text, [bound, bound**2], width, {"x": InputRange(-bound, bound, "m")})
    word = built.inputs[0]
    reals = np.array([math.inf, 1e9, 1.5 * bound, bound, 0.0, -bound, -1.5 * bound, -1e9, math.nan])
    result = evaluate(built, {"x": word.format.quantised(reals)})
    assert result.outside.tolist() == [True, True, True, False, False, False, True, True, True]


@pytest.mark.parametrize("bound", [1e-9, 1e-4, 0.0152, 0.05, 0.124, 0.4999, 2.03])
def test_an_angle_beyond_the_domain_never_saturates_onto_its_bound(bound):
    text = "n0 = input x @ decode\nn1 = sin n0 0x0.0p+0 @ trigonometry\nout id.s n1\n"
    for width in (8, 18, 32):
        built = program(text, [bound, 1.0], width, {"x": InputRange(-bound, 0.7 * bound, "turn")})
        word = built.inputs[0]
        assert word.format.lowest < word.lowest
        assert word.highest < word.format.highest
        reals = np.array([1e9, 0.7 * bound, -bound, -1e9])
        result = evaluate(built, {"x": word.format.quantised(reals)})
        assert result.outside.tolist() == [True, False, False, True]


@pytest.mark.parametrize("bound", [0.5 + 2.0**-12, 0.75 + 2.0**-12, 1.0 - 2.0**-12])
def test_a_bound_between_two_words_is_inside(bound):
    """A tie is rounded upward in the word of the bound and in that of the input alike."""
    built = program(
        "n0 = input x @ decode\nn1 = multiply n0 n0 @ decode\nout id.p n1\n",
        [1.0, 1.0],
        12,
        {"x": InputRange(-bound, bound, "m")},
    )
    words = {"x": built.inputs[0].format.quantised(np.array([bound, -bound]))}
    assert evaluate(built, words).outside.tolist() == [False, False]


def test_a_function_without_products_has_no_narrow_nodes():
    builder = GraphBuilder()
    edge = builder.add(builder.input("x", REGION), builder.input("y", REGION), REGION)
    assert narrow_nodes(builder.finish([("id.s", edge)])) == frozenset()
    assert edge == Edge(2)


def test_sines_and_cosines_are_always_narrow():
    graph = graph_of("iiwa14")
    turns = {i for i, node in enumerate(graph.nodes) if node.op in (Op.SIN, Op.COS)}
    assert turns <= narrow_nodes(graph)
