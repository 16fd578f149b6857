"""The scheduling problem of a program on a target."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from rbdhw.fixed.program import Kind, Operation, Program
from rbdhw.graph.twins import Group
from rbdhw.schedule.model import Problem, Resource, Step
from rbdhw.schedule.shift_add import use_adders
from rbdhw.schedule.twins import share_steps
from rbdhw.target import Clock, Delays, Pipeline, Product, Target


def problem(
    program: Program, target: Target, clock_mhz: float | None, ii: int, twins: Sequence[Group] = ()
) -> Problem:
    """Return the steps, delays and unit counts of a program for one task every ``ii`` cycles.

    Without a clock, :meth:`rbdhw.target.Target.clock` chooses one that products of this width allow. Products
    that are too slow for the clock get pipeline registers. Products by constants that adders compute at lower
    cost use no unit. Each resource gets the fewest units that can serve all its steps: the slots that
    they take over ``ii``, rounded up. ``twins`` are values that can share hardware
    (:func:`rbdhw.schedule.twins.shareable`).

    Raises InputError if the clock is too fast for the target's operators, for multipliers shared among
    ``ii`` operations, or for operators that choose among twins.
    """
    products = products_of(program, target, ii)
    clock = clock_of(program, target, clock_mhz, ii)
    period = target.usable_period(clock.schedule_mhz)
    pipelines = {kind: target.pipeline(product, clock.schedule_mhz) for kind, product in products.items()}
    multiplied = _steps(program, target.delays, pipelines, period, ii)
    alone = list(use_adders(program, multiplied, twins, target, ii, period))
    steps = tuple(share_steps(program, alone, twins, target.delays, ii))
    target.check_clock(clock.schedule_mhz, max((step.setup for step in steps), default=0.0))
    inputs = {i for i, operation in enumerate(program.operations) if operation.kind is Kind.INPUT}
    available = frozenset(inputs.difference(value for step in steps for value in step.results))
    registers = {kind: pipeline.registers for kind, pipeline in pipelines.items()}
    unlimited = Problem(steps, available, ii, clock.mhz, period, {}, tuple(twins), {}, registers)
    filled = Counter((step.resource, step.limbs) for step in steps if step.resource is not None)
    limits = {resource: math.ceil(filled[resource, 1] / ii) for resource in Resource}
    shared = {pool: math.ceil(number / ii) for pool, number in filled.items() if pool[1] > 1}
    return replace(unlimited, limits=limits, limb_limits=shared)


def clock_of(program: Program, target: Target, clock_mhz: float | None, ii: int) -> Clock:
    """Return the clock of a program's design; see :func:`problem`, which raises the same errors."""
    reciprocals = reciprocal_ways(program, target.delays, ii)
    products = products_of(program, target, ii).values()
    least = max(target.least_period(products), min(map(max, reciprocals), default=0.0))
    clock = target.clock(clock_mhz, least)
    target.check_clock(clock.schedule_mhz, least)
    return clock


def products_of(program: Program, target: Target, ii: int) -> dict[Resource, Product]:
    """Return the product in each kind of unit that the program needs.

    Multiplexers select the operands of shared multipliers, and overflow is checked after them. In the
    polynomials of the other units a table precedes the first product. After the last product, a sine is
    clamped, and the sign of a reciprocal is applied.
    """
    delays = target.delays
    choice = delays.select * select_levels(ii)
    products = {Resource.MULTIPLIER: Product(program.port_widths, choice, delays.check)}
    if program.wide:
        products[Resource.WIDE_MULTIPLIER] = Product(program.wide_port_widths, choice, delays.check)
    turn = _widest(program.trigonometry.multipliers)
    products[Resource.TRIGONOMETRY] = Product(turn, delays.table, delays.check + delays.select)
    if program.reciprocal is not None:
        inverse = _widest(program.reciprocal.multipliers)
        products[Resource.RECIPROCAL] = Product(inverse, delays.table, delays.select)
    return products


def _widest(multipliers: Sequence[tuple[int, int]]) -> tuple[int, int]:
    a, b = (max(widths) for widths in zip(*multipliers, strict=True))
    return a, b


