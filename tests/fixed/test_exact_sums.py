"""Sums that keep their bits: what reads them computes with exact sums, and rounds instead."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.exact_sums import exact_width, keep_sums
from rbdhw.fixed.format import Format, align
from rbdhw.fixed.program import Kind, Operand, Operation, Word, room_for_half
from rbdhw.scalar import Region
from tests.support.builds import program_of

REGION = Region("step")
PORTS = (27, 18)
UNITS = program_of("toy", 18)
"""A program with the units that every program has."""


def sum_of(*operands, width=18, drop=2, checked=False):
    return Operation(Kind.ADD, operands, Format(width, 0), REGION, 0, drop, checked)


def product_of(*values, width=40, drop=0):
    return Operation(Kind.MULTIPLY, tuple(map(Operand, values)), Format(width, 0), REGION, 0, drop)


def program(*operations, widths=(18, 18, 18), results=None):
    """Return a program of three inputs and further operations; the last one is its result."""
    inputs = [Operation(Kind.INPUT, (), Format(w, 0), REGION, name="abc"[k]) for k, w in enumerate(widths)]
    every = (*inputs, *operations)
    words = tuple(Word("abc"[k], "1", k, inputs[k].format, slot=k) for k in range(3))
    results = [len(every) - 1] if results is None else results
    outputs = [Word(f"id.tau[{k}]", "1", value, every[value].format) for k, value in enumerate(results)]
    return replace(UNITS, operations=every, inputs=words, flags=(), outputs={"id": tuple(outputs)})


A, B, C, TOTAL, READER = range(5)


@st.composite
def operands(draw, *values):
    negative = draw(st.tuples(st.booleans(), st.booleans()))
    return tuple(Operand(v, negative[k], draw(st.integers(-3, 4))) for k, v in enumerate(values))


@given(st.data(), st.integers(1, 5), st.integers(0, 4), st.integers(0, 1 << 30))
def test_a_sum_of_an_exact_sum_rounds_once(data, drop, later, seed):
    first, second = data.draw(operands(A, B)), data.draw(operands(TOTAL, C))
    before = program(sum_of(*first, width=40, drop=drop), sum_of(*second, width=50, drop=later))
    after = keep_sums(before, (60, 18))
    total, reader = after.operations[TOTAL:]
    if room_for_half(first, drop):
        assert after == before
        return
    assert total.drop == 0
    assert total.format == Format(exact_width(before.operations, total), drop)
    words = {
        name: np.random.default_rng(seed + k).integers(-(2**17), 2**17, 20) for k, name in enumerate("abc")
    }
    results = evaluate(after, words).words["id.tau[0]"].tolist()
    cut = second[0].shift < 0
    for a, b, c, result in zip(*(words[name].tolist() for name in "abc"), results, strict=True):
        exact = sum(align(v, o.shift) * (-1) ** o.negative for v, o in zip((a, b), first, strict=True))
        # In units of the exact sum; what its reader cuts is cut, and the rest is rounded once.
        scale = max(drop - second[0].shift, 0)
        read = align(exact, second[0].shift - drop + (0 if cut else scale)) * (-1) ** second[0].negative
        other = align(c, second[1].shift + (0 if cut else scale)) * (-1) ** second[1].negative
        cuts = later if cut else later + scale
        assert reader.drop == cuts
        assert result == (read + other + (1 << cuts >> 1)) >> cuts


@pytest.mark.parametrize("negative", [(False, False), (True, False), (False, True), (True, True)])
def test_an_exact_sum_holds_the_lowest_and_the_highest_numbers(negative):
    total = sum_of(*(Operand(v, negative[v]) for v in (A, B)))
    after = keep_sums(program(total, product_of(TOTAL, C)), PORTS)
    held = after.operations[TOTAL].format
    ends = [[-n if minus else n for n in (-(2**17), 2**17 - 1)] for minus in negative]
    sums = [a + b for a, b in product(*ends)]
    assert held.lowest <= min(sums)
    assert max(sums) <= held.highest


def test_a_product_reads_an_exact_sum_that_fits_its_port():
    total = sum_of(Operand(A), Operand(B, shift=1))
    before = program(total, product_of(TOTAL, C, drop=5))
    after = keep_sums(before, PORTS)
    assert after.operations[TOTAL].format == Format(20, 2)
    assert after.operations[READER].drop == 7
    assert keep_sums(before, (19, 18)) == before


@pytest.mark.parametrize(
    ("operations", "widths", "results"),
    [
        ((sum_of(Operand(A), Operand(B, shift=2)), product_of(TOTAL, C)), (18, 18, 18), None),
        ((sum_of(Operand(A), Operand(B), drop=0), product_of(TOTAL, C)), (18, 18, 18), None),
        ((sum_of(Operand(A), drop=2), product_of(TOTAL, C)), (18, 18, 18), None),
        ((sum_of(Operand(A), Operand(B)), product_of(TOTAL, C)), (18, 18, 19), None),
        ((sum_of(Operand(A), Operand(B)), product_of(TOTAL, TOTAL)), (18, 18, 18), None),
        ((sum_of(Operand(A), Operand(B)), product_of(TOTAL, C)), (18, 18, 18), [TOTAL, READER]),
    ],
    ids=["room", "exact", "one number", "wide factor", "square", "result"],
)
def test_other_sums_stay_as_they_are(operations, widths, results):
    before = program(*operations, widths=widths, results=results)
    assert keep_sums(before, PORTS) == before


def test_readers_are_checked_where_the_sum_was():
    total = sum_of(Operand(A), Operand(B), width=12, checked=True)
    after = keep_sums(program(total, product_of(TOTAL, C), product_of(TOTAL, A)), PORTS)
    assert [operation.checked for operation in after.operations[TOTAL:]] == [False, True, True]
