"""Choose the products that look-up tables compute, so that a pipeline takes fewer DSP blocks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count

from rbdhw.cores.pipeline.cells import adder_luts, booth, unit_blocks
from rbdhw.delays import Delays
from rbdhw.estimate.fabric import FABRICS
from rbdhw.fixed.program import Kind, Program
from rbdhw.graph.twins import Group
from rbdhw.schedule.model import MULTIPLIERS, Bound, Problem, Step
from rbdhw.schedule.problem import limited
from rbdhw.schedule.shift_add import constant_adders
from rbdhw.schedule.shortening import Network, latest_ends
from rbdhw.target import Target

MOST_REGISTERS, MOST_LEVELS = 2, 3
"""The most pipeline registers of a product in look-up tables, and adders on a path between two.

Synthesis maps other logic no less deep than its longest path, which more adders would be.
"""


@dataclass(frozen=True)
class Product:
    """A product with a multiplier of its own that look-up tables can compute instead."""

    blocks: int
    """The DSP blocks of the multiplier."""
    price: float
    """The look-up tables for each of them."""
    ways: tuple[Step, ...]
    """The steps in tables, with ever more registers."""


def use_tables(program: Program, task: Problem, bound: Bound, device: Target, blocks: int) -> Problem | None:
    """Return a problem with products in look-up tables in place of DSP blocks; None if these are too few.

    A multiplier serves one product at an interval of 1, or twins that fill it. Tables take longer, so those
    products move that make no function slower than in the ``bound`` schedule: the ones with the fewest tables
    for each block. If they do not suffice, all functions take the fewest cycles more with which others do.
    ``device`` has the delays of the problem.
    """
    products = dict(_products(program, task, bound, device))
    prices = sorted({product.price for product in products.values()})
    if sum(product.blocks for product in products.values()) < blocks:
        return None
    for later in count():
        move = cache(partial(_move, task, products, partial(latest_ends, program, bound, later), blocks))
        if move(prices[-1]) is not None:
            break
    least = bisect_left(prices[:-1], True, key=lambda price: move(price) is not None)
    moved = move(prices[least]) or {}
    steps = tuple(
        replace(moved[i], results=step.results, operands=step.operands, region=step.region)
        if i in moved
        else step
        for i, step in enumerate(task.steps)
    )
    return limited(replace(task, steps=steps))


def _products(program: Program, task: Problem, bound: Bound, device: Target) -> Iterator[tuple[int, Product]]:
    """Yield the products that tables can compute, by the values of the first of twins."""
    fabric = FABRICS[device.family]
    for unit in bound.units:
        group, *others = {bound.group(bound.steps[index].results[0]) for index in unit.steps.values()}
        if unit.resource in MULTIPLIERS and not others and len(group) == bound.ii:
            step, blocks = bound.steps[bound.producer[group[0]]], unit_blocks(program, bound, unit, device)
            ways = tuple(_ways(program, group, step, device.delays, task.period))
            if blocks and ways:
                yield group[0], Product(blocks, adder_luts(program, group, fabric) / blocks, ways)


def _ways(program: Program, group: Group, step: Step, delays: Delays, period: float) -> Iterator[Step]:
    """Yield the steps of a product in tables that fit the period; twins are chosen in front of it."""
    alone = replace(step, resource=None, latency=0, registered=False)
    if program.operations[group[0]].kind is Kind.SCALE:
        adders = constant_adders(program, group)
        delay = delays.choice(len(group), 1) + delays.sums(adders.levels) if adders else period + 1.0
        if delay <= period:
            yield replace(alone, setup=delay, delay=delay)
        return
    rows = booth(program, group)
    reading = delays.read(2 * rows.wide) + delays.sum(rows.wide + 2) - delays.add
    for registers in range(MOST_REGISTERS + 1):
        levels = rows.stages(registers)
        stages = [delays.sums(level) + reading for level in levels]
        stages[0] += delays.choice(len(group), rows.wide) + delays.select
        if max(levels) <= MOST_LEVELS and max(stages) <= period:
            yield replace(alone, setup=stages[0], latency=registers, delay=stages[-1])


def _move(
    task: Problem,
    products: Mapping[int, Product],
    ends_of: Callable[[Network], list[int]],
    blocks: int,
    price: float,
) -> dict[int, Step] | None:
    """Return steps in tables that save blocks up to a price and keep the ends; None if they save too few.

    They are by index. Each product, in topological order, takes the fewest registers with which all that
    follows is in time.
    """
    network = Network(task)
    ends = ends_of(network)
    late = network.latest_starts(ends)
    starts: list[int] = []
    moved: dict[int, Step] = {}
    for g, group in enumerate(network.groups):
        step = task.steps[group[0]]
        start = network.earliest(g, starts, 0)
        product = products.get(step.results[0])
        if product is not None and product.price <= price and blocks > 0:
            now = step
            for way in product.ways:
                network.retime(g, now, way)
                now, moment = way, network.earliest(g, starts, 0)
                if moment <= network.latest(g, late, ends[g]):
                    moved |= dict.fromkeys(group, way)
                    start = moment
                    blocks -= product.blocks
                    break
            else:
                network.retime(g, now, step)
        starts.append(start)
    return moved if blocks <= 0 else None
