"""Read ``<inertial>`` elements and check them against the rules for a rigid body."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from rbdhw.remarks import list_names
from rbdhw.robot.document import Document
from rbdhw.robot.model import Body, Inertia, JointKind, Matrix3, Placement, Robot, Vector3
from rbdhw.robot.spatial import apply, dot, move_inertia, norm, point_inertia, rotational_matrix, scale
from rbdhw.runtime.number_bounds import INERTIA, MASS

TOLERANCE = 1e-6
"""The tolerance of the rules for principal moments, relative to the largest: URDFs hold rounded numbers."""

COINCIDENT = 1e-13
"""A distance up to this fraction of the robot's largest length may be a rounding error."""

ROUNDING = 1e-13
"""A moment below this fraction of the inertia it was computed from may be a rounding error."""

_POINT = "as a point mass, as Pinocchio does"
_ZERO: Matrix3 = ((0.0, 0.0, 0.0),) * 3
_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_inertia(document: Document, inertial: Element, owner: str, origin: Placement) -> Inertia:
    """Return the inertia in ``<inertial>`` about the origin and along the axes of the link frame.

    ``origin`` is the pose of the centre of mass and of the axes of ``<inertia>`` in the link frame.
    ``owner`` names the link in errors.

    A tolerant reading takes an inertia that no rigid body has as it is. It treats missing entries as
    Pinocchio does: no inertia without a mass, and a point mass unless all six entries are given. Raises
    InputError if the mass or an inertia entry is not a finite number or exceeds its bound, or the mass is
    negative. In a strict reading also: an entry is missing, or the inertia is not positive semidefinite or
    violates the triangle inequality by more than ``TOLERANCE``.
    """
    element = document.child(inertial, "mass", owner)
    if element is None or element.get("value") is None:
        reason, expected = ("no <mass>", "<mass> in <inertial>")
        if element is not None:
            reason, expected = ("<mass> has no value", 'value="..."')
        document.bear(owner, reason, expected, "as no inertia, as Pinocchio does")
        return Inertia()
    mass = document.number(element, "value", owner, MASS)
    if mass < 0.0:
        raise document.error(owner, f"<mass> is {mass:g}", "zero or more kilograms")
    about_centre = _read_about_centre(document, inertial, owner)
    _check_moments(document, owner, about_centre)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = about_centre
    turned = move_inertia(Inertia(rotational=(xx, xy, xz, yy, yz, zz)), Placement(rotation=origin.rotation))
    return point_inertia(mass, origin.translation, rotational_matrix(turned))


def _read_about_centre(document: Document, inertial: Element, owner: str) -> Matrix3:
    """Return the matrix in ``<inertia>``, or zero, as Pinocchio does, if one of its entries is missing."""
    element = document.child(inertial, "inertia", owner)
    if element is None:
        document.bear(owner, "no <inertia>", "<inertia> in <inertial>", _POINT)
        return _ZERO
    missing = [entry for entry in _ENTRIES if element.get(entry) is None]
    if missing:
        expected = " ".join(f'{entry}="..."' for entry in missing)
        document.bear(owner, f"<inertia> has no {list_names(missing)}", expected, _POINT)
        return _ZERO
    xx, xy, xz, yy, yz, zz = (document.number(element, entry, owner, INERTIA) for entry in _ENTRIES)
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def _check_moments(document: Document, owner: str, about_centre: Matrix3) -> None:
    """Remark on principal moments that no mass distribution has; a strict reading raises InputError."""
    moments = np.linalg.eigvalsh(np.array(about_centre))
    slack = TOLERANCE * float(np.abs(moments).max())
    low, middle, high = (float(moment) if abs(moment) > slack else 0.0 for moment in moments)
    listed = f"principal moments {low:.6g}, {middle:.6g}, {high:.6g}"
    if low < -slack:
        reason, expected = "is not positive semidefinite", "none below zero"
    elif low + middle < high - slack:
        reason, expected = "breaks the triangle inequality", "no moment above the sum of the other two"
    else:
        return
    document.bear(owner, f"<inertia> {reason}", expected, "as it is", listed)


