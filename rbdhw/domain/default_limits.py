"""Bounds that replace limits which a URDF does not give, or which are not meaningful.

The substitutes are:

- for a velocity, that of free motion (:data:`FREE_VELOCITY`);
- for an angle, a full turn, which wraps like a continuous joint unless a mimic of the joint forbids it; for a
  sliding joint, :data:`FREE_REACH` either way;
- for an effort, the effort that holds the joint's outstretched limb against gravity and accelerates it as
  fast as the domain allows; if the base floats, also the effort that bears the robot's weight at the limb's
  end.

A placeholder, which is an implausibly large limit, is replaced by something smaller, because number formats
for it would be coarse: :data:`FAST_VELOCITY`, or :data:`AMPLE_EFFORT` times the effort above.

Each substitute is reported in a remark, one line for all joints with the same problem.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rbdhw.domain.unit_guesses import looks_like_degrees
from rbdhw.errors import InputError
from rbdhw.remarks import subject, without_strict
from rbdhw.robot.model import Inertia, Joint, Robot
from rbdhw.robot.spatial import norm, rotational_matrix, scale

FREE_VELOCITY = {True: 4.0, False: 2.0}
"""The default largest velocity without limits: rad/s for a rotation (True), m/s for a translation (False)."""

FREE_REACH = 1.0
"""The default range of a sliding joint without limits, either way (m)."""

FAR, FAST = 100.0, 100.0
"""Placeholders: position limits farther apart than this (rad or m) and velocity limits of at least this
(rad/s or m/s) are not meaningful."""

FAST_VELOCITY = {True: 10.0, False: 2.0}
"""The substitute for a placeholder of a velocity limit: rad/s for a rotation (True), else m/s."""

MOST_EFFORT, AMPLE_EFFORT = 128.0, 8.0
"""The largest meaningful effort limit and the substitute for a larger one, over the effort that is needed.

A larger limit is a placeholder: it would accelerate the limb to its largest velocity in less than 1 ms.
"""

LEAST_EFFORT = 1e-3
"""The substitute for an effort if a joint carries no inertia (Nm or N)."""

Pair = tuple[float, float]

FREE: Pair = (-math.inf, math.inf)
"""The bounds of an angle that wraps."""

_UNITS = {True: ("rad", "rad/s", "Nm"), False: ("m", "m/s", "N")}
_ENTRIES = ("position", "velocity", "effort")


@dataclass
class Substitutes:
    """Finds substitutes for missing or meaningless limits of joints, and collects the remarks.

    In strict mode it refuses such limits instead.
    """

    robot: Robot
    strict: bool = False
    _substituted: dict[tuple[str, str, str], list[tuple[str, float]]] = field(default_factory=dict)
    _degrees: dict[tuple[Pair, str], list[str]] = field(default_factory=dict)

    def position(self, joint: Joint, *, wraps: bool) -> Pair:
        """Return the bounds of a revolute or prismatic joint's position; infinite if it wraps."""
        lower, upper = joint.limits[0].lower, joint.limits[0].upper
        if 0.0 < upper - lower <= FAR:
            return lower, upper
        turns = joint.kind.angular[0]
        unit = _UNITS[turns][0]
        reason = f"position limits {lower:g} to {upper:g} {unit} bound nothing"
        if math.isinf(upper - lower):
            reason = "no position limits"
        elif upper == lower:
            reason = f"position limits {lower:g} to {upper:g} {unit} leave no room"
        elif turns and looks_like_degrees((lower, upper)):
            reason = _span(lower, upper, "limits")
        if turns and wraps:
            self._take(joint, "position", reason, math.inf)
            return FREE
        reach = math.pi if turns else FREE_REACH
        self._take(joint, "position", reason, reach)
        return -reach, reach

    def velocity(self, joint: Joint) -> Pair:
        """Return the bounds of a joint's only velocity."""
        limit = joint.limits[0].velocity
        if 0.0 < limit < FAST:
            return -limit, limit
        placeholder = FAST <= limit < math.inf
        substitute = (FAST_VELOCITY if placeholder else FREE_VELOCITY)[joint.kind.angular[0]]
        self._take(joint, "velocity", _reason("velocity", limit), substitute)
        return -substitute, substitute

    def effort(self, joint: Joint, acceleration: Pair) -> Pair:
        """Return the bounds of a joint's only force or torque, given the bounds of its acceleration."""
        limit = joint.limits[0].effort
        needed = holding_effort(self.robot, joint, max(map(abs, acceleration))) or LEAST_EFFORT
        needed += max(map(abs, acceleration)) * sum(joint.armature)
        if 0.0 < limit <= MOST_EFFORT * needed:
            return -limit, limit
        placeholder = 0.0 < limit < math.inf
        substitute = float(f"{AMPLE_EFFORT * needed if placeholder else needed:.2g}")
        reason = _reason("effort", limit)
        if placeholder:
            most = f"{MOST_EFFORT:g} times what the limb that it moves needs"
            reason = f"effort limit {limit:g} is more than {most}"
        self._take(joint, "effort", reason, substitute)
        return -substitute, substitute

    def check_unit(self, joint: Joint, bounds: Pair, what: str) -> None:
        """Remark on bounds of an angle that look like degrees; ``what`` names the bounds in the remark."""
        if all(map(math.isfinite, bounds)) and looks_like_degrees(bounds):
            self._degrees.setdefault((bounds, what), []).append(joint.name)

    @property
    def remarks(self) -> tuple[str, ...]:
        """A line for each kind of substitute, then one for each pair of bounds that look like degrees."""
        lines = [_substitute(*kind, bounds) for kind, bounds in self._substituted.items()]
        for (bounds, what), names in self._degrees.items():
            lines.append(f"domain: {subject('joint', names)}: {_span(*bounds, what)}")
        return tuple(lines)

    def _take(self, joint: Joint, entry: str, reason: str, bound: float) -> None:
        unit = _UNITS[joint.kind.angular[0]][_ENTRIES.index(entry)]
        if self.strict:
            substitute = _bound_text([bound], unit)
            setting = f"set {entry} in [joints.{_key(joint.name)}] of a domain file"
            remedy = f"{setting}, or {without_strict(substitute)}"
            raise InputError(f"joint '{joint.name}'", reason, "a limit in the URDF", remedy)
        self._substituted.setdefault((entry, reason, unit), []).append((joint.name, bound))


