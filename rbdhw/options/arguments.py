"""Options by name, as the command line and Python have them, and the build that they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from rbdhw.domain.overrides import Overrides, read_overrides
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions, CoreRequest, Mounting
from rbdhw.options.checks import check_values
from rbdhw.options.option import Option
from rbdhw.options.syntax import parse_drives, parse_interval, parse_names
from rbdhw.options.table import ALL_FUNCTIONS, BY_NAME, OPTIONS
from rbdhw.protocol import FUNCTIONS, ROLLOUT

JOINED = ("functions", "ii", "bandwidth", "damping", "armature", "domain")
"""The options whose values a build does not have as they are."""

OF_MOUNTING = "mounting."


def asked_build(given: Mapping[str, Any]) -> tuple[BuildOptions, Overrides]:
    """Return the build that options ask for, and the bounds of inputs that override the defaults.

    Parameters
    ----------
    given
        The values of the options that are given, by their names on the command line or in Python. A value is a
        text as on the command line, or an object of Python that says the same: a number, a sequence of names or
        numbers, or a mapping for ``name=number``.

    Raises
    ------
    InputError
        An option or its value is unknown, not possible or without effect; or a domain file cannot be read.
    """
    named = {_known(name): value for name, value in given.items() if value is not None}
    options, overrides = build_options({name: _as_typed(BY_NAME[name], value) for name, value in named.items()})
    check_values(options, tuple(FUNCTIONS), named)
    return options, overrides


def build_options(values: Mapping[str, Any]) -> tuple[BuildOptions, Overrides]:
    """Return the build of values as the command line has them, without the checks that need all of them.

    Raises
    ------
    InputError
        A text has no meaning, or a domain file cannot be read.
    """
    found = {option.name: values.get(option.name, option.default) for option in OPTIONS}
    parsed = {
        option.attribute: option.parse(found[option.name])
        for option in OPTIONS
        if option.attribute and option.name not in JOINED
    }
    mounting = {
        path.removeprefix(OF_MOUNTING): value for path, value in parsed.items() if path.startswith(OF_MOUNTING)
    }
    fields = {path: value for path, value in parsed.items() if not path.startswith(OF_MOUNTING)}
    drives = parse_drives(found["damping"] or (), found["armature"] or ())
    cores, share = fields["cores"], fields["fit"]
    ii, pacing = parse_interval(found["ii"], found["bandwidth"], None if cores else share)
    options = BuildOptions(
        **fields,
        functions=_functions_of(found["functions"], cores),
        ii=ii,
        pacing=pacing,
        mounting=Mounting(**mounting, drives=drives),
    )
    domain = found["domain"]
    return options, read_overrides(domain) if domain else Overrides()


def _functions_of(text: str | None, cores: Sequence[CoreRequest]) -> tuple[str, ...]:
    """Return the functions of a build: the given ones, those of its cores, or the default ones."""
    if text is not None or not cores:
        expected = f"one or more of {', '.join((*FUNCTIONS, ROLLOUT))}"
        return parse_names("functions", ALL_FUNCTIONS if text is None else text, expected)
    asked = {function for core in cores for function in core.functions}
    known = tuple(function for function in (*FUNCTIONS, ROLLOUT) if function in asked)
    return known + tuple(sorted(asked.difference(known)))


def _known(name: str) -> str:
    """Return the name of an option on the command line, which in Python may have underscores."""
    hyphenated = name.replace("_", "-")
    if hyphenated not in BY_NAME:
        near = get_close_matches(hyphenated, BY_NAME, 3) or list(BY_NAME)
        expected = f"one of {', '.join(option.replace('-', '_') for option in near)}"
        raise InputError(f"option '{name}'", "is unknown", expected)
    return hyphenated


def _as_typed(option: Option, value: Any) -> Any:
    """Return a value of Python as the command line has it.

    Raises
    ------
    InputError
        It is of another type.
    """
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


def given_options(values: Mapping[str, Any], given: Iterable[str], **instead: Any) -> tuple[BuildOptions, Overrides]:
    """Return the build of the command line's values, with some replaced.

    Parameters
    ----------
    values
        The values of all options by their names in Python.
    given
        Those that appear on the command line.

    Raises
    ------
    InputError
        As :func:`asked_build`.
    """
    options, overrides = build_options(
        {name.replace("_", "-"): value for name, value in {**values, **instead}.items()}
    )
    check_values(options, tuple(FUNCTIONS), {name.replace("_", "-") for name in given})
    return options, overrides
