"""List the coordinates of a robot: for each one the joint, the unit and the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from rbdhw.robot.model import JointKind, Robot

_PARTS: Mapping[JointKind, tuple[str, ...]] = {
    JointKind.CYLINDRICAL: ("angle", "shift"),
    JointKind.UNIVERSAL: ("first angle", "second angle"),
    JointKind.TRANSLATION: ("x", "y", "z"),
    JointKind.PLANAR: ("x", "y", "angle"),
    JointKind.SPHERICAL: ("qx", "qy", "qz", "qw"),
    JointKind.FLOATING: ("x", "y", "z", "qx", "qy", "qz", "qw"),
}
"""Names of the configuration coordinates of joints that have more than one."""

_RATES: Mapping[JointKind, tuple[str, ...]] = {
    JointKind.CYLINDRICAL: ("turn", "shift"),
    JointKind.UNIVERSAL: ("first turn", "second turn"),
    JointKind.TRANSLATION: ("x", "y", "z"),
    JointKind.PLANAR: ("x", "y", "turn"),
    JointKind.SPHERICAL: ("wx", "wy", "wz"),
    JointKind.FLOATING: ("vx", "vy", "vz", "wx", "wy", "wz"),
}
"""Names of the velocity coordinates of joints that have more than one."""


@dataclass(frozen=True)
class CoordinateEntry:
    """One coordinate of ``q`` or of ``v``."""

    index: int
    """Its index in ``q`` or ``v``."""
    joint: str
    """The name of the joint that it belongs to."""
    kind: JointKind
    part: str
    """Which of the joint's coordinates it is; empty if the joint has only one."""
    unit: str
    """``rad``, ``m``, ``rad/s``, ``m/s``, or ``1`` for an element of a unit quaternion."""
    lower: float | None
    """The limit in the robot's description, in that unit; None if it gives none."""
    upper: float | None
    effort: float | None = None
    """For a coordinate of ``v``: the largest force or torque in the description (N or Nm), or None."""

    @property
    def label(self) -> str:
        """The joint's name, and which of its coordinates this is."""
        return f"{self.joint}, {self.part}" if self.part else self.joint

    def json(self) -> dict[str, Any]:
        """Return the coordinate as plain data for JSON."""
        limits = {"lower": self.lower, "upper": self.upper}
        entry = {"index": self.index, "joint": self.joint, "kind": self.kind.value, "part": self.part}
        return entry | {"unit": self.unit, "limits": limits}


def configuration_coordinates(robot: Robot) -> tuple[CoordinateEntry, ...]:
    """Return the ``nq`` coordinates of ``q``, in order."""
    entries: list[CoordinateEntry] = []
    for joint in robot.free_joints:
        kind = joint.kind
        for k, (part, angle) in enumerate(zip(_PARTS.get(kind, ("",)), kind.angles, strict=True)):
            if kind.quaternion is not None and k >= kind.quaternion.start:
                unit, lower, upper = "1", -1.0, 1.0
            else:
                unit, lower, upper = "rad" if angle else "m", joint.limits[k].lower, joint.limits[k].upper
            bounds = _finite_or_none(lower), _finite_or_none(upper)
            entries.append(CoordinateEntry(len(entries), joint.name, kind, part, unit, *bounds))
    return tuple(entries)


def velocity_coordinates(robot: Robot) -> tuple[CoordinateEntry, ...]:
    """Return the ``nv`` coordinates of ``v``, in order; ``a`` and ``tau`` have the same order."""
    entries: list[CoordinateEntry] = []
    for joint in robot.free_joints:
        parts = _RATES.get(joint.kind, ("",))
        for part, turns, limits in zip(parts, joint.kind.angular, joint.limits, strict=True):
            bounds = map(_finite_or_none, (-limits.velocity, limits.velocity, limits.effort))
            unit = "rad/s" if turns else "m/s"
            entries.append(CoordinateEntry(len(entries), joint.name, joint.kind, part, unit, *bounds))
    return tuple(entries)


def _finite_or_none(limit: float) -> float | None:
    return limit if isfinite(limit) else None
