"""The scheduling problem of a program on a target."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rbdhw.delays import Delays, Pipeline, Product, select_levels
from rbdhw.fixed.program import Kind, Operand, Operation, Program, adds_half
from rbdhw.fixed.reciprocal import CHOICES, DIGIT, FINE
from rbdhw.graph.twins import Group
from rbdhw.schedule.model import Problem, Resource, Step
from rbdhw.schedule.shift_add import use_adders
from rbdhw.schedule.twins import share_steps
from rbdhw.target import Clock, Target

LUTS_A_BIT = 1.2
"""Look-up tables for each bit that a pipeline computes, with all that surrounds it.

At 18 bits and an interval of 4 the iiwa14's ``id`` has 1.22, and its ``difd`` 1.04.
"""


def problem(
    program: Program,
    target: Target,
    clock_mhz: float | None,
    ii: int,
    twins: Sequence[Group] = (),
    longer: float = 0.0,
    *,
    soonest: bool = False,
) -> Problem:
    """Return the steps, delays and unit counts of a program for one task every ``ii`` cycles.

    Without a clock, :meth:`rbdhw.target.Target.clock` chooses one that products of this width allow. Products
    that are too slow for the clock get pipeline registers. Products by constants that adders compute at lower
    cost use no unit. Each resource gets the fewest units that can serve all its steps: the slots that
    they take over ``ii``, rounded up. ``twins`` are values that can share hardware
    (:func:`rbdhw.schedule.twins.shareable`). Where delays follow from the size of a design, they are
    ``longer`` by a share than those of the program alone. With ``soonest`` there is no register behind the
    last product of a sine or reciprocal where the cycle has room for it.

    Raises InputError if the clock is too fast for the target's operators, for multipliers shared among
    ``ii`` operations, or for operators that choose among twins.
    """
    target = sized_for(program, target, ii, longer)
    products = products_of(program, target, ii)
    clock = _clock(program, target, clock_mhz, ii)
    period = target.usable_period(clock.schedule_mhz)
    pipelines = {kind: target.pipeline(product, clock.schedule_mhz) for kind, product in products.items()}
    multiplied = _steps(program, target.delays, pipelines, period, ii)
    if soonest:
        multiplied = [
            _soonest_step(program, step, target.delays, products, pipelines, period) for step in multiplied
        ]
    alone = list(use_adders(program, multiplied, twins, target, ii, period))
    steps = tuple(share_steps(program, alone, twins, target.delays, ii))
    target.check_clock(clock.schedule_mhz, max((step.setup for step in steps), default=0.0))
    inputs = {i for i, operation in enumerate(program.operations) if operation.kind is Kind.INPUT}
    inputs.difference_update(value for step in steps for value in step.results)
    available = dict.fromkeys(sorted(inputs), 0)
    registers = {kind: pipeline.registers for kind, pipeline in pipelines.items()}
    pre_add = target.delays.pre_add
    return limited(Problem(steps, available, ii, clock.mhz, period, {}, tuple(twins), {}, registers, pre_add))


def limited(unlimited: Problem) -> Problem:
    """Return a problem with the fewest units of each resource that can serve all its steps."""
    ii = unlimited.ii
    filled = Counter((step.resource, step.limbs) for step in unlimited.steps if step.resource is not None)
    limits = {resource: math.ceil(filled[resource, 1] / ii) for resource in Resource}
    shared = {pool: math.ceil(number / ii) for pool, number in filled.items() if pool[1] > 1}
    return replace(unlimited, limits=limits, limb_limits=shared)


def clock_of(
    program: Program, target: Target, clock_mhz: float | None, ii: int, longer: float = 0.0
) -> Clock:
    """Return the clock of a program's design; see :func:`problem`, which raises the same errors."""
    return _clock(program, sized_for(program, target, ii, longer), clock_mhz, ii)


def sized_for(program: Program, target: Target, ii: int, longer: float = 0.0) -> Target:
    """Return a target with the delays of a pipeline for a program, by a rough count of its cells."""
    operations = program.operations
    units: dict[tuple[int, int], float] = defaultdict(float)
    for i, operation in enumerate(operations):
        if operation.kind in (Kind.MULTIPLY, Kind.SCALE):
            units[program.wide_port_widths if i in program.wide else program.port_widths] += 1.0 / ii
        elif operation.kind in (Kind.SIN, Kind.COS):
            for widths in program.trigonometry.multipliers:
                units[widths] += 0.5 / ii
    blocks = sum(math.ceil(count) * target.blocks(widths) for widths, count in units.items())
    bits = sum(o.format.width for o in operations if o.kind not in (Kind.INPUT, Kind.CONSTANT))
    return target.sized(LUTS_A_BIT * bits, blocks, longer)


