"""The array core answers tasks of mixed functions as the evaluator does, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rbdhw.cores.array.component import ArrayComponent
from rbdhw.cores.array.model import Constant
from rbdhw.fixed.fusion import fuse
from tests.support.array_programs import array_of, crowded, mixed
from tests.support.branching_programs import branching_program, program_of_graph
from tests.support.builds import program_of, random_words
from tests.support.graphs import graphs
from tests.support.marks import long
from tests.support.mixed import mixed_words
from tests.support.rtl_cores import expected, requests, responses


def assert_bit_exact(program, ii, words, seed, *, skip=2, memory_stages=4, block_rams=4):
    asked = requests(program, len(next(iter(words.values()))), seed)
    array = replace(array_of(program, ii), block_rams=block_rams)
    core = ArrayComponent(program=program, array=array, memory_stages=memory_stages)
    answers, wanted = responses(core, words, skip, asked), expected(program, words, asked)
    assert answers == wanted
    return [(request.function, flag) for request, (_, flag) in zip(asked, wanted, strict=True)]


@pytest.mark.parametrize(
    ("ii", "width"),
    [
        pytest.param(ii, width, marks=() if ii == quick else pytest.mark.verify)
        for width, quick in ((8, 11), (12, None), (18, 8), (27, None), (32, None))
        for ii in (8, 11, 16)
    ],
)
def test_functions_mixed(ii, width):
    program = mixed(width)
    answered = assert_bit_exact(program, ii, mixed_words(program, 16, seed=width), seed=ii)
    assert {flag for _, flag in answered} == {0, 1}


@pytest.mark.parametrize("skip", [0, long(1)])
def test_corner_words_of_every_input(skip):
    program = mixed(18)
    corners = [
        (word.format.lowest, word.format.highest, word.lowest, word.highest, 0, -1) for word in program.inputs
    ]
    rng = np.random.default_rng(skip)
    words = {word.name: rng.choice(corner, 16) for word, corner in zip(program.inputs, corners, strict=True)}
    assert_bit_exact(program, 9, words, seed=1, skip=skip)


def test_a_choice_that_one_function_decides_is_not_blamed_for_its_other_branch():
    program = fuse(branching_program(), 4)
    words = {"x": np.array([1, 100, 127, -128] * 4), "y": np.array([1, 2, 3, 4] * 4)}
    answered = assert_bit_exact(program, 8, words, seed=5)
    assert {flag for function, flag in answered if function == "id"} == {0}
    assert {flag for function, flag in answered if function == "fd"} == {0, 1}


@pytest.mark.parametrize(
    ("name", "ii", "width"), [("toy", 8, 27), long("toy", 8, 18), long("toy", 12, 32), long("iiwa14", 24, 27)]
)
def test_robots_with_words_from_everywhere(name, ii, width):
    program = fuse(program_of(name, width), 8)
    assert_bit_exact(program, ii, random_words(program, 12, seed=1), seed=2)


def width_of(bits, factor):
    """Return the bits of a factor; negative values are complements of flags."""
    if isinstance(factor, Constant):
        return factor.integer.bit_length() + 1
    return bits[factor] if factor >= 0 else 2


@pytest.mark.parametrize("ii", [8, long(16)])
def test_one_block_multiplies_operands_of_27_bits(ii):
    """A product has a factor of at most 18 bits, which is the one that the second memory holds."""
    program = fuse(program_of("toy", 27), 8)
    array = array_of(program, ii)
    bits = {i: operation.format.width for i, operation in enumerate(program.operations)}
    for step in array.steps:
        for value in set(step.job.values) - bits.keys():  # a copy
            (term,) = step.job.terms
            bits[value] = bits[term.values[0]]
    factors = [term.factors for step in array.steps for term in step.job.terms]
    widths = [[width_of(bits, factor) for factor in pair] for pair in factors]
    assert max(second for _, second in widths) <= 18 < max(first for first, _ in widths)


def test_angles_from_many_units():
    program = crowded(angles=12, words=24)
    assert_bit_exact(program, 12, random_words(program, 4, seed=1), seed=2)


@given(graphs(trigonometry=True, choices=True), st.integers(8, 20), st.sampled_from((8, 13, 18)))
@settings(max_examples=5)
def test_random_graphs_with_choices_and_reciprocals(graph, ii, width):
    program = program_of_graph(graph, width)
    assume(program.inputs)
    program = fuse(program, 8)
    assert_bit_exact(program, ii, random_words(program, 8, seed=3), seed=4)
