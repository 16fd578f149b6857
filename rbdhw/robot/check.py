"""Checks of a robot built in code or read from JSON: the rules that the types alone do not enforce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite

from rbdhw.errors import InputError
from rbdhw.robot.model import (
    BASE,
    CONTACT_KINDS,
    FRAME_AXES,
    Body,
    Contact,
    Inertia,
    Joint,
    JointKind,
    Placement,
    Robot,
    Vector3,
)
from rbdhw.robot.spatial import SNAP, cross, dot, norm

_TOLERANCE = 10.0 * SNAP
_WITHOUT_AXIS = (JointKind.TRANSLATION, JointKind.SPHERICAL, JointKind.FLOATING)


def check_robot(robot: Robot) -> None:
    """Raise InputError unless the fields of ``robot`` are consistent.

    The rules are:

    - A parent comes before its children, and only the first joint may float.
    - Names of links and names of joints are unique.
    - Axes are unit vectors, the two axes of a universal joint are perpendicular, and rotations are
      orthonormal and right-handed.
    - A joint has one entry of limits for each degree of freedom. Only a joint of one degree of freedom may
      have an offset.
    - Armature and damping are not negative, and have one entry for each degree of freedom or none; a floating
      joint has none.
    - A mimic and the joint it follows have one degree of freedom each, and the followed joint is not a mimic.
    - A chosen frame is fixed to a link that moves, and is chosen once; its axes are known. So is that of a
      contact, whose kind is known and whose damping, gains and restitution are not negative. A loop holds
      points of two bodies, or of one and the base.
    - All numbers except limits are finite.
    """
    _check_names(robot)
    _check_finite("robot data", (*robot.gravity, *_numbers(robot.base_inertia)))
    joints = {body.joint.name: body.joint for body in robot.bodies}
    for i, body in enumerate(robot.bodies):
        _check_body(i, body)
        _check_motion(f"robot data, link {body.name!r}", body.joint)
        _check_mimic(f"robot data, joint {body.joint.name!r}", body.joint, joints)
    _check_frames(robot)


def _check_names(robot: Robot) -> None:
    links = [robot.base, *(body.name for body in robot.bodies)]
    if robot.floats and robot.bodies[0].name == robot.base:
        links.remove(robot.base)  # the base link itself floats
    for kind, names in (("link", links), ("joint", [body.joint.name for body in robot.bodies])):
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"robot data, {kind} {name!r}", "given twice", f"unique {kind} names")


def _check_body(i: int, body: Body) -> None:
    joint = body.joint
    where = f"robot data, link {body.name!r}"
    if not BASE <= body.parent < i:
        raise InputError(where, f"parent is {body.parent}", f"{BASE} to {i - 1}")
    if joint.kind is JointKind.FLOATING and i > 0:
        raise InputError(where, "has a floating joint", "one on the first link only")
    for placement in (joint.placement, body.link_frame):
        _check_rotation(where, placement)
    lengths = (*joint.placement.translation, *body.link_frame.translation, joint.offset, joint.pitch)
    _check_finite(where, (*lengths, *_numbers(body.inertia)))


def _check_motion(where: str, joint: Joint) -> None:
    """Raise InputError unless axes, limits and offset fit the joint's kind."""
    if joint.kind not in _WITHOUT_AXIS and not _is_unit(joint.axis):
        raise InputError(where, f"joint axis is {joint.axis}", "a unit vector")
    if joint.kind is JointKind.UNIVERSAL:
        second = joint.second_axis
        if not _is_unit(second) or abs(dot(joint.axis, second)) > _TOLERANCE:
            expected = f"a unit vector at right angles to {joint.axis}"
            raise InputError(where, f"second joint axis is {second}", expected)
    if len(joint.limits) != joint.kind.nv:
        reason = f"a {joint.kind} joint has {len(joint.limits)} limits"
        raise InputError(where, reason, f"{joint.kind.nv}, one for each degree of freedom")
    if not all(limits.lower <= limits.upper for limits in joint.limits):
        raise InputError(where, "lower limit is not below the upper", "lower <= upper")
    for name, drive in (("armature", joint.armature), ("damping", joint.damping)):
        _check_drive(where, joint, name, drive)
    if joint.kind.nv > 1 and joint.offset != 0.0:
        raise InputError(where, f"a {joint.kind} joint has offset {joint.offset:g}", "0")


