"""The command line's options of a build: what `generate` takes, and `info` for the build it describes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from rbdhw.config import (
    BASES,
    JOINT_ORDERS,
    BuildOptions,
    Mounting,
    parse_gravity,
    parse_interval,
    parse_links,
    parse_share,
)
from rbdhw.domain.bounds import Overrides, read_overrides
from rbdhw.frontend.algorithms import parse_algorithms
from rbdhw.frontend.functions import ALGORITHMS
from rbdhw.protocol import FUNCTIONS

ALL_FUNCTIONS = ",".join(FUNCTIONS)

ROBOT, HARDWARE = "Robot and functions", "Hardware"
"""The two groups of options in the help. Those of the hardware do not change what `info` says of a robot."""


def _robot(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=ROBOT, **settings)


def _hardware(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=HARDWARE, **settings)


ALGORITHM_HELP = "; ".join(f"{step}={' | '.join(names)}" for step, names in ALGORITHMS.items())

Functions = Annotated[str, _robot(help="Which functions, with commas: " + ", ".join(FUNCTIONS) + ".")]
Fext = Annotated[
    list[str] | None,
    _robot(
        "--fext",
        metavar="LINKS",
        help="Links that take an external force: none, all, or names with commas; may be repeated. A "
        "backslash makes the next character part of a name.",
    ),
]
AlgorithmList = Annotated[
    list[str] | None,
    _robot("--algorithm", help=f"Instead of the cheapest, may be repeated: {ALGORITHM_HELP}."),
]
BaseName = Annotated[str, _robot("--base", help="How the root may move: " + ", ".join(BASES) + ".")]
Gravity = Annotated[
    str | None, _robot(help="x,y,z in m/s^2, or 'task' if each brings its own; 0,0,-9.81 by default.")
]
Root = Annotated[
    str | None, _robot(help="The link that floats instead of the root, or 'auto' for the cheapest.")
]
JointOrder = Annotated[
    str, _robot(help="Order of the joints: pinocchio (a link's joints by name) or file (as listed).")
]
Strict = Annotated[
    bool,
    _robot("--strict", help="Refuse a file with anything amiss that is otherwise taken with a warning."),
]
TargetName = Annotated[str, _robot(help="The device: xcvu9p, xc7a200t or ecp5-85.")]

Ii = Annotated[
    str | None,
    _hardware(
        metavar="N|auto",
        help="Cycles between tasks; auto: as few as the link allows. 1 by default, with --fit as few as fit.",
    ),
]
Bandwidth = Annotated[
    float | None,
    _hardware(metavar="GB/s", help="Of the link, each way; by default what the streams carry."),
]
Fit = Annotated[
    str | None,
    _hardware(metavar="PERCENT", help="Share of the target to stay within by estimate; chooses the II."),
]
Clock = Annotated[float | None, _hardware(metavar="MHZ", help="MHz; the target's own by default.")]
MaxError = Annotated[
    float | None,
    _hardware(metavar="E", help="Largest relative error; 1e-3 by default where no width is given."),
]
Width = Annotated[int | None, _hardware(help="Operand bits of the multipliers, 8 to 32.")]
Tdata = Annotated[int, _hardware(help="Bits of the streams: 32, 64, 128, 256 or 512.")]
Number = Annotated[str, _hardware(help="What travels on the streams: fixed or float32.")]
Priority = Annotated[
    str,
    _hardware(
        metavar="FUNCTIONS",
        help="Functions whose answers are sent before others', with commas, the first first. By default "
        "short answers are sent before long ones, and all share the output.",
    ),
]
ShareLimbs = Annotated[
    str, _hardware(help="Whether symmetric limbs take turns in one's hardware: auto, on or off.")
]
CoreName = Annotated[
    str | None,
    _hardware(
        "--core",
        help="What computes: pipeline; array (smaller from an II of some 16 on, with more latency); or auto, "
        "the one that takes less of the target. generate takes pipeline by default; info --explore "
        "compares both.",
    ),
]
Domain = Annotated[Path | None, _hardware(metavar="FILE", help="TOML file with bounds of the inputs.")]
Seed = Annotated[int, _hardware(help="Of all random draws.")]


def build_options(
    functions: Functions = ALL_FUNCTIONS,
    fext: Fext = None,
    algorithm: AlgorithmList = None,
    base: BaseName = "fixed",
    gravity: Gravity = None,
    root: Root = None,
    joint_order: JointOrder = JOINT_ORDERS[0],
    strict: Strict = False,
    target: TargetName = "xcvu9p",
    ii: Ii = None,
    bandwidth: Bandwidth = None,
    fit: Fit = None,
    clock: Clock = None,
    max_error: MaxError = None,
    width: Width = None,
    tdata: Tdata = 512,
    number: Number = "fixed",
    priority: Priority = "",
    share_limbs: ShareLimbs = "auto",
    core: CoreName = None,
    domain: Domain = None,
    seed: Seed = 0,
) -> tuple[BuildOptions, Overrides]:
    """The build that the command line asks for, and the bounds of its inputs that it overrides.

    Raises
    ------
    InputError
        For an option that says nothing of a build, and a domain file that cannot be read.
    """
    share = parse_share(fit)
    cycles, pacing = parse_interval(ii, bandwidth, share)
    options = BuildOptions(
        functions=_names(functions),
        ii=cycles,
        pacing=pacing,
        fit=share,
        target=target,
        clock_mhz=clock,
        max_error=max_error,
        width=width,
        fext=parse_links(fext or ()),
        data_width=tdata,
        number=number,
        priority=_names(priority),
        algorithms=parse_algorithms(algorithm or []),
        mounting=Mounting(base, parse_gravity(gravity), strict, root, joint_order),
        share_limbs=share_limbs,
        core=core,
        seed=seed,
    )
    return options, read_overrides(domain) if domain else Overrides()


def _names(text: str) -> tuple[str, ...]:
    """The names in a list with commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


PARAMETERS = inspect.signature(build_options, eval_str=True).parameters

OF_HARDWARE = tuple(
    name
    for name, parameter in PARAMETERS.items()
    if parameter.annotation.__metadata__[0].rich_help_panel == HARDWARE
)
"""The options that describe the hardware, in the order of the help."""


@dataclass(frozen=True)
class BuildArguments:
    """What the command line says of a build.

    Parameters
    ----------
    values
        The arguments of :func:`build_options`.
    given
        The names of those that stand on the command line.
    """

    values: Mapping[str, Any]
    given: frozenset[str]

    def parse(self, **instead: Any) -> tuple[BuildOptions, Overrides]:
        """What :func:`build_options` makes of the arguments, some of them replaced."""
        return build_options(**{**self.values, **instead})


def takes_build_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the parameters of :func:`build_options` in place of its parameter ``build``.

    ``command`` takes them together, as :class:`BuildArguments`.
    """
    own = inspect.signature(command, eval_str=True).parameters

    @wraps(command)
    def called(context: typer.Context, **arguments: Any) -> None:
        values = {name: arguments.pop(name) for name in PARAMETERS}
        command(build=BuildArguments(values, _given_options(context)), **arguments)

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, parameter in own.items():
        replaced = PARAMETERS.values() if name == "build" else (parameter,)
        parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in replaced]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _given_options(context: typer.Context) -> frozenset[str]:
    """The names of the options that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in PARAMETERS}
    return frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")
