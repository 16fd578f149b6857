"""Products in look-up tables: they save the asked DSP blocks, cost no latency if they can, and are exact."""

from dataclasses import replace
from functools import cache

import pytest

from rbdhw.cores.pipeline.cells import core_cells, counts, unit_blocks
from rbdhw.cores.pipeline.table_products import use_tables
from rbdhw.fixed.program import Kind
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.schedule.binding import bind
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import MULTIPLIERS, Schedule, Time
from rbdhw.schedule.problem import problem, sized_for
from rbdhw.schedule.verify import ScheduleError, verify
from tests.support.builds import random_words
from tests.support.limbs import limbed
from tests.support.marks import long
from tests.support.rtl_cores import expected, requests, responses

LIMBS = {"functions": ("id",), "ii": 2, "share_limbs": "on"}
"""A build whose two limbs fill each multiplier."""


@cache
def built(**changes):
    """Return the options and the core of the toy, or of two limbs that share hardware."""
    options = replace(BuildOptions(("id", "fd"), ii=1, width=18, samples=256), **changes)
    robot = limbed(2) if options.share_limbs == "on" else load_urdf(path("toy"))
    return options, plan_build(robot, options).only.core


def products(core):
    return sum(operation.kind in (Kind.MULTIPLY, Kind.SCALE) for operation in core.program.operations)


def moved(core):
    """Return the products in tables, by the registers in them."""
    steps = (core.schedule.steps[core.schedule.producer[i]] for i in core.shift_add_products())
    return [step.latency for step in steps]


def assert_exact(core):
    words = random_words(core.program, 12, seed=1)
    asked = requests(core.program, 12, seed=2)
    assert responses(core.component(None), words, 2, asked) == expected(core.program, words, asked)


def multiplied(core):
    """Return the DSP blocks of multipliers."""
    units = (unit for unit in core.schedule.units if unit.resource in MULTIPLIERS)
    return sum(unit_blocks(core.program, core.schedule, unit, core.device) for unit in units)


@pytest.mark.parametrize("blocks", [1, 5, 10])
def test_the_blocks_are_saved_without_latency(blocks):
    options, core = built()
    smaller = core.with_fewer_blocks(options, blocks)
    assert smaller.dsp_blocks == core.dsp_blocks - blocks
    assert smaller.latency == core.latency
    assert smaller.schedule.clock_mhz == core.schedule.clock_mhz
    assert smaller.multipliers + len(moved(smaller)) == products(core)


def test_the_cheapest_are_taken():
    """Products by constants take the fewest tables."""
    options, core = built()
    constants = [
        core.program.operations[i].kind for i in core.with_fewer_blocks(options, 3).shift_add_products()
    ]
    assert set(constants) == {Kind.SCALE}
    luts = [
        core_cells(core.program, core.with_fewer_blocks(options, n).schedule, core.device) for n in (1, 9)
    ]
    assert luts[0]["arithmetic"].luts < luts[1]["arithmetic"].luts


def test_all_products_can_move_and_take_the_fewest_cycles_that_they_need():
    options, core = built()
    most = multiplied(core)
    smaller = core.with_fewer_blocks(options, most)
    assert smaller.multipliers == 0
    more = {smaller.latency[function] - cycles for function, cycles in core.latency.items()}
    assert 0 < max(more) <= 4
    assert core.with_fewer_blocks(options, most + 1) == core


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        long({}, 0.6),
        long({"clock_mhz": 390.0}, 0.64),
        long({"target": "ecp5-85"}, 0.6),
        (LIMBS, 0.3),
        long({"clock_mhz": 300.0, "width": 28}, 0.5),
        long({"width": 11}, 1.0),
    ],
)
def test_the_hardware_is_the_program(changes, share):
    options, core = built(**changes)
    blocks = int(share * multiplied(core))
    smaller = core.with_fewer_blocks(options, blocks)
    assert smaller.dsp_blocks == core.dsp_blocks - blocks
    assert any(core.program.operations[i].kind is Kind.MULTIPLY for i in smaller.shift_add_products())
    assert_exact(smaller)


def test_registers_part_the_adders_at_a_fast_clock():
    options, core = built(clock_mhz=390.0)
    smaller = core.with_fewer_blocks(options, int(0.64 * multiplied(core)))
    assert max(moved(smaller)) == 2


def test_adders_and_registers_are_counted():
    options, core = built()
    smaller = core.with_fewer_blocks(options, multiplied(core))
    less, more = (counts(each.program, each.schedule) for each in (core, smaller))
    assert more.adders > less.adders + 3 * len(moved(smaller))
    assert more.adder_bits > less.adder_bits + 50 * len(moved(smaller))
    flags, registers = (
        core_cells(each.program, each.schedule, each.device)["arithmetic"].flip_flops
        for each in (core, smaller)
    )
    assert registers >= flags + 40 * sum(moved(smaller))


def test_products_of_several_slots_stay():
    """A slot of a shared multiplier saves no block."""
    options, core = built(ii=2)
    assert core.with_fewer_blocks(options, 1) == core


def test_the_verifier_refuses_a_product_in_tables_that_starts_late_or_is_used_early():
    program, device = built()[1].given, built()[1].device
    task = problem(program, device, None, 1)
    bound = bind(program, task, schedule(task), device.memory_stages)
    tabled = use_tables(program, task, bound, sized_for(program, device, 1), 10)
    plan = schedule(tabled)
    verify(tabled, plan)
    product = next(i for i, step in enumerate(tabled.steps) if step.resource is None and step.latency)
    user = next(i for i, step in enumerate(tabled.steps) if tabled.steps[product].results[0] in step.operands)
    room, start = tabled.period - tabled.steps[product].setup, plan.starts[product]
    for step, wrong, text in (
        (product, Time(start.cycle, room + 0.01), "does not end within its cycle"),
        (user, start, "starts before its operand"),
    ):
        starts = [*plan.starts[:step], wrong, *plan.starts[step + 1 :]]
        with pytest.raises(ScheduleError, match=f"^step {step}: {text}"):
            verify(tabled, Schedule(tuple(starts)))