def _clock(program: Program, target: Target, clock_mhz: float | None, ii: int) -> Clock:
    reciprocals = reciprocal_ways(program, target.delays, ii)
    products = products_of(program, target, ii).values()
    sums = (_arithmetic_step(program, i, target.delays, 1).setup for i in _arithmetic(program))
    angle = _entry_of_angle(program, target.delays, _sharing(program, Kind.COS, ii))
    least = max(target.least_period(products), min(map(max, reciprocals), default=0.0), angle, *sums)
    clock = target.clock(clock_mhz, least)
    target.check_clock(clock.schedule_mhz, least)
    return clock


def _sharing(program: Program, kind: Kind, ii: int) -> int:
    """Return the most operations of a kind that share a unit; 1 if there is none."""
    return max(1, min(ii, sum(operation.kind is kind for operation in program.operations)))


def _arithmetic(program: Program) -> list[int]:
    """Return the sums and choices of a program."""
    return [i for i, operation in enumerate(program.operations) if operation.kind in (Kind.ADD, Kind.SELECT)]


def products_of(program: Program, target: Target, ii: int) -> dict[Resource, Product]:
    """Return the product in each kind of unit that the program needs.

    Multiplexers select the operands of shared multipliers. In the polynomials of the other units a table
    precedes the first product. The only product of a short reciprocal also waits for half of what its shift
    cuts, which is decoded in two levels and added to a coefficient. After the last product one level of logic
    tells whether a sine is too large, and another begins to shift a reciprocal.
    """
    delays = target.delays
    choice = delays.choice(ii, sum(program.port_widths))
    products = {Resource.MULTIPLIER: Product(program.port_widths, choice, delays.leave)}
    if program.wide:
        choice = delays.choice(ii, sum(program.wide_port_widths))
        products[Resource.WIDE_MULTIPLIER] = Product(program.wide_port_widths, choice, delays.leave)
    turn = _widest(program.trigonometry.multipliers)
    products[Resource.TRIGONOMETRY] = Product(turn, delays.table, delays.check)
    if program.reciprocal is not None:
        inverse, entry = _widest(program.reciprocal.multipliers), delays.table
        if program.reciprocal.order == 1:
            meanwhile = delays.addend if target.primitive.adds else delays.multiply - delays.add
            entry = max(entry, delays.add + 2.0 * delays.select - meanwhile)
        fine = delays.select + delays.read(program.reciprocal.result_bits)
        products[Resource.RECIPROCAL] = Product(inverse, entry, fine)
    return products


def _widest(multipliers: Sequence[tuple[int, int]]) -> tuple[int, int]:
    a, b = (max(widths) for widths in zip(*multipliers, strict=True))
    return a, b


def polynomial_order(program: Program, resource: Resource) -> int:
    """Return the order of the polynomials in the units for sines, or in those for reciprocals."""
    spec = program.trigonometry if resource is Resource.TRIGONOMETRY else program.reciprocal
    assert spec is not None
    return spec.order


def polynomial_latency(order: int, registers: int = 0) -> int:
    """Return the least cycles of a unit: one for its tables, and one plus the registers for each product."""
    return 1 + order * (1 + registers)


def _steps(
    program: Program, delays: Delays, pipelines: dict[Resource, Pipeline], period: float, ii: int
) -> list[Step]:
    steps: list[Step] = []
    turns: dict[tuple[object, ...], list[int]] = defaultdict(list)
    readers = Counter(value for operation in program.operations for value in _variables(program, operation))
    for i, operation in enumerate(program.operations):
        match operation.kind:
            case Kind.INPUT | Kind.CONSTANT:
                pass
            case Kind.SIN | Kind.COS:
                turns[(operation.operands, operation.constant, operation.region)].append(i)
            case Kind.RECIPROCAL:
                steps.append(_reciprocal_step(program, i, delays, pipelines, period, ii))
            case Kind.MULTIPLY | Kind.SCALE:
                steps.append(_product_step(program, i, delays, pipelines, ii, readers[i]))
            case _:
                steps.append(_arithmetic_step(program, i, delays, readers[i]))
    for results in turns.values():
        steps.append(_turn_step(program, results, delays, pipelines, min(ii, len(turns))))
    return sorted(steps, key=lambda step: step.results)


def _arithmetic_step(program: Program, i: int, delays: Delays, readers: int) -> Step:
    operation = program.operations[i]
    operands = _variables(program, operation)
    full = operation.format.width + operation.drop
    if operation.kind is Kind.ADD:
        delay = delays.sum(full, rounds=adds_half(operation))
    else:
        adds = operation.drop > 0 or any(operand.negative for operand in operation.operands)
        delay = delays.select + (delays.sum(full) if adds else 0.0)
    return Step((i,), operands, operation.region, None, delay, 0, delay + delays.read(readers))


