"""The scheduling problem of a program on a target."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from rbdhw.fixed.program import Kind, Operation, Program
from rbdhw.fixed.reciprocal import ReciprocalSpec
from rbdhw.fixed.trigonometry import TrigonometrySpec
from rbdhw.graph.twins import Group
from rbdhw.schedule.model import Problem, Resource, Step
from rbdhw.schedule.twins import shared_steps
from rbdhw.target import Delays, Target


def problem(
    program: Program, target: Target, clock_mhz: float | None, ii: int, twins: Sequence[Group] = ()
) -> Problem:
    """Steps, delays and unit counts of a program for one task every ``ii`` cycles.

    Without a clock it is the target's own, or the fastest that a product at this width allows. Each
    resource gets the fewest units that can serve all its steps: their number over ``ii``. ``twins`` are
    values that :func:`rbdhw.schedule.twins.shareable` says can share their hardware.

    Raises
    ------
    InputError
        Where the clock is too fast for the target's multipliers, shared among ``ii`` operations.
    """
    products = product_delays(program, target, ii)
    slowest = max(products.values())
    clock_mhz = clock_mhz or target.default_clock(slowest)
    period = target.usable_period(clock_mhz, slowest)
    alone = _steps(program, target.delays, products, period, ii)
    steps = tuple(shared_steps(program, alone, twins, target.delays, ii))
    inputs = {i for i, operation in enumerate(program.operations) if operation.kind is Kind.INPUT}
    available = frozenset(inputs.difference(value for step in steps for value in step.results))
    count = Counter((step.resource, step.limbs) for step in steps if step.resource is not None)
    limits = {resource: math.ceil(count[resource, 1] / ii) for resource in Resource}
    shared = {pool: math.ceil(number / ii) for pool, number in count.items() if pool[1] > 1}
    return Problem(steps, available, ii, clock_mhz, period, limits, tuple(twins), shared)


def product_delays(program: Program, target: Target, ii: int) -> dict[Resource, float]:
    """Nanoseconds of a product in each kind of multiplier that the program needs."""
    ports = {Resource.MULTIPLIER: program.port_widths}
    if program.wide:
        ports[Resource.WIDE_MULTIPLIER] = program.wide_port_widths
    return {kind: target.product_delay(widths, select_levels(ii)) for kind, widths in ports.items()}


def trigonometry_latency(spec: TrigonometrySpec) -> int:
    """Cycles from an angle to its sine: one for the tables and one a power of the polynomial."""
    return 1 + spec.order


def reciprocal_latency(spec: ReciprocalSpec) -> int:
    """The fewest cycles from an operand to its reciprocal: one for the tables and one a power."""
    return 1 + spec.order


def select_levels(ii: int) -> int:
    """Levels of 4-to-1 multiplexers that choose one of ``ii`` operands."""
    return math.ceil(math.log(ii, 4)) if ii > 1 else 0


def _steps(
    program: Program, delays: Delays, products: dict[Resource, float], period: float, ii: int
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
                steps.append(_reciprocal_step(program, i, delays, period, ii))
            case _:
                steps.append(_arithmetic_step(program, i, delays, products, ii))
    for results in turns.values():
        steps.append(_turn_step(program, results, delays))
    return sorted(steps, key=lambda step: step.results)


def _arithmetic_step(
    program: Program, i: int, delays: Delays, products: dict[Resource, float], ii: int
) -> Step:
    operation = program.operations[i]
    check = delays.check if operation.checked else 0.0
    operands = _variables(program, operation)
    if operation.kind is Kind.ADD:
        return Step((i,), operands, operation.region, None, delays.add + check, 0, delays.add)
    if operation.kind is Kind.SELECT:
        adds = operation.drop > 0 or any(operand.negative for operand in operation.operands)
        delay = delays.select + (delays.add if adds else 0.0)
        return Step((i,), operands, operation.region, None, delay + check, 0, delay)
    kind = Resource.WIDE_MULTIPLIER if i in program.wide else Resource.MULTIPLIER
    product = products[kind]
    return Step((i,), operands, operation.region, kind, product + check, 0, product, registered=ii > 1)


def _reciprocal_step(program: Program, i: int, delays: Delays, period: float, ii: int) -> Step:
    """Normalised before the tables; shifted back, judged and saturated after the last register.

    Where that is too slow for a cycle, in up to three more: see :class:`rbdhw.rtl.reciprocal.ReciprocalUnit`.
    """
    spec = program.reciprocal
    assert spec is not None
    sharing = min(ii, sum(operation.kind is Kind.RECIPROCAL for operation in program.operations))
    magnitude = delays.add + delays.select * select_levels(sharing)
    count = delays.select * select_levels(spec.width)
    shift = delays.select * select_levels(spec.largest_shift)
    saturate = delays.check + delays.select
    ways = (
        (magnitude + count + shift, shift + saturate),
        (magnitude + count, shift + saturate),
        (magnitude, shift + saturate),
        (magnitude, saturate),
    )
    extra = next((k for k, way in enumerate(ways) if max(way) <= period), len(ways) - 1)
    setup, delay = ways[extra]
    latency = reciprocal_latency(spec) + extra
    operation = program.operations[i]
    values = _variables(program, operation)
    return Step((i,), values, operation.region, Resource.RECIPROCAL, setup, latency, delay)


def _turn_step(program: Program, results: list[int], delays: Delays) -> Step:
    operation = program.operations[results[0]]
    latency = trigonometry_latency(program.trigonometry)
    return Step(
        tuple(results),
        _variables(program, operation),
        operation.region,
        Resource.TRIGONOMETRY,
        delays.add + delays.select,
        latency,
        delays.add + delays.select,
    )


def _variables(program: Program, operation: Operation) -> tuple[int, ...]:
    values = dict.fromkeys(operand.value for operand in operation.operands)
    return tuple(v for v in values if program.operations[v].kind is not Kind.CONSTANT)
