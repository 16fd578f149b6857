"""Proven errors: small programs are tried with all inputs, and an unsound step is found."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed import evaluate as evaluation
from rbdhw.fixed import proof as proofs
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.interval_arithmetic import Interval, Rows, outward
from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.proof import prove
from rbdhw.fixed.trigonometry import LIBRARY, TrigonometrySpec, sin_cos, sine_error, trigonometry_spec
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.graph import Op
from rbdhw.graph.interpret import node_values
from rbdhw.graph.trace import Recorder

RANGE = InputRange(-1.3, 0.9, "rad")
TURNS = InputRange(-0.4, 0.45, "turn")
POINTS = 400


def product(recorder):
    return recorder.input("v[0]") * recorder.input("v[1]")


def square(recorder):
    x = recorder.input("v[0]")
    return x * x


def scaled(recorder):
    return recorder.input("v[0]") * 1.2421


def small_term(recorder):
    return recorder.input("v[0]") + recorder.input("v[1]") * 2.0**-6


def constant(recorder):
    return recorder.input("v[0]") + 0.123456


def turned(recorder):
    cos, sin = recorder.cos_sin(recorder.input("q[0]"), 0.1234567)
    return cos + sin * 0.37


def nested(recorder):
    cos, sin = recorder.cos_sin(recorder.input("q[0]"), 0.0)
    x = recorder.input("v[0]")
    return (cos * x + sin * 0.7) * (sin - x * x) * 0.3


def coarse_angle(recorder):
    q = recorder.input("q[0]")
    cos, _ = recorder.cos_sin(q, 0.0)
    return cos + q * recorder.input("v[0]") * 0.01  # a factor has as few bits as others


def scaled_angle(recorder):
    cos, sin = recorder.cos_sin(recorder.input("q[0]") * 0.3, 0.1234567)
    return cos + sin * 0.7


def range_of(name):
    return TURNS if name.startswith("q") else RANGE


def real_inputs(graph):
    """Return numbers over the whole of each input's range, in all combinations."""
    grids = [np.linspace(range_of(name).lower, range_of(name).upper, POINTS) for name in graph.inputs]
    mesh = np.meshgrid(*grids, indexing="ij")
    return dict(zip(graph.inputs, (axis.ravel() for axis in mesh), strict=True))


def lowered(build, width):
    """Return a graph, its program, its inputs and the values of its nodes."""
    recorder = Recorder()
    recorder.output("id.tau[0]", build(recorder))
    graph = recorder.builder.finish(recorder.outputs)
    reals = real_inputs(graph)
    values = node_values(graph, reals)
    magnitudes = [float(np.max(np.abs(value))) for value in values]
    ranges = {name: range_of(name) for name in reals}
    return graph, lower(graph, magnitudes, ranges, plain_widths(graph, width)), reals, values


def compared(build, width):
    """Return the largest error of a program's result, and its bound."""
    graph, program, reals, values = lowered(build, width)
    words = {word.name: word.format.quantise(reals[word.name]) for word in program.inputs}
    answer = evaluate(program, words)
    assert not answer.overflow.any()
    (word,) = program.outputs["id"]
    (_, edge) = graph.outputs[0]
    exact = math.ldexp(-1.0 if edge.negative else 1.0, edge.shift) * values[edge.node]
    error = np.abs(word.format.real(answer.words[word.name]) - exact).max()
    bound = prove(graph, program, "id")
    return float(error), math.ldexp(bound.errors[edge.node], edge.shift)


BUILDS = [product, square, scaled, small_term, constant, turned, nested, coarse_angle, scaled_angle]


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("width", [8, 12])
def test_no_input_errs_more_than_the_bound(build, width):
    error, bound = compared(build, width)
    assert error <= bound <= 6.0 * error


@pytest.mark.parametrize("value", [0.123456, -0.123456])
def test_a_result_that_is_a_constant_errs_as_its_rounding(value):
    """A negative one is the negative of a constant of the graph."""
    recorder = Recorder()
    recorder.output("id.tau[0]", recorder.input("v[0]"))
    recorder.output("id.tau[1]", value)
    graph = recorder.builder.finish(recorder.outputs)
    program = lower(graph, [1.0] * len(graph.nodes), {"v[0]": RANGE}, plain_widths(graph, 8))
    (name, edge), word = graph.outputs[1], program.outputs["id"][1]
    held = program.operations[word.value].constant * word.format.step
    assert (name, word.name) == ("id.tau[1]",) * 2
    bound = math.ldexp(prove(graph, program, "id").errors[edge.node], edge.shift)
    assert 0.0 < abs(held - value) <= bound < 1.01 * abs(held - value)


