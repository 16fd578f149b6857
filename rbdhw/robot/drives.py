"""The drives of joints as a build asks for them: rotor inertia (armature) and viscous friction (damping).

A URDF has the damping of a joint in ``<dynamics>``, and no rotor inertia. Coulomb friction is not modelled:
it jumps where the velocity changes its sign, so that it has no derivative there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from rbdhw.errors import InputError
from rbdhw.robot.document import Document
from rbdhw.robot.model import Joint, JointKind, Robot
from rbdhw.runtime.number_bounds import ARMATURE, DAMPING, Bound

Numbers = tuple[float, ...]

JointNumbers = tuple[tuple[str, Numbers], ...]
"""The numbers of some joints, by name: one for each degree of freedom, or one for all of them."""


@dataclass(frozen=True)
class Drives:
    """The drives that a build computes."""

    from_file: bool = False
    """Whether joints have the damping that the URDF gives."""
    damping: JointNumbers = ()
    """The damping of some joints, whatever the URDF says."""
    armature: JointNumbers = ()
    """The rotor inertia of some joints."""

    @property
    def friction(self) -> tuple[bool, JointNumbers]:
        """All that damps joints."""
        return self.from_file, self.damping


NO_DRIVES = Drives()


def read_damping(document: Document, element: Element, joint: Joint) -> Numbers:
    """Return the damping in ``<dynamics>`` for each degree of freedom, or nothing if there is none.

    As in Pinocchio the number in the file holds for every degree of freedom. Raises InputError if the damping
    is not a number, or exceeds its bound; or it is negative, in a strict reading.
    """
    owner = f"joint {joint.name!r}"
    dynamics = document.child(element, "dynamics", owner)
    if dynamics is None:
        return ()
    damping = document.number(dynamics, "damping", owner, DAMPING, default=0.0)
    if damping < 0.0:
        document.bear(owner, f"<dynamics> has damping {damping:g}", "zero or more", "as 0")
        return ()
    if damping and joint.kind is JointKind.FLOATING:
        document.bear(owner, f"floats, but has damping {damping:g}", "none", "as 0")
        return ()
    return (damping,) * joint.kind.nv if damping else ()


def with_drives(robot: Robot, drives: Drives) -> Robot:
    """Return the robot with the given damping and armature.

    Raises InputError if a joint is unknown or floats, or its numbers do not fit it.
    """
    damping = _checked(robot, "damping", drives.damping, DAMPING)
    armature = _checked(robot, "armature", drives.armature, ARMATURE)
    bodies = []
    for body in robot.bodies:
        name = body.joint.name
        joint = replace(
            body.joint,
            damping=damping.get(name, body.joint.damping),
            armature=armature.get(name, body.joint.armature),
        )
        bodies.append(replace(body, joint=joint))
    return robot.with_bodies(bodies)


def _checked(robot: Robot, option: str, entries: JointNumbers, bound: Bound) -> Mapping[str, Numbers]:
    joints = {body.joint.name: body.joint for body in robot.bodies}
    checked = {}
    for name, numbers in entries:
        if name not in joints:
            raise InputError(option, f"joint '{name}' is unknown", f"some of {', '.join(joints)}")
        if not bound.holds(*numbers) or min(numbers) < 0.0:
            text = ":".join(f"{number:g}" for number in numbers)
            raise InputError(option, f"joint '{name}' has {text}", f"0, or {bound.positive}")
        whole = _each_freedom(option, joints[name], numbers)
        checked[name] = whole if any(whole) else ()
    return checked


def _each_freedom(option: str, joint: Joint, numbers: Numbers) -> Numbers:
    if joint.kind is JointKind.FLOATING:
        raise InputError(option, f"joint '{joint.name}' floats and has no drive", "a joint that is driven")
    if len(numbers) == joint.kind.nv:
        return numbers
    turns = joint.kind.angular
    if len(numbers) == 1 and len(set(turns)) == 1:
        return numbers * joint.kind.nv
    reason = f"{len(numbers)} numbers for the {joint.kind} joint '{joint.name}'"
    expected = ":".join("rotation" if turn else "translation" for turn in turns)
    raise InputError(option, reason, f"{joint.kind.nv}, as {expected}")
