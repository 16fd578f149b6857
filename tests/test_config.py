"""Options that no build can meet, one line each."""

import math

import pytest

from rbdhw.config import DEFAULT_MAX_ERROR, BuildOptions
from rbdhw.errors import InputError

KNOWN = ("id", "fd")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"functions": ("id", "ik")}, "functions: 'ik' is unknown; expected one or more of id, fd"),
        ({"functions": ()}, "functions: none given; expected one or more of id, fd"),
        ({"ii": 0}, "ii: 0 is not possible; expected 1 or more cycles between tasks"),
        ({"ii": -3}, "ii: -3 is not possible; expected 1 or more cycles between tasks"),
        ({"width": 7}, "width: 7 is not supported; expected 8 to 32 bits"),
        ({"width": 33}, "width: 33 is not supported; expected 8 to 32 bits"),
        ({"max_error": 0.0}, "max-error: 0 is no budget; expected a number between 0 and 1"),
        ({"max_error": 1.0}, "max-error: 1 is no budget; expected a number between 0 and 1"),
        ({"max_error": math.nan}, "max-error: nan is no budget; expected a number between 0 and 1"),
        ({"clock_mhz": 0.0}, "clock: 0 MHz is no clock; expected a positive number"),
        ({"clock_mhz": math.nan}, "clock: nan MHz is no clock; expected a positive number"),
        ({"seed": -1}, "seed: -1 is negative; expected 0 or more"),
        ({"share_limbs": "yes"}, "share-limbs: 'yes' is unknown; expected one of auto, on, off"),
        ({"data_width": 48}, "tdata: 48 bits are not supported; expected one of 32, 64, 128, 256, 512"),
    ],
)
def test_what_cannot_be_built_is_refused(options, text):
    with pytest.raises(InputError) as error:
        BuildOptions(**options).check(KNOWN)
    assert str(error.value) == text


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"functions": ("fd", "id"), "ii": 1000},
        {"width": 8, "max_error": 0.5},
        {"width": 32, "data_width": 32},
    ],
)
def test_what_can_be_built_passes(options):
    BuildOptions(**options).check(KNOWN)


@pytest.mark.parametrize(
    ("options", "budget"),
    [
        ({}, DEFAULT_MAX_ERROR),
        ({"width": 18}, None),
        ({"max_error": 0.1}, 0.1),
        ({"width": 18, "max_error": 0.1}, 0.1),
    ],
)
def test_a_width_alone_has_no_budget(options, budget):
    assert BuildOptions(**options).budget == budget
