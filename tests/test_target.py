"""Targets: names, clocks, blocks."""

import pytest

from rbdhw.errors import InputError
from rbdhw.target import TARGETS, target


def test_an_unknown_target_is_refused():
    with pytest.raises(InputError) as error:
        target("xc7z020")
    assert str(error.value) == "target: 'xc7z020' is unknown; expected one of ecp5-85, xcvu9p"


@pytest.mark.parametrize("name", ["ecp5-85", "xcvu9p"])
def test_each_target_keeps_up_with_its_own_clock_when_multipliers_are_shared(name):
    device = target(name)
    assert device.name == name
    period = device.usable_period(device.clock_mhz, device.product_delay((18, 18), 2))
    assert period == pytest.approx(1000.0 / device.clock_mhz - device.delays.overhead)
    assert set(TARGETS) == {"ecp5-85", "xcvu9p"}


@pytest.mark.parametrize(
    ("name", "clock", "levels", "fastest"),
    [
        ("xcvu9p", 200.0, 0, 196),
        ("xcvu9p", 190.0, 1, 178),
        ("ecp5-85", 106.0, 0, 105),
        ("ecp5-85", 1e9, 0, 105),
    ],
)
def test_a_clock_too_fast_for_a_product_is_refused(name, clock, levels, fastest):
    product = target(name).product_delay((18, 18), levels)
    with pytest.raises(InputError) as error:
        target(name).usable_period(clock, product)
    assert str(error.value) == (
        f"clock: {clock:g} MHz is too fast for a product on {name}; at most {fastest} MHz was expected"
    )
    assert target(name).usable_period(fastest, product) > 0.0


@pytest.mark.parametrize(
    ("name", "widths", "levels", "clock"),
    [("xcvu9p", (18, 18), 2, 125.0), ("xcvu9p", (28, 28), 2, 120), ("ecp5-85", (28, 28), 2, 44)],
)
def test_the_default_clock_is_one_that_a_product_allows(name, widths, levels, clock):
    device = target(name)
    product = device.product_delay(widths, levels)
    assert device.default_clock(product) == clock
    assert device.usable_period(clock, product) > product


@pytest.mark.parametrize(
    ("name", "widths", "blocks"),
    [
        ("xcvu9p", (18, 18), 1),
        ("xcvu9p", (27, 18), 1),
        ("xcvu9p", (18, 27), 1),
        ("xcvu9p", (28, 28), 4),
        ("xcvu9p", (32, 18), 2),
        ("ecp5-85", (18, 18), 1),
        ("ecp5-85", (27, 18), 2),
        ("ecp5-85", (32, 32), 4),
    ],
)
def test_blocks_of_a_product(name, widths, blocks):
    assert target(name).blocks(widths) == blocks
