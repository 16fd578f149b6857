"""The options of a build: the same for every command, and which of them the command line has."""

import inspect

import pytest
import typer

from rbdhw.cli.app import app
from rbdhw.cli.options import (
    ALL_FUNCTIONS,
    HARDWARE,
    OF_HARDWARE,
    PARAMETERS,
    ROBOT,
    BuildArguments,
    build_options,
    takes_build_options,
)
from rbdhw.config import BuildOptions, Mounting, Pacing, link_text, parse_links
from rbdhw.domain.overrides import Overrides
from rbdhw.errors import InputError
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS


def options_of(command):
    """Return the options of a command by name: their spellings, defaults, help and group."""
    parameters = typer.main.get_group(app).commands[command].params
    return {
        p.name: (p.opts, p.default, p.help, p.rich_help_panel) for p in parameters if p.name in PARAMETERS
    }


def test_info_takes_all_options_of_generate():
    assert options_of("info") == options_of("generate")
    assert set(options_of("generate")) == set(PARAMETERS)


def test_nothing_given_is_the_default_build():
    options, overrides = build_options()
    assert options == BuildOptions(functions=DEFAULT_FUNCTIONS)
    assert (options.ii, options.pacing, options.core) == (None, None, None)
    assert overrides == Overrides()
    assert tuple(ALL_FUNCTIONS.split(",")) == DEFAULT_FUNCTIONS


def test_every_option_reaches_the_build(tmp_path):
    domain = tmp_path / "domain.toml"
    domain.write_text("[default]\nvelocity = 2.0\n")
    options, overrides = build_options(
        functions="fd, id,fd",
        fext=["all"],
        algorithm=["inverse=single_pivots"],
        base="floating",
        gravity="0,1,2",
        root="auto",
        joint_order="file",
        strict=True,
        target="ecp5-85",
        ii="auto",
        bandwidth=2.0,
        fit="60%",
        clock=40.0,
        max_error=0.01,
        width=18,
        tdata=64,
        number="float32",
        priority="id, fd,id",
        share_limbs="off",
        core="auto",
        domain=domain,
        seed=7,
    )
    assert options == BuildOptions(
        functions=("fd", "id"),
        pacing=Pacing(bandwidth=2.0),
        fit=0.6,
        target="ecp5-85",
        clock_mhz=40.0,
        max_error=0.01,
        width=18,
        fext="all",
        data_width=64,
        number="float32",
        priority=("id", "fd"),
        algorithms={"inverse": "single_pivots"},
        mounting=Mounting("floating", (0.0, 1.0, 2.0), strict=True, root="auto", joint_order="file"),
        share_limbs="off",
        core="auto",
        seed=7,
    )
    assert overrides == Overrides.model_validate({"default": {"velocity": 2.0}})
    given = inspect.signature(build_options).parameters
    assert set(given) == set(PARAMETERS)


def test_the_options_of_the_hardware_are_told_apart():
    assert OF_HARDWARE == (
        "ii", "bandwidth", "fit", "clock", "max_error", "width", "tdata", "number", "priority",
        "share_limbs", "core", "cores", "copies", "mix", "domain", "seed",
    )  # fmt: skip
    panels = {name: panel for name, (*_, panel) in options_of("info").items()}
    assert {name for name, panel in panels.items() if panel == HARDWARE} == set(OF_HARDWARE)
    assert {panel for name, panel in panels.items() if name not in OF_HARDWARE} == {ROBOT}


def test_arguments_may_be_replaced():
    arguments = BuildArguments({"width": 18, "ii": "4"}, frozenset({"width", "ii"}))
    assert arguments.parse()[0] == BuildOptions(functions=DEFAULT_FUNCTIONS, width=18, ii=4)
    assert arguments.parse(ii=None)[0].ii is None
    with pytest.raises(InputError) as error:
        arguments.parse(bandwidth=1.0)
    assert str(error.value) == "bandwidth: 1 GB/s has no effect here; expected it together with --ii auto"


def test_a_command_receives_them_together_with_the_names_of_those_given():
    seen = []

    def command(urdf: str, *, build: BuildArguments, as_json: bool = False) -> None:
        seen.append((urdf, build, as_json))

    app = typer.Typer()
    app.command()(takes_build_options(command))
    app(["robot", "--width", "18", "--seed", "0", "--as-json"], standalone_mode=False)
    ((urdf, build, as_json),) = seen
    assert (urdf, as_json) == ("robot", True)
    assert build.given == {"width", "seed"}
    assert set(build.values) == set(PARAMETERS)
    assert build.parse()[0] == BuildOptions(functions=DEFAULT_FUNCTIONS, width=18)


class TestLinks:
    @pytest.mark.parametrize(
        ("texts", "links"),
        [
            ([], "none"),
            (["none"], "none"),
            (["all"], "all"),
            (["hand"], ("hand",)),
            (["hand,foot", "hand"], ("hand", "foot")),
            ([r"left\,lower", "foot"], ("left,lower", "foot")),
            ([r"a\\b"], ("a\\b",)),
            ([r"\all"], ("all",)),
            ([r"\none,foot"], ("none", "foot")),
            (["hand\\"], ("hand\\",)),
            (["right hand"], ("right hand",)),
        ],
    )
    def test_names_may_hold_commas_and_be_all(self, texts, links):
        assert build_options(fext=texts)[0].fext == links

    @pytest.mark.parametrize("name", ["hand", "left,lower", "all", "none", "a\\b", ",", "\\,", "all,none"])
    def test_every_name_can_be_given(self, name):
        assert parse_links([link_text(name)]) == (name,)
        assert parse_links([f"first,{link_text(name)}", link_text(name)]) == ("first", name)

    @pytest.mark.parametrize(
        ("texts", "line"),
        [
            ([""], "fext: '' is not a link; expected none, all, or names of links"),
            (["hand,"], "fext: '' is not a link; expected none, all, or names of links"),
            (
                ["all", "hand"],
                r"fext: 'all' beside other links; expected it alone, or '\all' for a link of that name",
            ),
            (
                ["hand,none"],
                r"fext: 'none' beside other links; expected it alone, or '\none' for a link of that name",
            ),
        ],
    )
    def test_what_names_no_links_is_refused(self, texts, line):
        with pytest.raises(InputError) as error:
            build_options(fext=texts)
        assert str(error.value) == line


class TestFrames:
    def test_names_may_hold_commas_and_be_all(self):
        options = build_options(functions="kin", frames=[r"left\,lower,all", "none"], frame_axes="world")[0]
        assert options.mounting == Mounting(frames=("left,lower", "all", "none"), frame_axes="world")

    @pytest.mark.parametrize(
        ("functions", "texts", "line"),
        [
            ("kin", ["tip,"], "frames: '' is not a link; expected names of links"),
            ("kin", ["tip", "hand,tip"], "frames: link 'tip' appears twice; expected each link once"),
            ("kin", [], "frames: none given for kin; expected names of links; use --frames LINK"),
            ("id", ["tip"], "frames: only kin has results of frames; expected none; use --functions kin"),
        ],
    )
    def test_what_is_refused(self, functions, texts, line):
        with pytest.raises(InputError) as error:
            build_options(functions=functions, frames=texts)[0].check(tuple(FUNCTIONS))
        assert str(error.value) == line

    def test_unknown_axes(self):
        with pytest.raises(InputError, match="frame-axes: 'up' is unknown; expected one of local, world"):
            build_options(frame_axes="up")[0].check(tuple(FUNCTIONS))
