"""The array core: accumulators, trigonometry and reciprocal units, and their operand memories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from rbdhw.cores.array.accumulator import Accumulator, TermControl, sum_bits
from rbdhw.cores.array.control import Sequencer, places
from rbdhw.cores.array.memories import block_memories, contents, memory_bits, outputs, word_bits
from rbdhw.cores.array.model import (
    SUPPLIES,
    ArrayResource,
    ArraySchedule,
    ArrayStep,
    Handover,
    Output,
    Port,
)
from rbdhw.cores.array.operand_memory import OperandMemory
from rbdhw.fixed.fusion import GUARD_BITS
from rbdhw.fixed.program import Kind, Operation, Program, exact_interval
from rbdhw.rtl.arithmetic import align, split_sum
from rbdhw.rtl.core_ports import CorePorts, gather_overflows
from rbdhw.rtl.delay import delay_line, register
from rbdhw.rtl.multiplexer import multiplex
from rbdhw.rtl.reciprocal import ReciprocalUnit
from rbdhw.rtl.trigonometry import TrigonometryUnit
from rbdhw.rtl.values import value_names
from rbdhw.schedule.model import stage
from rbdhw.target import Primitive


class ArrayComponent(CorePorts):
    """A core of units that the jobs of a task share."""

    def __init__(
        self,
        *,
        # The computation, and its schedule on the units.
        program: Program,
        array: ArraySchedule,
        memory_stages: int,  # the shortest delay line of a result that uses a memory
        # The device's multiplier block; without it the RTL is portable, with the same results.
        primitive: Primitive | None = None,
        # Words that arrive by themselves, at the port of their source, in the cycle that hands them out.
        streamed: Collection[int] = (),
        # Words that a task takes from an earlier one, or zeros if `first` is set when it starts.
        handover: Handover | None = None,
    ) -> None:
        self.array = array
        self.primitive = primitive
        self._memory_stages = memory_stages
        self._names = value_names(program, range(len(program.operations)), {})
        self._contents = contents(array)
        self._blocks = block_memories(array, self._contents, program.port_widths, array.block_rams)
        self._streamed, self._handover = frozenset(streamed), handover
        ports, inside = self._streams(program), {handover.function} if handover else set()
        if handover:
            # In the last cycle of an interval in which no task is in the array: whether that cycle goes on.
            ports |= {"first": In(1), "rests": In(1)}
            if handover.blocks > 1:
                ports |= self._ports_of_blocks(handover)
        super().__init__(program, array.ii, array.latency, ports, inside)

    def _ports_of_blocks(self, handover: Handover) -> dict[str, Any]:
        """Return the ports for tasks of several blocks."""
        steps = self.array.producer
        latest = max(steps[result].ready for result in handover.words.values() if result in steps)
        self._intervals = latest // self.array.ii + 1
        turn = Signal(range(handover.blocks)).shape()
        return {
            # The block of the task that starts now, and of those some intervals before, and whether there is
            # such a task.
            "turns": In(data.ArrayLayout(turn, self._intervals)),
            "runs": In(self._intervals),
            "begins": In(1),  # whether the task that starts takes the last results of the block before
            "bank": In(1),  # the bank of these; those of tasks are kept in the other one
        }

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self._slots = Signal(self.ii, name="slots", init=1)
        rests = self.rests if self._handover else None
        with nullcontext() if rests is None else m.If(~rests):
            m.d.sync += self._slots.eq(self._slots.rotate_left(1))
        m.d.comb += self.phase_zero.eq(self._slots[0])
        self._words = self._decode(m)
        if self._handover:
            self._first = Signal(name="kept_first")
            with m.If(self._slots[0]):
                m.d.sync += self._first.eq(self.first)
            if self._handover.blocks > 1:
                self._begins = Signal(name="kept_begins")
                with m.If(self._slots[0]):
                    m.d.sync += self._begins.eq(self.begins)
        self._results: dict[tuple[int, int], Signal] = {}
        self._overflows: dict[int, Signal] = {}
        self._handed: dict[int, Signal] = {}
        memories: dict[Port, OperandMemory] = {}
        for unit, resource in enumerate(self.array.units):
            ports = [port for port in self._contents if port.unit == unit]
            turns = max((self._contents[port].turns for port in ports), default=1)
            sequencer = Sequencer.counting(m, f"unit_{unit}", self.ii, turns, rests)
            for port in ports:
                memories[port] = self._memory(m, port, sequencer)
            self._unit(m, unit, resource, sequencer, [memories[port].o for port in ports])
        self._connect(m, memories)
        self._hand_on(m)
        self._encode(m)
        return m

    def _decode(self, m: Module) -> dict[int, Any]:
        """Return the words and flags of the task that starts in this cycle, by value."""
        slots = split_sum(m, self.payload, self.program.slots)
        words = {
            word.value: slots[word.slot][: word.format.width].as_signed() for word in self.program.inputs
        }
        task = self.functions, self.options
        raised = {flag.value: (flag.name, self.flag_raised(flag, *task)) for flag in self.program.flags}
        names = {word.value: word.name for word in self.program.inputs}
        raised |= {value: (names[value], words[value][0]) for value in self.program.choosing_words}
        for flag, (name, bit) in raised.items():
            for value, raised_bit in ((flag, bit), (~flag, ~bit)):
                words[value] = Signal(signed(2), name=f"flag_{name}_{value < 0:d}")
                m.d.comb += words[value].eq(Cat(raised_bit, Const(0, 1)))
        return words

    def _streams(self, program: Program) -> dict[str, Any]:
        """Return the ports of the sources that hand out streamed words."""
        widths: dict[str, int] = {}
        for step in self.array.steps:
            for value in self._streamed.intersection(step.job.results):
                name, width = f"streamed_{step.unit}", program.operations[value].format.width
                widths[name] = max(width, widths.get(name, 0))
        return {name: In(signed(width)) for name, width in sorted(widths.items())}

    def _operation(self, value: int) -> Operation:
        return self.program.operations[value]

    def _memory(self, m: Module, port: Port, sequencer: Sequencer) -> OperandMemory:
        held = self._contents[port]
        memory = OperandMemory(
            width=memory_bits(self.program, self.array, port, held),
            ii=self.ii,
            contents=held,
            inputs=len(outputs(self.array, port)),
            style="block" if port in self._blocks else "distributed",
            direct=self.array.timing.direct,
            sequencer=sequencer,
            primitive=self.primitive,
        )
        m.submodules[f"operand_memory_{port.unit}_{port.operand}"] = memory
        sequencer.connect(m, memory)
        return memory

    def _unit(
        self, m: Module, unit: int, resource: ArrayResource, sequencer: Sequencer, operands: list[Any]
    ) -> None:
        match resource:
            case ArrayResource.ACCUMULATOR:
                self._accumulator(m, unit, sequencer, operands)
            case ArrayResource.TRIGONOMETRY:
                self._trigonometry(m, unit, sequencer, operands)
            case ArrayResource.RECIPROCAL:
                self._reciprocal(m, unit, sequencer, operands)
            case ArrayResource.HANDOVER:
                self._take_over(m, unit, sequencer)
            case ArrayResource.SOURCE:
                self._source(m, unit, sequencer)

    def _accumulator(self, m: Module, unit: int, sequencer: Sequencer, operands: list[Any]) -> None:
        controls, widest = {}, 2
        for step in self.array.steps_of[unit]:
            widest = max(widest, self._sum_bits(step))
            width = word_bits(self.program, self.array, step.job.values[0])
            for k, term in enumerate(step.job.terms):
                more = k < len(step.job.terms) - 1
                controls[(step.start + k + self.array.timing.read) % self.ii] = TermControl(
                    term.negative, term.shift, more, width
                )
        m.submodules[f"accumulator_{unit}"] = hardware = Accumulator(
            widths=(len(operands[0]), len(operands[1])),
            sum_bits=widest,
            drop=GUARD_BITS,
            ii=self.ii,
            terms=controls,
            registers=self.array.registers,
            sequencer=sequencer,
            primitive=self.primitive,
        )
        sequencer.connect(m, hardware)
        m.d.comb += [hardware.a.eq(operands[0]), hardware.b.eq(operands[1])]
        self._results[unit, 0] = hardware.o
        self._overflows[unit] = register(m, f"unit_{unit}_overflow", hardware.overflow, 1)

    def _sum_bits(self, step: ArrayStep) -> int:
        """Return the bits of a job's sum before rounding, at least those of a result and the guard bits."""
        (value,) = step.job.values
        least = word_bits(self.program, self.array, value) + GUARD_BITS + 1
        if value >= len(self.program.operations):
            return least
        operation = self._operation(value)
        formats = ((operand.value, self._operation(operand.value).format) for operand in operation.operands)
        bounds = {value: (chosen.lowest, chosen.highest) for value, chosen in formats}
        low, high = exact_interval(operation, bounds)
        return max(least, sum_bits(low << GUARD_BITS, (high + 1) << GUARD_BITS))

    def _select(self, m: Module, sequencer: Sequencer, name: str, choices: dict[int, Any]) -> Any:
        different = list({id(choice): choice for choice in choices.values()}.values())
        if len(different) == 1:
            return different[0]
        places_of = {id(choice): k for k, choice in enumerate(different)}
        number = sequencer.steps(
            m,
            f"{name}_choice",
            {slot: places_of[id(choice)] for slot, choice in choices.items()},
            places(len(different)),
        )
        inputs = []
        for k, choice in enumerate(different):
            wide = Signal(signed(max(map(len, different))), name=f"{name}_{k}")
            m.d.comb += wide.eq(choice)
            inputs.append(wide)
        return multiplex(m, name, inputs, number, self.primitive)

    def _source(self, m: Module, unit: int, sequencer: Sequencer) -> None:
        """Hold the words of a task while those of the next arrive."""
        choices = {}
        for step in self.array.steps_of[unit]:
            (value,) = step.job.values
            if value in self._streamed:
                choices[step.start % self.ii] = getattr(self, f"streamed_{unit}")
                continue
            kept = Signal(
                self._words[value].shape(), name=f"word_{value}".replace("-", "not_"), reset_less=True
            )
            with m.If(self._slots[0]):
                m.d.sync += kept.eq(self._words[value])
            choices[step.start % self.ii] = kept
        self._results[unit, 0] = self._select(m, sequencer, f"source_{unit}", choices)

    def _take_over(self, m: Module, unit: int, sequencer: Sequencer) -> None:
        """Take results of an earlier task, which :meth:`_hand_on` keeps, or zeros."""
        choices = {}
        for step in self.array.steps_of[unit]:
            (value,) = step.job.values
            width = self._operation(value).format.width
            self._handed[value] = Signal(signed(width), name=f"handed_{value}")
            choices[step.start % self.ii] = self._handed[value]
        word = self._select(m, sequencer, f"handover_{unit}", choices)
        self._results[unit, 0] = taken = Signal(word.shape(), name=f"taken_{unit}")
        m.d.comb += taken.eq(Mux(self._first, 0, word))

    def _trigonometry(self, m: Module, unit: int, sequencer: Sequencer, operands: list[Any]) -> None:
        name = f"trigonometry_{unit}"
        timing = self.array.timing
        cycles = timing.cycles[ArrayResource.TRIGONOMETRY]
        hardware = TrigonometryUnit(self.program.trigonometry, cycles, timing.unit_registers, self.primitive)
        m.submodules[name] = hardware
        angles, offsets = {}, {}
        for step in self.array.steps_of[unit]:
            operation = self._operation(step.job.values[0])
            slot = (step.start + timing.read) % self.ii
            angles[slot] = operation.operands[0]
            offsets[slot] = operation.constant
        ways = {operand.shift: align(operands[0], operand) for operand in angles.values()}
        angle = self._select(m, sequencer, f"{name}_angle", {s: ways[o.shift] for s, o in angles.items()})
        offset = sequencer.steps(m, f"{name}_offset", offsets, hardware.angle.shape())
        m.d.comb += hardware.angle.eq(angle + offset)
        self._results[unit, 0], self._results[unit, 1] = hardware.sin, hardware.cos

    def _reciprocal(self, m: Module, unit: int, sequencer: Sequencer, operands: list[Any]) -> None:
        name = f"reciprocal_{unit}"
        assert self.program.reciprocal is not None
        timing = self.array.timing
        cycles = timing.cycles[ArrayResource.RECIPROCAL]
        steps = self.array.steps_of[unit]
        operations = [self._operation(step.job.values[0]) for step in steps]
        widths = [operation.format.width for operation in operations if operation.checked]
        hardware = ReciprocalUnit(
            self.program.reciprocal, cycles, timing.unit_registers, self.primitive, widths
        )
        m.submodules[name] = hardware
        shifts = {
            (step.start + timing.read) % self.ii: operation.constant
            for step, operation in zip(steps, operations, strict=True)
        }
        shift = sequencer.steps(m, f"{name}_shift", shifts, hardware.shift.shape())
        m.d.comb += [hardware.x.eq(operands[0]), hardware.shift.eq(shift)]
        results, overflows = {}, {}
        for step in steps:
            operation = self._operation(step.job.values[0])
            result = Signal(signed(operation.format.width), name=self._names[step.job.values[0]])
            value, overflow = hardware.saturated(operation)
            m.d.comb += result.eq(value)
            results[step.ready % self.ii], overflows[step.ready % self.ii] = result, overflow
        self._results[unit, 0] = self._select(m, sequencer, f"{name}_o", results)
        overflow = Cat(self._slots[slot] & overflow for slot, overflow in overflows.items()).any()
        self._overflows[unit] = register(m, f"unit_{unit}_overflow", overflow, 1)

    def _connect(self, m: Module, memories: dict[Port, OperandMemory]) -> None:
        held: dict[Output, Any] = {}
        for port, memory in memories.items():
            for k, output in enumerate(outputs(self.array, port)):
                m.d.comb += getattr(memory, f"i{k}").eq(self._delay_output(m, held, output))

    def _delay_output(self, m: Module, held: dict[Output, Any], output: Output) -> Any:
        if output.delay == 0:
            return self._results[output.unit, output.result]
        if output not in held:
            before = self._delay_output(m, held, Output(output.unit, output.result, output.delay - 1))
            name = f"unit_{output.unit}_{output.result}_before_{output.delay}"
            held[output] = Signal(before.shape(), name=name, reset_less=True)
            m.d.sync += held[output].eq(before)
        return held[output]

    def _hand_on(self, m: Module) -> None:
        """Keep each result that a later task takes from the cycle in which it is ready."""
        handover = self._handover
        if handover is None:
            return
        for word, handed in self._handed.items():
            result = handover.words[word]
            value = self._value(m, result)
            if result in self.array.producer:
                enable = self._slots[self._ready(result) % self.ii]
                last = stage(handover.wait(self.array, word), self.ii)
                name = f"{self._names[result]}_for_{word}"
                line = delay_line(m, value, enable, (last,), name=name, memory_stages=self._memory_stages)
                if handover.blocks > 1:
                    kept = self._keep(m, name, value, enable, self._ready(result) // self.ii)
                    value = Mux(self._begins, kept, line[last])
                else:
                    value = line[last]
            m.d.comb += handed.eq(value)

    def _keep(self, m: Module, name: str, result: Any, enable: Any, intervals: int) -> Any:
        """Keep the last result of each block in two banks; return that of the block before the present one.

        The result is that of the task that started some intervals ago.
        """
        handover = self._handover
        assert handover is not None
        memory = Memory(shape=signed(len(result)), depth=2 * handover.blocks, init=[])
        m.submodules[f"{name}_kept"] = memory
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [
            write.en.eq(enable & self.runs[intervals]),
            write.addr.eq(self.turns[intervals] + Mux(self.bank, 0, handover.blocks)),
            write.data.eq(result),
            read.en.eq(self._slots[0]),
            read.addr.eq(self.turns[0] - 1 + Mux(self.bank, handover.blocks, 0)),
        ]
        return read.data

    def _encode(self, m: Module) -> None:
        """Register the results of each function once all of them are computed."""
        lines: dict[int, dict[int, Any]] = {}
        reads: dict[int, set[int]] = defaultdict(set)
        outside = dict(self.program.outputs)
        if self._handover:
            del outside[self._handover.function]
        for function, words in outside.items():
            for word in words:
                reads[word.value].add(self._stage(word.value, function))
        for value, stages in reads.items():
            ready = self._ready(value) % self.ii
            lines[value] = delay_line(
                m,
                self._value(m, value),
                self._slots[ready],
                tuple(sorted(stages - {0})),
                name=self._names[value],
                memory_stages=self._memory_stages,
            )
        for function in self.program.outputs:
            if function in outside:
                self._register_result(m, function, lines)
            overflow = gather_overflows(m, function, self._flags(function), self.array.latency[function] + 1)
            m.d.comb += getattr(self, f"overflow_{function}").eq(overflow)

    def _register_result(self, m: Module, function: str, lines: Mapping[int, Mapping[int, Any]]) -> None:
        """Register a result in the cycle after its last word is computed; others wait in their lines."""
        result = Signal(self.result_bits(function), name=f"encoded_{function}", reset_less=True)
        words = self.program.outputs[function]
        parts = [lines[word.value][self._stage(word.value, function)] for word in words]
        with m.If(self._slots[self.array.latency[function] % self.ii]):
            m.d.sync += result.eq(Cat(parts))
        m.d.comb += getattr(self, f"result_{function}").eq(result)

    def _ready(self, value: int) -> int:
        step = self.array.producer.get(value)
        return 0 if step is None or step.job.resource in SUPPLIES else step.ready

    def _stage(self, value: int, function: str) -> int:
        if self._operation(value).kind is Kind.CONSTANT:
            return 0
        return stage(self.array.latency[function] - self._ready(value), self.ii)

    def _value(self, m: Module, value: int) -> Any:
        """Return a value in the cycle in which it is ready, in the width of its format."""
        operation = self._operation(value)
        width = operation.format.width
        if operation.kind is Kind.CONSTANT:
            return Const(operation.constant, signed(width))
        if operation.kind is Kind.INPUT:
            return self._words[value]
        step = self.array.producer[value]
        ready = Signal(signed(width), name=self._names[value])
        m.d.comb += ready.eq(self._results[step.unit, step.job.results.index(value)])
        return ready

    def _flags(self, function: str) -> dict[int, list[Any]]:
        """Return the overflow bits that concern a function, by the cycle in which they are valid."""
        reached = self.program.operations_of(function)
        flags: dict[int, list[Any]] = defaultdict(list)
        for value in sorted(reached):
            if self._operation(value).checked:
                step = self.array.producer[value]
                flags[step.ready + 1].append(self._overflows[step.unit])
        return flags
