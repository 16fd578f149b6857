"""A second evaluator of bit-exact programs: one task, one operation at a time, in unbounded integers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from rbdhw.fixed.program import Kind, Operation, Program, Word
from rbdhw.fixed.reciprocal import reciprocal
from rbdhw.fixed.trigonometry import sin_cos


@dataclass(frozen=True)
class Task:
    """Every value of a task, and the operations whose results did not fit their formats."""

    values: list[int]
    misfits: list[int]


def run(program: Program, words: Mapping[str, int]) -> Task:
    """Evaluate the program as documented, in rational numbers."""
    values: list[int] = []
    misfits: list[int] = []
    for index, operation in enumerate(program.operations):
        full = _full(program, operation, values, words)
        values.append(_held(operation, full))
        if values[-1] != full:
            misfits.append(index)
    return Task(values, misfits)


def _held(operation: Operation, full: int) -> int:
    """Return the result as stored in its format."""
    if operation.kind is Kind.RECIPROCAL:
        return max(operation.format.lowest, min(operation.format.highest, full))
    span = 2**operation.format.width
    low = full % span
    return low - span if low >= span // 2 else low


def _full(program: Program, operation: Operation, values: list[int], words: Mapping[str, int]) -> int:
    operands = []
    for operand in operation.operands:
        moved = math.floor(values[operand.value] * Fraction(2) ** operand.shift)
        operands.append(-moved if operand.negative else moved)
    match operation.kind:
        case Kind.INPUT:
            return words[operation.name]
        case Kind.CONSTANT:
            return operation.constant
        case Kind.ADD:
            return _rounded(sum(operands), operation.drop)
        case Kind.MULTIPLY:
            return _rounded(operands[0] * operands[1], operation.drop)
        case Kind.SCALE:
            return _rounded(operands[0] * operation.constant, operation.drop)
        case Kind.SELECT:
            return _rounded(operands[1] if operands[0] == 1 else operands[2], operation.drop)
        case Kind.RECIPROCAL:
            assert program.reciprocal is not None
            return int(reciprocal(program.reciprocal, np.array(operands), operation.constant)[0])
        case _:
            phase = (operands[0] + operation.constant) % 2**program.trigonometry.phase_bits
            pair = sin_cos(program.trigonometry, np.array([phase]))
            return int(pair[operation.kind is Kind.COS][0])


def _rounded(value: int, drop: int) -> int:
    return math.floor(Fraction(value, 2**drop) + Fraction(1, 2))


def with_all_values(program: Program) -> Program:
    """Return the program with every operation's value as an output, ``value[i]``."""
    words = tuple(Word(f"value[{i}]", "", i, op.format) for i, op in enumerate(program.operations))
    return replace(program, outputs={"all": words})
