"""The scheduling problem of a program: steps, delays and units."""

import math
from collections import Counter
from dataclasses import replace

import pytest

from rbdhw.delays import select_levels
from rbdhw.errors import InputError
from rbdhw.fixed.program import Kind
from rbdhw.fixed.reciprocal import reciprocal_spec
from rbdhw.fixed.trigonometry import trigonometry_spec
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import Resource
from rbdhw.schedule.problem import clock_of, polynomial_latency, problem, products_of, sized_for
from rbdhw.schedule.verify import verify
from rbdhw.target import target
from tests.support.builds import program_of, widened_program
from tests.support.mixed import mixed_program

PRODUCTS = (Kind.MULTIPLY, Kind.SCALE)


@pytest.mark.parametrize("ii", [1, 2, 3, 7, 8, 1000])
def test_each_resource_has_the_fewest_units(ii):
    program = program_of("iiwa14", 18)
    task = problem(program, target("xcvu9p"), 125.0, ii)
    products = sum(step.resource is Resource.MULTIPLIER for step in task.steps)
    turns = sum(operation.kind is Kind.COS for operation in program.operations)
    assert task.limits == {
        Resource.MULTIPLIER: math.ceil(products / ii),
        Resource.WIDE_MULTIPLIER: 0,
        Resource.TRIGONOMETRY: math.ceil(turns / ii),
        Resource.RECIPROCAL: 0,
    }


@pytest.mark.parametrize(("ii", "units"), [(1, 3), (2, 2), (3, 1), (9, 1)])
def test_reciprocals_share_units(ii, units):
    task = problem(mixed_program(18), target("xcvu9p"), 125.0, ii)
    assert task.limits[Resource.RECIPROCAL] == units


@pytest.mark.parametrize("ii", [1, 4])
def test_wide_products_have_multipliers_of_their_own(ii):
    program, device = widened_program("iiwa14", 20, 3e-6), target("xcvu9p")
    task = problem(program, device, None, ii)
    wide = {step.results[0]: step for step in task.steps if step.resource is Resource.WIDE_MULTIPLIER}
    added = {step.results[0] for step in task.steps if step.resource is None}
    assert wide.keys() == program.wide.keys() - added
    assert task.limits[Resource.WIDE_MULTIPLIER] == math.ceil(len(wide) / ii)
    products = products_of(program, device, ii)
    kinds = (Resource.MULTIPLIER, Resource.WIDE_MULTIPLIER)
    ordinary, slow = (device.pipeline(products[kind], task.clock_mhz) for kind in kinds)
    assert ordinary.registers == 0
    assert {step.latency for step in wide.values()} == {slow.registers} == {task.registers[kinds[1]]}
    assert slow.period(products[kinds[1]]) > ordinary.period(products[kinds[0]])


def test_every_operation_is_a_result_of_one_step():
    program = program_of("iiwa14", 18, "all")
    task = problem(program, target("xcvu9p"), 125.0, 2)
    results = sorted(value for step in task.steps for value in step.results)
    kinds = [operation.kind for operation in program.operations]
    free = (Kind.INPUT, Kind.CONSTANT)
    assert results == [i for i, kind in enumerate(kinds) if kind not in free]
    assert task.available == {i: 0 for i, kind in enumerate(kinds) if kind is Kind.INPUT}
    for step in task.steps:
        assert all(kinds[value] is not Kind.CONSTANT for value in step.operands)
        assert {kinds[value] for value in step.results} in ({Kind.SIN, Kind.COS}, {kinds[step.results[0]]})


def test_sine_and_cosine_of_an_angle_share_a_step():
    task = problem(program_of("iiwa14", 18), target("xcvu9p"), 125.0, 1)
    turns = [step for step in task.steps if step.resource is Resource.TRIGONOMETRY]
    assert [len(step.results) for step in turns] == [2] * 5
    assert {step.latency for step in turns} == {2}


@pytest.mark.parametrize("device", ["xcvu9p", "ecp5-85"])
def test_delays_are_those_of_the_target(device):
    """Sums by their bits and where they round, products behind their choices, and both by their readers."""
    program = program_of("toy", 18)
    readers = Counter(
        value for o in program.operations for value in {operand.value for operand in o.operands}
    )
    for ii in (1, 4, 16):
        sized = sized_for(program, target(device), ii)
        delays = sized.delays
        task = problem(program, target(device), None, ii)
        assert task.registers[Resource.MULTIPLIER] == 0
        for step in task.steps:
            operation, read = program.operations[step.results[0]], delays.read(readers[step.results[0]])
            if operation.kind is Kind.ADD:
                drop, operands = operation.drop, operation.operands
                room = any(not operand.negative and operand.shift >= drop for operand in operands)
                rounds = drop > 0 and len(operands) == 2 and not room
                taken = delays.sum(operation.format.width + drop, rounds=rounds)
                assert (step.delay, step.setup) == (taken + read, taken)
                assert not step.registered
            elif operation.kind in PRODUCTS and step.resource is not None:
                taken = delays.choice(ii, sum(program.port_widths)) + delays.multiply
                assert step.delay == taken + read
                assert (step.setup, step.registered) == (taken + delays.leave, ii > 1)


