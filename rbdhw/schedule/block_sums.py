"""Choose the sums that the blocks of products compute: a pipeline takes fewer adders and less time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from rbdhw.fixed.block_sum import BlockSum, block_sums
from rbdhw.fixed.program import INTEGER_BITS, Kind, Program
from rbdhw.schedule.model import MULTIPLIERS, Bound, Problem, Step
from rbdhw.schedule.problem import limited, read_values
from rbdhw.schedule.shortening import Network, latest_ends, picoseconds
from rbdhw.target import SUM_BITS, Primitive, Target

NEVER: Mapping[int, int] = {}


def add_in_blocks(
    program: Program, task: Problem, device: Target, latest: Mapping[int, int] = NEVER
) -> Problem:
    """Return a problem in which blocks compute sums with products that nothing else reads.

    Each product has a multiplier of its own, without pipeline registers. The step of both has their results,
    and starts when the addend is there, too. So a sum moves into a block only where that is no later than an
    adder, or not after the ``latest`` moment of its value.
    """
    choices = _choices(program, task, device)
    cycle = Network(task).cycle
    ready = {value: arrival * cycle for value, arrival in task.available.items()}
    chosen: dict[int, Step] = {}
    for step in task.steps:
        value, moment = step.results[0], _moment(step, ready, cycle)
        ways = [(_moment(way, ready, cycle), n, way) for n, way in enumerate(choices.get(value, ()))]
        if ways and min(ways)[0] <= max(moment, latest.get(value, 0)):
            moment, _, chosen[value] = min(ways)
        ready |= dict.fromkeys(step.results, moment)
    absorbed = {way.results[0] for way in chosen.values()}
    steps = (chosen.get(step.results[0], step) for step in task.steps if step.results[0] not in absorbed)
    return limited(replace(task, steps=tuple(steps)))


def latest_moments(program: Program, task: Problem, bound: Bound) -> dict[int, int]:
    """Return the latest moment of each value with which no function is slower than as ``bound``."""
    network = Network(task)
    moments: dict[int, int] = {}
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


def _choices(program: Program, task: Problem, device: Target) -> dict[int, list[Step]]:
    """Return the steps in blocks of each sum, with one of its products."""
    step_of = {step.results[0]: step for step in task.steps}
    choices: dict[int, list[Step]] = defaultdict(list)
    for value, products in block_sums(program).items():
        for product, total in products:
            made, summed = step_of[product], step_of[value]
            if made.resource not in MULTIPLIERS or task.registers.get(made.resource, 0):
                continue
            if _fits(total, device.primitive, _widths(program, product)):
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
