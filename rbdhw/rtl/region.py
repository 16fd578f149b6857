"""A region's submodule: the operators, shared units and delay lines of one step at one joint."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, signed

from rbdhw.fixed.program import Kind, Operand, Operation, Program
from rbdhw.rtl.arithmetic import add_or_subtract, align, choose, cut, half, negate, saturate, scale, total
from rbdhw.rtl.delay import delay_line
from rbdhw.rtl.multiplier import addend_delay, multiply_add
from rbdhw.rtl.reciprocal import ReciprocalUnit
from rbdhw.rtl.trigonometry import TrigonometryUnit
from rbdhw.rtl.values import value_names
from rbdhw.scalar import Region
from rbdhw.schedule.model import MULTIPLIERS, Bound, Resource, Tap, Unit
from rbdhw.target import Primitive

SETTLED = 2
"""Cycles after which a region's overflow flag is a register."""


@dataclass(frozen=True)
class Overflow:
    """Whether a value overflows in this cycle, and in the previous one where that is available."""

    now: Any
    before: Any = None


@dataclass(frozen=True)
class Place:
    """The cycle of a task in which an overflow counts, and the functions whose tasks it concerns."""

    cycle: int
    functions: tuple[str, ...]


class Wires:
    """The signals that regions share: a task's values at the stages of their delay lines.

    ``primitive`` is the device's multiplier block, or None for portable RTL.

    Members
    -------
    slots : Signal
        The slot of the current cycle, one-hot.
    hosted
        The values of each region; twins, which share an operator, are represented by the first.
    names
        The name of each value.
    """

    def __init__(self, program: Program, bound: Bound, primitive: Primitive | None = None) -> None:
        self.program = program
        self.bound = bound
        self.primitive = primitive
        self.slots = Signal(bound.ii, name="slots", init=1)
        self._taps: dict[Tap, Signal] = {}
        self.names = value_names(program, bound.ready, bound.hosts)
        self._reached = {function: program.operations_of(function) for function in program.outputs}
        self.hosted: dict[Region, list[int]] = defaultdict(list)
        for value in sorted(bound.ready):
            if value == bound.group(value)[0]:
                self.hosted[bound.hosts[value]].append(value)

    def tap(self, tap: Tap) -> Any:
        """Return the signal of a value, or of its twins, at a stage of its delay line; a constant as such."""
        operation = self.program.operations[tap.value]
        if operation.kind is Kind.CONSTANT:
            return Const(operation.constant, signed(operation.format.width))
        tap = Tap(self.bound.group(tap.value)[0], tap.stage)
        if tap not in self._taps:
            suffix = f"_s{tap.stage}" if tap.stage else ""
            shape = signed(operation.format.width)
            self._taps[tap] = Signal(shape, name=f"{self.names[tap.value]}{suffix}")
        return self._taps[tap]

    def place(self, value: int) -> Place:
        """Return when and for which functions an overflow of a value counts."""
        concerned = tuple(f for f, values in self._reached.items() if value in values)
        return Place(self.bound.ready[value], concerned)

    def enable(self, value: int) -> Any:
        """Return whether a value's delay line advances at the end of this cycle."""
        bound = self.bound
        moves = {bound.ready[twin] % bound.ii for twin in bound.group(value)}
        return (
            Const(1) if len(moves) == bound.ii > 1 else Cat(self.slots[slot] for slot in sorted(moves)).any()
        )


