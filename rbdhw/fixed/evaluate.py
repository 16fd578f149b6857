"""The bit-exact evaluator: what the hardware answers, for many tasks at once, in NumPy integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import Integers, aligned, round_half_up, wrapped
from rbdhw.fixed.program import Kind, Operation, Program, Word
from rbdhw.fixed.trigonometry import TrigonometrySpec, sin_cos


@dataclass(frozen=True)
class Result:
    """Output words by name, and per task whether a value overflowed or an input left its domain."""

    words: dict[str, Integers]
    overflow: NDArray[np.bool_]
    outside: NDArray[np.bool_]


def evaluate(program: Program, words: Mapping[str, Integers], functions: tuple[str, ...] = ()) -> Result:
    """The output words of all functions (or of those named) for input words of shape (N,) each."""
    tasks = np.broadcast_shapes(*(np.shape(words[word.name]) for word in program.inputs))
    overflow = np.zeros(tasks, dtype=np.bool_)
    values: list[Integers] = []
    for operation in program.operations:
        full = _compute(program.trigonometry, operation, values, words)
        value = wrapped(full, operation.format.width)
        if operation.checked:
            overflow |= value != full
        values.append(value)
    chosen = functions or tuple(program.outputs)
    results = {
        word.name: np.broadcast_to(values[word.value], tasks)
        for function in chosen
        for word in program.outputs[function]
    }
    return Result(results, overflow, outside_domain(program.inputs, words))


def outside_domain(inputs: tuple[Word, ...], words: Mapping[str, Integers]) -> NDArray[np.bool_]:
    """Per task, whether any input word lies outside its declared domain."""
    outside: NDArray[np.bool_] = np.zeros((), dtype=np.bool_)
    for word in inputs:
        if word.lowest is not None and word.highest is not None:
            value = words[word.name]
            outside = outside | (value < word.lowest) | (value > word.highest)
    return outside


def _compute(
    trigonometry: TrigonometrySpec,
    operation: Operation,
    values: list[Integers],
    words: Mapping[str, Integers],
) -> Integers:
    """The operation's result before it wraps."""
    operands = [aligned(values[operand.value], operand.shift) for operand in operation.operands]
    operands = [-x if o.negative else x for x, o in zip(operands, operation.operands, strict=True)]
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
            return sin_cos(trigonometry, operands[0] + operation.constant)[0]
        case Kind.COS:
            return sin_cos(trigonometry, operands[0] + operation.constant)[1]
