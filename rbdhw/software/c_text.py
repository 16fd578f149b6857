"""Text of C sources: templates, tables of numbers and comments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from rbdhw.runtime import templates

LINE = 110
"""The width of lines in generated sources."""


CPP_HEADER = "rbdhw.hpp"
"""The header in C++ for generated C and for the driver."""


def cpp_header() -> str:
    """Return the text of :data:`CPP_HEADER`, which is the same for all robots."""
    return files("rbdhw.software").joinpath(CPP_HEADER).read_text(encoding="utf-8")


def fill(template: str, **values: Any) -> str:
    """Return a template of this folder with its fields filled in; an unknown field is an error."""
    return templates.fill("rbdhw.software", template, **values)


def comment(lines: Iterable[str]) -> str:
    """Return lines as one C comment; text that would end the comment is split."""
    inside = "\n".join(f" * {line}".rstrip().replace("*/", "* /").replace("/*", "/ *") for line in lines)
    return f"/*\n{inside}\n */\n"


def table(kind: str, name: str, entries: Sequence[str]) -> str:
    """Return the definition of a constant array; an array of no entries has one that is zero."""
    text, indent = ", ".join(entries) or "0", " " * 4
    filled = textwrap.fill(
        text, LINE, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return f"static const {kind} {name}[{max(len(entries), 1)}] = {{\n{filled}\n}};\n"


def integer(value: int) -> str:
    """Return a constant of 64 bits."""
    if value == -(1 << 63):
        return "INT64_MIN"
    return f"INT64_C({value})"
