"""Loops of links, which a URDF cannot say: a TOML file beside it has the points that are held together.

A table has the loop's name, and two points of links, as ``LINK`` or ``LINK@X:Y:Z`` in metres::

    [coupler]
    first = "crank@0:0:0.1"
    second = "rocker@0.05:0:0.2"
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from rbdhw.errors import InputError
from rbdhw.runtime.files import read
from rbdhw.runtime.number_bounds import DOMAIN_BYTES

POINTS = ("first", "second")
"""The points of a loop."""


def read_loops(path: Path) -> tuple[tuple[str, str, str], ...]:
    """Return the name and the two points of each loop in a TOML file.

    Raises InputError if the file cannot be read, has no loop, or a loop other entries than two points.
    """
    try:
        tables = tomllib.loads(read(path, "a TOML file with loops of links", DOMAIN_BYTES).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), f"not a readable TOML file ({error})") from error
    if not tables:
        raise InputError(str(path), "has no loop", "a table with first and second for each loop")
    loops = []
    for name, table in tables.items():
        points = table if isinstance(table, dict) else {}
        texts = [points.get(point) for point in POINTS]
        if len(points) != len(POINTS) or not all(isinstance(text, str) and text for text in texts):
            expected = 'first = "LINK@X:Y:Z" and second = "LINK@X:Y:Z"'
            raise InputError(f"{path}, {name}", "is no table of two points", expected)
        loops.append((name, str(texts[0]), str(texts[1])))
    return tuple(loops)
