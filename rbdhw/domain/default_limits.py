"""Bounds in place of limits that a URDF does not give, or that bound nothing.

The substitutes are

- for a velocity, that of free motion (:data:`FREE_VELOCITY`);
- for the position of a turn, a full turn, which wraps like a continuous joint if no other joint follows it
  in a way that forbids it; for that of a slide, :data:`FREE_REACH` either way;
- for an effort, what holds the outstretched limb that the joint carries against gravity and accelerates it as
  fast as the domain allows; where the base floats, what bears the robot's weight at the limb's end, too.

A placeholder, a limit that is too large to be meant, gives way to something smaller, for number formats
that hold it would be coarse: :data:`FAST_VELOCITY`, or :data:`AMPLE_EFFORT` times the effort above.

Each substitute is remarked, one line for all joints with the same problem.
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
from rbdhw.remarks import subject
from rbdhw.robot.model import Inertia, Joint, Robot, Vector3
from rbdhw.robot.spatial import norm, rotational_matrix, scale

FREE_VELOCITY = {True: 4.0, False: 2.0}
"""The default largest velocity of a freedom without limits: rad/s where it turns, m/s where it slides."""

FREE_REACH = 1.0
"""Metres by which a slide without limits is taken to go either way."""

FAR, FAST = 100.0, 100.0
"""Limits of a position that are farther apart (rad or m) bound nothing, nor do velocities (rad/s or m/s) that
are as fast: they are placeholders."""

FAST_VELOCITY = {True: 10.0, False: 2.0}
"""Taken for a velocity limit that is a placeholder: rad/s where the freedom turns, m/s where it slides."""

MOST_EFFORT, AMPLE_EFFORT = 128.0, 8.0
"""How many times the effort that a limb needs a limit may be, and what is taken for one that is more.

A larger one is a placeholder: it would take the limb to its largest velocity in less than a millisecond.
"""

LEAST_EFFORT = 1e-3
"""The substitute for an effort where a joint carries nothing (Nm or N)."""

Pair = tuple[float, float]

FREE: Pair = (-math.inf, math.inf)
"""The bounds of an angle that wraps."""

_UNITS = {True: ("rad", "rad/s", "Nm"), False: ("m", "m/s", "N")}
_ENTRIES = ("position", "velocity", "effort")


@dataclass
class Substitutes:
    """Finds what a joint's limits leave open, and collects the remarks.

    Parameters
    ----------
    strict
        Whether to refuse limits that bound nothing instead.
    """

    robot: Robot
    strict: bool = False
    _taken: dict[tuple[str, str, str], list[tuple[str, float]]] = field(default_factory=dict)
    _degrees: dict[tuple[Pair, str], list[str]] = field(default_factory=dict)

    def position(self, joint: Joint, *, wraps: bool) -> Pair:
        """The bounds of a revolute or prismatic joint's position: infinite where it wraps.

        Raises
        ------
        InputError
            In strict mode, where the limits bound nothing.
        """
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
        """The bounds of a joint's one velocity.

        Raises
        ------
        InputError
            In strict mode, where the limit bounds nothing.
        """
        limit = joint.limits[0].velocity
        if 0.0 < limit < FAST:
            return -limit, limit
        placeholder = FAST <= limit < math.inf
        taken = (FAST_VELOCITY if placeholder else FREE_VELOCITY)[joint.kind.angular[0]]
        self._take(joint, "velocity", _reason("velocity", limit), taken)
        return -taken, taken

    def effort(self, joint: Joint, acceleration: Pair) -> Pair:
        """The bounds of a joint's one force or torque, given those of its acceleration.

        Raises
        ------
        InputError
            In strict mode, where the limit bounds nothing.
        """
        limit = joint.limits[0].effort
        needed = max(holding_effort(self.robot, joint, max(map(abs, acceleration))), LEAST_EFFORT)
        if 0.0 < limit <= MOST_EFFORT * needed:
            return -limit, limit
        placeholder = 0.0 < limit < math.inf
        taken = float(f"{AMPLE_EFFORT * needed if placeholder else needed:.2g}")
        reason = _reason("effort", limit)
        if placeholder:
            reason = (
                f"effort limit {limit:g} is more than {MOST_EFFORT:g} times what the limb that it moves needs"
            )
        self._take(joint, "effort", reason, taken)
        return -taken, taken

    def check_unit(self, joint: Joint, bounds: Pair, what: str) -> None:
        """Remark on the position bounds of a turn that look like degrees; ``what`` they are in the remark."""
        if all(map(math.isfinite, bounds)) and looks_like_degrees(bounds):
            self._degrees.setdefault((bounds, what), []).append(joint.name)

    @property
    def remarks(self) -> tuple[str, ...]:
        """A line for each kind of substitute, then one for each pair of bounds that look like degrees."""
        lines = [_substitute(*kind, taken) for kind, taken in self._taken.items()]
        for (bounds, what), names in self._degrees.items():
            lines.append(f"domain: {subject('joint', names)}: {_span(*bounds, what)}")
        return tuple(lines)

    def _take(self, joint: Joint, entry: str, reason: str, bound: float) -> None:
        unit = _UNITS[joint.kind.angular[0]][_ENTRIES.index(entry)]
        if self.strict:
            taken = _bound_text([bound], unit)
            raise InputError(
                f"joint '{joint.name}': {reason}; expected a limit in the URDF or in a domain file, "
                f"or no --strict (then taken {taken})"
            )
        self._taken.setdefault((entry, reason, unit), []).append((joint.name, bound))


def holding_effort(robot: Robot, joint: Joint, acceleration: float) -> float:
    """The largest force or torque that an outstretched limb may need at rest and at an acceleration.

    It is a bound for the masses that ``joint``, and those that mimic it, carry, for gravity across every
    lever, and for ``acceleration`` (rad/s^2 or m/s^2) of that joint alone. Where the base floats, a limb may
    also bear the robot's weight at its end.
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


