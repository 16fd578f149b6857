"""A sum in the block of its product has every bit of the two operations apart."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed.block_sum import BlockSum, block_sums, widen_products
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Format, align, wrap
from rbdhw.fixed.program import Kind, Operand, Operation, Word
from rbdhw.scalar import Region
from tests.support.builds import program_of

REGION = Region("step")
A, B, C, PRODUCT, TOTAL = range(5)
UNITS = program_of("toy", 18)
"""A program with the units that every program has."""


@st.composite
def programs(draw):
    """A product of two inputs, or of one and a constant, and a sum of it and a third."""
    widths = [draw(st.integers(2, 20)) for _ in range(3)]
    inputs = [Operation(Kind.INPUT, (), Format(w, 0), REGION, name="abc"[k]) for k, w in enumerate(widths)]
    scales = draw(st.booleans())
    constant = draw(st.integers(1, 1 << 12)) if scales else 0
    full = widths[A] + (constant.bit_length() + 1 if scales else widths[B])
    drop = draw(st.integers(0, full - 1))
    factors = (Operand(A),) if scales else (Operand(A), Operand(B))
    kind, narrow = Kind.SCALE if scales else Kind.MULTIPLY, draw(st.integers(2, 30))
    made = Operation(kind, factors, Format(narrow, 0), REGION, constant, drop, checked=True)
    read = Operand(PRODUCT, draw(st.booleans()), draw(st.integers(-6, 0)))
    other = Operand(C, draw(st.booleans()), draw(st.integers(-8, 12)))
    operands = (read, other) if draw(st.booleans()) else (other, read)
    total = Operation(
        Kind.ADD,
        operands,
        Format(draw(st.integers(2, 45)), 0),
        REGION,
        0,
        draw(st.integers(0, 6)),
        checked=True,
    )
    words = tuple(Word("abc"[k], "1", k, inputs[k].format, slot=k) for k in range(3))
    outputs = {"id": (Word("id.tau[0]", "1", TOTAL, total.format),)}
    return replace(UNITS, operations=(*inputs, made, total), inputs=words, flags=(), outputs=outputs)


@given(programs(), st.integers(0, 1 << 30))
def test_every_bit_is_that_of_the_two_operations(program, seed):
    ((product, block),) = block_sums(program)[TOTAL]
    assert product == PRODUCT
    wide = widen_products(program, [(PRODUCT, TOTAL)])
    rng = np.random.default_rng(seed)
    words = {
        word.name: rng.integers(word.format.lowest, word.format.highest + 1, 20) for word in program.inputs
    }
    result, values = evaluate(wide, words), zip(*(words[name].tolist() for name in "abc"), strict=True)
    for k, (a, b, c) in enumerate(values):
        exact = a * (program.operations[PRODUCT].constant or b)
        addend = align(c, block.addend.shift) << block.place
        total = -exact if block.subtracts else exact
        total += (-addend if block.addend.negative else addend) + block.constant
        fitted = wrap(np.int64(total >> block.drop), program.operations[TOTAL].format.width)
        assert result.words["id.tau[0]"][k] == fitted
        assert result.overflow[k] == (fitted != total >> block.drop)


def test_a_sum_is_checked_where_its_product_was():
    program = program_of("iiwa14", 18)
    sums = block_sums(program)
    pairs = [(product, total) for total, ((product, _), *_) in sums.items()]
    assert len(pairs) > 10
    wide = widen_products(program, pairs)
    assert any(program.operations[product].checked for product, _ in pairs)
    for product, total in pairs:
        before, after = program.operations[product], wide.operations[product]
        assert not after.checked
        assert after.format.width >= before.format.width
        assert after.format.binary_point == before.format.binary_point
        assert wide.operations[total].checked == (program.operations[total].checked or before.checked)


def test_a_product_that_is_read_twice_stays_apart():
    program = program_of("toy", 18)
    readers = [operand.value for operation in program.operations for operand in operation.operands]
    results = {word.value for words in program.outputs.values() for word in words}
    for found in block_sums(program).values():
        for product, _ in found:
            assert readers.count(product) == 1
            assert product not in results


def test_a_product_that_is_shifted_to_the_left_stays_apart():
    program = program_of("toy", 18)
    total, ((product, _), *_) = next(iter(block_sums(program).items()))
    operation = program.operations[total]
    operands = tuple(replace(o, shift=1) if o.value == product else o for o in operation.operands)
    operations = list(program.operations)
    operations[total] = replace(operation, operands=operands)
    assert BlockSum.of(replace(program, operations=tuple(operations)), product, total) is None
