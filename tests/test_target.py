"""Targets: names, clocks and DSP blocks."""

import math

import pytest

from rbdhw.boards.nextpnr import DEVICES
from rbdhw.delays import Product
from rbdhw.errors import InputError
from rbdhw.target import SLOWER_GRADE, TARGETS, Clock, limbs, target


def test_an_unknown_target_is_refused():
    with pytest.raises(InputError) as error:
        target("xc7z007")
    known = "ecp5-85, xc7a100t, xc7a200t, xc7z020, xc7z045, xck26, xcvu9p, xczu7ev, xczu9eg"
    expected = f"target: 'xc7z007' is unknown; expected one of {known}; the nearest is xc7z020"
    assert str(error.value) == expected


def test_the_targets():
    assert {name: device.primitive.name for name, device in TARGETS.items()} == {
        **dict.fromkeys(("xcvu9p", "xck26", "xczu7ev", "xczu9eg"), "DSP48E2"),
        **dict.fromkeys(("xc7a100t", "xc7a200t", "xc7z020", "xc7z045"), "DSP48E1"),
        "ecp5-85": "MULT18X18D",
    }
    assert all(target(name).name == name for name in TARGETS)


@pytest.mark.parametrize("name", list(TARGETS))
def test_each_target_keeps_up_with_its_own_clock_when_multipliers_are_shared(name):
    device = target(name)
    shared = Product((18, 18), 2 * device.delays.select, device.delays.check)
    least = device.least_period([shared])
    device.check_clock(device.clock_mhz, least)
    assert device.clock(None, least).schedule_mhz == device.clock_mhz
    assert device.usable_period(device.clock_mhz) == 1000.0 / device.clock_mhz - device.delays.overhead


@pytest.mark.parametrize(
    ("name", "least", "clock"),
    [
        ("xcvu9p", 0.0, Clock(125.0, 125.0)),
        ("xc7a200t", 0.0, Clock(100.0, 100.0)),
        ("ecp5-85", 0.0, Clock(40.0, 50.0)),
        ("ecp5-85", 20.0, Clock(36.0, 45.0)),
        ("xcvu9p", 8.0, Clock(113.0, 113.0)),
    ],
)
def test_default_clocks_are_slower_than_their_schedules_where_designs_are_placed(name, least, clock):
    assert target(name).clock(None, least) == clock
    assert (target(name).margin > 0.0) is (name in DEVICES)


@pytest.mark.parametrize(("name", "like"), [("xck26", "xcvu9p"), ("xc7z020", "xc7a200t")])
def test_a_slower_grade_has_longer_delays(name, like):
    slow, fast = target(name), target(like)
    assert slow.clock_mhz == math.floor(fast.clock_mhz / SLOWER_GRADE)
    for key, delay in vars(fast.delays).items():
        assert getattr(slow.delays, key) == pytest.approx(1.2 * delay)
    for way, faster in zip(slow.pipelines((18, 18)), fast.pipelines((18, 18)), strict=True):
        assert way.period(Product((18, 18))) == pytest.approx(1.2 * faster.period(Product((18, 18))))


@pytest.mark.parametrize("name", list(TARGETS))
def test_a_given_clock_is_that_of_the_schedule(name):
    assert target(name).clock(61.5, 20.0) == Clock(61.5, 61.5)


@pytest.mark.parametrize("name", list(TARGETS))
@pytest.mark.parametrize("widths", [(18, 18), (28, 28)])
def test_more_registers_never_make_a_cycle_longer(name, widths):
    ways = target(name).pipelines(widths)
    assert [way.registers for way in ways] == [0, 1, 2, 3]
    periods = [way.period(Product(widths)) for way in ways]
    assert periods == sorted(periods, reverse=True)
    assert all(way.between == 0.0 for way in ways[:2])


@pytest.mark.parametrize(
    ("name", "clock", "registers"),
    [
        ("xcvu9p", 125.0, 0),
        ("xcvu9p", 190.0, 1),
        ("xcvu9p", 300.0, 2),
        ("xcvu9p", 400.0, 3),
        ("ecp5-85", 50.0, 0),
        ("xc7a200t", 100.0, 0),
    ],
)
def test_a_product_takes_the_fewest_registers_that_keep_up(name, clock, registers):
    device = target(name)
    product = Product((18, 18), device.delays.select, device.delays.check)
    chosen = device.pipeline(product, clock)
    assert chosen.registers == registers
    assert chosen.period(product) <= device.usable_period(clock)
    fewer = device.pipelines(product.widths)[:registers]
    assert all(way.period(product) > device.usable_period(clock) for way in fewer)


@pytest.mark.parametrize("name", list(TARGETS))
@pytest.mark.parametrize("widths", [(18, 18), (28, 28)])
def test_a_clock_too_fast_for_any_number_of_registers_is_refused(name, widths):
    device = target(name)
    product = Product(widths, 2 * device.delays.select, device.delays.check)
    least = device.least_period([product])
    fastest = device.fastest_clock(least)
    device.check_clock(fastest, least)
    with pytest.raises(InputError) as error:
        device.check_clock(fastest + 1.0, least)
    assert str(error.value) == (
        f"clock: {fastest + 1} MHz is too fast for this design on {name}; expected at most {fastest} MHz"
    )
    assert device.pipeline(product, fastest).period(product) <= least + 1e-9


def test_without_products_choices_of_sums_limit_the_clock():
    delays = target("xcvu9p").delays
    assert target("xcvu9p").least_period([]) == delays.select + delays.add


@pytest.mark.parametrize(
    ("widths", "fits"), [((27, 18), True), ((18, 27), True), ((19, 19), False), ((28, 2), False)]
)
def test_what_fits_a_block(widths, fits):
    assert (target("xcvu9p").blocks(widths) == 1) is fits


@pytest.mark.parametrize(
    ("width", "parts"), [(1, (1,)), (18, (18,)), (19, (17, 2)), (35, (17, 18)), (36, (17, 17, 2))]
)
def test_parts_of_an_operand_fit_a_port_with_a_sign(width, parts):
    assert limbs(width, 18, 17) == parts


@pytest.mark.parametrize(
    ("name", "widths", "blocks"),
    [
        ("xcvu9p", (18, 18), 1),
        ("xcvu9p", (27, 18), 1),
        ("xcvu9p", (18, 27), 1),
        ("xcvu9p", (28, 28), 4),
        ("xcvu9p", (32, 18), 2),
        ("xc7a200t", (25, 18), 1),
        ("xc7a200t", (27, 18), 2),
        ("ecp5-85", (18, 18), 1),
        ("ecp5-85", (27, 18), 2),
        ("ecp5-85", (32, 32), 4),
    ],
)
def test_blocks_of_a_product(name, widths, blocks):
    assert target(name).blocks(widths) == blocks


@pytest.mark.parametrize(
    ("name", "widths", "places"),
    [
        ("ecp5-85", (18, 18), (0,)),
        ("ecp5-85", (27, 18), (0, 17)),
        ("ecp5-85", (27, 27), (0, 17, 17, 34)),
        ("xcvu9p", (18, 32), (0, 17)),
        ("xcvu9p", (28, 28), (0, 17, 17, 34)),
        ("xc7a200t", (22, 19), (0, 17)),
    ],
)
def test_places_of_the_blocks_of_a_product(name, widths, places):
    assert target(name).primitive.places(widths) == places
