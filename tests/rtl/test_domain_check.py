"""The domain check of input words, compared with the bit-exact evaluator."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed.evaluate import outside_domain
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.domain_check import CHECKED, DomainCheck, checks
from tests.support.edge import DFD, DIFD, FUNCTIONS, ID, words
from tests.support.simulation import Simulation


@st.composite
def bounded_words(draw: st.DrawFn) -> tuple[Word, ...]:
    """Draw up to five words; bounds may be beyond the range of a word."""
    count = draw(st.integers(1, 5))
    bounds = st.tuples(st.integers(-300, 300), st.integers(-300, 300)).map(sorted).map(tuple)
    limits = draw(st.lists(st.none() | bounds, min_size=count, max_size=count))
    widths = draw(st.lists(st.integers(2, 10), min_size=count, max_size=count))
    return words(*widths, bounds={i: limit for i, limit in enumerate(limits) if limit})


def flags(functions: tuple[FunctionWords, ...], tasks: list[tuple[int, int]], extended: int = 0) -> list[int]:
    """Return the component's output for tasks (function index, packed words), one a cycle."""
    dut = DomainCheck(interface=Interface(functions, 32))
    flagged: list[int] = []

    async def bench(ctx: Any) -> None:
        for k in range(len(tasks) + CHECKED):
            index, packed = tasks[min(k, len(tasks) - 1)]
            ctx.set(dut.select, 1 << index)
            ctx.set(dut.extended, extended)
            ctx.set(dut.words, packed)
            flagged.append(ctx.get(dut.outside))
            await ctx.tick()

    Simulation(dut).run(bench)
    return flagged[CHECKED:]


def unpack(inputs: tuple[Word, ...], packed: list[int]) -> dict[str, np.ndarray]:
    """Return the words' integers from packed tasks."""
    values = {}
    first = 0
    for word in inputs:
        bits = np.array([(value >> first) & ((1 << word.format.width) - 1) for value in packed])
        values[word.name] = np.where(bits > word.format.highest, bits - (1 << word.format.width), bits)
        first += word.format.width
    return values


@given(bounded_words(), st.randoms(use_true_random=False))
def test_agrees_with_the_evaluator(inputs: tuple[Word, ...], rng: Any) -> None:
    function = FunctionWords("id", inputs, ())
    packed = [rng.getrandbits(sum(word.format.width for word in inputs)) for _ in range(40)]
    expected = np.broadcast_to(outside_domain(inputs, unpack(inputs, packed)), len(packed))
    assert flags((function,), [(0, value) for value in packed]) == expected.astype(int).tolist()


def test_each_task_is_held_against_its_own_function() -> None:
    beyond = 0xFFFF8 << 35
    tasks = [(0, beyond), (2, beyond), (0, 901), (2, 901), (2, 0)]
    assert flags(FUNCTIONS, tasks) == [0, 1, 1, 1, 0]


def test_words_in_one_slot_have_bounds_of_their_own_and_fill_it() -> None:
    values = [-16, -3, -2, 3, 4, 9, 10, 11]
    tasks = [(index, (value & 31) << 30) for index in (0, 1) for value in values]
    inside = [-16 <= v <= 9 for v in values] + [-2 <= v <= 3 for v in values]
    assert flags(FUNCTIONS, tasks) == [not x for x in inside]


@pytest.mark.parametrize("extended", [0, 1])
def test_optional_words_count_only_if_they_came(extended: int) -> None:
    tasks = [(index, value << 55) for index in (0, 1, 2) for value in (5, 6, (1 << 50) - 6)]
    assert flags(FUNCTIONS, tasks, extended) == [0] * 7 + [extended] * 2


def test_only_bounds_that_a_field_can_exceed_are_compared() -> None:
    inputs = (
        Word("a", "", 0, Format(4, 0), -8, 7, 0),
        Word("b", "", 1, Format(4, 0), -8, 6, 1),
        Word("c", "", 2, Format(4, 0), slot=2),
        Word("d", "", 3, Format(5, 0), -15, 99, 3),
    )
    interface = Interface((FunctionWords("id", inputs, ()),), 32)
    assert checks(interface, inputs) == [(4, 4, -8, 6), (12, 5, -15, 99)]
    wider = Interface((FunctionWords("id", inputs, ()), FunctionWords("fd", words(6), ())), 32)
    assert checks(wider, inputs[:2]) == [(0, 6, -8, 7), (6, 4, -8, 6)]


def test_numbers_that_are_converted_stand_in_fields_of_their_own() -> None:
    interface = Interface((ID, DFD, DIFD), 32, "float32")
    assert interface.fields == (50,) * 5
    assert checks(interface, DFD.inputs) == [(0, 50, -1000, 900), (100, 50, -2, 3)]
