"""Intervals of operations, compared with brute force."""

import itertools
import math
import random
from dataclasses import replace

import pytest

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Kind, Operand, Operation, exact_interval, integer_bits
from tests.support.graphs import REGION
from tests.support.mixed import mixed_program


def operation(kind, operands, constant=0, drop=0):
    return Operation(kind, tuple(operands), Format(12, 0), REGION, constant, drop)


def result(op, values):
    """Return one result as the documentation of :class:`Operation` defines it."""
    moved = [math.floor(values[o.value] * 2.0**o.shift) * (-1 if o.negative else 1) for o in op.operands]
    total = {Kind.ADD: sum, Kind.MULTIPLY: math.prod, Kind.SCALE: lambda x: x[0] * op.constant}[op.kind](
        moved
    )
    return math.floor(total / 2**op.drop + 0.5)


def random_operation(rng):
    kind = rng.choice((Kind.ADD, Kind.MULTIPLY, Kind.SCALE))
    free = kind is Kind.ADD
    operands = [
        Operand(i, free and rng.random() < 0.5, rng.randint(-2, 2) if free else 0)
        for i in range(1 if kind is Kind.SCALE else 2)
    ]
    if free and rng.random() < 0.2:
        operands.pop()
    return operation(kind, operands, rng.randint(-9, 9), rng.randint(0, 3))


@pytest.mark.parametrize("seed", range(40))
def test_bounds_are_reached_and_never_left(seed):
    rng = random.Random(seed)
    op = random_operation(rng)
    intervals = [tuple(sorted((rng.randint(-12, 12), rng.randint(-12, 12)))) for _ in range(2)]
    ranges = [range(low, high + 1) for low, high in intervals]
    results = [result(op, values) for values in itertools.product(*ranges)]
    assert exact_interval(op, intervals) == (min(results), max(results))


def test_a_square_stays_within_its_bounds():
    low, high = exact_interval(operation(Kind.MULTIPLY, (Operand(0), Operand(0))), [(-5, 3)])
    assert (low, high) == (-15, 25)
    assert all(low <= x * x <= high for x in range(-5, 4))


def test_a_choice_may_be_either_value():
    operands = (Operand(0), Operand(1, True, 1), Operand(2))
    intervals = [(-2, 1), (-3, 5), (0, 7)]
    assert exact_interval(operation(Kind.SELECT, operands, drop=1), intervals) == (-5, 4)


def test_a_reciprocal_may_always_be_too_large():
    low, high = exact_interval(operation(Kind.RECIPROCAL, (Operand(0),)), [(1, 9)])
    assert high > Format(12, 0).highest
    assert low >= Format(12, 0).lowest


@pytest.mark.parametrize(
    ("function", "reached"),
    [
        ("id", {"q[0]", "q[1]", "a[0]", "acceleration_given"}),
        ("fd", {"q[0]", "q[1]", "tau[0]", "acceleration_given", "inverse_given"}),
        ("difd", {"q[0]", "q[1]", "a[0]", "Minv[0,0]", "acceleration_given", "inverse_given"}),
    ],
)
def test_a_function_reaches_what_its_flags_let_it(function, reached):
    """A choice by an option needs both values; a choice by the function needs only the chosen one."""
    program = mixed_program(18)
    names = {program.operations[i].name for i in program.operations_of(function)}
    assert names - {""} == reached


@pytest.mark.parametrize("functions", [("id",), ("fd",), ("id", "fd", "difd")])
def test_values_die_after_their_last_use(functions):
    program = mixed_program(18)
    results = {word.value for function in functions for word in program.outputs[function]}
    alive = set()
    for i, dying in program.order(functions):
        taken = [operand.value for operand in program.operations[i].operands]
        assert alive.issuperset(taken) or program.operations[i].kind is Kind.SELECT
        alive.add(i)
        assert alive.issuperset(dying)
        alive.difference_update(dying)
    assert alive == results


@pytest.mark.parametrize("kind", [Kind.INPUT, Kind.CONSTANT, Kind.SIN, Kind.COS])
def test_other_operations_fill_their_format(kind):
    operands = (Operand(0),) if kind in (Kind.SIN, Kind.COS) else ()
    assert exact_interval(operation(kind, operands), [(-1, 1)]) == (-2048, 2047)


@pytest.mark.parametrize(
    ("widths", "constant", "wide"),
    [
        ((20, 18), None, None),
        ((18, 20), None, None),
        ((19, 19), None, (19, 19)),
        ((21, 3), None, (21, 3)),
        ((18,), 2**19 - 1, None),
        ((19,), 2**18 - 1, (19, 19)),
        ((4,), 2**20 - 1, (21, 4)),
    ],
)
def test_a_product_is_wide_where_its_operands_fit_the_ports_neither_way(widths, constant, wide):
    """The ports are 20 and 18 bits wide."""
    inputs = [Operation(Kind.INPUT, (), Format(width, 0), REGION, name=f"x{width}") for width in widths]
    operands = tuple(Operand(i) for i in range(len(widths)))
    kind = Kind.MULTIPLY if constant is None else Kind.SCALE
    product = Operation(kind, operands, Format(30, -30), REGION, constant or 0, 30)
    program = replace(mixed_program(18), operations=(*inputs, product), port_widths=(20, 18))
    assert program.wide == ({} if wide is None else {len(inputs): wide})
    if wide:
        assert program.wide_port_widths == wide


@pytest.mark.parametrize(
    ("kind", "operands", "drop", "bits"),
    [
        (Kind.ADD, (Operand(0, shift=50), Operand(1)), 0, 63),
        (Kind.ADD, (Operand(0), Operand(1)), 70, 71),  # half a step is added
        (Kind.MULTIPLY, (Operand(0), Operand(1)), 0, 24),
        (Kind.SELECT, (Operand(0), Operand(0, shift=60), Operand(1)), 2, 72),
        (Kind.DOT, (Operand(0, shift=10), Operand(1)), 0, 34),
    ],
)
def test_the_bits_of_the_integers_of_an_operation(kind, operands, drop, bits):
    program = mixed_program(3)
    word = Operation(Kind.INPUT, (), Format(12, 0), REGION)
    program = replace(program, operations=(word, word))
    assert integer_bits(program, operation(kind, operands, drop=drop)) == bits
