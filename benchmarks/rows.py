"""Rows of measurements, and their arrangement as lines of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
Rows = list[Row]
Text = Callable[[Row], str]

NAMES = {
    "hyq": "HyQ",
    "atlas": "Atlas",
    "spot_arm": "Spot with arm",
    "tiago": "TIAGo, planar base",
    "hand22": "hand of 22 joints",
}
"""The bundled robots' names in documents."""

BASES = {"fixed": "", "floating": ", floating", "given": ", base's motion given"}


def by_function(rows: Rows, *lines: tuple[Text, Text]) -> Rows:
    """Join rows of one function each to lines of all functions, each with a label and a cell per function."""
    shown: dict[str, Row] = {}
    for row in rows:
        for label, cell in lines:
            shown.setdefault(label(row), {"": label(row)})[row["function"]] = cell(row)
    return list(shown.values())


def robot_label(row: Row) -> str:
    """Return the name of a row's robot in documents, with its base if it is not fixed."""
    name: str = row["robot"]
    return NAMES.get(name, name) + BASES[row.get("base", "fixed")]


def microseconds_text(time: float) -> str:
    """Return a time with at least two digits, and with thousands apart."""
    digits = 2 if time < 10 else 1 if time < 100 else 0
    return f"{time:,.{digits}f} µs"
