"""Lower a step to a bit-exact program, and repeat it for all links or stages.

All links have the same formats, because one hardware computes their steps. What a step hands on is converted
to the format of the input that takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rbdhw.fixed.format import Format
from rbdhw.fixed.lower import CUT_BITS, FLAG_FORMAT, InputRange, lower
from rbdhw.fixed.program import MOST_SHIFT, Interval, Kind, Operand, Operation, Word, checked
from rbdhw.fixed.step_program import StepProgram, UnrolledProgram, constant_integer
from rbdhw.fixed.widths import MARGIN, Widths
from rbdhw.graph.graph import Edge
from rbdhw.graph.joined_steps import JoinedSteps
from rbdhw.graph.sweeps import Carried, Constant, Given, Kept, Shared, Sweep, Sweeps
from rbdhw.scalar import Region


def lower_steps(
    joined: JoinedSteps, magnitudes: Sequence[float], ranges: Mapping[str, InputRange], widths: Widths
) -> StepProgram:
    """Return the program of the steps.

    ``magnitudes`` has the largest magnitude of each node of the joined graph, over all links, and ``widths``
    its width. ``ranges`` has the range of the task's numbers by the inputs that read them, and the units of
    results.
    """
    sweeps = joined.sweeps
    own_ranges = {name: ranges.get(name) or _range(joined, magnitudes, name) for name in sweeps.sources}
    plain = lower(joined.graph, magnitudes, {**ranges, **own_ranges}, widths)
    operations = [
        replace(operation, format=FLAG_FORMAT) if _chooses(sweeps, operation) else operation
        for operation in plain.operations
    ]
    outputs: dict[str, tuple[Word, ...]] = {}
    formats = {word.name: word.format for word in plain.inputs}
    takers = _takers(sweeps)
    intervals: dict[int, Interval] = {
        i: (operation.format.lowest, operation.format.highest) for i, operation in enumerate(operations)
    }
    for sweep in sweeps.sweeps:
        words = []
        for name, _ in sweep.step.outputs:
            edge = joined.output(name)
            source = operations[edge.node].format
            for taker in takers.get(name, ()):
                words.append(_convert(operations, intervals, edge, formats[taker], f"{sweep.name}.{taker}"))
            if name == sweeps.result:
                exact = Format(source.width, source.binary_point - edge.shift)
                words.append(_convert(operations, intervals, edge, exact, name))
        outputs[sweep.name] = (*words, *plain.outputs.get(sweeps.function, ()))
    inputs = tuple(
        word
        if isinstance(sweeps.sources[word.name], Shared)
        else replace(word, format=operations[word.value].format, lowest=None, highest=None)
        for word in plain.inputs
    )
    return StepProgram(sweeps, replace(plain, operations=tuple(operations), inputs=inputs, outputs=outputs))


def _takers(sweeps: Sweeps) -> dict[str, list[str]]:
    """Return the inputs that take each output of a step."""
    takers: dict[str, list[str]] = {}
    for name, source in sweeps.sources.items():
        if isinstance(source, Carried | Kept):
            takers.setdefault(source.output, []).append(name)
    return takers


def _chooses(sweeps: Sweeps, operation: Operation) -> bool:
    source = sweeps.sources.get(operation.name)
    return isinstance(source, Constant) and source.chooses


def _range(joined: JoinedSteps, magnitudes: Sequence[float], name: str) -> InputRange:
    """Return the range of an input that is no number of the task."""
    match joined.sweeps.sources[name]:
        case Constant(values):
            largest = max(map(abs, values))
        case Carried(output, first):
            largest = max(MARGIN * _size(joined, magnitudes, output), abs(first))
        case Kept(output):
            largest = MARGIN * _size(joined, magnitudes, output)
        case _:
            raise KeyError(f"no range of {name}")
    return InputRange(-largest, largest, "1")


def _size(joined: JoinedSteps, magnitudes: Sequence[float], output: str) -> float:
    edge = joined.output(output)
    return float(np.ldexp(magnitudes[edge.node], edge.shift))


def _convert(
    operations: list[Operation], intervals: dict[int, Interval], edge: Edge, chosen: Format, name: str
) -> Word:
    """Append the operation that converts an edge to a format, and return the word of its value."""
    source = operations[edge.node].format
    point = source.binary_point - edge.shift
    common = max(min(point, chosen.binary_point + CUT_BITS), chosen.binary_point)
    operand = Operand(edge.node, edge.negative, common - point)
    region = operations[edge.node].region
    operation = Operation(Kind.ADD, (operand,), chosen, region, drop=common - chosen.binary_point)
    operations.append(checked(operation, intervals)[0])
    return Word(name, "1", len(operations) - 1, chosen)


def unroll_program(
    steps: StepProgram, words: Mapping[str, Word], unit: Sequence[str] = ()
) -> UnrolledProgram:
    """Return the program of all steps, in the order of the sweeps.

    The values of ``words``, those of the task by name, are not yet known. Their binary points are those of
    the inputs that read them, and they are no wider. If each link has a result, ``unit`` is its unit.
    """
    return _Unrolling(steps, words).program(unit)


class _Unrolling:
    def __init__(self, steps: StepProgram, words: Mapping[str, Word]) -> None:
        self._steps, self._words = steps, words
        self._operations: list[Operation] = []
        self._origins: list[int | None] = []
        self._inputs: dict[str, Word] = {}
        self._handed: dict[tuple[str, int], int] = {}
        self._constants: dict[tuple[int, Format], int] = {}

    def program(self, unit: Sequence[str]) -> UnrolledProgram:
        sweeps, program = self._steps.sweeps, self._steps.program
        results: dict[int, Word] = {}
        parts = {sweep.name: sorted(program.operations_of(sweep.name)) for sweep in sweeps.sweeps}
        for sweep, link in sweeps.steps():
            values: dict[int, int] = {}
            for i in parts[sweep.name]:
                operation = program.operations[i]
                if operation.kind is Kind.INPUT:
                    values[i] = self._input(sweep, link, operation)
                elif operation.kind is Kind.CONSTANT:
                    values[i] = self._constant(operation.constant, operation.format, operation.region)
                else:
                    operands = tuple(replace(x, value=values[x.value]) for x in operation.operands)
                    region = sweeps.region(operation.region, link)
                    values[i] = self._append(replace(operation, operands=operands, region=region), i)
            for word in program.outputs[sweep.name]:
                taker = self._steps.taker(word)
                if taker is not None:
                    self._handed[taker, link] = values[word.value]
                elif sweeps.each_link:
                    results[link] = replace(
                        word, name=sweeps.result_name(link), unit=unit[link], value=values[word.value]
                    )
                elif link == sweeps.links - 1:
                    results[len(results)] = replace(word, value=values[word.value])
        self._check_all_steps(results)
        inputs = tuple(self._inputs[name] for name in self._words if name in self._inputs)
        return UnrolledProgram(
            tuple(self._operations),
            inputs,
            (),
            {sweeps.function: tuple(results[k] for k in range(len(results)))},
            program.trigonometry,
            program.reciprocal,
            program.port_widths,
            self._steps,
            tuple(self._origins),
        )

    def _check_all_steps(self, results: dict[int, Word]) -> None:
        """Let a result depend on every value of the steps that may overflow, though nothing takes it.

        The hardware computes it, too, and its overflow flags the task. The result never chooses it.
        """
        needed: set[int] = set()
        self._add_needed(needed, [word.value for word in results.values()])
        k, word = results.popitem()
        value, region = word.value, Region("steps_end")
        always = self._constant(1, FLAG_FORMAT, region)
        for i in reversed(range(len(self._operations))):
            if self._operations[i].checked and i not in needed:
                operands = Operand(always), Operand(value), Operand(i, shift=-MOST_SHIFT)
                value = self._append(Operation(Kind.SELECT, operands, word.format, region))
                self._add_needed(needed, [i])
        results[k] = replace(word, value=value)

    def _add_needed(self, needed: set[int], waiting: list[int]) -> None:
        while waiting:
            i = waiting.pop()
            if i not in needed:
                needed.add(i)
                waiting.extend(operand.value for operand in self._operations[i].operands)

    def _append(self, operation: Operation, origin: int | None = None) -> int:
        self._operations.append(operation)
        self._origins.append(origin)
        return len(self._operations) - 1

    def _constant(self, value: int, chosen: Format, region: Region) -> int:
        key = value, chosen
        if key not in self._constants:
            self._constants[key] = self._append(Operation(Kind.CONSTANT, (), chosen, region, value))
        return self._constants[key]

    def _input(self, sweep: Sweep, link: int, read: Operation) -> int:
        source = self._steps.sweeps.sources[read.name]
        match source:
            case Given():
                name = source.name(link)
                return self._constant(0, read.format, read.region) if name is None else self._word(name, read)
            case Shared():
                return self._word(read.name, read)
            case Constant(values):
                integer = constant_integer(read.format, values[link], source.chooses)
                return self._constant(integer, read.format, read.region)
            case Kept():
                return self._handed[read.name, link]
            case Carried(_, first):
                giver = source.giver(sweep, link, self._steps.sweeps.links)
                if giver is not None:
                    return self._handed[read.name, giver]
                return self._constant(constant_integer(read.format, first), read.format, read.region)

    def _word(self, name: str, read: Operation) -> int:
        if name not in self._inputs:
            word = self._words[name]
            region = replace(read.region, joint=None)
            value = self._append(Operation(Kind.INPUT, (), word.format, region, name=name))
            self._inputs[name] = replace(word, value=value)
        return self._inputs[name].value
