"""Joints made of turns and shifts become chains of them, with massless bodies between.

What is left are the *elementary* kinds: revolute, continuous, prismatic, planar, spherical, and floating as
the first body. Later stages know no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from rbdhw.robot.model import Body, Inertia, Joint, JointKind, Limits, Mimic, Placement, Robot, Vector3

_X: Vector3 = (1.0, 0.0, 0.0)
_Y: Vector3 = (0.0, 1.0, 0.0)
_Z: Vector3 = (0.0, 0.0, 1.0)


def elementary(robot: Robot) -> Robot:
    """``robot`` of elementary joints only; ``q`` and ``v`` keep their meaning, number for number.

    - helical: a turn, which keeps the joint's name, and ``<joint>.shift``, a prismatic joint that mimics it
      with the pitch as multiplier;
    - cylindrical: ``<joint>.1``, the turn, and ``<joint>.2``, the shift;
    - universal: the turns ``<joint>.1`` about ``axis`` and ``<joint>.2`` about ``second_axis``;
    - translation: the shifts ``<joint>.1`` to ``<joint>.3`` along x, y and z.

    The last body of a chain is the joint's own, with its name, inertia and link frame. Those before it are
    virtual and called ``<link>.1`` and ``<link>.2``. Names that are taken get underscores behind. The frames
    of a chain coincide when its coordinates are zero, and each part has the limits of its degree of freedom.

    A mimicking joint's ``Mimic.offset`` moves into its ``Joint.offset``, so that its coordinate is
    ``multiplier * q_other + Joint.offset``.
    """
    links = {robot.base, *(body.name for body in robot.bodies), *(link for link, _ in robot.fixed_links)}
    joints = {body.joint.name for body in robot.bodies}
    bodies: list[Body] = []
    last: list[int] = []  # for each body of ``robot``, the last of its chain
    for body in robot.bodies:
        parent = body.parent if body.parent < 0 else last[body.parent]
        parts = _parts(_offset_folded(body.joint), joints)
        for k, part in enumerate(parts[:-1], start=1):
            name = _free(f"{body.name}.{k}", links)
            bodies.append(Body(name, parent, part, Inertia(), virtual=True))
            parent = len(bodies) - 1
        bodies.append(replace(body, parent=parent, joint=parts[-1]))
        last.append(len(bodies) - 1)
    return robot.with_bodies(bodies)


def _offset_folded(joint: Joint) -> Joint:
    """``joint`` with what its mimicry adds as its own offset."""
    if joint.mimic is None:
        return joint
    return replace(joint, offset=joint.offset + joint.mimic.offset, mimic=replace(joint.mimic, offset=0.0))


def _parts(joint: Joint, names: set[str]) -> list[Joint]:
    """The chain that does what ``joint`` does; the names of new parts join ``names``."""
    if joint.kind is JointKind.HELICAL:
        return _screw(joint, names)
    if joint.kind is JointKind.CYLINDRICAL:
        return _chain(joint, (_turn(joint.limits[0]), JointKind.PRISMATIC), (joint.axis, joint.axis), names)
    if joint.kind is JointKind.UNIVERSAL:
        kinds = [_turn(limits) for limits in joint.limits]
        return _chain(joint, kinds, (joint.axis, joint.second_axis), names)
    if joint.kind is JointKind.TRANSLATION:
        return _chain(joint, (JointKind.PRISMATIC,) * 3, (_X, _Y, _Z), names)
    return [joint]


def _chain(joint: Joint, kinds: Sequence[JointKind], axes: Sequence[Vector3], names: set[str]) -> list[Joint]:
    """One joint for each degree of freedom of ``joint``, the first where ``joint`` is."""
    placements = [joint.placement] + [Placement()] * (len(kinds) - 1)
    parts = zip(kinds, axes, placements, joint.limits, strict=True)
    return [
        Joint(_free(f"{joint.name}.{k}", names), kind, axis, placement, (limits,))
        for k, (kind, axis, placement, limits) in enumerate(parts, start=1)
    ]


def _screw(joint: Joint, names: set[str]) -> list[Joint]:
    """A helical joint's turn and the shift that follows it, or what it follows itself."""
    (limits,) = joint.limits
    turn = replace(joint, kind=_turn(limits), pitch=0.0)
    if joint.pitch == 0.0:
        return [turn]
    followed = joint.mimic or Mimic(joint.name)
    shift = Joint(
        name=_free(f"{joint.name}.shift", names),
        kind=JointKind.PRISMATIC,
        axis=joint.axis,
        placement=Placement(),
        limits=(_scale_limits(limits, joint.pitch),),
        offset=joint.pitch * joint.offset,
        mimic=replace(followed, multiplier=joint.pitch * followed.multiplier),
    )
    return [turn, shift]


def _turn(limits: Limits) -> JointKind:
    """The kind of a turn with these limits."""
    return JointKind.REVOLUTE if isfinite(limits.upper - limits.lower) else JointKind.CONTINUOUS


def _scale_limits(limits: Limits, pitch: float) -> Limits:
    """The limits of a shift of ``pitch`` metres a radian of a turn with ``limits``."""
    lower, upper = sorted((pitch * limits.lower, pitch * limits.upper))
    size = abs(pitch)
    return Limits(lower, upper, size * limits.velocity, limits.effort / size)


def _free(name: str, taken: set[str]) -> str:
    """``name``, with underscores behind until it is not among ``taken``, which it joins."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
