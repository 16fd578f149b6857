"""A region's submodule: the operators, shared units and delay lines of one step at one joint."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Signal, signed

from rbdhw.fixed.program import Kind, Operation, Program
from rbdhw.rtl.arithmetic import aligned, chosen, cut, half, saturated, total
from rbdhw.rtl.delay import delay_line
from rbdhw.rtl.reciprocal import ReciprocalUnit
from rbdhw.rtl.trigonometry import TrigonometryUnit
from rbdhw.scalar import Region
from rbdhw.schedule.model import MULTIPLIERS, Bound, Resource, Step, Tap, Unit


@dataclass(frozen=True)
class Place:
    """When in a task, and for the tasks of which functions, an overflow counts."""

    cycle: int
    functions: tuple[str, ...]


class Wires:
    """The signals that regions share: a task's values at the stages of their delay lines.

    Members
    -------
    phase, slots : Signal
        The slot of the current cycle as a number, and as one bit a slot.
    hosted
        The values of each region.
    """

    def __init__(self, program: Program, bound: Bound) -> None:
        self.program = program
        self.bound = bound
        self.phase = Signal(range(bound.ii), name="phase")
        self.slots = Signal(bound.ii, name="slots", init=1)
        self._taps: dict[Tap, Signal] = {}
        self._reached = {function: program.reached(function) for function in program.outputs}
        self.hosted: dict[Region, list[int]] = defaultdict(list)
        for value in sorted(bound.ready):
            self.hosted[bound.hosts[value]].append(value)

    def tap(self, tap: Tap) -> Any:
        """The signal of a value at a stage of its delay line; constants are constants."""
        operation = self.program.operations[tap.value]
        if operation.kind is Kind.CONSTANT:
            return Const(operation.constant, signed(operation.format.width))
        if tap not in self._taps:
            suffix = f"_s{tap.stage}" if tap.stage else ""
            shape = signed(operation.format.width)
            self._taps[tap] = Signal(shape, name=f"v{tap.value}{suffix}")
        return self._taps[tap]

    def place(self, value: int) -> Place:
        """Where an overflow of a value counts."""
        concerned = tuple(f for f, values in self._reached.items() if value in values)
        return Place(self.bound.ready[value], concerned)

    def enable(self, value: int) -> Any:
        """Whether a value's delay line moves at the end of this cycle."""
        return self.slots[self.bound.ready[value] % self.bound.ii]


