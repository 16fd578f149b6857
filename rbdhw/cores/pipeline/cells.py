"""The cells of the core of a bound design: operators, operand multiplexers, delay lines, and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rbdhw.estimate.fabric import FABRICS, Cells, Fabric
from rbdhw.fixed.program import Kind, Operand, Operation, Program
from rbdhw.fixed.recoding import Booth, ShiftAdd, shift_add
from rbdhw.rtl.delay import line_cells
from rbdhw.rtl.reciprocal import reciprocal_cells
from rbdhw.rtl.trigonometry import trigonometry_cells
from rbdhw.schedule.model import MULTIPLIERS, Bound, Resource, Tap, Unit
from rbdhw.schedule.problem import polynomial_latency, polynomial_order
from rbdhw.target import Target

REPEATED = 0.25
"""The weight of a slot in which a multiplexer selects a constant, or a signal that it also selects in another
slot; a slot with a signal of its own has weight 1."""


@dataclass(frozen=True)
class Counts:
    """The hardware of a core, counted."""

    # The number of units. An adder of several twins counts once; a product in adders counts all of them.
    multipliers: int
    adders: int
    # For each bit of an operand, the number of signals to select from beyond the first, summed up.
    multiplexed_bits: int
    # The bits of adders, and of the registers and memories of delay lines.
    adder_bits: int
    delay_bits: int


@dataclass(frozen=True)
class Multiplexer:
    """The signals and constants from which a multiplexer selects an operand."""

    signals: int  # the number of different signals
    constants: int  # the number of different constants
    slots: int  # the number of slots in which the operand is used
    width: int  # the width of the widest of them

    def luts(self, fabric: Fabric) -> float:
        """Return the look-up tables of the multiplexer, or of the table of constants."""
        if self.signals + self.constants <= 1:
            return 0.0
        if not self.signals:
            return fabric.constants(self.slots, self.width)
        return fabric.multiplexer(self.signals + REPEATED * (self.slots - self.signals), self.width)


def counts(program: Program, bound: Bound) -> Counts:
    sums = list(_sums(program, bound))
    chosen = [choice for group in sums for choice in _group_choices(program, bound, group)]
    chosen += [choice for unit in bound.units for choice in _unit_choices(program, bound, unit)]
    entries = [group for group in bound.twins if program.operations[group[0]].kind is Kind.INPUT]
    return Counts(
        multipliers=sum(unit.resource in MULTIPLIERS for unit in bound.units),
        adders=sum(_adders(program, group).adders for group in sums),
        multiplexed_bits=sum(max(choice.signals - 1, 0) * choice.width for choice in chosen)
        + sum((len(group) - 1) * _width(program, group[0]) for group in entries),
        adder_bits=sum(_adders(program, group).bits for group in sums),
        delay_bits=sum(max(s, default=0) * _width(program, v) for v, s in bound.stages.items()),
    )


def core_cells(program: Program, bound: Bound, device: Target) -> dict[str, Cells]:
    """Return the cells of the core, by the parts of :data:`rbdhw.estimate.calibration.PARTS`."""
    fabric = FABRICS[device.family]
    sums = list(_sums(program, bound))
    arithmetic = sum(_sum_luts(program, group, fabric) for group in sums)
    selection = sum(choice.luts(fabric) for group in sums for choice in _group_choices(program, bound, group))
    units = Cells()
    for unit in bound.units:
        choices = _unit_choices(program, bound, unit)
        selection += sum(choice.luts(fabric) for choice in choices)
        if unit.resource in MULTIPLIERS:
            arithmetic += _product_luts(program, bound, unit, choices, device, fabric)
        else:
            units += unit_cells(
                program, unit.resource, fabric, soonest=_answers_soonest(program, bound, unit)
            )
    entries = [group for group in bound.twins if program.operations[group[0]].kind is Kind.INPUT]
    selection += sum(fabric.multiplexer(len(group), _width(program, group[0])) for group in entries)
    waiting = Cells(flip_flops=sum((len(group) - 1) * _width(program, group[0]) for group in entries))
    for value, stages in bound.stages.items():
        waiting += line_cells(_width(program, value), stages, bound.memory_stages, fabric)
    if bound.entry:
        waiting += Cells(flip_flops=sum(program.slots) + len(program.outputs))
    for value, cycle in bound.late.items():
        if value in bound.stages:
            waiting += line_cells(_width(program, value), (cycle,), bound.memory_stages, fabric)
            selection += fabric.multiplexer(2, _width(program, value))
    return {
        "arithmetic": Cells(arithmetic, _flags(program, bound) + _registers(program, bound, sums)),
        "selection": Cells(luts=selection),
        "waiting": waiting,
        "units": units,
    }


def _flags(program: Program, bound: Bound) -> int:
    checked = (value for value in bound.producer if program.operations[value].checked)
    return len({bound.group(value)[0] for value in checked})


def dsp_blocks(program: Program, bound: Bound, device: Target) -> int:
    """Return the DSP blocks of all multipliers, including those inside trigonometry and reciprocal units.

    The number follows from the operand widths of each multiplier. Synthesis builds very small ones from
    look-up tables.
    """
    return sum(unit_blocks(program, bound, unit, device) for unit in bound.units)


def unit_blocks(program: Program, bound: Bound, unit: Unit, device: Target) -> int:
    """Return the DSP blocks of one unit."""
    blocks, registers = 0, bound.registers.get(unit.resource, 0)
    for widths in _factor_widths(program, bound, unit):
        inferred = registers > 0 or sum(widths) >= device.primitive.least_bits
        blocks += device.blocks(widths) if inferred else 0
    return blocks


def _factor_widths(program: Program, bound: Bound, unit: Unit) -> Sequence[tuple[int, int]]:
    if unit.resource is Resource.TRIGONOMETRY:
        return program.trigonometry.multipliers
    if unit.resource is Resource.RECIPROCAL:
        assert program.reciprocal is not None
        return program.reciprocal.multipliers
    first, second = (choice.width for choice in _unit_choices(program, bound, unit))
    return ((first, second),)


def _width(program: Program, value: int) -> int:
    return program.operations[value].format.width


def _sums(program: Program, bound: Bound) -> Iterator[Sequence[int]]:
    """Yield the sums, choices and scales that have an operator of their own, with their twins."""
    for value in bound.producer:
        group = bound.group(value)
        if value == group[0] and program.operations[value].kind is not Kind.INPUT and bound.alone(value):
            yield group


def _adders(program: Program, group: Sequence[int]) -> ShiftAdd:
    """Return the adders of an operator: one as wide as its result, except for a product."""
    operation = program.operations[group[0]]
    if operation.kind is Kind.MULTIPLY:
        return booth(program, group).adders
    if operation.kind is Kind.SCALE:
        return shift_add(_width(program, operation.operands[0].value), operation.constant, operation.drop)
    return ShiftAdd(operation.format.width, 1, 1)


def booth(program: Program, group: Sequence[int]) -> Booth:
    """Return the rows that multiply in look-up tables, for twins in turn."""
    factors = zip(*(program.operations[value].operands for value in group), strict=True)
    return Booth.of([max(_width(program, operand.value) for operand in column) for column in factors])


def _registers(program: Program, bound: Bound, sums: Sequence[Sequence[int]]) -> int:
    """Return the bits of the pipeline registers of products in look-up tables."""
    latencies = ((group, bound.steps[bound.producer[group[0]]].latency) for group in sums)
    return sum(booth(program, group).register_bits(latency) for group, latency in latencies if latency)


def _aligned_width(program: Program, operand: Operand) -> int:
    return max(_width(program, operand.value) + operand.shift, 1)


def _sum_luts(program: Program, group: Sequence[int], fabric: Fabric) -> float:
    """Return the look-up tables of an operator with rounding and check; for twins those of the first."""
    operation = program.operations[group[0]]
    if operation.kind in (Kind.MULTIPLY, Kind.SCALE):
        return _tabled_luts(program, group, fabric)
    operands = operation.operands[1:] if operation.kind is Kind.SELECT else operation.operands
    both = len(operation.operands) == 2
    top = max(_aligned_width(program, operand) for operand in operands) + both
    checked = any(program.operations[value].checked for value in group)
    used = top if checked else min(top, operation.drop + operation.format.width)
    room = any(not operand.negative and operand.shift >= operation.drop > 0 for operand in operands)
    rounds = operation.drop > 0 and not (room and operation.kind is Kind.ADD)
    luts = fabric.check(top - operation.drop - operation.format.width + 1) if checked else 0.0
    turned = _count_sign_changes(program, group)
    if operation.kind is Kind.SELECT:
        luts += used + used * sum(operand.negative for operand in operands)
        return luts + rounds * fabric.constant_addend * (used - operation.drop + 1)
    if both:
        low = max(max(operand.shift, 0) for operand in operands)
        low = min(low, operation.drop - 1) if operation.drop else low
        luts += max(used - low, 1) * (1.0 + turned * fabric.negated_addend)
        return luts + rounds * fabric.third_addend * (used - operation.drop + 1)
    if operands[0].negative or turned:
        return luts + used
    return luts + (fabric.constant_addend * (used - operation.drop + 1) if rounds else 0.0)


def _tabled_luts(program: Program, group: Sequence[int], fabric: Fabric) -> float:
    """Return the look-up tables of a product in adders, with rounding and check."""
    operation = program.operations[group[0]]
    if operation.kind is Kind.SCALE:
        full = _width(program, operation.operands[0].value) + operation.constant.bit_length()
    else:
        rows = booth(program, group)
        full = rows.wide + rows.narrow + 1
    above = full - operation.drop - operation.format.width + 1
    checked = any(program.operations[value].checked for value in group)
    return adder_luts(program, group, fabric) + (fabric.check(above) if checked else 0.0)


def adder_luts(program: Program, group: Sequence[int], fabric: Fabric) -> float:
    """Return the look-up tables of the adders of a product, for twins in turn."""
    constant = program.operations[group[0]].kind is Kind.SCALE
    return (fabric.shifted_addend if constant else fabric.row) * _adders(program, group).bits


def _count_sign_changes(program: Program, group: Sequence[int]) -> int:
    """Return the number of operands whose signs differ among twins."""
    rows = zip(*(program.operations[value].operands for value in group), strict=True)
    return sum(len({operand.negative for operand in row}) > 1 for row in rows)


def _product_luts(
    program: Program, bound: Bound, unit: Unit, choices: Sequence[Multiplexer], device: Target, fabric: Fabric
) -> float:
    """Return a multiplier's look-up tables: adders that join blocks and round, and checks of each result."""
    first, second = sorted((choice.width for choice in choices), reverse=True)
    full = first + second + 1
    joins = () if device.primitive.shift else device.primitive.places((first, second))[1:]
    luts = float(sum(full - offset for offset in joins))
    drops: set[int] = set()
    checks: set[tuple[int, int]] = set()
    for index in unit.steps.values():
        operation = _operation(program, bound, index)
        drop = operation.drop
        total = bound.block_sum(program, index)
        if total is not None:
            operation, drop = program.operations[bound.steps[index].results[1]], total.drop
            full = max(full, total.place + total.aligned + 1)
        drops.add(drop)
        if operation.checked:
            checks.add((drop, operation.format.width))
    rounded = max(full - max(min(drops) - 1, 0), 0) if max(drops) else 0
    luts += rounded * (fabric.constant_addend if len(drops) == 1 else 1.0)
    return luts + sum(fabric.check(full - drop - width + 1) for drop, width in checks)