def _product_step(
    program: Program, i: int, delays: Delays, pipelines: dict[Resource, Pipeline], ii: int, readers: int
) -> Step:
    """Return the step of a product.

    A shared product without registers starts with its cycle, so that no combinational loop closes.
    """
    operation = program.operations[i]
    kind = Resource.WIDE_MULTIPLIER if i in program.wide else Resource.MULTIPLIER
    pipeline = pipelines[kind]
    operands = _variables(program, operation)
    ports = program.wide_port_widths if i in program.wide else program.port_widths
    entry = delays.choice(ii, sum(ports)) + pipeline.before
    if pipeline.registers:
        latency, delay = pipeline.registers, pipeline.after + delays.read(readers)
        return Step((i,), operands, operation.region, kind, entry, latency, delay)
    delay, setup = entry + delays.read(readers), entry + delays.leave
    return Step((i,), operands, operation.region, kind, setup, 0, delay, registered=ii > 1)


def reciprocal_ways(program: Program, delays: Delays, ii: int) -> tuple[tuple[float, ...], ...]:
    """Return the delays (ns) in the reciprocal unit's cycles, for zero to two additional registers.

    Cycles of its products are left out. Operands are normalised before the tables: the digits with a one are
    found, then the first of them and the place of its leading one, and both move the operand. After the last
    register the result is shifted back and saturated: see :class:`rbdhw.rtl.reciprocal.ReciprocalUnit`.
    """
    spec = program.reciprocal
    if spec is None:
        return ()
    choice = delays.choice(_sharing(program, Kind.RECIPROCAL, ii), spec.width)
    levels = math.ceil(math.log(math.ceil(spec.width / DIGIT), CHOICES))
    ones = delays.select + delays.read(spec.width)
    search = choice + max(delays.sum(spec.width), ones)
    find = choice + ones + delays.select * levels
    move = delays.select + delays.read(spec.width) + delays.address
    read = delays.read(spec.result_bits)
    shift = (delays.select + read) * select_levels((spec.largest_shift >> FINE) + 1)
    saturate = delays.select + read
    return (
        (search + delays.select * levels + move, shift + saturate),
        (find, delays.select * levels + move, shift + saturate),
        (find, delays.select * levels + move, shift, saturate),
    )


def _reciprocal_step(
    program: Program, i: int, delays: Delays, pipelines: dict[Resource, Pipeline], period: float, ii: int
) -> Step:
    assert program.reciprocal is not None
    ways = reciprocal_ways(program, delays, ii)
    extra = next((k for k, way in enumerate(ways) if max(way) <= period), len(ways) - 1)
    setup, *_, delay = ways[extra]
    latency = polynomial_latency(program.reciprocal.order, pipelines[Resource.RECIPROCAL].registers) + extra
    operation = program.operations[i]
    values = _variables(program, operation)
    return Step((i,), values, operation.region, Resource.RECIPROCAL, setup, latency, delay)


def _turn_step(
    program: Program,
    results: list[int],
    delays: Delays,
    pipelines: dict[Resource, Pipeline],
    sharing: int,
) -> Step:
    """Return the step of a sine and cosine, whose angle is selected from ``sharing`` ones."""
    operation = program.operations[results[0]]
    latency = polynomial_latency(program.trigonometry.order, pipelines[Resource.TRIGONOMETRY].registers)
    return Step(
        tuple(results),
        _variables(program, operation),
        operation.region,
        Resource.TRIGONOMETRY,
        _entry_of_angle(program, delays, sharing),
        latency,
        delays.add + delays.read(2 * program.trigonometry.width),
    )


def _soonest_step(
    program: Program,
    step: Step,
    delays: Delays,
    products: dict[Resource, Product],
    pipelines: dict[Resource, Pipeline],
    period: float,
) -> Step:
    """Return the step of a sine or reciprocal without the register behind its last product, if that has room.

    The result is ready a cycle earlier, behind the product and its way to that register, and must reach a
    register within the cycle. Even if nothing more fits in that cycle, what follows starts at the end of it,
    and not ``delay`` later. Products with pipeline registers, and reciprocals with registers that slow
    operators need, keep theirs. The step still has the latency of a register at least, that of its tables, so
    no combinational loop closes.
    """
    if step.resource not in (Resource.TRIGONOMETRY, Resource.RECIPROCAL):
        return step
    delay = pipelines[step.resource].period(products[step.resource]) + step.delay
    plain = step.latency == polynomial_latency(polynomial_order(program, step.resource))
    fits = delay + delays.leave <= period
    return replace(step, latency=step.latency - 1, delay=delay) if plain and fits else step


def _entry_of_angle(program: Program, delays: Delays, sharing: int) -> float:
    """Return the time (ns) for the selection of an angle, its sum with an offset, and its way to a table."""
    turns = [operation for operation in program.operations if operation.kind in (Kind.SIN, Kind.COS)]
    offset = delays.add if any(operation.constant for operation in turns) else 0.0
    return delays.choice(sharing, program.trigonometry.phase_bits) + offset + delays.address


def _variables(program: Program, operation: Operation) -> tuple[int, ...]:
    return read_values(program, operation.operands)


def read_values(program: Program, operands: Iterable[Operand]) -> tuple[int, ...]:
    """Return the values that operands read, without constants."""
    values = dict.fromkeys(operand.value for operand in operands)
    return tuple(v for v in values if program.operations[v].kind is not Kind.CONSTANT)
