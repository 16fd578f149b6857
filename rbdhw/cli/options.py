"""The options of a build as parameters of commands, made from the table of options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rbdhw.options.option import HARDWARE
from rbdhw.options.table import OPTIONS

if TYPE_CHECKING:
    from rbdhw.domain.overrides import Overrides
    from rbdhw.options.build import BuildOptions

KEYS = tuple(option.key for option in OPTIONS)

OF_HARDWARE = tuple(option.key for option in OPTIONS if option.group == HARDWARE)
"""The hardware options, in the order of the help."""

PARAMETERS = [
    inspect.Parameter(
        option.key,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[
            option.kind,
            typer.Option(
                f"--{option.name}", rich_help_panel=option.group, metavar=option.metavar, help=option.help
            ),
        ],
    )
    for option in OPTIONS
]
"""The options as parameters of a command."""


@dataclass(frozen=True)
class BuildArguments:
    """The build options as parsed from the command line."""

    values: Mapping[str, Any]
    """The values of all options by their names in Python."""
    named: frozenset[str]
    """The names of the options that appear on the command line."""

    def parse(self, **instead: Any) -> tuple[BuildOptions, Overrides]:
        """Return :func:`~rbdhw.options.arguments.checked_build`, with the values ``instead`` replaced."""
        from rbdhw.options.arguments import checked_build

        return checked_build({**self.values, **instead}, self.named)


def takes_build_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of a build in place of its parameter ``build``.

    ``command`` receives them together, as :class:`BuildArguments`.
    """
    declared = inspect.signature(command, eval_str=True).parameters

    @wraps(command)
    def call(context: typer.Context, **arguments: Any) -> None:
        values = {name: arguments.pop(name) for name in KEYS}
        command(build=BuildArguments(values, _given_options(context)), **arguments)

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, parameter in declared.items():
        replaced = PARAMETERS if name == "build" else (parameter,)
        parameters += [replacement.replace(kind=inspect.Parameter.KEYWORD_ONLY) for replacement in replaced]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _given_options(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that appear on the command line."""
    sources = {name: context.get_parameter_source(name) for name in KEYS}
    return frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")