def needs_inertia(robot: Robot) -> int | None:
    """Return the first body that its joint can move without moving any inertia, or None.

    Such a body makes the mass matrix singular: there is a motion of the joint that is not resisted by the
    body's own inertia, by the bodies below it, or by the bodies whose joints mimic the joint. An inertia that
    helps the motion does not resist it.
    """
    length = _largest_length(robot)
    moves = [_resists(body, length) for body in robot.bodies]
    for i in reversed(range(len(robot.bodies))):
        parent = robot.bodies[i].parent
        if parent >= 0 and (robot.bodies[i].inertia != Inertia() or moves[i]):
            moves[parent] = True
    mimics = [(i, body.joint.mimic) for i, body in enumerate(robot.bodies)]
    helped = {mimic.joint for i, mimic in mimics if mimic and mimic.multiplier != 0.0 and moves[i]}
    for i, mimic in mimics:
        if not moves[i] and mimic is None and robot.bodies[i].joint.name not in helped:
            return i
    return None


def negative_moment(inertia: Inertia) -> float:
    """Return the least principal moment about the centre of mass (kg m^2) if it is negative, or zero."""
    least = _least_moment(_about_centre(inertia) if inertia.mass > 0.0 else inertia)
    return least if least < -TOLERANCE * max(abs(entry) for entry in inertia.rotational) else 0.0


def _largest_length(robot: Robot) -> float:
    """Return the largest distance between neighbouring joints, or of a joint from a centre of mass (m)."""
    lengths = [norm(body.joint.placement.translation) for body in robot.bodies]
    heavy = [body.inertia for body in robot.bodies if body.inertia.mass > 0.0]
    return max([*lengths, *(norm(inertia.first_moment) / inertia.mass for inertia in heavy)], default=0.0)


def _resists(body: Body, length: float) -> bool:
    """Return whether the body's own inertia resists every motion of its joint in a robot of this size."""
    joint, inertia = body.joint, body.inertia
    mass = inertia.mass
    rounding = ROUNDING * max(abs(entry) for entry in inertia.rotational) + mass * (COINCIDENT * length) ** 2
    match joint.kind:
        case JointKind.REVOLUTE | JointKind.CONTINUOUS:
            return _about(inertia, joint.axis) > rounding
        case JointKind.HELICAL:
            return _about(inertia, joint.axis) + joint.pitch**2 * mass > rounding
        case JointKind.CYLINDRICAL:
            return mass > 0.0 and _about(inertia, joint.axis) > rounding
        case JointKind.UNIVERSAL:  # the second turn carries whatever would not resist the first
            return _about(inertia, joint.second_axis) > rounding
        case JointKind.PLANAR:
            return mass > 0.0 and _about(_about_centre(inertia), joint.axis) > rounding
        case JointKind.SPHERICAL:
            return _least_moment(inertia) > rounding
        case JointKind.FLOATING:
            return mass > 0.0 and _least_moment(_about_centre(inertia)) > rounding
        case JointKind.PRISMATIC | JointKind.TRANSLATION:
            return mass > 0.0


def _about(inertia: Inertia, axis: Vector3) -> float:
    """Return the moment of inertia about an axis through the frame's origin (kg m^2)."""
    return dot(axis, apply(rotational_matrix(inertia), axis))


def _about_centre(inertia: Inertia) -> Inertia:
    """Return the inertia about its centre of mass; the mass must not be zero."""
    centre = scale(1.0 / inertia.mass, inertia.first_moment)
    return move_inertia(inertia, Placement(translation=scale(-1.0, centre)))


def _least_moment(inertia: Inertia) -> float:
    """Return the least principal moment about the frame's origin (kg m^2)."""
    return float(np.linalg.eigvalsh(np.array(rotational_matrix(inertia)))[0])
