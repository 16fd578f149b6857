"""The array of a program: its clock."""

from dataclasses import replace

import pytest

from rbdhw.cores.array.build import build_array
from rbdhw.target import target
from tests.support.array_programs import mixed


@pytest.mark.parametrize("name", ["ecp5-85", "xcvu9p"])
def test_without_a_clock_the_array_is_that_of_the_targets_own(name):
    """Only the clock at which it runs is slower, by the target's margin."""
    device, program = target(name), mixed()
    default, explicit = (
        build_array(program, device, None, 16),
        build_array(program, device, device.clock_mhz, 16),
    )
    assert default == replace(explicit, clock_mhz=device.clock(None).mhz)
