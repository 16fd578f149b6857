"""List the coordinates of a robot: for each one the joint, the unit and the limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from rbdhw.robot.model import Joint, JointKind, Limits, Robot

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
class Coordinate:
    """One coordinate of ``q`` or of ``v``.

    Parameters
    ----------
    index
        Its place in ``q`` or ``v``.
    joint, kind
        The name and kind of the joint that it belongs to.
    part
        Which of the joint's coordinates it is; empty where the joint has one.
    unit
        ``rad``, ``m``, ``rad/s``, ``m/s``, or ``1`` for a part of a unit quaternion.
    lower, upper
        The limits that the robot's description gives, in that unit; None where it gives none.
    effort
        Of a coordinate of ``v``: the largest force or torque that the description gives (N or Nm), or None.
    """

    index: int
    joint: str
    kind: JointKind
    part: str
    unit: str
    lower: float | None
    upper: float | None
    effort: float | None = None

    @property
    def label(self) -> str:
        """The joint, and which of its coordinates this is."""
        return f"{self.joint}, {self.part}" if self.part else self.joint

    def json(self) -> dict[str, Any]:
        """The coordinate for scripts."""
        limits = {"lower": self.lower, "upper": self.upper}
        entry = {"index": self.index, "joint": self.joint, "kind": self.kind.value, "part": self.part}
        return entry | {"unit": self.unit, "limits": limits}


def configuration_coordinates(robot: Robot) -> tuple[Coordinate, ...]:
    """The ``nq`` coordinates of ``q``, in order."""
    return tuple(
        Coordinate(index, joint.name, joint.kind, part, unit, *bounds)
        for index, (joint, part, unit, bounds) in enumerate(_configuration(robot))
    )


def velocity_coordinates(robot: Robot) -> tuple[Coordinate, ...]:
    """The ``nv`` coordinates of ``v``, in order; those of ``a`` and ``tau`` are the same."""
    return tuple(
        Coordinate(
            index,
            joint.name,
            joint.kind,
            part,
            "rad/s" if turns else "m/s",
            _finite_or_none(-limits.velocity),
            _finite_or_none(limits.velocity),
            _finite_or_none(limits.effort),
        )
        for index, (joint, part, turns, limits) in enumerate(_velocities(robot))
    )


def _free(robot: Robot) -> Iterator[Joint]:
    """The joints that have coordinates of their own."""
    return (body.joint for body in robot.bodies if body.joint.mimic is None)


def _configuration(robot: Robot) -> Iterator[tuple[Joint, str, str, tuple[float | None, float | None]]]:
    for joint in _free(robot):
        kind = joint.kind
        for k, (part, angle) in enumerate(zip(_PARTS.get(kind, ("",)), kind.angles, strict=True)):
            if kind.quaternion is not None and k >= kind.quaternion.start:
                yield joint, part, "1", (-1.0, 1.0)
            else:
                limits = joint.limits[k]
                yield (
                    joint,
                    part,
                    "rad" if angle else "m",
                    (_finite_or_none(limits.lower), _finite_or_none(limits.upper)),
                )


def _velocities(robot: Robot) -> Iterator[tuple[Joint, str, bool, Limits]]:
    for joint in _free(robot):
        parts = _RATES.get(joint.kind, ("",))
        yield from zip([joint] * len(parts), parts, joint.kind.angular, joint.limits, strict=True)


def _finite_or_none(limit: float) -> float | None:
    """A limit, or None where there is none."""
    return limit if isfinite(limit) else None
