"""Ranges hold in all tasks without a flag, and what they leave unchecked does not overflow."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rbdhw.fixed import ranges
from rbdhw.fixed.evaluate import _compute, evaluate
from rbdhw.fixed.format import Format
from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.program import Kind, Operand, Operation, Program, Word
from rbdhw.fixed.ranges import Ranges, drop_needless_checks
from rbdhw.fixed.serialize import program_from_json, program_to_json
from rbdhw.fixed.trigonometry import trigonometry_spec
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.interpret import node_values
from rbdhw.graph.trace import Recorder
from rbdhw.scalar import Region
from tests.support.chosen_programs import chosen_program
from tests.support.marks import long

LIMITS = {"q[0]": InputRange(-0.4, 0.45, "turn"), "v[0]": InputRange(-0.99, 0.99, "rad")}
LIMITS |= {f"v[{k}]": InputRange(-0.7, 0.7, "rad") for k in (1, 2)}


def turned(recorder):
    """A component of a turned vector, whose parts and length fit one format."""
    cos, sin = recorder.cos_sin(recorder.input("q[0]"), 0.0)
    return cos * recorder.input("v[1]") - sin * recorder.input("v[2]")


def turned_by_shifted_parts(recorder):
    cos, sin = recorder.cos_sin(recorder.input("q[0]"), 0.0)
    return (cos * (recorder.input("v[1]") * 0.25) + sin * recorder.input("v[2]")) * 1.3


def squared(recorder):
    x = recorder.input("v[0]")
    return x * x - 1.0


def narrowed(recorder):
    return recorder.input("v[0]") + recorder.input("v[1]") * 1.2


BUILDS = [turned, turned_by_shifted_parts, squared, narrowed]


def lowered(build, width):
    """Return a program in formats that its largest values fill, and its input words over the domain."""
    recorder = Recorder()
    recorder.output("id.tau[0]", build(recorder))
    graph = recorder.builder.finish(recorder.outputs)
    points = int(200_000 ** (1.0 / len(graph.inputs)))
    grids = [np.linspace(LIMITS[name].lower, LIMITS[name].upper, points) for name in graph.inputs]
    reals = dict(zip(graph.inputs, (x.ravel() for x in np.meshgrid(*grids)), strict=True))
    magnitudes = [0.6 * float(np.abs(value).max()) for value in node_values(graph, reals)]
    program = lower(graph, magnitudes, LIMITS, plain_widths(graph, width))
    return program, {word.name: word.format.quantise(reals[word.name]) for word in program.inputs}


def checks(program):
    return sum(operation.checked for operation in program.operations)


def largest_share(program, words, function):
    """Return how far values go within their ranges, in tasks without a flag: 1 is all the way."""
    known = Ranges(program)
    fine = ~evaluate(program, words, (function,)).overflow
    values, shares = {}, []
    for i, operation in enumerate(program.operations):
        known.add(i)
        if i not in program.operations_of(function):
            continue
        values[i] = _compute(program, operation, values, words)
        if np.ndim(values[i]) and operation.kind is not Kind.INPUT:
            low, high = known[i]
            taken = values[i][fine]
            shares.append(max(taken.max() / max(high, 1), taken.min() / min(low, -1)))
    return max(shares)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("width", [8, 12])
def test_values_stay_within_their_ranges(build, width):
    program, words = lowered(build, width)
    assert 0.7 < largest_share(program, words, "id") <= 1.0


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("width", [8, 12])
def test_flags_within_the_domain_stay(build, width):
    program, words = lowered(build, width)
    fewer = drop_needless_checks(program)
    before, after = evaluate(program, words), evaluate(fewer, words)
    assert (before.overflow == after.overflow).all()
    assert all((before.words[name] == after.words[name]).all() for name in before.words)


def computed(kind, operands, bits, name="v"):
    """Return a program of one operation on integers from -20 to 11."""
    region, of_words = Region("test", None), Format(6, 0)
    names = [f"{name}[{k}]" for k in range(2)]
    made = [Operation(Kind.INPUT, (), of_words, region, name=each) for each in names]
    made.append(Operation(kind, tuple(map(Operand, operands)), Format(bits, 0), region, checked=True))
    words = [Word(each, "", k, of_words, -20, 11, k) for k, each in enumerate(names)]
    out = {"id": (Word("id.tau[0]", "", 2, Format(bits, 0)),)}
    return Program(tuple(made), tuple(words), (), out, trigonometry_spec(8), None, (18, 18))


def test_a_square_is_not_negative():
    for operands, expected in ((0, 0), (0, 400)), ((0, 1), (-220, 400)):
        known = Ranges(computed(Kind.MULTIPLY, operands, 12))
        for i in range(3):
            assert not known.add(i)
        assert known[2] == expected


def test_what_reaches_the_highest_number_is_not_checked():
    program = computed(Kind.MULTIPLY, (0, 1), 7)
    for factor, checked in (9, 0), (10, 1):
        words = (
            replace(word, lowest=0, highest=n) for word, n in zip(program.inputs, (7, factor), strict=True)
        )
        assert checks(drop_needless_checks(replace(program, inputs=tuple(words)))) == checked


def test_loaded_parameters_may_be_beyond_their_bounds():
    program = computed(Kind.ADD, (0, 1), 6, "parameters")
    words = tuple(replace(word, lowest=-4, highest=4) for word in program.inputs)
    assert checks(drop_needless_checks(replace(program, inputs=words))) == 1
    given = tuple(replace(word, name=word.name.replace("parameters", "v")) for word in words)
    assert checks(drop_needless_checks(replace(program, inputs=given))) == 0


COS_SIN = Kind.COS, Kind.SIN
QUARTER = 1 << trigonometry_spec(8).phase_bits - 2


def only_turns(kinds, offset, first, bits=6):
    """Return the program ``c x + s y``; the sine or cosine is the ``first`` factor or the second."""
    spec, region, vector = trigonometry_spec(8), Region("test", None), Format(bits, bits - 1)
    formats = {"q[0]": Format(8, 8), "v[0]": vector, "v[1]": vector}
    made = [Operation(Kind.INPUT, (), each, region, name=name) for name, each in formats.items()]
    turn = Operand(0, shift=spec.phase_bits - 8)
    units = zip(kinds, (0, offset), strict=True)
    made += [Operation(kind, (turn,), spec.format, region, constant) for kind, constant in units]
    for k in range(2):
        factors = (Operand(3 + k), Operand(1 + k))[:: 1 if first else -1]
        drop = spec.format.binary_point
        made.append(Operation(Kind.MULTIPLY, factors, vector, region, drop=drop, checked=True))
    result = Format(bits + 3, bits - 1)
    made.append(Operation(Kind.ADD, (Operand(5), Operand(6)), result, region))
    words = [
        Word(name, "", k, each, each.lowest, each.highest, k)
        for k, (name, each) in enumerate(formats.items())
    ]
    out = {"id": (Word("id.tau[0]", "", 7, result),)}
    return Program(tuple(made), tuple(words), (), out, spec, None, (18, 18))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("kinds", "offset", "most"),
    [(COS_SIN, 0, 50), (COS_SIN, QUARTER, 64), ((Kind.COS, Kind.COS), 0, 64), (COS_SIN[::-1], 0, 50)],
)
def test_only_a_turned_vector_has_the_range_of_its_length(kinds, offset, most, first):
    program = only_turns(kinds, offset, first)
    axis = np.arange(-32, 32)
    q, x, y = (each.ravel() for each in np.meshgrid(np.arange(-128, 128), axis, axis))
    answer = evaluate(program, {"q[0]": q, "v[0]": x, "v[1]": y})
    largest = int(np.abs(answer.words["id.tau[0]"][~answer.overflow]).max())
    known = Ranges(program)
    for i in range(len(program.operations)):
        known.add(i)
    assert most - 6 < largest <= max(map(abs, known[7])) <= most


def test_a_unit_that_errs_turns_a_long_vector_into_a_longer_one():
    program = only_turns(COS_SIN, 0, True, bits=16)
    q = np.arange(-128, 128)
    far = np.full(q.shape, -(1 << 15))
    answer = evaluate(program, {"q[0]": q, "v[0]": far, "v[1]": far})
    known = Ranges(program)
    for i in range(len(program.operations)):
        known.add(i)
    largest = int(np.abs(answer.words["id.tau[0]"]).max())
    assert 1.002 * math.hypot(far[0], far[0]) < largest <= max(map(abs, known[7]))


UNSOUND = {
    "lengths": ("OUTWARD", 0.9, turned),
    "units": ("sine_error", lambda _spec: -0.2, turned),
}


@pytest.mark.parametrize("step", UNSOUND)
def test_an_unsound_step_is_found(step, monkeypatch):
    name, wrong, build = UNSOUND[step]
    monkeypatch.setattr(ranges, name, wrong)
    program, words = lowered(build, 12)
    assert largest_share(program, words, "id") > 1.0


def test_a_task_outside_the_domain_wraps_as_the_hardware_does():
    program, _ = lowered(narrowed, 8)
    fewer = drop_needless_checks(program)
    highest = {word.name: np.array([word.format.highest]) for word in program.inputs}
    before, after = evaluate(program, highest), evaluate(fewer, highest)
    assert fewer.wrapping
    assert before.overflow.all()
    assert not after.overflow.any()
    assert after.outside.all()
    assert all((before.words[name] == after.words[name]).all() for name in before.words)
    again = program_from_json(program_to_json(fewer))
    assert again == fewer
    assert again.wrapping == fewer.wrapping


@pytest.mark.parametrize(("name", "function"), [("toy", "id"), long("iiwa14", "id"), long("iiwa14", "m")])
def test_a_robot_loses_checks_but_no_flag(name, function):
    program = chosen_program(name, (function,), 18)
    fewer = drop_needless_checks(program)
    assert checks(fewer) < 0.75 * checks(program)
    rng = np.random.default_rng(7)
    words = {}
    for word in program.inputs:
        low, high = (
            (word.format.lowest, word.format.highest) if word.lowest is None else (word.lowest, word.highest)
        )
        corners = np.array([low, 0, high])[rng.integers(3, size=100_000)]
        words[word.name] = np.where(rng.random(100_000) < 0.5, corners, rng.integers(low, high + 1, 100_000))
    words |= {flag.name: np.array(function in flag.functions, np.int64) for flag in program.flags}
    before, after = evaluate(program, words, (function,)), evaluate(fewer, words, (function,))
    assert (before.overflow == after.overflow).all()
    assert largest_share(program, words, function) <= 1.0
