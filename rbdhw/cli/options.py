"""The command-line options that describe a build, shared by `generate` and `info`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from rbdhw.cli.syntax import (
    parse_cores,
    parse_drives,
    parse_frames,
    parse_gravity,
    parse_interval,
    parse_links,
    parse_mix,
    parse_parameters,
    parse_share,
)
from rbdhw.config import BY_TASK, DEFAULT_HORIZON, HORIZONS, BuildOptions, CoreRequest
from rbdhw.domain.overrides import Overrides, read_overrides
from rbdhw.errors import InputError
from rbdhw.frontend.algorithms import parse_algorithms
from rbdhw.frontend.alternatives import ALGORITHMS
from rbdhw.option_checks import check_values
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS, ROLLOUT, ROLLOUT_PARTS
from rbdhw.robot.model import FRAME_AXES
from rbdhw.robot.mounting import BASES, JOINT_ORDERS, Mounting
from rbdhw.verilog_names import DEFAULT_NAME

ALL_FUNCTIONS = ",".join(DEFAULT_FUNCTIONS)

ROBOT, HARDWARE = "Robot and functions", "Hardware"
"""The two groups of options in the help. `info` without --explore refuses the hardware options."""


def _robot(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=ROBOT, **settings)


def _hardware(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=HARDWARE, **settings)


ALGORITHM_HELP = "; ".join(f"{step}={' | '.join(names)}" for step, names in ALGORITHMS.items())

Functions = Annotated[
    str | None,
    _robot(
        help="The functions, comma-separated: "
        + ", ".join((*FUNCTIONS, ROLLOUT))
        + ". By default those of --cores, or "
        f"{ALL_FUNCTIONS}."
    ),
]
Fext = Annotated[
    list[str] | None,
    _robot(
        "--fext",
        metavar="LINKS",
        help="Links with an external force: none, all, or comma-separated names; may be repeated. A "
        "backslash escapes the next character of a name.",
    ),
]
AlgorithmList = Annotated[
    list[str] | None,
    _robot("--algorithm", help=f"Overrides the cheapest algorithm; may be repeated: {ALGORITHM_HELP}."),
]
BaseName = Annotated[str, _robot("--base", help="The motion of the root: " + ", ".join(BASES) + ".")]
Gravity = Annotated[
    str | None, _robot(help="x,y,z in m/s^2, or 'task' to send it with each task; 0,0,-9.81 by default.")
]
Root = Annotated[
    str | None, _robot(help="The link that floats instead of the root, or 'auto' for the cheapest.")
]
JointOrder = Annotated[
    str, _robot(help="The order of the joints: pinocchio (a link's joints by name) or file (as listed).")
]
Frames = Annotated[
    list[str] | None,
    _robot(
        "--frames",
        metavar="LINKS",
        help="Links of whose frames kin gives the kinematics: comma-separated names; may be repeated. A "
        "backslash escapes the next character of a name.",
    ),
]
Horizon = Annotated[
    int | None,
    _robot(
        metavar="K", help=f"The most steps of a rollout, 2 to {HORIZONS[-1]}; {DEFAULT_HORIZON} by default."
    ),
]
RolloutPartsText = Annotated[
    str | None,
    _robot(
        "--rollout",
        metavar="PARTS",
        help="What rollouts have beside the forces that are loaded, comma-separated: "
        + "; ".join(f"{name}: {text}" for name, text in ROLLOUT_PARTS.items())
        + ".",
    ),
]
FrameAxes = Annotated[
    str,
    _robot("--frame-axes", help="The axes of these frames' velocities: local (each frame's own) or world."),
]
TimeStep = Annotated[
    float | None,
    _robot(
        "--time-step", metavar="H", help="The step in time (s) of all tasks; by default each has its own."
    ),
]
Damping = Annotated[
    list[str] | None,
    _robot(
        "--damping",
        metavar="JOINT=D",
        help="Viscous friction of joints (Nm s/rad or N s/m), comma-separated, or 'urdf' for <dynamics "
        "damping>; may be repeated. Several degrees of freedom: JOINT=D:D:D.",
    ),
]
Armature = Annotated[
    list[str] | None,
    _robot(
        "--armature",
        metavar="JOINT=J",
        help="Inertia of rotors, seen at their joints (kg m^2 or kg), comma-separated; may be repeated.",
    ),
]
Parameters = Annotated[
    list[str] | None,
    _robot(
        "--parameters",
        metavar="LINKS",
        help="Links whose mass, centre of mass and inertia are given at run time: none, payload (the link at "
        "the end), inertias (all), or comma-separated names; may be repeated.",
    ),
]
Strict = Annotated[
    bool,
    _robot("--strict", help="Treat warnings about the URDF file as errors."),
]
TargetName = Annotated[str, _robot(help="The device: xcvu9p, xc7a200t or ecp5-85; c or cuda for software.")]

Ii = Annotated[
    str | None,
    _hardware(
        metavar="N|auto",
        help="Cycles between tasks; auto: the fewest that the link allows. By default 1, or with --fit the "
        "fewest that fit.",
    ),
]
Bandwidth = Annotated[
    float | None,
    _hardware(metavar="GB/s", help="Bandwidth of the link each way; by default that of the streams."),
]
Fit = Annotated[
    str | None,
    _hardware(metavar="PERCENT", help="The largest estimated share of the target; chooses the II."),
]
Clock = Annotated[float | None, _hardware(metavar="MHZ", help="The clock; the target's own by default.")]
MaxError = Annotated[
    float | None,
    _hardware(metavar="E", help="The largest relative error; 1e-3 by default if no width is given."),
]
Width = Annotated[int | None, _hardware(help="Bits of the multipliers' operands, 8 to 32.")]
Tdata = Annotated[int, _hardware(help="Bits of the streams: 32, 64, 128, 256, 512 or 1024.")]
Streams = Annotated[
    int,
    _hardware(
        help="Pairs of streams, 1 to 8, of requests and of responses each. Responses return to the pair from "
        "which their requests came.",
    ),
]
Number = Annotated[str, _hardware(help="The number format on the streams: fixed or float32.")]
Priority = Annotated[
    str | None,
    _hardware(
        metavar="FUNCTIONS",
        help="Comma-separated functions whose responses are sent first, in this order. By default short "
        "responses are sent before long ones, and all functions share the output.",
    ),
]
ShareLimbs = Annotated[
    str, _hardware(help="Whether symmetric limbs share the hardware of one: auto, on or off.")
]
ShareStages = Annotated[
    str,
    _hardware(
        help="Whether the stages of Runge-Kutta share the hardware of one: auto, on (in turn), "
        "loop (a task passes it four times) or off."
    ),
]
ParametersBy = Annotated[
    str,
    _hardware(
        "--parameters-by",
        help="What brings the parameters of --parameters: each task, or load, packets of their own.",
    ),
]
ParameterSets = Annotated[
    int,
    _hardware(
        "--parameter-sets",
        help="Sets of loaded parameters, 1 to 8. Each load and each task names one in its header.",
    ),
]
CoreName = Annotated[
    str | None,
    _hardware(
        "--core",
        help="The core: pipeline; array (smaller from an II of about 16 on, with more latency); auto, which "
        "selects the smaller of these; or chain (fd of robots of many links, on the hardware of one). "
        "generate uses pipeline by default; info --explore compares pipeline and array.",
    ),
]
CoreList = Annotated[
    str | None,
    _hardware(
        "--cores",
        metavar="CORES",
        help="Several cores: the functions, the cycles between tasks, and optionally the kind and the number "
        "of copies of each, such as 'id,fd,m,minv,did:1 dfd,difd:4*2'.",
    ),
]
Copies = Annotated[
    int, _hardware("--copies", metavar="N", help="The number of equal cores, whose tasks take turns.")
]
MixText = Annotated[
    str | None,
    _hardware(
        "--mix",
        metavar="TASKS",
        help="Tasks that are wanted in proportion, such as 'id=10,dfd=1': chooses the cores and intervals "
        "with the highest rate within --fit.",
    ),
]
Name = Annotated[
    str,
    _hardware(
        "--name",
        help="The top module of the Verilog, with whose name those of all its modules begin: several designs "
        "can stand in one.",
    ),
]
Domain = Annotated[Path | None, _hardware(metavar="FILE", help="A TOML file with bounds of the inputs.")]
Seed = Annotated[int, _hardware(help="Seed of all random numbers.")]


def build_options(
    functions: Functions = None,
    fext: Fext = None,
    algorithm: AlgorithmList = None,
    base: BaseName = "fixed",
    gravity: Gravity = None,
    root: Root = None,
    joint_order: JointOrder = JOINT_ORDERS[0],
    frames: Frames = None,
    frame_axes: FrameAxes = FRAME_AXES[0],
    time_step: TimeStep = None,
    horizon: Horizon = None,
    rollout: RolloutPartsText = None,
    damping: Damping = None,
    armature: Armature = None,
    parameters: Parameters = None,
    strict: Strict = False,
    target: TargetName = "xcvu9p",
    ii: Ii = None,
    bandwidth: Bandwidth = None,
    fit: Fit = None,
    clock: Clock = None,
    max_error: MaxError = None,
    width: Width = None,
    tdata: Tdata = 512,
    streams: Streams = 1,
    number: Number = "fixed",
    priority: Priority = None,
    share_limbs: ShareLimbs = "auto",
    share_stages: ShareStages = "auto",
    core: CoreName = None,
    cores: CoreList = None,
    copies: Copies = 1,
    mix: MixText = None,
    parameters_by: ParametersBy = BY_TASK,
    parameter_sets: ParameterSets = 1,
    name: Name = DEFAULT_NAME,
    domain: Domain = None,
    seed: Seed = 0,
) -> tuple[BuildOptions, Overrides]:
    """Return the build options, and the bounds of inputs that override the defaults.

    Raises
    ------
    InputError
        For an invalid option, or a domain file that cannot be read.
    """
    share = parse_share(fit)
    asked = parse_cores(cores)
    names = _functions_of(functions, asked)
    if ROLLOUT not in names and horizon is not None:
        raise InputError("horizon", "the build has no rollouts", remedy="use --functions rollout")
    cycles, pacing = parse_interval(ii, bandwidth, None if asked else share)
    options = BuildOptions(
        functions=names,
        ii=cycles,
        pacing=pacing,
        fit=share,
        target=target,
        clock_mhz=clock,
        max_error=max_error,
        width=width,
        fext=parse_links(fext or ()),
        data_width=tdata,
        streams=streams,
        number=number,
        priority=_names("priority", priority),
        algorithms=parse_algorithms(algorithm or []),
        mounting=Mounting(
            base,
            parse_gravity(gravity),
            strict,
            root,
            joint_order,
            parse_frames(frames or ()),
            frame_axes,
            time_step,
            parse_drives(damping or (), armature or ()),
            parse_parameters(parameters or ()),
        ),
        share_limbs=share_limbs,
        share_stages=share_stages,
        core=core,
        cores=asked,
        copies=copies,
        mix=parse_mix(mix),
        horizon=horizon,
        rollout=_names("rollout", rollout),
        parameters_by=parameters_by,
        parameter_sets=parameter_sets,
        name=name,
        seed=seed,
    )
    return options, read_overrides(domain) if domain else Overrides()


def _functions_of(text: str | None, cores: Sequence[CoreRequest]) -> tuple[str, ...]:
    """Return the functions of a build: the given ones, those of its cores, or the default ones."""
    if text is not None or not cores:
        expected = f"one or more of {', '.join((*FUNCTIONS, ROLLOUT))}"
        return _names("functions", ALL_FUNCTIONS if text is None else text, expected)
    asked = {function for core in cores for function in core.functions}
    known = tuple(function for function in (*FUNCTIONS, ROLLOUT) if function in asked)
    return known + tuple(sorted(asked.difference(known)))


def _names(option: str, text: str | None, expected: str = "names with commas between") -> tuple[str, ...]:
    """Return the distinct names in a comma-separated list; none if it is not given.

    Raises
    ------
    InputError
        It is given and empty.
    """
    if text is None:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise InputError(option, "none given", expected)
    return names


PARAMETERS = inspect.signature(build_options, eval_str=True).parameters

OF_HARDWARE = tuple(
    name
    for name, parameter in PARAMETERS.items()
    if parameter.annotation.__metadata__[0].rich_help_panel == HARDWARE
)
"""The hardware options, in the order of the help."""


@dataclass(frozen=True)
class BuildArguments:
    """The build options as parsed from the command line.

    Parameters
    ----------
    values
        The arguments of :func:`build_options`.
    given
        The names of the options that appear on the command line.
    """

    values: Mapping[str, Any]
    given: frozenset[str]

    def parse(self, **instead: Any) -> tuple[BuildOptions, Overrides]:
        """Return :func:`build_options` of the arguments, with the arguments ``instead`` replaced.

        Raises
        ------
        InputError
            As :func:`build_options`, and for an option without effect.
        """
        options, overrides = build_options(**{**self.values, **instead})
        check_values(options, tuple(FUNCTIONS), {name.replace("_", "-") for name in self.given})
        return options, overrides


def takes_build_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the parameters of :func:`build_options` in place of its parameter ``build``.

    ``command`` receives them together, as :class:`BuildArguments`.
    """
    own = inspect.signature(command, eval_str=True).parameters

    @wraps(command)
    def call(context: typer.Context, **arguments: Any) -> None:
        values = {name: arguments.pop(name) for name in PARAMETERS}
        command(build=BuildArguments(values, _given_options(context)), **arguments)

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, parameter in own.items():
        replaced = PARAMETERS.values() if name == "build" else (parameter,)
        parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in replaced]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _given_options(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that appear on the command line."""
    sources = {name: context.get_parameter_source(name) for name in PARAMETERS}
    return frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")