def _check_drive(where: str, joint: Joint, name: str, drive: tuple[float, ...]) -> None:
    if drive and joint.kind is JointKind.FLOATING:
        raise InputError(where, f"a floating joint has {name}", "none, because nothing drives it")
    if drive and len(drive) != joint.kind.nv:
        reason = f"a {joint.kind} joint has {len(drive)} numbers of {name}"
        raise InputError(where, reason, f"{joint.kind.nv}, one for each degree of freedom")
    if not all(0.0 <= number < inf for number in drive):
        raise InputError(where, f"{name} is {drive}", "zero or more")


def _check_mimic(where: str, joint: Joint, joints: Mapping[str, Joint]) -> None:
    """Raise InputError if the joint mimics another of ``joints`` but cannot follow it."""
    mimic = joint.mimic
    if mimic is None:
        return
    other = joints.get(mimic.joint)
    if other is None:
        raise InputError(where, f"mimics unknown joint {mimic.joint!r}", "one of the robot's")
    if other.mimic is not None:
        raise InputError(where, f"mimics mimic {mimic.joint!r}", "a joint that mimics none")
    if joint.kind.nv > 1 or other.kind.nv > 1:
        kinds = f"a {joint.kind} joint mimics a {other.kind} one"
        raise InputError(where, kinds, "one degree of freedom each")
    if not (isfinite(mimic.multiplier) and isfinite(mimic.offset)):
        factors = f"multiplier {mimic.multiplier:g} and offset {mimic.offset:g}"
        raise InputError(where, f"mimics with {factors}", "finite numbers")


def _check_frames(robot: Robot) -> None:
    contacts = robot.contacts
    for where, value, known in (
        ("frame_axes", robot.frame_axes, FRAME_AXES),
        ("contacts.axes", contacts.axes, FRAME_AXES),
        *(("contacts", contact.kind, tuple(CONTACT_KINDS)) for contact in contacts.places),
    ):
        if value not in known:
            raise InputError(f"robot data, {where}", f"{value!r} is unknown", f"one of {', '.join(known)}")
    links = [body.name for body in robot.bodies]
    spheres = [sphere.frame for sphere in robot.spheres]
    for frames in (robot.frames, [contact.frame for contact in contacts.places], spheres):
        names = [frame.name for frame in frames]
        for frame in frames:
            where = f"robot data, frame {frame.name!r}"
            if names.count(frame.name) > 1:
                raise InputError(where, "given twice", "each frame once")
            if frame.body not in links and (frame.body or frames is not spheres):
                raise InputError(where, f"moves with unknown link {frame.body!r}", "one that moves")
            _check_rotation(where, frame.placement)
            _check_finite(where, frame.placement.translation)
    for sphere in robot.spheres:
        if not (isfinite(sphere.radius) and sphere.radius >= 0.0):
            where = f"robot data, sphere {sphere.frame.name!r}"
            raise InputError(where, f"radius {sphere.radius:g}", "finite, zero or more")
    for loop in contacts.loops:
        _check_loop(f"robot data, loop {loop.frame.name!r}", loop, links)
    numbers = (contacts.damping, contacts.velocity_gain, contacts.restitution, contacts.position_gain)
    if not (all(map(isfinite, numbers)) and min(numbers) >= 0.0):
        raise InputError("robot data, contacts", f"{numbers}", "finite numbers of zero or more")


def _check_loop(where: str, loop: Contact, links: Sequence[str]) -> None:
    """Raise InputError unless a loop holds a point of a body to one of another body or of the base."""
    assert loop.closes is not None
    body = loop.closes.body
    if loop.rows != CONTACT_KINDS["point"] or body == loop.frame.body or body not in ("", *links):
        raise InputError(where, f"joins {loop.frame.body!r} and {body!r}", "points of two bodies")
    _check_rotation(where, loop.closes.placement)
    _check_finite(where, loop.closes.placement.translation)


def _check_rotation(where: str, placement: Placement) -> None:
    if not _is_rotation(placement):
        expected = "an orthonormal right-handed matrix"
        raise InputError(where, f"rotation is {placement.rotation}", expected)


def _numbers(inertia: Inertia) -> tuple[float, ...]:
    return (inertia.mass, *inertia.first_moment, *inertia.rotational)


def _check_finite(where: str, numbers: tuple[float, ...]) -> None:
    if not all(isfinite(number) for number in numbers):
        raise InputError(where, "a length, an inertia or gravity is not finite", "finite numbers")


def _is_unit(vector: Vector3) -> bool:
    return abs(norm(vector) - 1.0) <= _TOLERANCE


def _is_rotation(placement: Placement) -> bool:
    x, y, z = placement.rotation
    errors = (dot(x, x) - 1.0, dot(y, y) - 1.0, dot(x, y), dot(cross(x, y), z) - 1.0, dot(z, z) - 1.0)
    return all(abs(error) <= _TOLERANCE for error in errors)
