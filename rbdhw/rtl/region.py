"""A region's submodule: the operators, shared units and delay lines of one step at one joint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.pre_sum import PreSum
from rbdhw.fixed.program import Kind, Operand, Operation
from rbdhw.rtl.arithmetic import align, combine, cut, differ, half, scale, sign_bits
from rbdhw.rtl.booth import BoothMultiplier
from rbdhw.rtl.delay import delay_line, register
from rbdhw.rtl.multiplexer import FAMILY
from rbdhw.rtl.multiplier import PLUS, PreAdded, Signs, addend_delay, multiply_add
from rbdhw.rtl.reciprocal import ReciprocalUnit
from rbdhw.rtl.signature import BoundProgram, Signature
from rbdhw.rtl.trigonometry import TrigonometryUnit
from rbdhw.schedule.model import MULTIPLIERS, Resource, Tap, Unit
from rbdhw.target import Primitive

SETTLED = 2
"""Cycles after which a region's overflow flag is a register."""


@dataclass(frozen=True)
class Concern:
    """The cycle of a task in which an overflow counts, and the functions whose tasks it concerns."""

    cycle: int
    functions: tuple[str, ...]


class RegionModule(wiring.Component):
    """One step of the dynamics at one joint.

    Its ports are ``slots``, the slot of the current cycle (one-hot), if it has delay lines; ``VALUE`` and
    ``VALUE_sK``, a value as it is computed, or at stage K of its delay line (:meth:`BoundProgram.name`); and
    ``overflow_FUNCTIONS_CYCLE_LATER``: whether any value overflowed that is computed here in this cycle of a
    task and concerns these functions, so many cycles later (:meth:`flags`).
    """

    def __init__(
        self, signature: Signature, source: BoundProgram, primitive: Primitive | None = None
    ) -> None:
        self.region = signature.region
        self._content = signature
        self._source = source
        self._program = source.program
        self._bound = source.bound
        self._primitive = primitive
        self._of_amd = primitive is not None and primitive.name != FAMILY
        """Whether look-up tables hold shift registers, and have two outputs beside a carry chain."""
        self._concerned: dict[Concern, list[int]] = defaultdict(list)
        self._collect_checks()
        members: dict[str, Any] = {}
        if self._bound.ii > 1 and any(source.delays(value) for value in signature.values):
            members["slots"] = In(self._bound.ii)
        members |= {source.name(tap): In(source.shape(tap)) for tap in signature.inputs}
        members |= {source.name(tap): Out(source.shape(tap)) for tap in signature.outputs}
        members |= {self._flag_name(concern, later): Out(1) for concern, later in self._flags()}
        super().__init__(members)
        self._signals = {tap: self.port(tap) for tap in (*signature.inputs, *signature.outputs)}

    def _collect_checks(self) -> None:
        """Group the values whose overflow counts by their concerns; twins are represented by the first."""
        bound, operations = self._bound, self._program.operations
        for first in self._content.values:
            for twin in bound.group(first):
                if operations[twin].checked:
                    functions = self._source.functions_of[twin]
                    self._concerned[Concern(bound.ready[twin], functions)].append(first)

    @property
    def description(self) -> list[str]:
        return self._source.description(self._content)

    def port(self, tap: Tap) -> Signal:
        """Return the port of a value at a stage of its delay line."""
        port: Signal = getattr(self, self._source.name(tap))
        return port

    def flags(self, function: str) -> Iterator[tuple[int, Signal]]:
        """Yield the flags of values that concern a function, each with the cycle in which it is valid.

        A flag is valid one or :data:`SETTLED` cycles after its values were computed, at the latest in the
        first cycle of the function's results. After one cycle each value has a register of the bits that
        tell, and is checked from there. After two cycles the values share one register.
        """
        for concern in self._concerned:
            if function in concern.functions:
                later = self._later(concern, function)
                yield concern.cycle + later, getattr(self, self._flag_name(concern, later))

    def _flags(self) -> Iterator[tuple[Concern, int]]:
        pairs = ((concern, self._later(concern, f)) for concern in self._concerned for f in concern.functions)
        yield from dict.fromkeys(pairs)

    def _later(self, concern: Concern, function: str) -> int:
        """Return the cycles from a concern to those in which the function's flag needs to be known."""
        return min(self._bound.latency[function] + 1 - concern.cycle, SETTLED)

    def _flag_name(self, concern: Concern, later: int) -> str:
        return "_".join(["overflow", *concern.functions, str(concern.cycle), str(later)])

    def _tap(self, tap: Tap) -> Any:
        """Return the signal of a value, or of its twins, at a stage of its delay line; a constant as such."""
        operation = self._program.operations[tap.value]
        if operation.kind is Kind.CONSTANT:
            return Const(operation.constant, self._source.shape(tap))
        if tap not in self._signals:
            self._signals[tap] = Signal(self._source.shape(tap), name=self._source.name(tap))
        return self._signals[tap]

    def _enable(self, value: int) -> Any:
        """Return whether a value's delay line advances at the end of this cycle."""
        bound = self._bound
        moves = {bound.ready[twin] % bound.ii for twin in bound.group(value)}
        return Const(1) if len(moves) == bound.ii else Cat(self.slots[slot] for slot in sorted(moves)).any()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self._phase: Any = None
        signs: dict[int, Any] = {}
        overflows: dict[int, Any] = {}
        for value in self._content.values:
            kind = self._program.operations[value].kind
            if kind is not Kind.INPUT and self._bound.alone(value):
                signs[value] = self._add(m, value)
        for name, unit in self._content.named_units:
            if unit.resource in MULTIPLIERS:
                signs |= self._multiplier(m, unit, name)
            elif unit.resource is Resource.RECIPROCAL:
                overflows |= self._reciprocal(m, unit, name)
            else:
                self._trigonometry(m, unit, name)
        for value in self._content.values:
            first = self._delay(m, value)
            if value in signs:
                overflows[value] = self._check(m, value, signs[value], first)
        self._drive_flags(m, overflows)
        return m

    def _counter(self, m: Module, name: str) -> Any:
        """Return a counter of slots.

        Each counter stays close to what it selects: a single counter for the whole design would have
        thousands of loads.
        """
        ii = self._bound.ii
        counter = Signal(range(ii), name=name)
        if ii > 1:
            m.d.sync += counter.eq(Mux(counter == ii - 1, 0, counter + 1))
        return counter

    def _drive_flags(self, m: Module, overflows: dict[int, Any]) -> None:
        for concern, later in self._flags():
            name = self._flag_name(concern, later)
            raised: Any = Cat(overflows[value] for value in self._concerned[concern]).any()
            if later == SETTLED:
                raised = register(m, name, raised, 1)
            m.d.comb += getattr(self, name).eq(raised)

    def _check(self, m: Module, value: int, bits: Any, first: Any) -> Any:
        """Return whether a value overflowed in the previous cycle, from registers of the bits that tell.

        The lowest is the value's sign, which the ``first`` register of its delay line has.
        """
        if not len(bits):
            return Const(0)
        known = 0 if first is None else 1
        rest = register(m, f"{self._source.names[value]}_signs", bits[known:], len(bits) - known)
        return differ(Cat(first[-1], rest) if known else rest)

    def _operands(self, index: int) -> list[Any]:
        start = self._bound.starts[index]
        operands = self._source.operation(index).operands
        return [self._tap(self._bound.tap(operand.value, start)) for operand in operands]

    def _add(self, m: Module, value: int) -> Any:
        """Compute a sum, choice or product in adders, which twins share; return its signs."""
        bound, first = self._bound, self._shared_operation(value)
        steps = {
            bound.starts[bound.producer[twin]] % bound.ii: bound.producer[twin] for twin in bound.group(value)
        }
        operations = {slot: self._source.operation(step) for slot, step in steps.items()}
        wires = {slot: self._operands(step) for slot, step in steps.items()}
        columns = [
            self._select_operand(
                m,
                f"{self._source.names[value]}_{k}",
                {slot: operation.operands[k] for slot, operation in operations.items()},
                {slot: row[k] for slot, row in wires.items()},
            )
            for k in range(len(first.operands))
        ]
        if first.kind is Kind.SCALE:
            ((_, factor, _),) = columns
            full = scale(m, self._source.names[value], factor, first.constant, first.drop)
        elif first.kind is Kind.MULTIPLY:
            (_, a, _), (_, b, _) = columns
            registers = bound.steps[bound.producer[value]].latency
            m.submodules[f"{self._source.names[value]}_rows"] = product = BoothMultiplier(
                (len(a), len(b)), first.drop, registers
            )
            m.d.comb += [product.a.eq(a), product.b.eq(b)]
            full = product.o
        else:
            full = combine(first, columns, paired=self._of_amd)
        m.d.comb += self._tap(Tap(value, 0)).eq(cut(full, first)[0])
        return sign_bits(full, first)

    def _select_operand(
        self, m: Module, name: str, operands: dict[int, Operand], wires: dict[int, Any]
    ) -> tuple[Operand, Any, Any]:
        """Return an operand by slot: its common properties, its signal, and its sign as a signal or None."""
        first = next(iter(operands.values()))
        if len({operand.shift for operand in operands.values()}) > 1:
            wires = {slot: align(wires[slot], operand) for slot, operand in operands.items()}
            first = replace(first, shift=0)
        sign = None
        if len({operand.negative for operand in operands.values()}) > 1:
            signs = {slot: Const(int(operand.negative), 1) for slot, operand in operands.items()}
            sign = self._select(m, f"{name}_sign", signs)[0]
        return first, self._select(m, name, wires), sign

    def _shared_operation(self, value: int) -> Operation:
        """Return a value's operation, with the overflow check if any of its twins has it."""
        operations = [self._program.operations[twin] for twin in self._bound.group(value)]
        return replace(operations[0], checked=any(operation.checked for operation in operations))

    def _multiplier(self, m: Module, unit: Unit, name: str) -> dict[int, Any]:
        """Build a multiplier with its operands and rounding selected by slot; return signs by value."""
        factors = {slot: self._factors(index) for slot, index in unit.steps.items()}
        phase = self._counter(m, f"{name}_phase")
        a, b = (
            self._select(m, f"{name}_{port}", {slot: pair[k] for slot, pair in factors.items()}, phase)
            for k, port in enumerate("ab")
        )
        registers = self._bound.registers.get(unit.resource, 0)
        primitive = self._primitive
        addend, signs_of_sum, dropped = self._block_sum(unit)
        if addend is None:
            later = addend_delay(registers, (len(a), len(b)), primitive)
            addend = self._rounding(m, unit, later, name, phase)
        result = multiply_add(
            m, name, a, b, addend, registers=registers, primitive=primitive, signs=signs_of_sum
        )
        full = Signal.like(result, name=f"{name}_rounded")
        m.d.comb += full.eq(result)
        signs: dict[int, Any] = {}
        for value in self._results(unit):
            operation = self._shared_operation(value)
            if dropped is not None:
                operation = replace(operation, drop=dropped)
            m.d.comb += self._tap(Tap(value, 0)).eq(cut(full, operation)[0])
            signs[value] = sign_bits(full, operation)
        return signs

    def _block_sum(self, unit: Unit) -> tuple[Any, Signs, int | None]:
        """Return what a block adds to its product, with the signs, and the bits to be dropped of the sum.

        The addend and the bits are None where the block computes a product alone.
        """
        index = next(iter(unit.steps.values()))
        total = self._bound.block_sum(self._program, index)
        if total is None:
            return None, PLUS, None
        value = self._tap(self._bound.tap(total.addend.value, self._bound.starts[index]))
        zeros = Const(total.constant if total.below else 0, total.place)
        constant = 0 if total.below else total.constant
        addend = Cat(zeros, align(value, total.addend)).as_signed()
        return addend, Signs(total.subtracts, total.addend.negative, constant), total.drop

    def _rounding(self, m: Module, unit: Unit, later: int, name: str, phase: Any) -> Any:
        """Return the rounding constant ``later`` cycles after the operands."""
        halves = {
            (slot + later) % self._bound.ii: Const(half(self._source.operation(index).drop))
            for slot, index in unit.steps.items()
        }
        return self._select(m, f"{name}_half", halves, phase)

    def _results(self, unit: Unit) -> list[int]:
        """Return the values that a unit computes; twins are represented by the first."""
        bound = self._bound
        values = (value for index in unit.steps.values() for value in bound.steps[index].results)
        return list(dict.fromkeys(bound.group(value)[0] for value in values if value not in bound.absorbed))

    def _reciprocal(self, m: Module, unit: Unit, name: str) -> dict[int, Any]:
        """Build a reciprocal unit with its operand and shift selected by slot; return late overflows."""
        bound, spec = self._bound, self._program.reciprocal
        assert spec is not None
        latency, registers = bound.unit_latency(unit), bound.registers.get(unit.resource, 0)
        results = {value: self._shared_operation(value) for value in self._results(unit)}
        widths = [operation.format.width for operation in results.values() if operation.checked]
        m.submodules[name] = hardware = ReciprocalUnit(spec, latency, registers, self._primitive, widths)
        operands, shifts = {}, {}
        for slot, index in unit.steps.items():
            (operands[slot],) = self._operands(index)
            shifts[slot] = Const(self._source.operation(index).constant, hardware.shift.shape())
        m.d.comb += [
            hardware.x.eq(self._select(m, f"{name}_x", operands)),
            hardware.shift.eq(self._select(m, f"{name}_shift", shifts)),
        ]
        overflows: dict[int, Any] = {}
        for value, operation in results.items():
            result, overflow = hardware.saturated(operation)
            m.d.comb += self._tap(Tap(value, 0)).eq(result)
            overflows[value] = register(m, f"{self._source.names[value]}_overflow", overflow, 1)
        return overflows

    def _factors(self, index: int) -> tuple[Any, Any]:
        """Return a step's factors, the one with a sum or the wider one first.

        Constants of twins have the width of the widest.
        """
        operation, step = self._source.operation(index), self._bound.steps[index]
        factors = [
            self._tap(self._bound.tap(operand.value, self._bound.starts[index]))
            for operand in operation.operands
            if operand.value != step.pre_sum
        ]
        if operation.kind is Kind.SCALE:
            twins = (self._program.operations[twin] for twin in self._bound.group(step.results[0]))
            width = max(twin.constant.bit_length() for twin in twins) + 1
            factors.append(Const(operation.constant, signed(width)))
        if step.pre_sum is not None:
            return self._pre_added(index, step.pre_sum), *factors
        first, second = sorted(factors, key=len, reverse=True)
        return first, second

    def _pre_added(self, index: int, value: int) -> PreAdded:
        """Return the factor of a step that its block adds up."""
        added, start = PreSum.of(self._program, value), self._bound.starts[index]
        first, second = (
            align(self._tap(self._bound.tap(operand.value, start)), operand)
            for operand in (added.first, added.second)
        )
        return PreAdded(first, second, added.second.negative)

    def _trigonometry(self, m: Module, unit: Unit, name: str) -> None:
        """Build a trigonometry unit with its angle and constant offset selected by slot."""
        bound, spec = self._bound, self._program.trigonometry
        latency, registers = bound.unit_latency(unit), bound.registers.get(unit.resource, 0)
        m.submodules[name] = hardware = TrigonometryUnit(spec, latency, registers, self._primitive)
        angles, offsets = {}, {}
        for slot, index in unit.steps.items():
            operation = self._source.operation(index)
            (angle,) = self._operands(index)
            angles[slot] = align(angle, operation.operands[0]) if operation.operands[0].shift else angle
            offsets[slot] = Const(operation.constant, hardware.angle.shape())
        m.d.comb += hardware.angle.eq(
            self._select(m, f"{name}_angle", angles) + self._select(m, f"{name}_offset", offsets)
        )
        for value in self._results(unit):
            kind = self._program.operations[value].kind
            m.d.comb += self._tap(Tap(value, 0)).eq(hardware.sin if kind is Kind.SIN else hardware.cos)

    def _select(self, m: Module, name: str, choices: dict[int, Any], phase: Any = None) -> Any:
        """Return the choice of the current slot by a counter; arbitrary in a slot without a choice.

        Constants are chosen among themselves, a slot earlier, and leave from a register. So is the number of
        the choice where slots share choices: look-up tables read it in place of the counter. They read the
        counter itself where every slot has its own choice, or where it has two bits and so has the number.
        """
        constants = {slot: choice for slot, choice in choices.items() if isinstance(choice, Const)}
        if len(constants) == len(choices):
            return self._select_constant(m, name, constants, phase)
        if constants:
            apart = self._select_constant(m, f"{name}_constant", constants, phase)
            choices = {slot: apart if slot in constants else choice for slot, choice in choices.items()}
        slots: dict[int, list[int]] = defaultdict(list)
        for slot, choice in sorted(choices.items()):
            slots[id(choice)].append(slot)
        numbered = [choices[alike[0]] for alike in slots.values()]
        if len(numbered) == 1:
            return numbered[0]
        phase = self._counter_of(m, phase)
        bits = (len(numbered) - 1).bit_length()
        if len(numbered) == self._bound.ii or bits == len(phase) <= 2:
            return _switch(m, name, phase, [(alike, choices[alike[0]]) for alike in slots.values()])
        codes = {slot: Const(k, bits) for k, alike in enumerate(slots.values()) for slot in alike}
        code = self._select_constant(m, f"{name}_number", codes, phase)
        return _switch(m, name, code, [((k,), choice) for k, choice in enumerate(numbered)])

    def _select_constant(self, m: Module, name: str, constants: dict[int, Const], phase: Any) -> Any:
        """Return the constant of the current slot, from a register."""
        last_slot = self._bound.ii - 1
        slots: dict[tuple[int, int], list[int]] = defaultdict(list)
        for slot, constant in constants.items():
            slots[constant.value, len(constant)].append((slot - 1) % self._bound.ii)
        if len(slots) == 1:
            return next(iter(constants.values()))
        phase = self._counter_of(m, phase)
        choices = [(sorted(alike), constants[(alike[0] + 1) % self._bound.ii]) for alike in slots.values()]
        choices.sort()
        chosen = _switch(m, name, phase, choices)
        first = next((choice for alike, choice in choices if last_slot in alike), choices[-1][1])
        now = Signal(chosen.shape(), name=f"{name}_now", init=first.value)
        m.d.sync += now.eq(chosen)
        return now

    def _counter_of(self, m: Module, phase: Any) -> Any:
        """Return an operator's own counter of slots, or the region's for one that has none."""
        if phase is not None:
            return phase
        if self._phase is None:
            self._phase = self._counter(m, "phase")
        return self._phase

    def _delay(self, m: Module, value: int) -> Any:
        """Build a value's delay line; return its first register, or None if that waits for slots."""
        stages = self._source.delays(value)
        enable = self._enable(value) if stages else Const(1)
        taps = delay_line(
            m,
            self._tap(Tap(value, 0)),
            enable,
            stages,
            name=self._source.names[value],
            memory_stages=self._bound.memory_stages,
            shifts=self._of_amd,
        )
        m.d.comb += [self._tap(Tap(value, k)).eq(taps[k]) for k in stages]
        return taps.get(1) if isinstance(enable, Const) else None


def _switch(m: Module, name: str, by: Any, choices: Sequence[tuple[Sequence[int], Any]]) -> Signal:
    """Return the choice with the number ``by`` among its numbers; the last for all others."""
    is_signed = any(choice.shape().signed for _, choice in choices)
    width = max(len(choice) + (is_signed and not choice.shape().signed) for _, choice in choices)
    chosen = Signal(Shape(width, is_signed), name=name)
    *others, (_, last) = choices
    with m.Switch(by):
        for numbers, choice in others:
            with m.Case(*numbers):
                m.d.comb += chosen.eq(choice)
        with m.Default():
            m.d.comb += chosen.eq(last)
    return chosen