def _carried_mass(robot: Robot, root: int) -> tuple[float, float, float, float]:
    """Mass, and bounds of first moment, moment of inertia, and reach, of all that body ``root`` carries.

    All are about the joint of ``root``, with the limb outstretched.
    """
    distance = {root: 0.0}
    mass = moment = inertia = reach = 0.0
    for i, body in enumerate(robot.bodies):
        if i != root and body.parent not in distance:
            continue
        if i != root:
            distance[i] = distance[body.parent] + norm(body.joint.placement.translation)
        away = distance[i] + _centre_distance(body.inertia)
        own = body.inertia.mass
        mass += own
        moment += own * away
        inertia += own * away**2 + _largest_moment(body.inertia)
        reach = max(reach, away)
    return mass, moment, inertia, reach


def _centre_distance(inertia: Inertia) -> float:
    """How far the centre of mass is from the body frame's origin."""
    return norm(scale(1.0 / inertia.mass, inertia.first_moment)) if inertia.mass > 0.0 else 0.0


def _largest_moment(inertia: Inertia) -> float:
    """The largest principal moment about the centre of mass, if any is positive."""
    centre: Vector3 = inertia.first_moment
    squared = float(np.dot(centre, centre)) * np.eye(3) - np.outer(centre, centre)
    about = np.array(rotational_matrix(inertia)) - (squared / inertia.mass if inertia.mass > 0.0 else 0.0)
    return max(float(np.linalg.eigvalsh(about)[-1]), 0.0)


def _reason(entry: str, limit: float) -> str:
    return f"no {entry} limit" if math.isinf(limit) else f"{entry} limit {limit:g} bounds nothing"


def _span(lower: float, upper: float, what: str) -> str:
    """Why bounds of a turn look like degrees."""
    turns = int((upper - lower) / (2.0 * math.pi))
    return f"position {what} {lower:g} to {upper:g} rad span {turns} turns; degrees? expected radians"


def _substitute(entry: str, reason: str, unit: str, taken: Sequence[tuple[str, float]]) -> str:
    names = [name for name, _ in taken]
    where = _key(names[0]) if len(names) == 1 else "NAME"
    return (
        f"domain: {subject('joint', names)}: {reason}; taken {_bound_text([b for _, b in taken], unit)}; "
        f"{entry} in [joints.{where}] of a domain file overrides it"
    )


def _key(name: str) -> str:
    """A joint's name as a TOML key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _bound_text(bounds: Sequence[float], unit: str) -> str:
    """What was taken for one joint, or for each of several."""
    least, most = min(bounds), max(bounds)
    if math.isinf(least):
        return "as a full turn, which wraps"
    texts = list(dict.fromkeys(f"{bound:.3g}" for bound in (least, most)))
    return f"within {' to '.join(texts)} {unit}{', joint by joint' if len(texts) > 1 else ''}"
