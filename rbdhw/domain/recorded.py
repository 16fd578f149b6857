"""A domain file from recorded trajectories: the ranges of their numbers, with margins."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.robot.model import JointKind, Robot

Array = NDArray[np.float64]

RATES = {"v": "velocity", "a": "acceleration", "tau": "effort"}
"""The entry of a joint's table that bounds an array."""

BASE_RATES = {
    "v": ("linear_velocity", "angular_velocity"),
    "a": ("linear_acceleration", "angular_acceleration"),
    "tau": ("force", "moment"),
}
"""The same of a base that moves."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def domain_text(robot: Robot, arrays: Mapping[str, Array], margin: float) -> str:
    """Return a domain file with the ranges of arrays (N, ...) of tasks, wider by a share ``margin`` each way.

    The ranges of rates and forces have zero in them. What did not move keeps its default bounds, and so do
    orientations, planar joints' positions, and the position of a floating base.
    """
    blocks = [*_joint_tables(robot, arrays, margin), *_other_tables(robot, arrays, margin)]
    return "\n\n".join(f"[{table}]\n" + "\n".join(lines) for table, lines in blocks if lines) + "\n"


def _joint_tables(
    robot: Robot, arrays: Mapping[str, Array], margin: float
) -> Iterator[tuple[str, list[str]]]:
    for body, span, rates in zip(robot.bodies, robot.q_of, robot.v_of, strict=True):
        joint = body.joint
        if joint.mimic is not None:
            continue
        if joint.kind is JointKind.FLOATING:
            parts = (slice(rates.start, rates.start + 3), slice(rates.start + 3, rates.stop))
            columns = {
                entry: arrays[name][:, part]
                for name, entries in BASE_RATES.items()
                if name in arrays
                for entry, part in zip(entries, parts, strict=True)
            }
            yield "base", _lines(columns, margin)
            continue
        columns = {entry: arrays[name][:, rates] for name, entry in RATES.items() if name in arrays}
        name = joint.name if _BARE_KEY.fullmatch(joint.name) else json.dumps(joint.name)
        positions = {"position": arrays["q"][:, span]} if joint.kind.nq == 1 else {}
        yield f"joints.{name}", _lines(positions, margin, rest=False) + _lines(columns, margin)


def _other_tables(
    robot: Robot, arrays: Mapping[str, Array], margin: float
) -> Iterator[tuple[str, list[str]]]:
    if robot.base_given:
        columns = {
            entry: arrays[f"base_{name}"][:, part]
            for name in ("v", "a")
            if f"base_{name}" in arrays
            for entry, part in zip(BASE_RATES[name], (slice(3), slice(3, 6)), strict=True)
        }
        yield "base", _lines(columns, margin)
    if "fext" in arrays:
        wrench = {"force": arrays["fext"][..., :3], "moment": arrays["fext"][..., 3:]}
        yield "fext", _lines(wrench, margin)
    if "h" in arrays:
        lowest, highest = float(arrays["h"].min()), float(arrays["h"].max())
        room = margin * (highest - lowest or highest)
        yield "integration", [f"time_step = [{max(lowest - room, lowest / 2.0)!r}, {highest + room!r}]"]


def _lines(columns: Mapping[str, Array], margin: float, rest: bool = True) -> list[str]:
    """Return the entries of a table; with ``rest`` ranges have zero in them."""
    lines = []
    for entry, numbers in columns.items():
        lowest, highest = float(numbers.min()), float(numbers.max())
        if rest:
            lowest, highest = min(lowest, 0.0), max(highest, 0.0)
        room = margin * (highest - lowest)
        if lowest < highest:
            lines.append(f"{entry} = [{lowest - room!r}, {highest + room!r}]")
    return lines
