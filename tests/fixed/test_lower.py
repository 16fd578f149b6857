"""Lowering: formats fit ports and magnitudes, and words at the interface match the domain."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Format, round_half_up
from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.program import MOST_SHIFT, Flag, Kind, Operand, exact_interval
from rbdhw.fixed.serialize import program_from_json, program_to_json
from rbdhw.fixed.widths import GUARD_BITS, plain_widths
from rbdhw.graph.graph import Op
from rbdhw.graph.text import loads
from tests.support.builds import program_of, random_words
from tests.support.graphs import INPUTS, graphs

UNIT = {"x": InputRange(-1.0, 1.0, "m"), "y": InputRange(-2.0, 3.0, "rad/s")}


def program(text, magnitudes, width, ranges=UNIT):
    graph = loads(text)
    return lower(graph, magnitudes, ranges, plain_widths(graph, width))


def rows(program):
    """Return operations in a short form."""
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


@pytest.mark.parametrize("width", [8, 18, 22, 27, 28, 32])
@pytest.mark.parametrize(("robot", "fext"), [("toy", "all"), ("iiwa14", "none"), ("hyq", "none")])
def test_operands_of_each_product_fit_the_ports(robot, fext, width):
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
            second, first = sorted((formats[op.operands[0].value].width, op.constant.bit_length() + 1))
            assert (first <= wide, second <= narrow) == (True, True)
            assert op.constant % 2 == 1


def test_unchecked_operations_cannot_leave_their_formats():
    """Compute the intervals again, from the program alone."""
    built = program_of("iiwa14", 18)
    intervals = []
    for op in built.operations:
        low, high = exact_interval(op, intervals)
        fits = op.format.lowest <= low and high <= op.format.highest
        assert fits or op.checked
        intervals.append((low, high) if fits else (op.format.lowest, op.format.highest))


@given(graphs(trigonometry=True), st.sampled_from((8, 18, 24, 32)))
def test_random_graphs_cover_every_product_with_a_narrow_operand(graph, width):
    ranges = dict.fromkeys(INPUTS, InputRange(-1.0, 1.0, "turn"))
    if not any(node.op in (Op.SIN, Op.COS) for node in graph.nodes):
        ranges = dict.fromkeys(INPUTS, InputRange(-1.0, 1.0, "m"))
        built = lower(graph, [1.0] * len(graph.nodes), ranges, plain_widths(graph, width))
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
    assert rows(built)[2] == ("multiply", ((0, False, 0), (1, False, 0)), (22, 19), 12, True)
    assert [word.format for word in built.inputs] == [Format(18, 16), Format(18, 15)]


@pytest.mark.parametrize("far", [66, 70, 300])
@pytest.mark.parametrize(
    ("line", "operand"),
    [("n3 = add n0 -n1<<-{far} @ decode", 1), ("n3 = select n2 n0 -n1<<-{far} @ decode", 2)],
)
def test_a_term_far_below_the_last_bit_keeps_its_sign(line, operand, far):
    """All larger shifts give the same result, so shifts are limited to what the file format allows."""
    text = "n0 = input x @ decode\nn1 = input y @ decode\nn2 = input acceleration_given @ decode\n"
    built = program(f"{text}{line.format(far=far)}\nout fd.s n3\n", [1.0, 3.0, 1.0, 1.0], 18)
    assert built.operations[3].operands[operand] == Operand(1, True, -MOST_SHIFT)
    assert program_from_json(program_to_json(built)) == built
    words = random_words(built, 200, 5)
    words["acceleration_given"] = np.zeros(200, np.int64)
    up = built.operations[3].format.binary_point - built.operations[0].format.binary_point + 2
    result = evaluate(built, words, ("fd",)).words["fd.s"].tolist()
    for x, y, value in zip(words["x"].tolist(), words["y"].tolist(), result, strict=True):
        term = -(y >> (far + 40))
        assert value == round_half_up((x << up) + term if "add" in line else term, 2)


def test_a_sum_aligns_its_operands_two_bits_below_its_last():
    text = "n0 = input x @ decode\nn1 = input y @ decode\nn2 = add n0 -n1<<-20 @ decode\nout id.s n2\n"
    built = program(text, [1.0, 3.0, 1.0], 18)
    assert [op.format for op in built.operations] == [Format(22, 20), Format(22, 19), Format(22, 20)]
    assert rows(built)[2] == ("add", ((0, False, 2), (1, True, -17)), (22, 20), 2, True)


@pytest.mark.parametrize(
    "text",
    [
        "n0 = input x @ decode\nn1 = input y @ decode\nn2 = multiply n0 n1 @ decode\n"
        "n3 = multiply n0 n2 @ decode\nn4 = add n2 -n3 @ decode\nout id.x[0] n4\n",
        "n0 = input x @ decode\nn1 = input y @ decode\nn2 = multiply n0 n1 @ decode\n"
        "n3 = add n2 -n0 @ decode\nn4 = multiply n2 n3 @ decode\nout id.x[0] n4\n",
    ],
)
def test_a_result_holds_the_steps_of_its_operands(text):
    """Samples are almost zero, but rounding errors are not: three steps of the coarsest either way."""
    built = program(text, [1.0, 3.0, 3.0, 2.0, 1e-12], 12)
    formats = [op.format for op in built.operations]
    a, b = (formats[operand.value] for operand in built.operations[4].operands)
    if built.operations[4].kind is Kind.ADD:
        moved = max(a.step, b.step)
    else:
        moved = max(a.step * b.step * 2 ** (b.width - 1), b.step * a.step * 2 ** (a.width - 1))
    assert 3.0 * moved <= formats[4].highest * formats[4].step <= 4.0 * moved


def test_exact_values_take_no_bits_they_do_not_need():
    text = "n0 = input x @ decode\nn1 = scale n0 0x1.8p+0 @ decode\nout id.s n1<<3\n"
    built = program(text, [1.0, 1.5], 12)
    assert built.operations[1].constant == 3
    assert (built.operations[1].format, built.operations[1].drop) == (Format(13, 11), 0)
    assert built.outputs["id"][0].format == Format(13, 8)


@pytest.mark.parametrize("width", [8, 18, 27])
@pytest.mark.parametrize("value", [1.1, math.sqrt(2.0), math.pi / 2.0, 1.9, 2.0 - 2.0**-40])
def test_a_constant_factor_is_the_nearest_integer_that_fits(value, width):
    text = f"n0 = input x @ decode\nn1 = scale n0 {value.hex()} @ decode\nout id.s n1\n"
    first, product = program(text, [1.0, value], width).operations
    bits = plain_widths(loads(text), width).constants[1] - 1
    point = product.format.binary_point + product.drop - first.format.binary_point
    nearest = min(round(math.ldexp(value, bits - 1)), 2**bits - 1)
    assert math.ldexp(product.constant, -point) == math.ldexp(nearest, 1 - bits)


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


@pytest.mark.parametrize("offset", [0.07, 0.1, -0.1, 0.123])
def test_the_offset_of_an_angle_is_the_nearest_phase(offset):
    text = f"n0 = input x @ decode\nn1 = sin n0 {offset.hex()} @ trigonometry\nout id.s n1\n"
    built = program(text, [0.5, 1.0], 18, {"x": InputRange(-0.5, 0.5, "turn", wraps=True)})
    steps = offset % 1.0 * 2**built.trigonometry.phase_bits
    assert abs(built.operations[1].constant - steps) <= 0.5


@pytest.mark.parametrize("width", [8, 9, 18, 32])
@pytest.mark.parametrize("bound", [0.9895, 0.99, 1.0, 1.97, 1.98, 0.0625, 123.4])
def test_a_word_beyond_the_domain_never_saturates_onto_its_bound(bound, width):
    """Otherwise a number far outside of the domain would count as inside."""
    text = "n0 = input x @ decode\nn1 = multiply n0 n0 @ decode\nout id.p n1\n"
    built = program(text, [bound, bound**2], width, {"x": InputRange(-bound, bound, "m")})
    word = built.inputs[0]
    reals = np.array([math.inf, 1e9, 1.5 * bound, bound, 0.0, -bound, -1.5 * bound, -1e9, math.nan])
    result = evaluate(built, {"x": word.format.quantise(reals)})
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
        result = evaluate(built, {"x": word.format.quantise(reals)})
        assert result.outside.tolist() == [True, False, False, True]


@pytest.mark.parametrize("bound", [0.5 + 2.0**-12, 0.75 + 2.0**-12, 1.0 - 2.0**-12])
def test_a_bound_between_two_words_is_inside(bound):
    """Ties are rounded upward both in the bound's word and in the input's."""
    built = program(
        "n0 = input x @ decode\nn1 = multiply n0 n0 @ decode\nout id.p n1\n",
        [1.0, 1.0],
        12,
        {"x": InputRange(-bound, bound, "m")},
    )
    words = {"x": built.inputs[0].format.quantise(np.array([bound, -bound]))}
    assert evaluate(built, words).outside.tolist() == [False, False]


CHOICE = (
    "n0 = input x @ decode\nn1 = input y @ decode\nn2 = input acceleration_given @ decode\n"
    "n3 = constant 0x0.0p+0 @ decode\n"
)


def test_a_choice_aligns_its_values_and_rounds_once():
    text = CHOICE + "n4 = select n2 n0 -n1<<1 @ decode\nout id.s n4\nout fd.s n4\n"
    built = program(text, [1.0, 3.0, 1.0, 0.0, 6.0], 18)
    assert [op.format for op in built.operations[:3]] == [Format(22, 20), Format(22, 19), Format(2, 0)]
    assert rows(built)[4] == ("select", ((2, False, 0), (0, False, 0), (1, True, 2)), (22, 18), 2, True)
    words = {"x": np.array([4, 6, -6, 7]), "y": np.array([1, 2, 3, -4])}
    chosen = {f: evaluate(built, {**words, "acceleration_given": v}, (f,)) for f, v in (("id", 1), ("fd", 0))}
    assert chosen["id"].words["id.s"].tolist() == [1, 2, -1, 2]
    assert chosen["fd"].words["fd.s"].tolist() == [-1, -2, -3, 4]


def test_a_choice_of_zero_keeps_the_other_as_it_is():
    for select in ("select n2 n0 n3", "select n2 n3 n0"):
        built = program(CHOICE + f"n4 = {select} @ decode\nout id.s n4\n", [1.0, 1.0, 1.0, 0.0, 1.0], 12)
        _, operands, held, drop, checked = rows(built)[4]
        assert {shift for _, _, shift in operands} == {0}
        assert (held, drop, checked) == ((16, 14), 0, False)


def test_flags_are_no_words():
    text = CHOICE + "n4 = select n2 n0 n1 @ decode\nout difd.s n4\nout id.s n4\nout fd.s n4\n"
    built = program(text.replace("n3 = constant 0x0.0p+0", "n3 = input inverse_given"), [1.0] * 5, 12)
    assert [word.name for word in built.inputs] == ["x", "y"]
    assert built.flags == (
        Flag("acceleration_given", 2, ("id", "difd"), False),
        Flag("inverse_given", 3, ("difd",), True),
    )
    assert {built.operations[flag.value].format for flag in built.flags} == {Format(2, 0)}


def test_inputs_share_the_slots_that_the_domain_names():
    text = "".join(f"n{i} = input {name} @ decode\n" for i, name in enumerate("abcd"))
    wide, narrow = InputRange(-100.0, 100.0, "m", slot="u"), InputRange(-1.0, 1.0, "turn", slot="u")
    ranges = {"a": narrow, "b": InputRange(-1.0, 1.0, "m"), "c": wide, "d": InputRange(0.0, 1.0, "m")}
    built = program(text + "out id.d n3\n", [1.0, 1.0, 100.0, 1.0], 18, ranges)
    assert [(word.name, word.slot) for word in built.inputs] == [("a", 0), ("b", 1), ("c", 0), ("d", 2)]
    widths = [word.format.width for word in built.inputs]
    assert built.slots == (max(widths[0], widths[2]), widths[1], widths[3])
    assert widths[0] != widths[2]


@pytest.mark.parametrize("width", [8, 18, 27, 32])
def test_a_reciprocal_is_as_wide_as_a_factor_and_always_checked(width):
    text = "n0 = input x @ decode\nn1 = reciprocal n0 @ inverse\nout id.r -n1<<3\nout id.s n1\n"
    built = program(text, [1.0, 7.3], width, {"x": InputRange(0.137, 1.0, "m")})
    operation, spec = built.operations[1], built.reciprocal
    assert operation.format == Format(width, width - 1 - 4)
    assert operation.checked
    assert operation.constant == spec.result_bits - built.operations[0].format.binary_point - (width - 5)
    assert spec.width >= built.operations[0].format.width
    words = built.inputs[0].format.quantise(np.linspace(0.137, 1.0, 200))
    inverse = built.outputs["id"][1].format.real(evaluate(built, {"x": words}).words["id.s"])
    exact = 1.0 / built.inputs[0].format.real(words)
    assert np.abs(inverse - exact).max() <= 0.5 * operation.format.step + 8.0 * spec.accuracy


def test_a_program_that_does_not_divide_has_no_reciprocal_unit():
    assert program_of("toy", 18).reciprocal is None
