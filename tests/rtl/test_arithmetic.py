"""Operations as expressions, compared with Python's integers."""

import random

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Const, Module, Signal, signed
from amaranth.sim import Simulator

from rbdhw.fixed.format import Format, round_half_up
from rbdhw.fixed.program import Kind, Operand, Operation
from rbdhw.fixed.recoding import shift_add
from rbdhw.rtl.arithmetic import (
    add_or_subtract,
    align,
    choose,
    combine,
    cut,
    half,
    negate,
    scale,
    total,
)
from tests.support.graphs import REGION
from tests.support.marks import long


def shown(widths, expressions):
    """Return a module that computes expressions of signed signals, the signals, and the results."""
    signals = [Signal(signed(width), name=f"x{i}") for i, width in enumerate(widths)]
    results = [Signal.like(value, name=f"y{i}") for i, value in enumerate(expressions(signals))]
    m = Module()
    m.d.comb += [result.eq(value) for result, value in zip(results, expressions(signals), strict=True)]
    return m, signals, results


def values(widths, expressions, draws):
    """Return the values of expressions of signed signals, for each draw of the signals."""
    m, signals, results = shown(widths, expressions)
    rows = []

    async def testbench(ctx):
        for draw in draws:
            for signal, value in zip(signals, draw, strict=True):
                ctx.set(signal, value)
            await ctx.delay(1e-9)
            rows.append([ctx.get(result) for result in results])

    simulator = Simulator(m)
    simulator.add_testbench(testbench)
    simulator.run()
    return rows


def draws(widths, seed):
    rng = random.Random(seed)
    corners = [(-(2 ** (w - 1)), 2 ** (w - 1) - 1, 0, -1) for w in widths]
    numbers = [[rng.randrange(-(2 ** (w - 1)), 2 ** (w - 1)) for w in widths] for _ in range(40)]
    return numbers + [[c[k] for c in corners] for k in range(4)]


@pytest.mark.parametrize("shift", [-9, -6, -5, -1, 0, 1, 4])
def test_an_operand_moves_like_an_integer(shift):
    inputs = draws((6,), 0)
    aligned = values((6,), lambda x: [align(x[0], Operand(0, True, shift))], inputs)
    assert aligned == [[x << shift if shift >= 0 else x >> -shift] for (x,) in inputs]


@pytest.mark.parametrize("seed", range(24))
def test_sums_round_and_wrap_and_say_so(seed):
    rng = random.Random(seed)
    widths = (rng.randint(2, 9), rng.randint(2, 9))
    operands = tuple(Operand(i, rng.random() < 0.5, rng.randint(-3, 3)) for i in range(rng.randint(1, 2)))
    operation = Operation(
        Kind.ADD, operands, Format(rng.randint(2, 8), 0), REGION, drop=rng.randint(0, 4), checked=True
    )
    inputs = draws(widths, seed)

    def expressions(signals):
        taken = signals[: len(operands)]
        rounded = total(operands, taken, operation.drop, paired=seed % 2 == 1)
        return [total(operands, taken), *cut(rounded, operation)]

    width = operation.format.width
    for row, draw in zip(values(widths, expressions, inputs), inputs, strict=True):
        moved = [
            x << o.shift if o.shift >= 0 else x >> -o.shift for x, o in zip(draw, operands, strict=False)
        ]
        exact = sum(-x if o.negative else x for x, o in zip(moved, operands, strict=True))
        rounded = round_half_up(exact, operation.drop)
        wrapped = (rounded + 2 ** (width - 1)) % 2**width - 2 ** (width - 1)
        assert row == [exact, wrapped, int(wrapped != rounded)]


@pytest.mark.parametrize(("drop", "expected"), [(0, 0), (1, 1), (5, 16)])
def test_half_of_what_is_cut(drop, expected):
    assert half(drop) == expected


def test_what_is_not_checked_never_flags():
    operation = Operation(Kind.ADD, (Operand(0),), Format(3, 0), REGION)
    results = values((6,), lambda x: list(cut(x[0], operation)), [[31], [-5]])
    assert results == [[-1, 0], [3, 0]]


def test_constants_are_operands_too():
    operands = (Operand(0, True, 2), Operand(1, True, -1))
    sums = values((5,), lambda x: [total(operands, [x[0], Const(-3, signed(3))])], [[7], [-16]])
    assert sums == [[-28 + 2], [64 + 2]]


