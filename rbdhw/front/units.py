"""Warnings about input arrays whose values suggest a different unit than the interface's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.folder import Design
from rbdhw.domain.unit_guesses import looks_like_degrees, looks_like_millimetres
from rbdhw.robot.coordinates import CoordinateEntry, configuration_coordinates, velocity_coordinates

Array = NDArray[np.float64]

_GUESSES = {
    "rad": (looks_like_degrees, "degrees? expected radians"),
    "rad/s": (looks_like_degrees, "degrees per second? expected radians per second"),
    "m": (looks_like_millimetres, "millimetres? expected metres"),
    "m/s": (looks_like_millimetres, "millimetres per second? expected metres per second"),
}
"""By unit: the test for a likely other unit, and the question in the warning."""


def suspicions(design: Design, arrays: Mapping[str, Array]) -> Iterator[str]:
    """Yield a warning for each coordinate of ``q`` (N, nq) and ``v`` (N, nv) that seems in another unit."""
    for name, coordinates in (
        ("q", configuration_coordinates(design.robot)),
        ("v", velocity_coordinates(design.robot)),
    ):
        if name in arrays:
            for coordinate, column in zip(coordinates, arrays[name].T, strict=True):
                warning = _suspicion(design, name, coordinate, column)
                if warning:
                    yield warning


def _suspicion(design: Design, name: str, coordinate: CoordinateEntry, column: Array) -> str:
    if coordinate.unit not in _GUESSES or not len(column):
        return ""
    lower, upper = design.domain.bounds[name][coordinate.index].tolist()
    wraps = name == "q" and design.domain.wraps[coordinate.index]
    looks_wrong, question = _GUESSES[coordinate.unit]
    if not looks_wrong(column, None if wraps else (lower, upper)):
        return ""
    farthest = column[np.argmax(np.abs(column))]
    limits = "it has no limits" if wraps else f"its domain is {lower:.6g} to {upper:.6g}"
    return f"array '{name}': joint '{coordinate.label}' reaches {farthest:.6g}, {limits}; {question}"
