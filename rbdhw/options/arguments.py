"""Options by name, as the command line and Python have them, and the build that they ask for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from rbdhw.board import board
from rbdhw.domain.overrides import Overrides, read_overrides
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions, CoreRequest, Mounting
from rbdhw.options.checks import check_options
from rbdhw.options.option import Option
from rbdhw.options.syntax import parse_clock, parse_drives, parse_interval, parse_names
from rbdhw.options.table import ALL_FUNCTIONS, BY_NAME, OPTIONS
from rbdhw.protocol import ASKED, MPPI, ROLLOUT, SOLVE

_JOINED = ("functions", "ii", "bandwidth", "clock", "damping", "armature", "domain")
"""The options whose values a build does not have as they are."""

_MOUNTING = "mounting."


def asked_build(**arguments: Any) -> tuple[BuildOptions, Overrides]:
    """Return the build that options ask for, and the bounds of inputs that override the defaults.

    Raises InputError if an option or its value is unknown, not possible or without effect; or a domain file
    cannot be read.

    Parameters
    ----------
    arguments
        The options that are given, by their names with underscores. A value is a text as on the command line,
        or an object of Python that says the same: a number, a sequence of names or numbers, or a mapping for
        ``name=number``.
    """
    named = [(_option(name), value) for name, value in arguments.items() if value is not None]
    typed = {option.key: _as_typed(option, value) for option, value in named}
    return checked_build(typed, typed)


def checked_build(values: Mapping[str, Any], named: Collection[str]) -> tuple[BuildOptions, Overrides]:
    """Return the build of values as the command line has them, by the options' names in Python.

    Options without a value have their defaults. ``named`` are the options that were given by name. Raises
    InputError as :func:`asked_build` does.
    """
    complete = {option.key: values.get(option.key, option.default) for option in OPTIONS}
    if complete["board"] is not None:
        of_board = board(complete["board"]).options
        complete |= {key: value for key, value in of_board.items() if key not in named}
    options = _build(complete)
    overrides = read_overrides(complete["domain"]) if complete["domain"] else Overrides()
    check_options(options, named)
    return options, overrides


def _build(values: Mapping[str, Any]) -> BuildOptions:
    """Return the build of the values of all options, parsed but not checked."""
    parsed = {
        option.attribute: option.parse(values[option.key])
        for option in OPTIONS
        if option.attribute and option.name not in _JOINED
    }
    cores, share = parsed["cores"], parsed["fit"]
    functions = _functions_of(values["functions"], cores)
    rolls, solves = ({control, MPPI}.intersection(functions) for control in (ROLLOUT, SOLVE))
    if values["horizon"] is not None and not rolls:
        remedy = "use --knots" if solves else "use --functions rollout"
        raise InputError("horizon", "the build has no rollouts", remedy=remedy)
    if values["knots"] is not None and not solves:
        remedy = "use --horizon" if rolls else "use --functions solve"
        raise InputError("knots", "the build has no solver", remedy=remedy)
    ii, pacing = parse_interval(values["ii"], values["bandwidth"], None if cores else share)
    clock_mhz, clock_goal = parse_clock(values["clock"])
    drives = parse_drives(values["damping"] or (), values["armature"] or ())
    of_mounting = {path for path in parsed if path.startswith(_MOUNTING)}
    mounting = Mounting(
        drives=drives, **{path.removeprefix(_MOUNTING): parsed.pop(path) for path in of_mounting}
    )
    parsed |= {"ii": ii, "pacing": pacing, "clock_mhz": clock_mhz, "clock_goal": clock_goal}
    return BuildOptions(**parsed, functions=functions, mounting=mounting)


def _functions_of(text: str | None, cores: Sequence[CoreRequest]) -> tuple[str, ...]:
    """Return the functions of a build: the given ones, those of its cores, or the default ones."""
    if text is not None or not cores:
        expected = f"one or more of {', '.join(ASKED)}"
        return parse_names("functions", ALL_FUNCTIONS if text is None else text, expected)
    asked = {function for core in cores for function in core.functions}
    known = tuple(function for function in ASKED if function in asked)
    return known + tuple(sorted(asked.difference(known)))


def _option(name: str) -> Option:
    """Return an option by its name, with hyphens or underscores."""
    hyphenated = name.replace("_", "-")
    if hyphenated not in BY_NAME:
        near = get_close_matches(hyphenated, BY_NAME, 3) or list(BY_NAME)
        expected = f"one of {', '.join(option.replace('-', '_') for option in near)}"
        raise InputError(f"option '{name}'", "is unknown", expected)
    return BY_NAME[hyphenated]


def _as_typed(option: Option, value: Any) -> Any:
    """Return a value of Python as the command line has it; InputError if it is of another type."""
    kinds = get_args(option.kind) or (option.kind,)
    if list[str] in kinds:
        value = [value] if isinstance(value, str) else _texts(value)
    elif str in kinds:
        value = _text(value)
    elif Path in kinds:
        value = Path(value)
    try:
        return TypeAdapter(option.kind).validate_python(value)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise InputError(option.name, f"{value!r}: {reason[:1].lower()}{reason[1:]}", option.help) from None


def _texts(value: Any) -> list[str]:
    """Return the texts of a sequence or a mapping."""
    if isinstance(value, Mapping):
        return [f"{name}={':'.join(map(str, _sequence(numbers)))}" for name, numbers in value.items()]
    return [str(item) for item in _sequence(value)]


def _text(value: Any) -> str:
    """Return the text of a value: that of a number, or of a sequence or a mapping with commas between."""
    return value if isinstance(value, str) else ",".join(_texts(value))


def _sequence(value: Any) -> Iterable[Any]:
    return value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