def test_wider_sums_and_larger_designs_take_longer():
    """ECP5's delays are fitted to designs of all sizes."""
    device = target("xcvu9p")
    small, large = device.sized(8_000, 54), device.sized(64_000, 450)
    for key, delay in vars(small.delays).items():
        assert vars(large.delays)[key] >= delay
    assert large.delays.add > small.delays.add
    assert large.pipelines((18, 18))[2].before > small.pipelines((18, 18))[2].before
    assert small.delays.sum(32) > small.delays.sum(18) == small.delays.add > small.delays.sum(8)
    assert small.delays.sum(18, rounds=True) == pytest.approx(small.delays.add + small.delays.half)
    assert small.delays.read(8) > small.delays.read(2) > small.delays.read(1) == 0.0
    assert device.sized(0, 450).delays == device.sized(450 / device.dsp_blocks * device.luts, 0).delays
    assert target("ecp5-85").sized(64_000, 100) == target("ecp5-85")


@pytest.mark.parametrize(
    ("device", "clock", "ii", "registers"),
    [("xcvu9p", 300.0, 4, 1), ("xcvu9p", 390.0, 1, 2), ("xcvu9p", 400.0, 16, 2), ("xc7a200t", 170.0, 4, 1)],
)
def test_products_take_registers_where_the_clock_is_fast(device, clock, ii, registers):
    """The operands may be late in a cycle and need no register of their own."""
    program = program_of("iiwa14", 18)
    way = sized_for(program, target(device), ii)
    task = problem(program, target(device), clock, ii)
    pipeline = way.pipeline(products_of(program, way, ii)[Resource.MULTIPLIER], clock)
    assert task.registers[Resource.MULTIPLIER] == pipeline.registers == registers
    setup = pipeline.before + way.delays.choice(ii, sum(program.port_widths))
    for step in task.steps:
        if step.resource is Resource.MULTIPLIER:
            assert (step.setup, step.latency) == (setup, registers)
            assert step.delay >= pipeline.after
            assert not step.registered
            assert max(step.setup, step.delay) <= task.period
    verify(task, schedule(task))


def test_a_choice_is_a_multiplexer_and_an_adder_where_it_rounds_or_negates():
    program = mixed_program(18)
    delays = sized_for(program, target("xcvu9p"), 2).delays
    for step in problem(program, target("xcvu9p"), 125.0, 2).steps:
        operation = program.operations[step.results[0]]
        if operation.kind is Kind.SELECT:
            adds = operation.drop > 0 or any(operand.negative for operand in operation.operands)
            taken = delays.select
            if adds:
                taken += delays.sum(operation.format.width + operation.drop)
            assert (step.setup, step.latency) == (taken, 0)
            assert step.delay >= taken
            assert (step.resource, step.registered) == (None, False)
            assert operation.operands[0].value in step.operands


@pytest.mark.parametrize(
    ("width", "device", "clock", "ii", "timing"),
    [
        (18, "xcvu9p", 125.0, 1, (2.491, 2, 1.269)),
        (18, "xcvu9p", 125.0, 2, (2.875, 2, 1.248)),
        (27, "xcvu9p", 125.0, 1, (2.525, 3, 1.293)),
        (18, "xcvu9p", 320.0, 1, (2.491, 3, 1.269)),
        (18, "xcvu9p", 360.0, 1, (1.138, 4, 1.269)),
        (18, "ecp5-85", 50.0, 1, (8.4, 2, 4.8)),
        (18, "ecp5-85", 90.0, 1, (8.4, 3, 4.8)),
        (18, "ecp5-85", 100.0, 1, (4.8, 5, 4.8)),
    ],
)
def test_a_reciprocal_takes_more_cycles_where_multiplexers_are_slow(width, device, clock, ii, timing):
    task = problem(mixed_program(width), target(device), clock, ii)
    (times,) = {(s.setup, s.latency, s.delay) for s in task.steps if s.resource is Resource.RECIPROCAL}
    assert times == pytest.approx(timing)
    verify(task, schedule(task))


