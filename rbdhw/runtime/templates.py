"""Templates that are files of the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template


@cache
def _environment() -> Environment:
    return Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )


def fill(package: str, template: str, **values: Any) -> str:
    """Return a template of a package's folder with its fields filled in; an unknown field is an error."""
    return _template(package, template).render(**values)


@cache
def _template(package: str, template: str) -> Template:
    """Return a compiled template; compiling takes longer than filling in."""
    text = files(package).joinpath(f"{template}.template").read_text(encoding="utf-8")
    return _environment().from_string(text)
