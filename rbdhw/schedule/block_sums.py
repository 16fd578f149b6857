"""Choose the sums that the blocks of products compute: a pipeline takes fewer adders and less time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rbdhw.fixed.block_sum import BlockSum, block_sums
from rbdhw.fixed.pre_sum import PreSum, keep_pre_sums, pre_sums
from rbdhw.fixed.program import INTEGER_BITS, Kind, Program
from rbdhw.schedule.model import MULTIPLIERS, Bound, Problem, Step
from rbdhw.schedule.problem import limited, read_values
from rbdhw.schedule.shortening import Network, latest_ends, picoseconds
from rbdhw.target import SUM_BITS, Primitive, Target


def add_in_blocks(
    program: Program, task: Problem, device: Target, bound: Bound | None = None
) -> tuple[Program, Problem]:
    """Return a program and its problem in which blocks compute sums in front of products and behind them.

    Each product has a multiplier of its own, without pipeline registers. Sums in front are read by products
    alone, and keep all bits. Those behind are of products that nothing else reads. A block starts when all
    operands of its sums are there. So sums move into blocks only where that is no later than with adders, or
    makes no function slower than as ``bound``.
    """
    return _add_in_front(program, _add_behind(program, task, device, bound), device, bound)


def _add_in_front(
    program: Program, task: Problem, device: Target, bound: Bound | None
) -> tuple[Program, Problem]:
    """Move those sums that all of their products can take."""
    if not task.pre_add:
        return program, task
    latest = _latest_moments(program, task, bound)
    added = {step.results[0] for step in task.steps if step.resource is None}
    sums = {s: products for s, products in pre_sums(program, device.primitive.ports).items() if s in added}
    while True:
        chosen = _choose(task, _pre_added(keep_pre_sums(program, sums), task, device, sums), latest)
        taken = Counter(way.pre_sum for way in chosen.values())
        movable = {s: products for s, products in sums.items() if taken[s] == len(products)}
        if movable == sums:
            break
        sums = movable
    steps = (chosen.get(step.results[0], step) for step in task.steps if step.results[0] not in sums)
    return keep_pre_sums(program, sums), limited(replace(task, steps=tuple(steps)))


def _pre_added(
    program: Program, task: Problem, device: Target, sums: Mapping[int, Sequence[int]]
) -> dict[int, list[Step]]:
    """Return the steps of products with sums in front of them, by product."""
    step_of = {step.results[0]: step for step in task.steps}
    ways: dict[int, list[Step]] = defaultdict(list)
    for value, products in sums.items():
        added = PreSum.of(program, value)
        for step in (step_of.get(product) for product in products):
            if step is None or not _is_plain(step, task) or step.pre_sum is not None:
                continue
            delay, setup = step.delay + task.pre_add, step.setup + task.pre_add
            product, *totals = step.results
            total = BlockSum.of(program, product, *totals) if totals else None
            widths = _widths(program, product)
            alone = device.primitive.adds_alone(widths, 0)
            if alone and setup <= task.period and (total is None or _fits(total, device.primitive, widths)):
                others = (operand for operand in step.operands if operand != value)
                operands = dict.fromkeys((*others, *read_values(program, (added.first, added.second))))
                way = replace(step, operands=tuple(operands), delay=delay, setup=setup, pre_sum=value)
                ways[product].append(way)
    return ways


def _choose(
    task: Problem, choices: Mapping[int, Sequence[Step]], latest: Mapping[int, int]
) -> dict[int, Step]:
    """Return the soonest of the other ways to compute a value, where that is not too late, by value."""
    cycle = Network(task).cycle
    ready = {value: arrival * cycle for value, arrival in task.available.items()}
    chosen: dict[int, Step] = {}
    for step in task.steps:
        value, moment = step.results[0], _moment(step, ready, cycle)
        ways = [(_moment(way, ready, cycle), n, way) for n, way in enumerate(choices.get(value, ()))]
        if ways and min(ways)[0] <= max(moment, latest.get(value, 0)):
            moment, _, chosen[value] = min(ways)
        ready |= dict.fromkeys(step.results, moment)
    return chosen


def _add_behind(program: Program, task: Problem, device: Target, bound: Bound | None) -> Problem:
    """Move sums with products that nothing else reads. The step of both has their results."""
    latest = _latest_moments(program, task, bound)
    chosen = _choose(task, _added(program, task, device), latest)
    absorbed = {way.results[0] for way in chosen.values()}
    steps = (chosen.get(step.results[0], step) for step in task.steps if step.results[0] not in absorbed)
    return limited(replace(task, steps=tuple(steps)))


def _latest_moments(program: Program, task: Problem, bound: Bound | None) -> dict[int, int]:
    """Return the latest moment of each value with which no function is slower than as ``bound``."""
    moments: dict[int, int] = {}
    if bound is None:
        return moments
    network = Network(task)
    late = network.latest_starts(latest_ends(program, bound, 0, network))
    for group, start in zip(network.groups, late, strict=True):
        for step in (task.steps[i] for i in group):
            moments |= dict.fromkeys(step.results, _result(step, start, network.cycle))
    return moments


def _moment(step: Step, ready: Mapping[int, int], cycle: int) -> int:
    """Return when the results of a step are ready, in picoseconds of cycles one after the other."""
    start = max((ready[value] for value in step.operands), default=0)
    if start % cycle + picoseconds(step.setup) >= cycle:
        start = (start // cycle + 1) * cycle
    return _result(step, start, cycle)


def _result(step: Step, start: int, cycle: int) -> int:
    begin = (start // cycle + step.latency) * cycle if step.latency else start
    return begin + picoseconds(step.delay)


def _is_plain(step: Step, task: Problem) -> bool:
    """Return whether a block without pipeline registers computes a step."""
    return step.resource in MULTIPLIERS and not task.registers.get(step.resource, 0)


def _added(program: Program, task: Problem, device: Target) -> dict[int, list[Step]]:
    """Return the steps in blocks of each sum that has an adder, with one of its products."""
    step_of = {step.results[0]: step for step in task.steps}
    choices: dict[int, list[Step]] = defaultdict(list)
    for value, products in block_sums(program).items():
        for product, total in products if value in step_of else ():
            made, summed = step_of[product], step_of[value]
            if _is_plain(made, task) and _fits(total, device.primitive, _widths(program, product)):
                both = dict.fromkeys((*made.operands, *read_values(program, (total.addend,))))
                delay = made.delay + summed.delay - summed.setup  # with what the readers of the sum add
                way = replace(made, results=(product, value), operands=tuple(both), delay=delay)
                choices[value].append(replace(way, region=summed.region))
    return choices


def _fits(total: BlockSum, primitive: Primitive, widths: tuple[int, int]) -> bool:
    """Return whether the blocks of a product with these operands compute a sum, too."""
    addend = total.place + total.aligned
    if total.constant.bit_length() > SUM_BITS - 2:
        return False
    if primitive.adds_alone(widths, addend):
        return total.below or primitive.constants
    # Blocks that subtract take the whole addend below; the model's integers hold the sum.
    most = SUM_BITS if total.subtracts else INTEGER_BITS
    fits = addend < most - 1 and sum(widths) < INTEGER_BITS
    return total.below and fits and primitive.chains(widths, addend)


def _widths(program: Program, product: int) -> tuple[int, int]:
    """Return the operand widths of a product."""
    operation = program.operations[product]
    first, *others = (program.operations[operand.value].format.width for operand in operation.operands)
    second = operation.constant.bit_length() + 1 if operation.kind is Kind.SCALE else others[0]
    return first, second