class RegionModule(Elaboratable):
    """Computes and delays the values that the binding hosts in one region.

    ``flags`` are, by cycle of the task and the functions concerned, whether a value computed here overflowed.
    """

    def __init__(self, region: Region, wires: Wires) -> None:
        self.region = region
        self.flags: dict[Place, Signal] = {}
        self._wires = wires
        bound = wires.bound
        self.values = wires.hosted[region]
        self.units = [unit for unit in bound.units if unit.host == region]
        for value in self.values:
            if wires.program.operations[value].checked:
                place = wires.place(value)
                name = "_".join([f"overflow_{region}", *place.functions, str(place.cycle)])
                self.flags.setdefault(place, Signal(name=name))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        overflows: dict[Place, list[Any]] = defaultdict(list)
        for value in self.values:
            if self._wires.program.operations[value].kind in (Kind.ADD, Kind.SELECT):
                self._note(overflows, value, self._sum(m, value))
        for number, unit in enumerate(self.units):
            if unit.resource in MULTIPLIERS:
                for value, flag in self._multiplier(m, unit, f"multiplier_{number}"):
                    self._note(overflows, value, flag)
            elif unit.resource is Resource.RECIPROCAL:
                for value, flag in self._reciprocal(m, unit, f"reciprocal_{number}"):
                    self._note(overflows, value, flag)
            else:
                self._trigonometry(m, unit, f"sin_cos_{number}")
        for value in self.values:
            self._delay(m, value)
        m.d.comb += [flag.eq(Cat(overflows[place]).any()) for place, flag in self.flags.items()]
        return m

    def _note(self, overflows: dict[Place, list[Any]], value: int, flag: Any) -> None:
        if self._wires.program.operations[value].checked:
            overflows[self._wires.place(value)].append(flag)

    def _operands(self, step: Step, start: int) -> list[Any]:
        operation = self._operation(step)
        bound = self._wires.bound
        return [self._wires.tap(bound.tap(operand.value, start)) for operand in operation.operands]

    def _operation(self, step: Step) -> Operation:
        return self._wires.program.operations[step.results[0]]

    def _sum(self, m: Module, value: int) -> Any:
        bound = self._wires.bound
        index = bound.producer[value]
        operation = self._operation(bound.steps[index])
        operands = self._operands(bound.steps[index], bound.starts[index])
        combined = total if operation.kind is Kind.ADD else chosen
        result, overflow = cut(combined(operation.operands, operands, operation.drop), operation)
        m.d.comb += self._wires.tap(Tap(value, 0)).eq(result)
        return overflow

    def _multiplier(self, m: Module, unit: Unit, name: str) -> list[tuple[int, Any]]:
        """One multiplier and rounding adder, its operands and rounding chosen by slot; overflows by value."""
        bound = self._wires.bound
        steps = {slot: bound.steps[index] for slot, index in unit.steps.items()}
        factors = {slot: self._factors(step, bound.starts[unit.steps[slot]]) for slot, step in steps.items()}
        a, b = (
            self._selected(m, f"{name}_{port}", {slot: pair[k] for slot, pair in factors.items()})
            for k, port in enumerate("ab")
        )
        halves = {slot: Const(half(self._operation(step).drop)) for slot, step in steps.items()}
        full = a * b + self._selected(m, f"{name}_half", halves)
        overflows: list[tuple[int, Any]] = []
        for step in steps.values():
            (value,) = step.results
            result, overflow = cut(full, self._operation(step))
            m.d.comb += self._wires.tap(Tap(value, 0)).eq(result)
            overflows.append((value, overflow))
        return overflows

    def _reciprocal(self, m: Module, unit: Unit, name: str) -> list[tuple[int, Any]]:
        """One reciprocal unit, its operand and shift chosen by slot; overflows by value."""
        wires, bound = self._wires, self._wires.bound
        assert wires.program.reciprocal is not None
        steps = {slot: bound.steps[index] for slot, index in unit.steps.items()}
        (latency,) = {step.latency for step in steps.values()}
        m.submodules[name] = hardware = ReciprocalUnit(wires.program.reciprocal, latency)
        operands, shifts = {}, {}
        for slot, step in steps.items():
            (operands[slot],) = self._operands(step, bound.starts[unit.steps[slot]])
            shifts[slot] = Const(self._operation(step).constant, hardware.shift.shape())
        m.d.comb += [
            hardware.x.eq(self._selected(m, f"{name}_x", operands)),
            hardware.shift.eq(self._selected(m, f"{name}_shift", shifts)),
        ]
        overflows = []
        for step in steps.values():
            (value,) = step.results
            result, overflow = saturated(hardware.y, self._operation(step))
            m.d.comb += wires.tap(Tap(value, 0)).eq(result)
            overflows.append((value, overflow))
        return overflows

    def _factors(self, step: Step, start: int) -> tuple[Any, Any]:
        """What a step multiplies, the wider first."""
        operation = self._operation(step)
        factors = self._operands(step, start)
        if operation.kind is Kind.SCALE:
            factors.append(Const(operation.constant, signed(operation.constant.bit_length() + 1)))
        first, second = sorted(factors, key=len, reverse=True)
        return first, second

    def _trigonometry(self, m: Module, unit: Unit, name: str) -> None:
        wires, bound = self._wires, self._wires.bound
        m.submodules[name] = hardware = TrigonometryUnit(wires.program.trigonometry)
        angles = {}
        for slot, index in unit.steps.items():
            step = bound.steps[index]
            operation = self._operation(step)
            (angle,) = self._operands(step, bound.starts[index])
            angles[slot] = phase = Signal(len(hardware.angle), name=f"{name}_phase_{slot}")
            m.d.comb += phase.eq(aligned(angle, operation.operands[0]) + operation.constant)
            for value in step.results:
                kind = wires.program.operations[value].kind
                m.d.comb += wires.tap(Tap(value, 0)).eq(hardware.sin if kind is Kind.SIN else hardware.cos)
        m.d.comb += hardware.angle.eq(self._selected(m, f"{name}_angle", angles))

    def _selected(self, m: Module, name: str, choices: dict[int, Any]) -> Any:
        """The choice of the current slot; in a slot without one, any."""
        if len(choices) == 1:
            return next(iter(choices.values()))
        width = max(len(choice) + (not choice.shape().signed) for choice in choices.values())
        chosen = Signal(signed(width), name=name)
        *others, (_, last) = sorted(choices.items())
        with m.Switch(self._wires.phase):
            for slot, choice in others:
                with m.Case(slot):
                    m.d.comb += chosen.eq(choice)
            with m.Default():
                m.d.comb += chosen.eq(last)
        return chosen

    def _delay(self, m: Module, value: int) -> None:
        bound = self._wires.bound
        stages = tuple(stage for stage in bound.stages.get(value, ()) if stage)
        taps = delay_line(
            m,
            self._wires.tap(Tap(value, 0)),
            self._wires.enable(value),
            stages,
            name=f"v{value}",
            memory_stages=bound.memory_stages,
        )
        m.d.comb += [self._wires.tap(Tap(value, k)).eq(taps[k]) for k in stages]
