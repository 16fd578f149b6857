"""Replace compound joints by chains of elementary joints with massless bodies between them.

The *elementary* kinds are revolute, continuous, prismatic, planar, spherical, and floating (first body only).
Later stages support no other kinds.
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
    """Return ``robot`` with elementary joints only; every number in ``q`` and ``v`` keeps its meaning.

    - A helical joint becomes a rotation with the joint's name and ``<joint>.shift``, a prismatic joint that
      mimics the rotation with the pitch as multiplier.
    - A cylindrical joint becomes ``<joint>.1``, the rotation, and ``<joint>.2``, the translation.
    - A universal joint becomes the rotations ``<joint>.1`` about ``axis`` and ``<joint>.2`` about
      ``second_axis``.
    - A translation joint becomes the prismatic joints ``<joint>.1`` to ``<joint>.3`` along x, y and z.

    The last body of a chain is the original body, with its name, inertia and link frame. The bodies before it
    are virtual and are named ``<link>.1`` and ``<link>.2``. A name that is already in use gets underscores
    appended. All frames of a chain coincide when its coordinates are zero, and each part has the limits of
    its degree of freedom.

    The ``Mimic.offset`` of a mimicking joint moves into its ``Joint.offset``, so its coordinate is
    ``multiplier * q_other + Joint.offset``.
    """
    links = {robot.base, *(body.name for body in robot.bodies), *(link for link, _ in robot.fixed_links)}
    joints = {body.joint.name for body in robot.bodies}
    bodies: list[Body] = []
    last: list[int] = []  # for each body of ``robot``, the last body of its chain
    for body in robot.bodies:
        parent = body.parent if body.parent < 0 else last[body.parent]
        parts = _parts(_fold_offset(body.joint), joints)
        for k, part in enumerate(parts[:-1], start=1):
            name = _free(f"{body.name}.{k}", links)
            bodies.append(Body(name, parent, part, Inertia(), virtual=True))
            parent = len(bodies) - 1
        bodies.append(replace(body, parent=parent, joint=parts[-1]))
        last.append(len(bodies) - 1)
    return robot.with_bodies(bodies)


def _fold_offset(joint: Joint) -> Joint:
    """Return ``joint`` with the offset of its mimic added to its own offset."""
    if joint.mimic is None:
        return joint
    return replace(joint, offset=joint.offset + joint.mimic.offset, mimic=replace(joint.mimic, offset=0.0))


def _parts(joint: Joint, names: set[str]) -> list[Joint]:
    """Return the chain of joints equivalent to ``joint``; the names of new parts are added to ``names``."""
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
    """Return one joint for each degree of freedom of ``joint``; the first has the placement of ``joint``."""
    placements = [joint.placement] + [Placement()] * (len(kinds) - 1)
    parts = zip(kinds, axes, placements, joint.limits, strict=True)
    return [
        Joint(
            _free(f"{joint.name}.{k}", names),
            kind,
            axis,
            placement,
            (limits,),
            armature=joint.armature[k - 1 : k],
            damping=joint.damping[k - 1 : k],
        )
        for k, (kind, axis, placement, limits) in enumerate(parts, start=1)
    ]


def _screw(joint: Joint, names: set[str]) -> list[Joint]:
    """Return a helical joint's rotation and the translation that mimics it.

    If the helical joint is a mimic itself, the translation mimics the joint that it follows.
    """
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
    """Return REVOLUTE if the limits are finite, else CONTINUOUS."""
    return JointKind.REVOLUTE if isfinite(limits.upper - limits.lower) else JointKind.CONTINUOUS


def _scale_limits(limits: Limits, pitch: float) -> Limits:
    """Return the limits of a translation of ``pitch`` metres per radian of a rotation with ``limits``."""
    lower, upper = sorted((pitch * limits.lower, pitch * limits.upper))
    size = abs(pitch)
    return Limits(lower, upper, size * limits.velocity, limits.effort / size)


def _free(name: str, names: set[str]) -> str:
    """Append underscores to ``name`` until it is not in ``names``, add it to ``names`` and return it."""
    while name in names:
        name += "_"
    names.add(name)
    return name