class RegionModule(Elaboratable):
    """Computes and delays the values that the binding hosts in one region.

    ``counted`` holds the values computed here whose overflow counts, by :class:`Place`; twins are represented
    by the first.
    """

    def __init__(self, region: Region, wires: Wires) -> None:
        self.region = region
        self.overflow_places: dict[Place, list[int]] = defaultdict(list)
        self._flags: dict[tuple[Place, int], Signal] = {}
        self._wires = wires
        bound = wires.bound
        self.values = wires.hosted[region]
        self.units = [unit for unit in bound.units if unit.host == region]
        for first in self.values:
            for twin in bound.group(first):
                if wires.program.operations[twin].checked:
                    self.overflow_places[wires.place(twin)].append(first)

    def flag(self, place: Place, later: int) -> Signal:
        """Return a flag: whether any value with this place overflowed, ``later`` cycles after that place.

        After one cycle each value has its own register; results of a shared multiplier are checked again from
        a register of its sum. From :data:`SETTLED` cycles on they share one register. Only the overflow check
        follows a value combinationally.
        """
        name = "_".join([f"overflow_{self.region}", *place.functions, str(place.cycle), str(later)])
        return self._flags.setdefault((place, later), Signal(name=name, reset_less=later == SETTLED))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self._phase = self._counter(m, "phase")
        overflows: dict[int, Overflow] = {}
        for value in self.values:
            kind = self._wires.program.operations[value].kind
            if kind is not Kind.INPUT and self._wires.bound.alone(value):
                overflows[value] = Overflow(self._add(m, value))
        for number, unit in enumerate(self.units):
            if unit.resource in MULTIPLIERS:
                overflows |= self._multiplier(m, unit, f"multiplier_{number}")
            elif unit.resource is Resource.RECIPROCAL:
                overflows |= self._reciprocal(m, unit, f"reciprocal_{number}")
            else:
                self._trigonometry(m, unit, f"sin_cos_{number}")
        for value in self.values:
            self._delay(m, value)
        self._drive_flags(m, overflows)
        return m

    def _counter(self, m: Module, name: str) -> Any:
        """Return a counter of slots.

        Each counter stays close to what it selects: a single counter for the whole design would have
        thousands of loads.
        """
        ii = self._wires.bound.ii
        counter = Signal(range(ii), name=name)
        if ii > 1:
            m.d.sync += counter.eq(Mux(counter == ii - 1, 0, counter + 1))
        return counter

    def _drive_flags(self, m: Module, overflows: dict[int, Overflow]) -> None:
        """Drive the requested flags."""
        before = {value: overflow.before for value, overflow in overflows.items()}
        for (place, later), flag in self._flags.items():
            values = self.overflow_places[place]
            for value in values if later else ():
                if before[value] is None:
                    name = f"{self._wires.names[value]}_overflow"
                    before[value] = Signal(name=name, reset_less=True)
                    m.d.sync += before[value].eq(overflows[value].now)
            raised = Cat(before[value] if later else overflows[value].now for value in values).any()
            m.d["sync" if later == SETTLED else "comb"] += flag.eq(raised)

    def _operands(self, index: int) -> list[Any]:
        """Return the operand signals of a step, in the order of its operation's operands."""
        bound = self._wires.bound
        start = bound.starts[index]
        return [
            self._wires.tap(bound.tap(operand.value, start)) for operand in self._operation(index).operands
        ]

    def _operation(self, index: int) -> Operation:
        return self._wires.program.operations[self._wires.bound.steps[index].results[0]]

    def _add(self, m: Module, value: int) -> Any:
        """Compute a sum, choice or constant product in adders, which twins share; return its overflow."""
        group = self._wires.bound.group(value)
        operations = {self._slot(twin): self._wires.program.operations[twin] for twin in group}
        wires = {self._slot(twin): self._operands(self._step(twin)) for twin in group}
        first = self._shared_operation(value)
        columns = [
            self._select_operand(
                m,
                f"{self._wires.names[value]}_{k}",
                {slot: operation.operands[k] for slot, operation in operations.items()},
                {slot: row[k] for slot, row in wires.items()},
            )
            for k in range(len(first.operands))
        ]
        if first.kind is Kind.SCALE:
            ((_, factor, _),) = columns
            full = scale(m, self._wires.names[value], factor, first.constant, first.drop)
        else:
            full = combine(first, columns)
        result, overflow = cut(full, first)
        m.d.comb += self._wires.tap(Tap(value, 0)).eq(result)
        return overflow

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
        operations = [self._wires.program.operations[twin] for twin in self._wires.bound.group(value)]
        return replace(operations[0], checked=any(operation.checked for operation in operations))

    def _step(self, value: int) -> int:
        return self._wires.bound.producer[value]

    def _slot(self, value: int) -> int:
        return self._wires.bound.starts[self._step(value)] % self._wires.bound.ii

    def _multiplier(self, m: Module, unit: Unit, name: str) -> dict[int, Overflow]:
        """Build a multiplier with its operands and rounding selected by slot; return overflows by value."""
        factors = {slot: self._factors(index) for slot, index in unit.steps.items()}
        phase = self._counter(m, f"{name}_phase")
        a, b = (
            self._select(m, f"{name}_{port}", {slot: pair[k] for slot, pair in factors.items()}, phase)
            for k, port in enumerate("ab")
        )
        registers = self._wires.bound.registers.get(unit.resource, 0)
        primitive = self._wires.primitive
        rounding = self._rounding(m, unit, addend_delay(registers, (len(a), len(b)), primitive), name, phase)
        result = multiply_add(m, name, a, b, rounding, registers=registers, primitive=primitive)
        full = Signal.like(result, name=f"{name}_rounded")
        m.d.comb += full.eq(result)
        overflows: dict[int, Overflow] = {}
        results = self._results(unit)
        before = Signal.like(full, name=f"{name}_before", reset_less=True) if len(results) > 1 else None
        for value in results:
            checked = self._shared_operation(value)
            result, overflow = cut(full, checked)
            m.d.comb += self._wires.tap(Tap(value, 0)).eq(result)
            overflows[value] = Overflow(overflow, None if before is None else cut(before, checked)[1])
        if before is not None:
            m.d.sync += before.eq(full)
        return overflows

    def _rounding(self, m: Module, unit: Unit, later: int, name: str, phase: Any) -> Any:
        """Return the rounding constant ``later`` cycles after the operands, registered if ``later > 0``."""
        ahead = min(later, 1)
        halves = {
            (slot + later - ahead) % self._wires.bound.ii: Const(half(self._operation(index).drop))
            for slot, index in unit.steps.items()
        }
        chosen = self._select(m, f"{name}_half", halves, phase)
        if not ahead or isinstance(chosen, Const):
            return chosen
        register = Signal(chosen.shape(), name=f"{name}_rounding", reset_less=True)
        m.d.sync += register.eq(chosen)
        return register

    def _results(self, unit: Unit) -> list[int]:
        """Return the values that a unit computes; twins are represented by the first."""
        bound = self._wires.bound
        values = (value for index in unit.steps.values() for value in bound.steps[index].results)
        return list(dict.fromkeys(bound.group(value)[0] for value in values))

    def _reciprocal(self, m: Module, unit: Unit, name: str) -> dict[int, Overflow]:
        """Build a reciprocal unit with its operand and shift selected by slot; return overflows by value."""
        wires, bound = self._wires, self._wires.bound
        assert wires.program.reciprocal is not None
        (latency,) = {bound.steps[index].latency for index in unit.steps.values()}
        registers = bound.registers.get(unit.resource, 0)
        spec = wires.program.reciprocal
        m.submodules[name] = hardware = ReciprocalUnit(spec, latency, registers, wires.primitive)
        operands, shifts = {}, {}
        for slot, index in unit.steps.items():
            (operands[slot],) = self._operands(index)
            shifts[slot] = Const(self._operation(index).constant, hardware.shift.shape())
        m.d.comb += [
            hardware.x.eq(self._select(m, f"{name}_x", operands)),
            hardware.shift.eq(self._select(m, f"{name}_shift", shifts)),
        ]
        overflows: dict[int, Overflow] = {}
        for value in self._results(unit):
            result, overflow = saturate(hardware.y, self._shared_operation(value))
            m.d.comb += wires.tap(Tap(value, 0)).eq(result)
            overflows[value] = Overflow(overflow)
        return overflows

    def _factors(self, index: int) -> tuple[Any, Any]:
        """Return a step's factors, the wider first; constants of twins have the width of the widest."""
        operation = self._operation(index)
        factors = self._operands(index)
        if operation.kind is Kind.SCALE:
            (value,) = self._wires.bound.steps[index].results
            twins = (self._wires.program.operations[twin] for twin in self._wires.bound.group(value))
            width = max(twin.constant.bit_length() for twin in twins) + 1
            factors.append(Const(operation.constant, signed(width)))
        first, second = sorted(factors, key=len, reverse=True)
        return first, second

    def _trigonometry(self, m: Module, unit: Unit, name: str) -> None:
        """Build a trigonometry unit with its angle and constant offset selected by slot."""
        wires = self._wires
        registers = wires.bound.registers.get(unit.resource, 0)
        spec = wires.program.trigonometry
        m.submodules[name] = hardware = TrigonometryUnit(spec, registers, wires.primitive)
        angles, offsets = {}, {}
        for slot, index in unit.steps.items():
            operation = self._operation(index)
            (angle,) = self._operands(index)
            angles[slot] = align(angle, operation.operands[0]) if operation.operands[0].shift else angle
            offsets[slot] = Const(operation.constant, hardware.angle.shape())
        m.d.comb += hardware.angle.eq(
            self._select(m, f"{name}_angle", angles) + self._select(m, f"{name}_offset", offsets)
        )
        for value in self._results(unit):
            kind = wires.program.operations[value].kind
            m.d.comb += wires.tap(Tap(value, 0)).eq(hardware.sin if kind is Kind.SIN else hardware.cos)

    def _select(self, m: Module, name: str, choices: dict[int, Any], phase: Any = None) -> Any:
        """Return the choice of the current slot by a counter; arbitrary in a slot without a choice."""
        slots: dict[object, list[int]] = defaultdict(list)
        for slot, choice in sorted(choices.items()):
            same = (choice.value, len(choice)) if isinstance(choice, Const) else id(choice)
            slots[same].append(slot)
        if len(slots) == 1:
            return next(iter(choices.values()))
        width = max(len(choice) + (not choice.shape().signed) for choice in choices.values())
        chosen = Signal(signed(width), name=name)
        *others, last = slots.values()
        with m.Switch(self._phase if phase is None else phase):
            for own in others:
                with m.Case(*own):
                    m.d.comb += chosen.eq(choices[own[0]])
            with m.Default():
                m.d.comb += chosen.eq(choices[last[0]])
        return chosen

    def _delay(self, m: Module, value: int) -> None:
        bound = self._wires.bound
        stages = tuple(stage for stage in bound.stages.get(value, ()) if stage)
        taps = delay_line(
            m,
            self._wires.tap(Tap(value, 0)),
            self._wires.enable(value),
            stages,
            name=self._wires.names[value],
            memory_stages=bound.memory_stages,
        )
        m.d.comb += [self._wires.tap(Tap(value, k)).eq(taps[k]) for k in stages]


def combine(operation: Operation, columns: list[tuple[Operand, Any, Any]]) -> Any:
    """Return a sum or choice, before rounding, of operands with their signals and any varying signs."""
    operands = tuple(operand for operand, _, _ in columns)
    wires, signs = [wire for _, wire, _ in columns], [sign for _, _, sign in columns]
    if operation.kind is Kind.ADD:
        if all(sign is None for sign in signs):
            return total(operands, wires, operation.drop)
        return add_or_subtract(operands, wires, signs, operation.drop)
    plain = tuple(
        operand if sign is None else replace(operand, negative=False)
        for operand, sign in zip(operands, signs, strict=True)
    )
    wires = [wire if sign is None else negate(wire, sign) for wire, sign in zip(wires, signs, strict=True)]
    return choose(plain, wires, operation.drop)
