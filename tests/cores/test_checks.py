"""Cores that no build can have with its options, and the exact message for each."""

from typing import get_args

import pytest

from rbdhw.cores import KINDS
from rbdhw.cores.array.core import ArrayCore
from rbdhw.cores.checks import check_build
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions, CoreName, CoreRequest, Pacing

SEVERAL = {"functions": ("id", "fd"), "width": 18}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"core": "array", "ii": 16}, "width: the multipliers of an array have one width; expected 8 to 32"),
        ({"core": "array", "ii": 7, "width": 18}, "ii: 7 is too few for the array core; expected 8 or more"),
        (
            {"core": "array", "ii": 16, "width": 18, "share_limbs": "on"},
            "share-limbs: the array core shares all hardware anyway; expected auto or off",
        ),
        (
            {**SEVERAL, "cores": (CoreRequest(("id",), 8), CoreRequest(("fd",), 7, "array"))},
            "ii: 7 is too few for the array core; expected 8 or more",
        ),
        (
            {**SEVERAL, "cores": (CoreRequest(("id",)), CoreRequest(("fd",), 8, "chain"))},
            "cores: a chain core stands alone; expected pipeline, array or auto; "
            "use --core chain, with --copies for several",
        ),
    ],
)
def test_impossible_cores_are_refused(options, text):
    with pytest.raises(InputError) as error:
        check_build(BuildOptions(**options))
    assert str(error.value) == text


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"core": "auto", "ii": 1},
        {"core": "array", "ii": 8, "width": 18},
        {"core": "array", "ii": 8, "width": 32},
        {"core": "array", "width": 18, "pacing": Pacing()},
        {"functions": ("fd",), "core": "chain", "copies": 2},
        {**SEVERAL, "core": "array", "cores": (CoreRequest(("id",), 8), CoreRequest(("fd",), 8))},
    ],
)
def test_possible_cores_are_accepted(options):
    check_build(BuildOptions(**options))


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        ({}, ("--width 18",)),
        ({"width": 27}, ()),
        ({"width": 8, "share_limbs": "on"}, ("--share-limbs auto",)),
    ],
)
def test_what_an_array_needs(options, needs):
    assert ArrayCore.needs(BuildOptions(**options)) == needs
    assert (ArrayCore.refusal(BuildOptions(**options), 8) is None) == (needs == ())


def test_every_kind_has_its_name():
    assert {name: kind.name for name, kind in KINDS.items()} == {name: name for name in get_args(CoreName)}