UNITS = (Resource.TRIGONOMETRY, Resource.RECIPROCAL)


def unit_steps(program, device, clock, ii, *, soonest):
    """Return the steps of sines and reciprocals, the others, and the period."""
    task = problem(program, target(device), clock, ii, soonest=soonest)
    verify(task, schedule(task))
    units = [step for step in task.steps if step.resource in UNITS]
    return units, [step for step in task.steps if step.resource not in UNITS], task.period


@pytest.mark.parametrize("ii", [1, 2, 5])
@pytest.mark.parametrize(
    ("device", "width", "clock"), [("xcvu9p", 18, 110.0), ("xcvu9p", 32, 90.0), ("ecp5-85", 18, 40.0)]
)
@pytest.mark.parametrize("name", ["sines", "reciprocals"])
def test_the_soonest_result_of_a_unit_comes_through_its_last_product(name, device, width, clock, ii):
    program = program_of("toy", width) if name == "sines" else mixed_program(width)
    usual, others, period = unit_steps(program, device, clock, ii, soonest=False)
    soonest, same, _ = unit_steps(program, device, clock, ii, soonest=True)
    assert same == others
    delays = sized_for(program, target(device), ii).delays
    for late, early in zip(usual, soonest, strict=True):
        assert early == replace(late, latency=late.latency - 1, delay=early.delay)
        assert early.latency > 0
        assert late.delay + delays.table + delays.multiply < early.delay <= period


@pytest.mark.parametrize(
    ("name", "width", "clock"),
    [("sines", 18, 200.0), ("reciprocals", 18, 200.0), ("sines", 32, 300.0), ("reciprocals", 32, 300.0)],
)
def test_without_room_a_register_stays_behind_the_last_product(name, width, clock):
    """So it does where the product has registers of its own."""
    program = program_of("toy", width) if name == "sines" else mixed_program(width)
    assert unit_steps(program, "xcvu9p", clock, 1, soonest=True) == unit_steps(
        program, "xcvu9p", clock, 1, soonest=False
    )


@pytest.mark.parametrize(("ii", "levels"), [(1, 0), (2, 1), (4, 1), (5, 2), (16, 2), (17, 3)])
def test_levels_of_operand_multiplexers(ii, levels):
    assert select_levels(ii) == levels


@pytest.mark.parametrize(("registers", "short", "long"), [(0, 2, 3), (1, 3, 5), (3, 5, 9)])
def test_latency_of_the_reciprocal_unit(registers, short, long):
    specs = [reciprocal_spec(width + 4, width) for width in (8, 18, 22, 23, 27, 32)]
    assert [polynomial_latency(spec.order, registers) for spec in specs] == [short] * 3 + [long] * 3


@pytest.mark.parametrize(("registers", "latencies"), [(0, [2, 2, 3]), (2, [4, 4, 7])])
def test_latency_of_the_trigonometry_unit(registers, latencies):
    specs = [trigonometry_spec(width) for width in (8, 18, 28)]
    assert [polynomial_latency(spec.order, registers) for spec in specs] == latencies


@pytest.mark.parametrize("width", [18, 32])
@pytest.mark.parametrize("device", ["ecp5-85", "xcvu9p"])
def test_without_a_clock_the_schedule_is_that_of_the_targets_own(device, width):
    """Only the clock of the design is slower, by the target's margin."""
    program, device = program_of("toy", width), target(device)
    clock = clock_of(program, device, None, 2)
    default, explicit = problem(program, device, None, 2), problem(program, device, clock.schedule_mhz, 2)
    assert default == replace(explicit, clock_mhz=clock.mhz)
    assert clock.mhz == math.floor(clock.schedule_mhz * (1.0 - device.margin))


@pytest.mark.parametrize(
    ("device", "clock", "ii", "fastest"),
    [
        ("ecp5-85", 200.0, 1, 100),
        ("xcvu9p", 605.0, 1, 453),
        ("xcvu9p", 545.0, 256, 423),
        ("xc7a200t", 345.0, 4, 230),
    ],
)
def test_a_clock_too_fast_for_the_operators_is_refused(device, clock, ii, fastest):
    """Choices of sums and operand multiplexers limit the clock, however products are pipelined."""
    with pytest.raises(InputError) as error:
        problem(program_of("toy", 18), target(device), clock, ii)
    assert str(error.value) == (
        f"clock: {clock:g} MHz is too fast for this design on {device}; expected at most {fastest} MHz"
    )
    task = problem(program_of("toy", 18), target(device), float(fastest), ii)
    verify(task, schedule(task))