@pytest.mark.parametrize(
    ("negative", "shift"), [(False, 2), (False, 1), (False, -1), (True, 3), (True, 0), (True, -2)]
)
@pytest.mark.parametrize("paired", [False, True])
def test_the_half_needs_no_adder(negative, shift, paired):
    operands = (Operand(0), Operand(1, negative, shift))
    module, signals, results = shown((5, 5), lambda x: [total(operands, x, 2, paired=paired)])
    text = rtlil.convert(module, ports=[*signals, *results])
    assert text.count("cell $add") + text.count("cell $sub") == 1
    inputs = draws((5, 5), 1)
    sums = values((5, 5), lambda x: [total(operands, x, 2, paired=paired)], inputs)
    moved = [y << shift if shift >= 0 else y >> -shift for _, y in inputs]
    assert sums == [[x + (-y if negative else y) + 2] for (x, _), y in zip(inputs, moved, strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_choices_take_one_value_and_round_it(seed):
    rng = random.Random(seed)
    operands = (Operand(0), *(Operand(i, rng.random() < 0.5, rng.randint(-2, 2)) for i in (1, 2)))
    drop = rng.randint(0, 3)
    inputs = [[flag, x, y] for flag in (0, 1) for x, y in draws((6, 7), seed)]
    chosen = values((2, 6, 7), lambda x: [choose(operands, x, drop)], inputs)
    for (result,), draw in zip(chosen, inputs, strict=True):
        operand = operands[1 if draw[0] else 2]
        moved = draw[operand.value] << 2 + operand.shift >> 2
        assert result == (-moved if operand.negative else moved) + half(drop)


@pytest.mark.parametrize("seed", range(4))
def test_choices_cut_low_bits_before_a_sign_that_is_a_bit(seed):
    """Twins may differ in the sign of a choice's values: it applies to what is left after the shift."""
    rng = random.Random(seed)
    operands = (Operand(0), *(Operand(i, shift=rng.randint(-3, 1)) for i in (1, 2)))
    choice = Operation(Kind.SELECT, operands, Format(10, 0), REGION, drop=rng.randint(0, 2))
    inputs = [[flag, x, y, sign] for flag in (0, -1) for sign in (0, -1) for x, y in draws((6, 7), seed)]

    def chosen(x):
        return [
            combine(
                choice, [(operands[0], x[0], None), *zip(operands[1:], x[1:3], (x[3][0],) * 2, strict=True)]
            )
        ]

    for (result,), (flag, *numbers, sign) in zip(values((1, 6, 7, 1), chosen, inputs), inputs, strict=True):
        number, operand = (numbers[0], operands[1]) if flag else (numbers[1], operands[2])
        moved = number << 3 + operand.shift >> 3
        assert result == (-moved if sign else moved) + half(choice.drop)


@pytest.mark.parametrize("drop", [0, long(1), 3])
@pytest.mark.parametrize("signs", [long((0, 0)), (1, 0), (0, 1)])
@pytest.mark.parametrize("known", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("shifts", [(0, 0), long((2, 0)), (3, 0), (-2, 4)])
@pytest.mark.parametrize("paired", [False, True])
def test_a_sum_whose_signs_are_bits_is_that_with_these_signs(paired, shifts, known, signs, drop):
    operands = tuple(
        Operand(k, bool(sign) and fixed, shift)
        for k, (shift, sign, fixed) in enumerate(zip(shifts, signs, known, strict=True))
    )
    plain = tuple(
        Operand(k, bool(sign), shift) for k, (shift, sign) in enumerate(zip(shifts, signs, strict=True))
    )
    bits = [None if fixed else Const(sign, 1) for sign, fixed in zip(signs, known, strict=True)]
    widths = (6, 9)

    def both(x):
        return [add_or_subtract(operands, x, bits, drop, paired=paired), total(plain, x, drop)]

    for result, expected in values(widths, both, draws(widths, 3)):
        assert result >> drop == expected >> drop


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("drop", [0, 1, 3])
def test_one_operand_may_be_negated_by_a_bit(drop, sign):
    def alone(x):
        return [add_or_subtract((Operand(0),), x, [Const(sign, 1)], drop), negate(x[0], Const(sign, 1))]

    for (x,), row in zip(draws((7,), 4), values((7,), alone, draws((7,), 4)), strict=True):
        negated = -x if sign else x
        assert row == [negated + half(drop), negated]


CONSTANTS = (1, 2, 3, 5, 11, 85, 109, 0x798B, 2**17 - 1)


def product(constant, drop):
    """Return a module that multiplies by a constant, its factor, and its result."""
    m, factor = Module(), Signal(signed(7), name="factor")
    full = scale(m, "v", factor, constant, drop)
    result = Signal.like(full, name="result")
    m.d.comb += result.eq(full)
    return m, factor, result


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize("drop", [0, 1, 4, 12, 20])
def test_products_by_constants_are_exact_and_hold_the_half(constant, drop):
    m, factor, result = product(constant, drop)
    products = []

    async def testbench(ctx):
        for value in range(-64, 64):
            ctx.set(factor, value)
            await ctx.delay(1e-9)
            products.append(ctx.get(result))

    simulator = Simulator(m)
    simulator.add_testbench(testbench)
    simulator.run()
    assert products == [value * constant + half(drop) for value in range(-64, 64)]


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize("drop", [0, 1, 4, 12])
def test_products_by_constants_take_the_adders_that_are_counted(constant, drop):
    m, factor, result = product(constant, drop)
    text = rtlil.convert(m, ports=[factor, result])
    assert text.count("cell $add ") + text.count("cell $sub ") == shift_add(7, constant, drop).adders
    assert "$mul" not in text
    assert "$neg" not in text
