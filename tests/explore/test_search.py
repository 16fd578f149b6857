"""The search for a build: what is computed again when an option changes, and what is not."""

from dataclasses import replace

import pytest

from rbdhw.domain.overrides import read_overrides
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.frontend.read import mount
from rbdhw.options.build import CHEAPER_CORE, BuildOptions, Mounting
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


@pytest.mark.parametrize(
    ("text", "options", "mounting", "idle"),
    [
        ("[fext]\nforce = 1.0", {}, {}, "table fext: has no effect, as no task of the build brings fext"),
        ("[fext]\nforce = 1.0", {"fext": "all"}, {}, ""),
        ("[fext]\nforce = 1.0", {}, {"base": "floating"}, ""),
        ("[integration]\ntime_step = [1e-4, 1e-3]", {}, {}, "table integration: has no effect, as no task "),
        ("[integration]\ntime_step = [1e-4, 1e-3]", {"functions": ("step",)}, {}, ""),
        ("[joints.elbow]\nmultiplier = 2.0", {}, {}, "multiplier: has no effect, as no task of the build "),
        ("[default]\nmultiplier = 2.0", {"functions": ("hid",)}, {}, ""),
    ],
)
def test_bounds_of_a_domain_file_without_effect_have_a_remark(
    tmp_path, capsys, text, options, mounting, idle
):
    file = tmp_path / "domain.toml"
    file.write_text(text)
    build_options = replace(OPTIONS, **{"functions": ("id",), **options})
    prepare_build(mount(load_urdf(path("toy")), Mounting(**mounting)), build_options, read_overrides(file))
    lines = [line for line in capsys.readouterr().err.splitlines() if "has no effect" in line]
    assert len(lines) == bool(idle)
    assert all(line.startswith(f"rbdhw: domain, {idle}") for line in lines)
