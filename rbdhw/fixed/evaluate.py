"""The bit-exact evaluator: the hardware's results for many tasks at once, in NumPy integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import Integers, align, round_half_up, wrap
from rbdhw.fixed.program import Kind, Operand, Operation, Program, Word
from rbdhw.fixed.reciprocal import reciprocal
from rbdhw.fixed.trigonometry import sin_cos


@dataclass(frozen=True)
class Result:
    """Output words by name; for each task, whether a value overflowed or an input left its domain."""

    words: dict[str, Integers]
    overflow: NDArray[np.bool_]
    outside: NDArray[np.bool_]


Watch = Callable[[int, Integers], None]
"""A function that is called with an operation that overflows in some task, and its unwrapped results."""


def evaluate(
    program: Program,
    words: Mapping[str, Integers],
    functions: tuple[str, ...] = (),
    watch: Watch | None = None,
) -> Result:
    """Return the output words of all functions (or of those named) for input words of shape (N,) each.

    ``words`` holds the inputs of these functions, including their flags (0 or 1). The result reports
    overflows of the operations that these functions need. ``watch`` is called for each operation that
    overflows in some task, in program order.
    """
    tasks = np.broadcast_shapes(*(np.shape(values) for values in words.values()))
    overflow = np.zeros(tasks, dtype=np.bool_)
    outputs = [word for function in functions or tuple(program.outputs) for word in program.outputs[function]]
    values: dict[int, Integers] = {}
    for i, dying in program.order(functions or tuple(program.outputs)):
        operation = program.operations[i]
        value = full = _compute(program, operation, values, words)
        if (operation.checked or i in program.wrapping) and not _fits(operation, full):
            value = _fit(operation, full)
            if operation.checked:
                overflow |= value != full
                if watch is not None:
                    watch(i, full)
        values[i] = value
        for operand in dying:
            del values[operand]
    results = {word.name: np.broadcast_to(values[word.value], tasks) for word in outputs}
    known = tuple(word for word in program.inputs if word.name in words)
    return Result(results, overflow, outside_domain(known, words))


def largest_values(program: Program, words: Mapping[str, Integers], function: str) -> dict[int, float]:
    """Return the largest magnitude of every operation that a function needs, as a real number.

    Values are not wrapped, so that rounding errors show where values would otherwise cancel.
    """
    values: dict[int, Integers] = {}
    largest: dict[int, float] = {}
    for i, dying in program.order((function,)):
        operation = program.operations[i]
        values[i] = _compute(program, operation, values, words)
        largest[i] = float(np.abs(values[i]).max()) * operation.format.step
        for operand in dying:
            del values[operand]
    return largest


def outside_domain(inputs: tuple[Word, ...], words: Mapping[str, Integers]) -> NDArray[np.bool_]:
    """Return for each task whether any input word is outside its declared domain."""
    outside: NDArray[np.bool_] = np.zeros((), dtype=np.bool_)
    for word in inputs:
        if word.lowest is not None and word.highest is not None:
            value = words[word.name]
            outside = outside | (value < word.lowest) | (value > word.highest)
    return outside


def limited(word: Word, number: int) -> int:
    """Return the nearest integer within a word's bounds; an angle without limits wraps."""
    if word.lowest is None or word.highest is None:
        return int(wrap(np.array(number), word.format.width))
    return min(max(number, word.lowest), word.highest)


def _compute(
    program: Program,
    operation: Operation,
    values: Mapping[int, Integers],
    words: Mapping[str, Integers],
) -> Integers:
    """Return the operation's result before it wraps; a choice may have only the operand that it takes."""
    present = (operand for operand in operation.operands if operand.value in values)
    operands = [_operand(operand, values) for operand in present]
    match operation.kind:
        case Kind.INPUT:
            return np.asarray(words[operation.name])
        case Kind.CONSTANT:
            return np.asarray(operation.constant, dtype=np.int64)
        case Kind.ADD:
            return _round(operands[0] + operands[1] if operands[1:] else +operands[0], operation.drop)
        case Kind.MULTIPLY:
            return _round(operands[0] * operands[1], operation.drop)
        case Kind.SCALE:
            return _round(operands[0] * operation.constant, operation.drop)
        case Kind.DOT:
            return _round(sum(_terms(operation, values), start=np.zeros((), np.int64)), operation.drop)
        case Kind.SIN:
            return sin_cos(program.trigonometry, operands[0] + operation.constant)[0]
        case Kind.COS:
            return sin_cos(program.trigonometry, operands[0] + operation.constant)[1]
        case Kind.RECIPROCAL:
            assert program.reciprocal is not None
            return reciprocal(program.reciprocal, operands[0], operation.constant)
        case Kind.SELECT:
            chosen = np.where(operands[0] & 1, *operands[1:]) if operands[2:] else +operands[1]
            return _round(chosen, operation.drop)


def _terms(operation: Operation, values: Mapping[int, Integers]) -> Iterator[Integers]:
    for operand, first, second in operation.pairs:
        term = align(values[first] * values[second], operand.shift)
        yield -term if operand.negative else term


def _round(fresh: Integers, drop: int) -> Integers:
    """Round as :func:`round_half_up`, in place if possible: nothing else refers to the array."""
    if drop == 0 or fresh.ndim == 0:
        return round_half_up(fresh, drop)
    fresh += 1 << (drop - 1)
    fresh >>= drop
    return fresh


def _fits(operation: Operation, full: Integers) -> bool:
    lowest, highest = operation.format.lowest, operation.format.highest
    return bool(full.min(initial=0) >= lowest and full.max(initial=0) <= highest)


def _fit(operation: Operation, full: Integers) -> Integers:
    """Fit the result into its format: reciprocals saturate, all others wrap."""
    if operation.kind is Kind.RECIPROCAL:
        return np.clip(full, operation.format.lowest, operation.format.highest)
    return wrap(full, operation.format.width)


def _operand(operand: Operand, values: Mapping[int, Integers]) -> Integers:
    value = values[operand.value]
    value = align(value, operand.shift) if operand.shift else value
    return -value if operand.negative else value
