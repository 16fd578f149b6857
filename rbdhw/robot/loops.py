"""Loops of links, which a URDF cannot say: a TOML file beside it has the points that are held together.

A table has the loop's name, and two points of links, as ``LINK`` or ``LINK@X:Y:Z`` in metres::

    [coupler]
    first = "crank@0:0:0.1"
    second = "rocker@0.05:0:0.2"
    embed = true

A loop is held by forces, unless ``embed`` says that its joints follow one of them: the first of them from the
base on, or that which ``crank`` names.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from rbdhw.errors import InputError
from rbdhw.runtime.files import read
from rbdhw.runtime.number_bounds import DOMAIN_BYTES

KEYS = {"first": str, "second": str, "embed": bool, "crank": str}
"""The entries of a table, and the types of their values."""


class EmbeddedLoop(NamedTuple):
    """A loop whose joints are mimics of one of them."""

    name: str
    first: str
    second: str
    crank: str = ""
    """The joint that the others follow; empty for the first of them."""


Loop = tuple[str, str, str] | EmbeddedLoop
"""A loop's name and its two points, which forces hold together or mimics keep together."""


def read_loops(path: Path) -> tuple[Loop, ...]:
    """Return the loops in a TOML file.

    Raises InputError if the file cannot be read, has no loop, or a table other entries than :data:`KEYS`.
    """
    try:
        tables = tomllib.loads(read(path, "a TOML file with loops of links", DOMAIN_BYTES).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), f"not a readable TOML file ({error})") from error
    if not tables:
        raise InputError(str(path), "has no loop", "a table with first and second for each loop")
    return tuple(_read_loop(f"{path}, {name}", name, table) for name, table in tables.items())


def _read_loop(where: str, name: str, table: Any) -> Loop:
    entries = table if isinstance(table, dict) else {}
    first, second = (str(entries.get(point, "")) for point in ("first", "second"))
    known = all(type(entry) is KEYS.get(key) and entry != "" for key, entry in entries.items())
    if not (known and first and second):
        points = 'first = "LINK@X:Y:Z" and second = "LINK@X:Y:Z"'
        expected = f'{points}, also with embed = true and crank = "JOINT"'
        raise InputError(where, "is no table of two points", expected)
    if entries.get("embed"):
        return EmbeddedLoop(name, first, second, entries.get("crank", ""))
    if "crank" in entries:
        raise InputError(where, "has a crank, but is not embedded", "embed = true beside it")
    return name, first, second