def polynomial_latency(order: int, registers: int = 0) -> int:
    """Return the least cycles of a unit: one for its tables, and one plus the registers for each product."""
    return 1 + order * (1 + registers)


def select_levels(ii: int) -> int:
    """Return the levels of 4-to-1 multiplexers that select one of ``ii`` operands."""
    return math.ceil(math.log(ii, 4)) if ii > 1 else 0


def _steps(
    program: Program, delays: Delays, pipelines: dict[Resource, Pipeline], period: float, ii: int
) -> list[Step]:
    steps: list[Step] = []
    turns: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for i, operation in enumerate(program.operations):
        match operation.kind:
            case Kind.INPUT | Kind.CONSTANT:
                pass
            case Kind.SIN | Kind.COS:
                turns[(operation.operands, operation.constant, operation.region)].append(i)
            case Kind.RECIPROCAL:
                steps.append(_reciprocal_step(program, i, delays, pipelines, period, ii))
            case Kind.MULTIPLY | Kind.SCALE:
                steps.append(_product_step(program, i, delays, pipelines, ii))
            case _:
                steps.append(_arithmetic_step(program, i, delays))
    for results in turns.values():
        steps.append(_turn_step(program, results, delays, pipelines, min(ii, len(turns))))
    return sorted(steps, key=lambda step: step.results)


def _arithmetic_step(program: Program, i: int, delays: Delays) -> Step:
    operation = program.operations[i]
    check = delays.check if operation.checked else 0.0
    operands = _variables(program, operation)
    if operation.kind is Kind.ADD:
        return Step((i,), operands, operation.region, None, delays.add + check, 0, delays.add)
    adds = operation.drop > 0 or any(operand.negative for operand in operation.operands)
    delay = delays.select + (delays.add if adds else 0.0)
    return Step((i,), operands, operation.region, None, delay + check, 0, delay)


def _product_step(
    program: Program, i: int, delays: Delays, pipelines: dict[Resource, Pipeline], ii: int
) -> Step:
    """Return the step of a product.

    A shared product without registers starts with its cycle, so that no combinational loop closes.
    """
    operation = program.operations[i]
    kind = Resource.WIDE_MULTIPLIER if i in program.wide else Resource.MULTIPLIER
    pipeline = pipelines[kind]
    operands = _variables(program, operation)
    entry = delays.select * select_levels(ii) + pipeline.before
    if pipeline.registers:
        latency, delay = pipeline.registers, pipeline.after
        return Step((i,), operands, operation.region, kind, entry, latency, delay)
    check = delays.check if operation.checked else 0.0
    return Step((i,), operands, operation.region, kind, entry + check, 0, entry, registered=ii > 1)


def reciprocal_ways(program: Program, delays: Delays, ii: int) -> tuple[tuple[float, ...], ...]:
    """Return the delays (ns) in the reciprocal unit's cycles, for zero to three additional registers.

    Cycles of its products are left out. Operands are normalised before the tables. After the last register
    the result is shifted back, checked and saturated: see :class:`rbdhw.rtl.reciprocal.ReciprocalUnit`.
    """
    spec = program.reciprocal
    if spec is None:
        return ()
    sharing = min(ii, sum(operation.kind is Kind.RECIPROCAL for operation in program.operations))
    magnitude = delays.add + delays.select * select_levels(sharing)
    count = delays.select * select_levels(spec.width)
    shift = delays.select * select_levels(spec.largest_shift)
    saturate = delays.check + delays.select
    return (
        (magnitude + count + shift, shift + saturate),
        (magnitude + count, shift, shift + saturate),
        (magnitude, count, shift, shift + saturate),
        (magnitude, count, shift, shift, saturate),
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
        delays.add + delays.select * max(1, select_levels(sharing)),
        latency,
        delays.add + delays.select,
    )


def _variables(program: Program, operation: Operation) -> tuple[int, ...]:
    values = dict.fromkeys(operand.value for operand in operation.operands)
    return tuple(v for v in values if program.operations[v].kind is not Kind.CONSTANT)