def applied(node, args):
    """Return a node's value from its arguments."""
    edges = [
        math.ldexp(-1.0 if e.negative else 1.0, e.shift) * a for e, a in zip(node.args, args, strict=True)
    ]
    match node.op:
        case Op.ADD:
            return edges[0] + edges[1]
        case Op.MULTIPLY:
            return edges[0] * edges[1]
        case Op.SCALE:
            return edges[0] * node.value
        case _:
            turned_by = 2.0 * np.pi * (edges[0] + node.value)
            return np.sin(turned_by) if node.op is Op.SIN else np.cos(turned_by)


def integers_of(operation, values):
    (operand,) = operation.operands
    shifted = values[operand.value] << max(operand.shift, 0) >> max(-operand.shift, 0)
    return -shifted if operand.negative else shifted


def check_phase(prover, program, operation, node):
    """Check how far the phase that a unit gets may be from the angle of its operand."""
    (edge,) = node.args
    (operand,) = operation.operands
    bits = program.trigonometry.phase_bits
    source = program.operations[operand.value].format
    whole = np.arange(source.lowest, source.highest + 1)
    phase = np.ldexp(integers_of(operation, {operand.value: whole}) + float(operation.constant), -bits)
    off = phase - math.ldexp(-1.0 if edge.negative else 1.0, edge.shift) * source.real(whole) - node.value
    largest = np.abs(off - np.rint(off)).max()
    bound = prover._phase_error(operation, node.value)
    assert largest <= bound <= 2.5 * largest + 1e-12


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("width", [8, 12])
def test_no_operation_adds_a_larger_error(build, width):
    graph, program, reals, _ = lowered(build, width)
    words = {word.name: word.format.quantise(reals[word.name]) for word in program.inputs}
    prover = proofs.Prover(graph, program, "id")
    prover.prove(range(len(graph.nodes)))
    values = []
    for i, node in enumerate(graph.nodes):
        operation = program.operations[i]
        integers = evaluation._compute(program, operation, dict(enumerate(values)), words)
        values.append(integers)
        if node.op in (Op.INPUT, Op.CONSTANT):
            continue
        if node.op in (Op.SIN, Op.COS):
            check_phase(prover, program, operation, node)
        reals_of = [program.operations[e.node].format.real(values[e.node]) for e in node.args]
        error = np.abs(operation.format.real(integers) - applied(node, reals_of)).max()
        bound = prover._own[i]
        assert error <= bound + 1e-15
        assert bound <= 3.0 * error + 1e-9


def test_a_sine_passes_no_more_than_a_turn_on():
    graph, program, _, _ = lowered(turned, 8)
    prover = proofs.Prover(graph, program, "id")
    (sine,) = (i for i, node in enumerate(graph.nodes) if node.op is Op.SIN)
    assert prover._slope(sine, 0).size == pytest.approx(2.0 * math.pi, rel=1e-12)


def halved(method):
    return lambda self, *arguments: 0.5 * method(self, *arguments)


UNSOUND = {
    "inputs": ("_read", lambda _: lambda *_: 0.0, product),
    "rounding": ("_own_error", halved, small_term),
    "factors": ("_factor_error", lambda _: lambda *_: 0.0, scaled),
    "slopes": (
        "_slope",
        lambda method: lambda self, i, k: Interval(-0.2, 0.2).times(method(self, i, k)),
        turned,
    ),
    "ranges": (
        "_real",
        lambda method: lambda self, i: Interval(0.3, 0.3).times(method(self, i)),
        product,
    ),
}


@pytest.mark.parametrize("step", UNSOUND)
def test_an_unsound_step_is_found(step, monkeypatch):
    method, unsound, build = UNSOUND[step]
    monkeypatch.setattr(proofs.Prover, method, unsound(getattr(proofs.Prover, method)))
    error, bound = compared(build, 8)
    assert error > bound


def test_a_table_error_that_is_forgotten_is_found(monkeypatch):
    monkeypatch.setattr(proofs, "sine_error", lambda _spec: 0.0)
    error, bound = compared(lambda recorder: recorder.cos_sin(recorder.input("q[0]"), 0.0)[0], 8)
    assert error > bound