def _answers_soonest(program: Program, bound: Bound, unit: Unit) -> bool:
    """Return whether no register is behind the last product of a unit for sine and cosine, or reciprocals."""
    registers = bound.registers.get(unit.resource, 0)
    order = polynomial_order(program, unit.resource)
    return bound.unit_latency(unit) < polynomial_latency(order, registers)


def unit_cells(program: Program, resource: Resource, fabric: Fabric, *, soonest: bool = False) -> Cells:
    """Return the cells of a unit for sine and cosine, or for reciprocals, with its tables.

    A unit that answers ``soonest`` has no register behind its last product.
    """
    if resource is Resource.TRIGONOMETRY:
        return trigonometry_cells(program.trigonometry, fabric, soonest=soonest)
    assert program.reciprocal is not None
    return reciprocal_cells(program.reciprocal, fabric, soonest=soonest)


def _operation(program: Program, bound: Bound, index: int) -> Operation:
    return program.operations[bound.steps[index].results[0]]


Source = Tap | tuple[int, int]
"""The source of an operand: a delay line's stage, or an integer with its width."""


def _sources(program: Program, bound: Bound, index: int) -> list[tuple[Source, int]]:
    """Return the sources of a step in the order of its operation's operands, and their widths."""
    operation = _operation(program, bound, index)
    sources: list[tuple[Source, int]] = []
    for operand in operation.operands:
        width = _width(program, operand.value)
        known = program.operations[operand.value]
        if known.kind is Kind.CONSTANT:
            sources.append(((known.constant, width), width))
        else:
            sources.append((bound.tap(operand.value, bound.starts[index]), width))
    if operation.kind is Kind.SCALE:
        values = bound.group(bound.steps[index].results[0])
        width = max(program.operations[value].constant.bit_length() for value in values) + 1
        sources.append(((operation.constant, width), width))
    return sources


def _choice(column: Sequence[tuple[Source, int]]) -> Multiplexer:
    signals = {source for source, _ in column if isinstance(source, Tap)}
    constants = {source for source, _ in column if not isinstance(source, Tap)}
    return Multiplexer(len(signals), len(constants), len(column), max(width for _, width in column))


def _group_choices(program: Program, bound: Bound, group: Sequence[int]) -> list[Multiplexer]:
    """Return the multiplexers for the operands of an adder that serves twins in turn."""
    rows = [_sources(program, bound, bound.producer[value]) for value in group]
    return [_choice(column) for column in zip(*rows, strict=True)]


def _unit_choices(program: Program, bound: Bound, unit: Unit) -> list[Multiplexer]:
    """Return the multiplexers for the operands of a shared unit; of a product the wider one comes first."""
    rows = [_sources(program, bound, index) for index in unit.steps.values()]
    if unit.resource in MULTIPLIERS:
        rows = [sorted(row, key=lambda source: -source[1]) for row in rows]
    return [_choice(column) for column in zip(*rows, strict=True)]


def total(cells: Mapping[str, Cells]) -> Cells:
    return sum(cells.values(), Cells())
