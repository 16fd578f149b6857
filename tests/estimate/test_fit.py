"""Resources that a device lacks, and the interval at which a design would fit."""

import pytest

from rbdhw.estimate.fit import MultiplierSharing, shortages
from rbdhw.estimate.resources import Resources
from rbdhw.target import target


@pytest.mark.parametrize(
    ("sharing", "blocks", "expected"),
    [
        (MultiplierSharing(1, 213, 213), 213, 2),
        (MultiplierSharing(1, 312, 312), 312, 2),
        (MultiplierSharing(1, 313, 313), 313, 3),
        (MultiplierSharing(1, 2337, 2337), 2355, 16),
        (MultiplierSharing(4, 2337, 585), 600, 16),
        (MultiplierSharing(1, 213, 213), 852, 6),
        (MultiplierSharing(3, 157, 157), 157, 4),
        (MultiplierSharing(2, 0, 0), 160, 3),
    ],
)
def test_interval_that_would_fit(sharing: MultiplierSharing, blocks: int, expected: int) -> None:
    assert sharing.interval_for(blocks, 156) == expected


def test_exceeded_resources_are_listed_with_the_excess() -> None:
    counts = Resources(luts=83_641, flip_flops=83_640, dsp_blocks=2355, block_rams=209)
    assert shortages(counts, target("ecp5-85")) == [
        "2,355 DSP blocks of 156, 2,199 too many",
        "83,641 LUTs of 83,640, 1 too many",
        "209 block RAMs of 208, 1 too many",
    ]


def test_a_design_that_just_fits_is_accepted() -> None:
    assert shortages(Resources(83_640, 83_640, 156, 208), target("ecp5-85")) == []
