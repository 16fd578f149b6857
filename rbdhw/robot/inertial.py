"""``<inertial>`` elements: read, and held against what a rigid body can have."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from rbdhw.remarks import list_names
from rbdhw.robot.document import Document
from rbdhw.robot.model import Body, Inertia, JointKind, Matrix3, Placement, Robot, Vector3
from rbdhw.robot.spatial import apply, dot, move_inertia, point_inertia, rotational_matrix, scale
from rbdhw.runtime.number_bounds import INERTIA, MASS

TOLERANCE = 1e-6
"""How far, relative to the largest principal moment, rounded figures may break a rigid body's rules."""

NEGLIGIBLE = 1e-15
"""A principal moment of this size is zero (kg m^2; a milligram a millimetre off its axis has 1e-12)."""

ROUNDING = 1e-13
"""A moment this small beside the inertia it is got from may be what is left of a cancellation."""

_POINT = "as a point mass, as Pinocchio does"
_ZERO: Matrix3 = ((0.0, 0.0, 0.0),) * 3
_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_inertia(document: Document, inertial: Element, owner: str, origin: Placement) -> Inertia:
    """The inertia in ``<inertial>`` about and along the link frame.

    ``origin`` is the pose of the centre of mass and of the axes of ``<inertia>`` in the link frame.
    ``owner`` names the link in errors.

    Raises
    ------
    InputError
        Mass or an inertia entry is no finite number or beyond its bound, or the mass is negative. In a strict
        reading also: one of them is missing, or the inertia is not positive semidefinite or breaks the
        triangle inequality by more than ``TOLERANCE``. Other readings take such an inertia as it is. Where
        something is missing they take what Pinocchio takes: no inertia without a mass, a point mass without
        all six entries.
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
    """The matrix in ``<inertia>``; zero, as in Pinocchio, where an entry of it is missing."""
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
    """InputError, or a remark, unless the principal moments are those of some distribution of mass."""
    moments = np.linalg.eigvalsh(np.array(about_centre))
    slack = TOLERANCE * float(np.abs(moments).max()) + NEGLIGIBLE
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
    """The first body that its joint moves in some direction without moving any inertia, or None.

    Such a body would make the mass matrix singular: neither its own inertia, nor that of any body that hangs
    from it, nor of those whose joints mimic its own, resists every motion of the joint.
    """
    moves = [_resists(body) for body in robot.bodies]
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


def _resists(body: Body) -> bool:
    """Whether the body's own inertia resists every motion of its joint."""
    joint, inertia = body.joint, body.inertia
    mass = inertia.mass
    match joint.kind:
        case JointKind.REVOLUTE | JointKind.CONTINUOUS:
            return _positive(_about(inertia, joint.axis), inertia)
        case JointKind.HELICAL:
            return _positive(_about(inertia, joint.axis) + joint.pitch**2 * mass, inertia)
        case JointKind.CYLINDRICAL:
            return mass > 0.0 and _positive(_about(inertia, joint.axis), inertia)
        case JointKind.UNIVERSAL:  # the second turn carries whatever would not resist the first
            return _positive(_about(inertia, joint.second_axis), inertia)
        case JointKind.PLANAR:
            return mass > 0.0 and _positive(_about(_about_centre(inertia), joint.axis), inertia)
        case JointKind.SPHERICAL:
            return _positive(_least_moment(inertia), inertia)
        case JointKind.FLOATING:
            return mass > 0.0 and _positive(_least_moment(_about_centre(inertia)), inertia)
        case JointKind.PRISMATIC | JointKind.TRANSLATION:
            return mass > 0.0


def _positive(moment: float, inertia: Inertia) -> bool:
    """Whether a moment got from ``inertia`` is more than what rounding makes of zero."""
    return moment > NEGLIGIBLE + ROUNDING * max(abs(entry) for entry in inertia.rotational)


def _about(inertia: Inertia, axis: Vector3) -> float:
    """The moment of inertia about an axis through the frame's origin."""
    return dot(axis, apply(rotational_matrix(inertia), axis))


def _about_centre(inertia: Inertia) -> Inertia:
    """The inertia, of some mass, about its centre."""
    centre = scale(1.0 / inertia.mass, inertia.first_moment)
    return move_inertia(inertia, Placement(translation=scale(-1.0, centre)))


def _least_moment(inertia: Inertia) -> float:
    """The least principal moment about the frame's origin."""
    return float(np.linalg.eigvalsh(np.array(rotational_matrix(inertia)))[0])
