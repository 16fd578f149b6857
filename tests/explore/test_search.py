"""The search for a build: what is computed again when an option changes, and what is not."""

from dataclasses import replace

import pytest

from rbdhw.config import CHEAPER_CORE, BuildOptions
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

OPTIONS = BuildOptions(("id", "fd"), ii=4, width=12, samples=256)


@pytest.fixture(scope="module")
def search() -> BuildSearch:
    """Return the search of the toy; all tests share its cache."""
    return BuildSearch(prepare_build(load_urdf(path("toy")), OPTIONS), OPTIONS)


def test_the_same_build_is_scheduled_once(search):
    again = search.with_options(replace(OPTIONS, core=CHEAPER_CORE))
    assert again.schedule("pipeline", 4) is search.schedule("pipeline", 4)


@pytest.mark.parametrize(
    ("option", "value"),
    [("clock_mhz", 90.0), ("data_width", 64), ("number", "float32"), ("priority", ("fd",))],
)
def test_another_option_gives_another_schedule_of_the_same_formats(search, option, value):
    first = search.schedule("pipeline", 4)
    other = search.with_options(replace(OPTIONS, **{option: value})).schedule("pipeline", 4)
    assert other.formats is first.formats
    assert {"clock_mhz": other.clock_mhz, **vars(other.interface)}[option] == value
