"""The signatures of a core's regions: the values that each takes from others and gives to others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from amaranth.hdl import Shape, signed

from rbdhw.fixed.program import Kind, Operation, Program
from rbdhw.rtl.values import formula, value_names
from rbdhw.scalar import Region
from rbdhw.schedule.model import MULTIPLIERS, Bound, Resource, Tap, Unit

UNIT_NAMES = {
    **dict.fromkeys(MULTIPLIERS, "multiplier"),
    Resource.RECIPROCAL: "reciprocal",
    Resource.TRIGONOMETRY: "sin_cos",
}


@dataclass(frozen=True)
class Signature:
    """What a region contains, and its ports."""

    region: Region
    # The values that it computes or delays; twins, which share an operator, are represented by the first.
    values: tuple[int, ...]
    units: tuple[Unit, ...]  # its shared units
    steps: tuple[int, ...]  # the steps that it executes, by their start
    # The stages of delay lines that it reads from elsewhere, and those of its own that are read elsewhere.
    inputs: tuple[Tap, ...]
    outputs: tuple[Tap, ...]

    @property
    def named_units(self) -> list[tuple[str, Unit]]:
        return [(f"{UNIT_NAMES[unit.resource]}_{number}", unit) for number, unit in enumerate(self.units)]


class BoundProgram:
    """A program with its binding, as regions see it.

    ``names`` are those of the values, and ``signatures`` those of the regions with hardware.
    """

    def __init__(self, program: Program, bound: Bound) -> None:
        self.program = program
        self.bound = bound
        self.names = value_names(program, bound.ready, bound.hosts)

    def operation(self, index: int) -> Operation:
        return self.program.operations[self.bound.steps[index].results[0]]

    def name(self, tap: Tap) -> str:
        """Return the name of a value's signal at a stage of its delay line."""
        return f"{self.names[tap.value]}_s{tap.stage}" if tap.stage else self.names[tap.value]

    def shape(self, tap: Tap) -> Shape:
        return signed(self.program.operations[tap.value].format.width)

    def description(self, signature: Signature) -> list[str]:
        """Return what a region computes in each cycle of a task, as lines of text."""
        bound, region = self.bound, signature.region
        joint = "" if region.joint is None else f" at joint {region.joint}"
        if not signature.steps:
            return [f"{region.step}{joint}: delay lines."]
        names = {value: name.removeprefix(f"{region}__") for value, name in self.names.items()}
        added = (bound.steps[step].pre_sum for step in signature.steps)
        names |= {s: f"({formula(self.program, s, names)})" for s in added if s is not None}
        units = {step: f"{name}: " for name, unit in signature.named_units for step in unit.steps.values()}
        cycles: dict[int, list[str]] = defaultdict(list)
        for step in signature.steps:
            for value in bound.steps[step].results:
                if self.program.operations[value].kind is Kind.INPUT:  # a word that twins take turns to read
                    continue
                ready = f" ({bound.ready[value]})" if bound.ready[value] > bound.starts[step] else ""
                text = f"{names[value]} = {formula(self.program, value, names)}"
                cycles[bound.starts[step]].append(f"{units.get(step, '')}{text}{ready}")
        return [
            f"{region.step}{joint}, by the cycles of a task; (n): ready in cycle n. II: {bound.ii}.",
            *(f"  {cycle}: {'; '.join(texts)}" for cycle, texts in sorted(cycles.items())),
        ]

    def delays(self, value: int) -> tuple[int, ...]:
        """Return the stages of a value's delay line behind the value itself."""
        return tuple(stage for stage in self.bound.stages.get(value, ()) if stage)

    @cached_property
    def results(self) -> frozenset[Tap]:
        """What the core reads for the results of its functions, constants excepted."""
        bound, outputs = self.bound, self.program.outputs
        return frozenset(
            bound.tap(word.value, bound.latency[function])
            for function, words in outputs.items()
            for word in words
            if word.value in bound.ready
        )

    @cached_property
    def functions_of(self) -> dict[int, tuple[str, ...]]:
        """The functions whose results depend on a value."""
        functions: dict[int, tuple[str, ...]] = defaultdict(tuple)
        for function in self.program.outputs:
            for value in self.program.operations_of(function):
                functions[value] += (function,)
        return functions

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        bound = self.bound
        values: dict[Region, list[int]] = defaultdict(list)
        for value in sorted(bound.ready):
            if value == bound.group(value)[0] and value not in bound.absorbed:
                values[bound.hosts[value]].append(value)
        units: dict[Region, list[Unit]] = defaultdict(list)
        for unit in bound.units:
            units[unit.host].append(unit)
        steps = {region: self._steps(hosted, units[region]) for region, hosted in values.items()}
        read = {
            region: {*self._read(steps[region]), *(Tap(v, 0) for v in hosted if self._is_delayed_input(v))}
            for region, hosted in values.items()
        }
        readers = Counter(tap for taps in (*read.values(), self.results) for tap in taps)
        made: dict[Region, set[Tap]] = defaultdict(set)
        for tap in readers:
            if not self._is_word(tap):
                made[bound.hosts[tap.value]].add(tap)
        signatures = []
        for region in sorted(values, key=str):
            hosted = tuple(values[region])
            if steps[region] or any(self.delays(value) for value in hosted):
                inputs = read[region] - made[region]
                outputs = {tap for tap in made[region] if readers[tap] > (tap in read[region])}
                signature = Signature(
                    region, hosted, tuple(units[region]), steps[region], _sorted(inputs), _sorted(outputs)
                )
                signatures.append(signature)
        return tuple(signatures)

    def _steps(self, hosted: list[int], units: list[Unit]) -> tuple[int, ...]:
        """Return the steps of a region: those of its adders, and those of its units."""
        bound = self.bound
        steps = [
            bound.producer[twin] for value in hosted if bound.alone(value) for twin in bound.group(value)
        ]
        steps += [step for unit in units for step in unit.steps.values()]
        return tuple(sorted(steps, key=lambda step: (bound.starts[step], step)))

    def _read(self, steps: tuple[int, ...]) -> Iterator[Tap]:
        for index in steps:
            for operand in self.bound.operands(self.program, index):
                if self.program.operations[operand.value].kind is not Kind.CONSTANT:
                    yield self.bound.tap(operand.value, self.bound.starts[index])

    def _is_delayed_input(self, value: int) -> bool:
        return self.program.operations[value].kind is Kind.INPUT and bool(self.delays(value))

    def _is_word(self, tap: Tap) -> bool:
        """Return whether the core drives this signal, a word of a task; a region drives all others."""
        return self.program.operations[tap.value].kind is Kind.INPUT and tap.stage == 0


def _sorted(taps: set[Tap] | frozenset[Tap]) -> tuple[Tap, ...]:
    return tuple(sorted(taps, key=lambda tap: (tap.value, tap.stage)))
