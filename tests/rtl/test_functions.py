"""The core answers tasks of mixed functions as the evaluator does, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth.back import rtlil
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rbdhw.cores.pipeline.component import PipelineComponent
from rbdhw.options.build import BEST_LATENCY
from rbdhw.schedule.model import Resource
from tests.support.branching_programs import branching_program, program_of_graph
from tests.support.builds import bound_of, random_words
from tests.support.combinations import pairwise
from tests.support.graphs import graphs
from tests.support.marks import long
from tests.support.mixed import mixed_program, mixed_words
from tests.support.rtl_cores import expected, requests, respond


def assert_bit_exact(program, bound, words, seed, skip=2):
    asked = requests(program, len(next(iter(words.values()))), seed)
    answers, wanted = respond(program, bound, words, skip, asked), expected(program, words, asked)
    assert answers == wanted
    return [(request.function, flag) for request, (_, flag) in zip(asked, wanted, strict=True)]


DEVICES = {
    "xcvu9p": ("xcvu9p", None),
    "ecp5-85-50": ("ecp5-85", 50.0),
    "ecp5-85-80": ("ecp5-85", 80.0),
    "xcvu9p-250": ("xcvu9p", 250.0),
}


QUICK = [(2, "ecp5-85-80", 12), (7, "xcvu9p-250", 32)]
LONG = [case for case in pairwise((1, 2, 3, 7), tuple(DEVICES), (8, 12, 18, 32)) if case not in QUICK]


@pytest.mark.parametrize(("ii", "name", "width"), [*QUICK, *(long(*case) for case in LONG)])
def test_functions_mixed(ii, name, width):
    program = mixed_program(width)
    device, clock = DEVICES[name]
    bound = bound_of(program, device, ii, clock)
    units = sum(unit.resource is Resource.RECIPROCAL for unit in bound.units)
    assert units == -(-3 // ii)
    answered = assert_bit_exact(program, bound, mixed_words(program, 24, seed=width), seed=ii)
    assert {flag for _, flag in answered} == {0, 1}
    assert not any(flag for _, flag in answered[:24])


SOONEST = [("xcvu9p", 18, 110.0), ("xcvu9p", 32, 84.0), ("ecp5-85", 8, 30.0)]


@pytest.mark.parametrize(
    ("ii", "case"), [(1, SOONEST[0]), *(long(ii, c) for ii in (1, 2, 3) for c in SOONEST)]
)
def test_reciprocals_leave_the_cycle_of_their_last_product(ii, case):
    """Also one that several operations share, and whose results saturate."""
    device, width, clock = case
    program = mixed_program(width)
    bound, usual = (bound_of(program, device, ii, clock, goal) for goal in (BEST_LATENCY, None))
    units = [unit for unit in bound.units if unit.resource is Resource.RECIPROCAL]
    assert len(units) == -(-3 // ii)
    assert {bound.unit_latency(unit) for unit in units} == {program.reciprocal.order}
    gained = {function: usual.latency[function] - cycles for function, cycles in bound.latency.items()}
    assert min(gained.values()) >= 0
    answered = assert_bit_exact(program, bound, mixed_words(program, 24, seed=width), seed=ii)
    assert {flag for _, flag in answered} == {0, 1}


@pytest.mark.parametrize(
    ("ii", "goal"), [long(1, None), (4, None), long(1, BEST_LATENCY), long(2, BEST_LATENCY)]
)
def test_corner_words_of_every_input(ii, goal):
    program = mixed_program(18)
    corners = [
        (word.format.lowest, word.format.highest, word.lowest, word.highest, 0, -1) for word in program.inputs
    ]
    rng = np.random.default_rng(ii)
    words = {word.name: rng.choice(corner, 30) for word, corner in zip(program.inputs, corners, strict=True)}
    assert_bit_exact(program, bound_of(program, "xcvu9p", ii, goal=goal), words, seed=ii)


def test_a_faster_clock_takes_more_cycles_for_a_reciprocal():
    latencies = {}
    for device, clock in (("xcvu9p", 125.0), ("ecp5-85", 50.0), ("ecp5-85", 60.0), ("ecp5-85", 90.0)):
        program = mixed_program(18)
        bound = bound_of(program, device, 4, clock)
        (latencies[device, clock],) = {s.latency for s in bound.steps if s.resource is Resource.RECIPROCAL}
    assert list(latencies.values()) == [2, 2, 3, 4]


def test_a_choice_that_one_function_decides_is_not_blamed_for_its_other_branch():
    """``id`` takes small numbers, ``fd`` a product that overflows: only tasks of ``fd`` are flagged."""
    program = branching_program()
    words = {"x": np.array([1, 100, 127, -128] * 6), "y": np.array([1, 2, 3] * 8)}
    answered = assert_bit_exact(program, bound_of(program, "xcvu9p", 2), words, seed=5)
    assert {flag for function, flag in answered if function == "id"} == {0}
    assert {flag for function, flag in answered if function == "fd"} == {0, 1}


@given(
    graphs(trigonometry=True, choices=True),
    st.integers(1, 6),
    st.sampled_from((8, 18, 28)),
    st.integers(1, 4),
)
@settings(max_examples=6)
def test_random_graphs_with_choices_and_reciprocals(graph, ii, width, memory_stages):
    program = program_of_graph(graph, width)
    assume(program.inputs)
    bound = replace(bound_of(program, "ecp5-85", ii), memory_stages=max(2, memory_stages))
    assert_bit_exact(program, bound, random_words(program, 10, seed=3), seed=4)


def test_words_of_different_functions_share_a_slot():
    program = mixed_program(18)
    core = PipelineComponent(program=program, bound=bound_of(program, "xcvu9p", 2))
    assert len(core.payload) == sum(program.slots) == 18 + 18 + 22 + 22
    assert (len(core.functions), len(core.options)) == (3, 3)
    assert [word.slot for word in program.inputs] == [0, 1, 2, 2, 3]


def test_reciprocal_units_stand_in_their_regions():
    program = mixed_program(18)
    text = rtlil.convert(PipelineComponent(program=program, bound=bound_of(program, "xcvu9p", 1)))
    assert text.count("module \\top.inverse_0.reciprocal_") >= 3
