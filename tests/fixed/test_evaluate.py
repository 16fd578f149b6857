"""The evaluator compared with unbounded integers, operation by operation; every overflow is flagged."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw.domain.bounds import input_domain
from rbdhw.domain.graph_inputs import graph_inputs, graph_ranges
from rbdhw.domain.sampling import sample
from rbdhw.fixed.evaluate import evaluate, outside_domain
from rbdhw.fixed.format import Format
from rbdhw.fixed.lower import lower
from rbdhw.fixed.program import Kind, Word
from rbdhw.fixed.widths import plain_widths
from rbdhw.frontend.build_graph import optimise, prepare, trace_model
from rbdhw.graph.interpret import interpret, node_values
from rbdhw.target import target
from tests.support.builds import (
    evaluated,
    graph_of,
    input_words,
    lowered,
    magnitudes,
    model_of,
    program_of,
    random_words,
    torques,
)
from tests.support.fixed_reference import run, with_all_values
from tests.support.marks import long
from tests.support.mixed import MODES, mixed_flags, mixed_graph, mixed_inputs, mixed_program, mixed_words
from tests.support.strategies import ALL_KINDS, robots


def assert_equal_to_reference(program, words, tasks):
    """Check every value against the reference, and that an operation whose result may not fit is checked."""
    everything = with_all_values(program)
    result = evaluate(everything, words)
    for task in range(tasks):
        expected = run(program, {name: int(values[task]) for name, values in words.items()})
        ours = [int(result.words[word.name][task]) for word in everything.outputs["all"]]
        assert ours == expected.values
        assert all(program.operations[i].checked for i in expected.misfits)
        assert bool(result.overflow[task]) == bool(expected.misfits)


@pytest.mark.parametrize("width", [8, 14, 18, 27, 28, 32])
def test_every_value_of_the_toy(width):
    program = program_of("toy", width, "all")
    assert_equal_to_reference(program, random_words(program, 60, seed=width), 60)


@pytest.mark.parametrize(("robot", "width"), [("iiwa14", 18), ("hyq", 27)])
def test_every_value_of_larger_robots(robot, width):
    program = program_of(robot, width)
    assert_equal_to_reference(program, random_words(program, 8, seed=1), 8)


@pytest.mark.verify
@given(robots(max_bodies=4, kinds=ALL_KINDS, mimics=True), st.sampled_from((8, 18, 28, 32)), st.booleans())
@settings(max_examples=5)
def test_every_value_of_random_robots(robot, width, with_fext):
    model = prepare(robot, ("id",), "all" if with_fext else "none")
    graph = optimise(trace_model(model, ("id",)), target("xcvu9p").delays)
    program = lowered(model, graph, width)
    assert_equal_to_reference(program, random_words(program, 6, seed=2), 6)


@pytest.mark.parametrize("width", [8, 12, 18, 27, 32])
@pytest.mark.parametrize(("function", "extended"), MODES)
def test_every_value_of_choices_and_reciprocals(function, extended, width):
    program = mixed_program(width)
    words = mixed_words(program, 30, seed=width)
    flags = {name: np.broadcast_to(value, 62) for name, value in mixed_flags(function, extended).items()}
    assert_equal_to_reference(program, {**words, **flags}, 62)


@pytest.mark.parametrize("width", [12, 18, 27, 32])
@pytest.mark.parametrize(("function", "extended"), MODES)
def test_each_function_is_as_accurate_as_its_width(function, extended, width):
    program, inputs = mixed_program(width), mixed_inputs(2000, seed=width)
    words = {word.name: word.format.quantise(inputs[word.name]) for word in program.inputs}
    flags = mixed_flags(function, extended)
    result = evaluate(program, {**words, **flags}, (function,))
    truth = interpret(mixed_graph(), {**inputs, **flags})
    assert not result.overflow.any()
    assert not result.outside.any()
    for word in program.outputs[function]:
        error = np.abs(word.format.real(result.words[word.name]) - truth[word.name]).max()
        assert error <= 2.0 ** (6 - program.port_widths[1]) * np.abs(truth[word.name]).max()


def test_a_reciprocal_of_zero_is_the_largest_number_and_flags_its_users():
    """``q + 0.3`` can be zero in the domain; ``fd`` needs its reciprocal and ``id`` does not."""
    program = mixed_program(18)
    zero = next(i for i, op in enumerate(program.operations) if op.kind is Kind.RECIPROCAL)
    position = program.inputs[0].format.quantise(np.array([-0.3, -0.30002, -0.29998, 0.5]))
    words = {"q[0]": position, **{word.name: np.zeros(4, np.int64) for word in program.inputs[1:]}}
    everything = replace(program, outputs={**program.outputs, **with_all_values(program).outputs})
    flags = mixed_flags("fd", False)
    assert evaluate(program, {**words, **mixed_flags("id", False)}, ("id",)).overflow.tolist() == [False] * 4
    assert evaluate(program, {**words, **flags}, ("fd",)).overflow.tolist() == [True, True, True, False]
    inverse = evaluate(everything, {**words, **flags}, ("all",)).words[f"value[{zero}]"]
    chosen = program.operations[zero].format
    assert set(inverse[:3].tolist()) <= {chosen.highest, chosen.lowest}
    assert chosen.real(inverse[3:])[0] == pytest.approx(1.25, rel=1e-4)


def test_a_function_needs_only_its_own_words():
    program = mixed_program(18)
    words = {name: np.array([100]) for name in ("q[0]", "q[1]", "tau[0]")}
    result = evaluate(program, {**words, **mixed_flags("fd", False)}, ("fd",))
    assert set(result.words) == {"fd.a[0]", "fd.a[1]"}
    with pytest.raises(KeyError, match=r"^'a\[0\]'$"):
        evaluate(program, {**words, **mixed_flags("id", False)}, ("id",))


def test_no_tasks_have_no_results():
    program = mixed_program(18)
    words = {word.name: np.zeros(0, np.int64) for word in program.inputs}
    result = evaluate(program, {**words, **mixed_flags("fd", False)}, ("fd",))
    assert {values.shape for values in result.words.values()} == {(0,)} == {result.overflow.shape}


def test_inputs_far_outside_the_domain_are_flagged():
    """The largest words of the format produce values that sampling never reached."""
    program = program_of("iiwa14", 18)
    words = {word.name: np.full(4, word.format.highest) for word in program.inputs}
    for k, word in enumerate(program.inputs):
        words[word.name][1] = word.format.lowest
        words[word.name][2] *= (-1) ** k
    result = evaluate(program, words)
    assert result.overflow[:3].all()
    assert result.outside.all()


@pytest.mark.parametrize(
    ("robot", "width"), [("toy", 18), *(long(*case) for case in (("iiwa14", 18), ("hyq", 22)))]
)
def test_an_understated_magnitude_is_flagged(robot, width):
    """Each node in turn gets too small a format; then its tasks are flagged or still correct."""
    model, graph = model_of(robot), graph_of(robot)
    domain = input_domain(model.source)
    ranges = graph_ranges(model.source, domain, ())
    arrays = sample(model.source, domain, 200, np.random.default_rng(3))
    honest = magnitudes(model, graph, domain)
    program = lower(graph, honest, ranges, plain_widths(graph, width))
    expected, clean = evaluated(program, model.source, arrays)
    size = np.abs(expected).max()
    flagged = 0
    for i in range(0, len(graph.nodes), max(1, len(graph.nodes) // 60)):
        stated = [value / 64.0 if k == i else value for k, value in enumerate(honest)]
        tau, result = evaluated(
            lower(graph, stated, ranges, plain_widths(graph, width)), model.source, arrays
        )
        silent = ~result.overflow & ~clean.overflow
        assert np.abs(tau - expected)[silent].max(initial=0.0) <= 1e-3 * size
        flagged += bool(result.overflow.any())
    assert flagged > len(graph.nodes) // max(1, len(graph.nodes) // 60) // 3


def test_all_magnitudes_understated_flag_nearly_every_task():
    model, graph = model_of("iiwa14"), graph_of("iiwa14")
    domain = input_domain(model.source)
    stated = [value / 16.0 for value in magnitudes(model, graph, domain)]
    program = lower(graph, stated, graph_ranges(model.source, domain, ()), plain_widths(graph, 18))
    arrays = sample(model.source, domain, 300, np.random.default_rng(4))
    _, result = evaluated(program, model.source, arrays)
    assert result.overflow.mean() > 0.99


@pytest.mark.parametrize("robot", ["toy", "iiwa14", "hyq"])
def test_tasks_of_the_domain_are_hardly_ever_flagged(robot):
    model, program = model_of(robot), program_of(robot, 18)
    arrays = sample(model.source, input_domain(model.source), 4000, np.random.default_rng(5))
    _, result = evaluated(program, model.source, arrays)
    assert not result.outside.any()
    assert result.overflow.mean() <= 1e-3


@pytest.mark.parametrize(("robot", "width"), [("iiwa14", 18), ("iiwa14", 28), ("hyq", 14)])
def test_values_stay_near_the_float_interpreter(robot, width):
    """The error of every node is small relative to its declared magnitude."""
    model, graph = model_of(robot), graph_of(robot)
    program = with_all_values(program_of(robot, width))
    domain = input_domain(model.source)
    arrays = sample(model.source, domain, 200, np.random.default_rng(6))
    result = evaluate(program, input_words(program, model.source, arrays))
    truth = node_values(graph, graph_inputs(model.source, arrays))
    sizes = magnitudes(model, graph, domain)
    for i, values in enumerate(truth):
        word = program.outputs["all"][i]
        error = np.abs(word.format.real(result.words[word.name]) - values)[~result.overflow]
        # cancellation keeps the absolute errors of larger terms, hence the floor for the whole robot
        assert error.max() <= 2.0 ** (8 - min(width, 18)) * max(sizes[i], 0.05 * np.median(sizes))


def test_outside_is_judged_by_the_words_that_have_bounds():
    inputs = (Word("a", "", 0, Format(6, 0), -10, 5), Word("b", "", 1, Format(6, 0)))
    words = {"a": np.array([-11, -10, 5, 6, 0]), "b": np.array([-32, 31, 0, 1, 2])}
    assert outside_domain(inputs, words).tolist() == [True, False, False, True, False]
    assert not outside_domain(inputs[1:], words).any()


def test_only_the_functions_asked_for_are_answered():
    program = with_all_values(program_of("toy", 14))
    both = {**program.outputs, **program_of("toy", 14).outputs}
    words = random_words(program, 5, seed=3)
    result = evaluate(replace(program, outputs=both), words, ("id",))
    assert set(result.words) == {"id.tau[0]", "id.tau[1]"}
    assert torques(program_of("toy", 14), result).shape == (5, 2)
