"""The bit-exact evaluator: what the hardware answers, for many tasks at once, in NumPy integers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import Integers, aligned, round_half_up, wrapped
from rbdhw.fixed.program import Kind, Operand, Operation, Program, Word
from rbdhw.fixed.reciprocal import reciprocal
from rbdhw.fixed.trigonometry import sin_cos


@dataclass(frozen=True)
class Result:
    """Output words by name, and per task whether a value overflowed or an input left its domain."""

    words: dict[str, Integers]
    overflow: NDArray[np.bool_]
    outside: NDArray[np.bool_]


def evaluate(program: Program, words: Mapping[str, Integers], functions: tuple[str, ...] = ()) -> Result:
    """The output words of all functions (or of those named) for input words of shape (N,) each.

    ``words`` holds what these functions read, their flags (0 or 1) among it; the result tells of overflows of
    operations that they reach.
    """
    tasks = np.broadcast_shapes(*(np.shape(values) for values in words.values()))
    overflow = np.zeros(tasks, dtype=np.bool_)
    outputs = [word for function in functions or tuple(program.outputs) for word in program.outputs[function]]
    values: dict[int, Integers] = {}
    for i, dying in _order(program, functions or tuple(program.outputs)):
        operation = program.operations[i]
        value = full = _compute(program, operation, values, words)
        if operation.checked:
            value = wrapped(full, operation.format.width)
            overflow |= value != full
        values[i] = value
        for operand in dying:
            del values[operand]
    results = {word.name: np.broadcast_to(values[word.value], tasks) for word in outputs}
    known = tuple(word for word in program.inputs if word.name in words)
    return Result(results, overflow, outside_domain(known, words))


@lru_cache(maxsize=32)
def _order(program: Program, functions: tuple[str, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The operations that the functions reach, each with the values that nothing needs after it."""
    needed = sorted(frozenset().union(*(program.reached(function) for function in functions)))
    kept = {word.value for function in functions for word in program.outputs[function]}
    last: dict[int, int] = {}
    for i in needed:
        last.update(dict.fromkeys((operand.value for operand in program.operations[i].operands), i))
    dying: dict[int, list[int]] = defaultdict(list)
    for value, i in last.items():
        if value not in kept:
            dying[i].append(value)
    return tuple((i, tuple(dying[i])) for i in needed)


def outside_domain(inputs: tuple[Word, ...], words: Mapping[str, Integers]) -> NDArray[np.bool_]:
    """Per task, whether any input word lies outside its declared domain."""
    outside: NDArray[np.bool_] = np.zeros((), dtype=np.bool_)
    for word in inputs:
        if word.lowest is not None and word.highest is not None:
            value = words[word.name]
            outside = outside | (value < word.lowest) | (value > word.highest)
    return outside


def _compute(
    program: Program,
    operation: Operation,
    values: Mapping[int, Integers],
    words: Mapping[str, Integers],
) -> Integers:
    """The operation's result before it wraps."""
    operands = [_operand(operand, values) for operand in operation.operands]
    match operation.kind:
        case Kind.INPUT:
            return words[operation.name]
        case Kind.CONSTANT:
            return np.asarray(operation.constant, dtype=np.int64)
        case Kind.ADD:
            return round_half_up(sum(operands[1:], operands[0]), operation.drop)
        case Kind.MULTIPLY:
            return round_half_up(operands[0] * operands[1], operation.drop)
        case Kind.SCALE:
            return round_half_up(operands[0] * operation.constant, operation.drop)
        case Kind.SIN:
            return sin_cos(program.trigonometry, operands[0] + operation.constant)[0]
        case Kind.COS:
            return sin_cos(program.trigonometry, operands[0] + operation.constant)[1]
        case Kind.RECIPROCAL:
            assert program.reciprocal is not None
            return reciprocal(program.reciprocal, operands[0], operation.constant)
        case Kind.SELECT:
            return round_half_up(np.where(operands[0] != 0, operands[1], operands[2]), operation.drop)


def _operand(operand: Operand, values: Mapping[int, Integers]) -> Integers:
    value = aligned(values[operand.value], operand.shift) if operand.shift else values[operand.value]
    return -value if operand.negative else value
