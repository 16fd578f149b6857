"""The options of a build: the same for every command, and which of them the command line has."""

import pytest
import typer

from rbdhw.cli.app import app
from rbdhw.cli.options import KEYS, OF_HARDWARE, BuildArguments, takes_build_options
from rbdhw.domain.overrides import Overrides
from rbdhw.errors import InputError
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import BuildOptions, Mounting, Pacing
from rbdhw.options.option import HARDWARE, ROBOT
from rbdhw.options.table import ALL_FUNCTIONS
from rbdhw.protocol import DEFAULT_FUNCTIONS


def options_of(command):
    """Return the options of a command by name: their spellings, defaults, help and group."""
    parameters = typer.main.get_group(app).commands[command].params
    return {p.name: (p.opts, p.default, p.help, p.rich_help_panel) for p in parameters if p.name in KEYS}


def test_info_takes_all_options_of_generate():
    assert options_of("info") == options_of("generate")
    assert set(options_of("generate")) == set(KEYS)


def test_nothing_given_is_the_default_build():
    options, overrides = asked_build()
    assert options == BuildOptions(functions=DEFAULT_FUNCTIONS)
    assert (options.ii, options.pacing, options.core) == (None, None, None)
    assert overrides == Overrides()
    assert tuple(ALL_FUNCTIONS.split(",")) == DEFAULT_FUNCTIONS


def test_every_option_reaches_the_build(tmp_path):
    domain = tmp_path / "domain.toml"
    domain.write_text("[default]\nvelocity = 2.0\n")
    options, overrides = asked_build(
        functions="fd, rk4,fd",
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
        streams=2,
        number="float32",
        priority="rk4, fd,rk4",
        share_limbs="off",
        share_stages="loop",
        core="auto",
        domain=domain,
        seed=7,
    )
    assert options == BuildOptions(
        functions=("fd", "rk4"),
        pacing=Pacing(bandwidth=2.0),
        fit=0.6,
        target="ecp5-85",
        clock_mhz=40.0,
        max_error=0.01,
        width=18,
        fext="all",
        data_width=64,
        streams=2,
        number="float32",
        priority=("rk4", "fd"),
        algorithms={"inverse": "single_pivots"},
        mounting=Mounting("floating", gravity=(0.0, 1.0, 2.0), strict=True, root="auto", joint_order="file"),
        share_limbs="off",
        share_stages="loop",
        core="auto",
        seed=7,
    )
    assert overrides == Overrides.model_validate({"default": {"velocity": 2.0}})


def test_the_options_of_the_hardware_are_told_apart():
    assert OF_HARDWARE == (
        "board", "ii", "sweep_ii", "bandwidth", "fit", "clock", "stream_clock", "max_error", "prove",
        "confidence", "width", "tdata", "streams", "number", "priority", "share_limbs", "share_stages",
        "core", "cores", "copies", "mix", "parameters_by", "parameter_sets", "name", "domain", "seed",
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
    assert build.named == {"width", "seed"}
    assert set(build.values) == set(KEYS)
    assert build.parse()[0] == BuildOptions(functions=DEFAULT_FUNCTIONS, width=18)
