"""Marked tables in Markdown documents: reading and replacing them.

A table named ``operations`` is marked in a document as::

    <!-- bench: operations -->
    | robot | id |
    | --- | --- |
    | toy | 13 |
    <!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rbdhw.errors import InputError
from rbdhw.runtime.files import read, write_text

END = "<!-- end -->"

_START = re.compile(r"<!-- bench: (.*) -->")

_LARGEST = 16 << 20
"""The largest document in bytes."""

Cells = tuple[tuple[str, ...], ...]
"""A table's rows of cells; the first row has the headings."""


def load(path: Path) -> str:
    """Return a document's text.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    expected = "a Markdown document"
    try:
        return read(path, expected, _LARGEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(str(path), "is no UTF-8 text", expected) from error


def tables(path: Path) -> dict[str, Cells]:
    """Return the marked tables of a document by name.

    Raises
    ------
    InputError
        If the document cannot be read, or its marks are not paired.
    """
    lines = load(path).split("\n")
    return {name: tuple(map(_cells, lines[first:last])) for name, first, last in _find_marked(path, lines)}


def replace_table(path: Path, name: str, text: str) -> None:
    """Replace the text between the marks of a table in a document.

    Raises
    ------
    InputError
        If there are no such marks, or the document cannot be read or written.
    """
    lines = load(path).split("\n")
    for marked, first, last in _find_marked(path, lines):
        if marked == name:
            lines[first:last] = text.split("\n")
            write_text(path, "\n".join(lines))
            return
    raise InputError(str(path), f"no table '{name}'", f"the line '<!-- bench: {name} -->'")


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, without a trailing newline."""
    return "\n".join(map(_line, (columns, ["---"] * len(columns), *rows)))


def _find_marked(path: Path, lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each marked table's name, its first line, and the line after its last."""
    names: set[str] = set()
    start: tuple[str, int] | None = None
    for number, line in enumerate(lines):
        opened = _START.fullmatch(line.strip())
        if start is None and opened:
            start = opened[1], number
        elif start is not None and line.strip() == END:
            name, first = start
            if name in names:
                raise InputError(f"{path}, table '{name}'", "is marked twice", "one of each name")
            names.add(name)
            yield name, first + 1, number
            start = None
        elif opened:
            break
    if start is not None:
        name, first = start
        raise InputError(f"{path}, table '{name}' (line {first + 1})", "has no end", f"'{END}' below it")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
