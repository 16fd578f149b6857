"""A sum in front of products keeps its bits, so that the products alone round."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.exact_sums import exact_width
from rbdhw.fixed.format import Format, align, wrap
from rbdhw.fixed.pre_sum import PreSum, keep_pre_sums, pre_sums
from rbdhw.fixed.program import Kind, Operand, Operation, Word
from rbdhw.scalar import Region
from tests.support.builds import program_of

REGION = Region("step")
A, B, C, TOTAL, PRODUCT, SCALED = range(6)
FACTOR = 11
PORTS = (27, 18)
UNITS = program_of("toy", 18)
"""A program with the units that every program has."""


def program(total, widths=(18, 18, 18), drop=0):
    """Return a sum of two inputs that a product with a third and one with a constant read."""
    inputs = [Operation(Kind.INPUT, (), Format(w, 0), REGION, name="abc"[k]) for k, w in enumerate(widths)]
    made = Operation(Kind.MULTIPLY, (Operand(TOTAL), Operand(C)), Format(24, 0), REGION, 0, drop)
    scaled = Operation(Kind.SCALE, (Operand(TOTAL),), Format(24, 0), REGION, FACTOR, drop)
    operations = (*inputs, total, made, scaled)
    words = tuple(Word("abc"[k], "1", k, inputs[k].format, slot=k) for k in range(3))
    results = [Word(f"id.tau[{k}]", "1", PRODUCT + k, made.format) for k in range(2)]
    return replace(UNITS, operations=operations, inputs=words, flags=(), outputs={"id": tuple(results)})


@st.composite
def programs(draw):
    negative = draw(st.sampled_from([(False, False), (True, False), (False, True)]))
    operands = [Operand(k, negative[k], draw(st.integers(-6, 5))) for k in (A, B)]
    narrow, checked = draw(st.integers(4, 24)), draw(st.booleans())
    total = Operation(
        Kind.ADD, tuple(operands), Format(narrow, 0), REGION, 0, draw(st.integers(0, 6)), checked
    )
    return program(total, [draw(st.integers(2, 20)) for _ in range(3)], draw(st.integers(0, 12)))


@given(programs(), st.integers(0, 1 << 30))
def test_products_of_exact_sums_round_once(before, seed):
    total = before.operations[TOTAL]
    after = keep_pre_sums(before, {TOTAL: [PRODUCT, SCALED]})
    width = exact_width(before.operations, total)
    rng = np.random.default_rng(seed)
    words = {
        word.name: rng.integers(word.format.lowest, word.format.highest + 1, 20) for word in before.inputs
    }
    result, values = evaluate(after, words), zip(*(words[name].tolist() for name in "abc"), strict=True)
    assert after.operations[TOTAL].drop == 0
    for k, (a, b, c) in enumerate(values):
        terms = (align(v, o.shift) * (-1) ** o.negative for v, o in zip((a, b), total.operands, strict=True))
        exact, wraps = sum(terms), False
        assert -(1 << width - 1) <= exact < 1 << width - 1
        for value, factor in ((PRODUCT, c), (SCALED, FACTOR)):
            operation = before.operations[value]
            drop = operation.drop + total.drop
            rounded = (exact * factor + (1 << drop >> 1)) >> drop
            # The evaluator wraps what is checked.
            fitted = wrap(np.int64(rounded), operation.format.width) if total.checked else rounded
            assert result.words[f"id.tau[{value - PRODUCT}]"][k] == fitted
            wraps |= bool(fitted != rounded)
        assert result.overflow[k] == wraps


def plain(*operands, drop=3):
    return Operation(Kind.ADD, operands, Format(18, 0), REGION, 0, drop)


def test_a_sum_has_the_subtracted_number_second():
    turned = program(plain(Operand(A, negative=True), Operand(B, shift=2)))
    assert PreSum.of(turned, TOTAL) == PreSum(Operand(B, shift=2), Operand(A, negative=True))
    straight = program(plain(Operand(A), Operand(B, negative=True)))
    assert PreSum.of(straight, TOTAL) == PreSum(Operand(A), Operand(B, negative=True))


@pytest.mark.parametrize(
    ("total", "widths"),
    [
        (plain(Operand(A, negative=True), Operand(B, negative=True)), (18, 18, 18)),
        (plain(Operand(A)), (18, 18, 18)),
        (plain(Operand(A), Operand(B, shift=9)), (18, 18, 18)),  # a sum of 28 bits
        (plain(Operand(A), Operand(B)), (18, 18, 19)),  # the other factor exceeds the second port
    ],
)
def test_sums_that_pre_adders_cannot_take(total, widths):
    assert pre_sums(program(total, widths), PORTS) == {}


def test_a_sum_that_is_read_otherwise_or_squared_stays_apart():
    taken = program(plain(Operand(A), Operand(B, shift=8)))
    assert pre_sums(taken, PORTS) == {TOTAL: [PRODUCT, SCALED]}
    for operands in ((Operand(TOTAL), Operand(TOTAL)), (Operand(TOTAL, shift=1), Operand(C))):
        operations = list(taken.operations)
        operations[PRODUCT] = replace(operations[PRODUCT], operands=operands)
        assert pre_sums(replace(taken, operations=tuple(operations)), PORTS) == {}
    more = replace(taken, operations=(*taken.operations, plain(Operand(TOTAL), Operand(C))))
    assert pre_sums(more, PORTS) == {}
    result = Word("id.tau[2]", "1", TOTAL, taken.operations[TOTAL].format)
    assert pre_sums(replace(taken, outputs={"id": (result,)}), PORTS) == {}


def test_of_a_product_of_two_sums_one_is_taken():
    both = program(plain(Operand(A), Operand(B)))
    second = plain(Operand(B), Operand(C, negative=True))
    product = replace(both.operations[PRODUCT], operands=(Operand(TOTAL), Operand(TOTAL + 1)))
    operations = (*both.operations[:PRODUCT], second, product)
    words = (Word("id.tau[0]", "1", SCALED, product.format),)
    sums = pre_sums(replace(both, operations=operations, outputs={"id": words}), PORTS)
    assert sums == {TOTAL + 1: [SCALED]}