def holding_effort(robot: Robot, joint: Joint, acceleration: float) -> float:
    """Return the largest force or torque that an outstretched limb may need at rest and when accelerated.

    It is a bound for the masses carried by ``joint`` and its mimics, with gravity perpendicular to every
    lever and ``acceleration`` (rad/s^2 or m/s^2) of that joint alone. If the base floats, a limb may also
    bear the robot's weight at its end.
    """
    gravity = math.hypot(*robot.gravity)
    total = sum(body.inertia.mass for body in robot.bodies)
    effort = 0.0
    for i, body in enumerate(robot.bodies):
        mimic = body.joint.mimic
        if joint.name not in (body.joint.name, mimic and mimic.joint):
            continue
        ratio = abs(mimic.multiplier) if mimic else 1.0
        mass, moment, inertia, reach = _carried_mass(robot, i)
        static, moved, lever = (moment, inertia, reach) if body.joint.kind.angular[0] else (mass, mass, 1.0)
        effort += ratio * (gravity * static + ratio * acceleration * moved)
        effort += ratio * gravity * total * lever if robot.floats else 0.0
    return effort


def bearing_wrench(robot: Robot, linear: float, angular: float) -> tuple[float, float]:
    """Return the force (N) and the moment (Nm) that hold and accelerate a robot whose first body floats.

    They are bounds for all limbs outstretched in one direction, with accelerations ``linear`` (m/s^2) and
    ``angular`` (rad/s^2) of the body.
    """
    mass, moment, inertia, _ = _carried_mass(robot, 0)
    pull = math.hypot(*robot.gravity) + linear
    force, torque = (max(effort, LEAST_EFFORT) for effort in (pull * mass, pull * moment + angular * inertia))
    return float(f"{force:.3g}"), float(f"{torque:.3g}")


def _carried_mass(robot: Robot, root: int) -> tuple[float, float, float, float]:
    """Return mass and bounds of first moment, moment of inertia and reach of body ``root`` and all below it.

    The bounds are about the joint of ``root``, with the limb outstretched.
    """
    distance = {root: 0.0}
    mass = moment = inertia = reach = 0.0
    for i, body in enumerate(robot.bodies):
        if i != root and body.parent not in distance:
            continue
        if i != root:
            distance[i] = distance[body.parent] + norm(body.joint.placement.translation)
        away = distance[i] + _centre_distance(body.inertia)
        body_mass = body.inertia.mass
        mass += body_mass
        moment += body_mass * away
        inertia += body_mass * away**2 + _largest_moment(body.inertia)
        reach = max(reach, away)
    return mass, moment, inertia, reach


def _centre_distance(inertia: Inertia) -> float:
    """Return the distance of the centre of mass from the body frame's origin (m)."""
    return norm(scale(1.0 / inertia.mass, inertia.first_moment)) if inertia.mass > 0.0 else 0.0


def _largest_moment(inertia: Inertia) -> float:
    """Return the largest principal moment about the centre of mass, or zero if none is positive."""
    moment = inertia.first_moment
    squared = float(np.dot(moment, moment)) * np.eye(3) - np.outer(moment, moment)
    about = np.array(rotational_matrix(inertia)) - (squared / inertia.mass if inertia.mass > 0.0 else 0.0)
    return max(float(np.linalg.eigvalsh(about)[-1]), 0.0)


def _reason(entry: str, limit: float) -> str:
    return f"no {entry} limit" if math.isinf(limit) else f"{entry} limit {limit:g} bounds nothing"


def _span(lower: float, upper: float, what: str) -> str:
    """Return why the bounds of an angle look like degrees."""
    turns = int((upper - lower) / (2.0 * math.pi))
    return f"position {what} {lower:g} to {upper:g} rad span {turns} turns; degrees? expected radians"


def _substitute(entry: str, reason: str, unit: str, bounds: Sequence[tuple[str, float]]) -> str:
    names = [name for name, _ in bounds]
    where = _key(names[0]) if len(names) == 1 else "NAME"
    return (
        f"domain: {subject('joint', names)}: {reason}; taken {_bound_text([b for _, b in bounds], unit)}; "
        f"{entry} in [joints.{where}] of a domain file overrides it"
    )


def _key(name: str) -> str:
    """Return a joint's name as a TOML key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _bound_text(bounds: Sequence[float], unit: str) -> str:
    """Return a text with the substitute of one joint, or of each of several."""
    least, most = min(bounds), max(bounds)
    if math.isinf(least):
        return "as a full turn, which wraps"
    texts = list(dict.fromkeys(f"{bound:.3g}" for bound in (least, most)))
    return f"within {' to '.join(texts)} {unit}{', joint by joint' if len(texts) > 1 else ''}"
