"""Intervals of operations, by brute force."""

import itertools
import math
import random

import pytest

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Kind, Operand, Operation, exact_interval
from tests.graphs import REGION


def operation(kind, operands, constant=0, drop=0):
    return Operation(kind, tuple(operands), Format(12, 0), REGION, constant, drop)


def result(op, values):
    """One result, as the documentation of an operation says."""
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


@pytest.mark.parametrize("kind", [Kind.INPUT, Kind.CONSTANT, Kind.SIN, Kind.COS])
def test_other_operations_fill_their_format(kind):
    operands = (Operand(0),) if kind in (Kind.SIN, Kind.COS) else ()
    assert exact_interval(operation(kind, operands), [(-1, 1)]) == (-2048, 2047)
