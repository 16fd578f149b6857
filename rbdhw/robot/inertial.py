"""``<inertial>`` elements: read, and held against what a rigid body can have."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from rbdhw.robot.document import Document
from rbdhw.robot.model import Body, Inertia, Matrix3, Placement, Robot
from rbdhw.robot.spatial import apply, dot, move_inertia, point_inertia, rotational_matrix

TOLERANCE = 1e-6
"""How far, relative to the largest principal moment, rounded figures may break a rigid body's rules."""

NEGLIGIBLE = 1e-15
"""A principal moment of this size is zero (kg m^2; a milligram a millimetre off its axis has 1e-12)."""

_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_inertia(document: Document, inertial: Element, owner: str, origin: Placement) -> Inertia:
    """The inertia in ``<inertial>`` about and along the link frame.

    ``origin`` is the pose of the centre of mass and of the axes of ``<inertia>`` in the link frame.
    ``owner`` names the link in errors.

    Raises
    ------
    InputError
        Mass or an inertia entry is missing or no finite number, the mass is negative, or the inertia
        is not positive semidefinite or breaks the triangle inequality by more than ``TOLERANCE``.
    """
    mass = document.number(document.required_child(inertial, "mass", owner), "value", owner)
    if mass < 0.0:
        raise document.error(owner, f"<mass> is {mass:g}", "zero or more kilograms")
    element = document.required_child(inertial, "inertia", owner)
    xx, xy, xz, yy, yz, zz = (document.number(element, entry, owner) for entry in _ENTRIES)
    about_centre: Matrix3 = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    _check_moments(document, owner, about_centre)
    turned = move_inertia(Inertia(rotational=(xx, xy, xz, yy, yz, zz)), Placement(rotation=origin.rotation))
    return point_inertia(mass, origin.translation, rotational_matrix(turned))


def _check_moments(document: Document, owner: str, about_centre: Matrix3) -> None:
    """InputError unless the principal moments are those of some distribution of positive mass."""
    low, middle, high = (float(moment) for moment in np.linalg.eigvalsh(np.array(about_centre)))
    slack = TOLERANCE * max(abs(low), abs(high)) + NEGLIGIBLE
    listed = f"principal moments {low:.6g}, {middle:.6g}, {high:.6g}"
    if low < -slack:
        raise document.error(owner, f"<inertia> is not positive semidefinite ({listed})", "none below zero")
    if low + middle < high - slack:
        reason = f"<inertia> breaks the triangle inequality ({listed})"
        raise document.error(owner, reason, "no moment above the sum of the other two")


def needs_inertia(robot: Robot) -> int | None:
    """The first body that its joint moves without moving any inertia, or None.

    Such a body would make the mass matrix singular: neither it, along or about its joint's axis, nor
    any body that hangs from it has any mass or inertia.
    """
    carries = [_resists(body) for body in robot.bodies]
    for i in reversed(range(len(robot.bodies))):
        parent = robot.bodies[i].parent
        if parent >= 0 and (robot.bodies[i].inertia != Inertia() or carries[i]):
            carries[parent] = True
    return next((i for i, moved in enumerate(carries) if not moved), None)


def _resists(body: Body) -> bool:
    """Whether the body's own inertia resists its joint's motion."""
    axis, inertia = body.joint.axis, body.inertia
    if not body.joint.kind.rotates:
        return inertia.mass > 0.0
    return dot(axis, apply(rotational_matrix(inertia), axis)) > NEGLIGIBLE