def test_a_choice_of_the_task_has_the_bound_of_both():
    recorder = Recorder()
    flag, x, y = (recorder.input(name) for name in ("inverse_given", "v[0]", "v[1]"))
    recorder.output("difd.da_dq[0,0]", recorder.select(flag, x, x * y) * 0.7)
    graph = recorder.builder.finish(recorder.outputs)
    line = np.linspace(RANGE.lower, RANGE.upper, 60)
    reals = dict(zip(("v[0]", "v[1]"), (axis.ravel() for axis in np.meshgrid(line, line)), strict=True))
    ranges = dict.fromkeys(reals, RANGE)
    magnitudes = [float(np.abs(value).max()) for value in node_values(graph, reals | {"inverse_given": 1.0})]
    program = lower(graph, magnitudes, ranges, plain_widths(graph, 8))
    words = {word.name: word.format.quantise(reals[word.name]) for word in program.inputs}
    (word,), (_, edge) = program.outputs["difd"], graph.outputs[0]
    factor = math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)
    error = 0.0
    for taken in (0, 1):
        answer = evaluate(program, words | {"inverse_given": np.array(taken)})
        exact = factor * node_values(graph, reals | {"inverse_given": float(taken)})[edge.node]
        error = max(error, np.abs(word.format.real(answer.words[word.name]) - exact).max())
    bound = abs(factor) * prove(graph, program, "difd").errors[edge.node]
    assert error <= bound <= 2.0 * error


def test_a_function_that_divides_has_no_proof():
    recorder = Recorder()
    recorder.output("fd.a[0]", recorder.input("v[0]").reciprocal())
    graph = recorder.builder.finish(recorder.outputs)
    ranges = {"v[0]": InputRange(1.0, 2.0, "rad")}
    assert prove(graph, lower(graph, [2.0, 1.0], ranges, plain_widths(graph, 12)), "fd") is None


NUMBERS = st.floats(-1e6, 1e6).filter(lambda x: x == 0.0 or abs(x) > 1e-6)


@given(ends=st.lists(NUMBERS, min_size=4, max_size=4))
def test_intervals_hold_the_results_of_their_ends(ends):
    first, second = Interval(*sorted(ends[:2])), Interval(*sorted(ends[2:]))
    rows, many = (Rows(np.array([interval.low]), np.array([interval.high])) for interval in (first, second))
    for x in map(Fraction, (first.low, first.high)):
        for y in map(Fraction, (second.low, second.high)):
            for low, high, exact in (
                (first.plus(second).low, first.plus(second).high, x + y),
                (first.times(second).low, first.times(second).high, x * y),
                (rows.plus(many).low[0], rows.plus(many).high[0], x + y),
                (rows.times(second).low[0], rows.times(second).high[0], x * y),
            ):
                assert Fraction(float(low)) <= exact <= Fraction(float(high))
            assert Fraction(outward(float(x * y)).low) <= x * y <= Fraction(outward(float(x * y)).high)


def test_a_product_that_vanishes_is_an_error():
    with pytest.raises(FloatingPointError):
        Interval(1e-200, 1.0).times(Interval(1e-200, 1.0))
    with pytest.raises(FloatingPointError):
        Rows(np.array([1e-200]), np.array([1.0])).times(Interval(1e-200, 1.0))


@pytest.mark.parametrize("width", [8, 13, 18, pytest.param(21, marks=pytest.mark.verify)])
def test_sines_of_all_phases_keep_to_the_bound(width):
    spec = trigonometry_spec(width)
    bound = sine_error(spec)
    assert 0.4 * spec.format.step < bound <= spec.accuracy
    worst = 0.0
    for start in range(0, 1 << spec.phase_bits, 1 << 20):
        phase = np.arange(start, min(start + (1 << 20), 1 << spec.phase_bits))
        angle = np.ldexp(2.0 * np.pi * phase, -spec.phase_bits)
        for unit, exact in zip(sin_cos(spec, phase), (np.sin(angle), np.cos(angle)), strict=True):
            worst = max(worst, float(np.abs(spec.format.real(unit) - exact).max()))
    assert worst <= bound <= worst + 2.0 * LIBRARY


@pytest.mark.parametrize("width", [22, 27, 32])
def test_wide_sines_keep_to_the_bound_at_random_phases(width):
    spec: TrigonometrySpec = trigonometry_spec(width)
    phase = np.random.default_rng(width).integers(1 << spec.phase_bits, size=200_000)
    angle = np.ldexp(2.0 * np.pi * phase, -spec.phase_bits)
    for unit, exact in zip(sin_cos(spec, phase), (np.sin(angle), np.cos(angle)), strict=True):
        assert np.abs(spec.format.real(unit) - exact).max() <= sine_error(spec)
