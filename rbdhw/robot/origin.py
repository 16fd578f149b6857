"""Read the pose in ``<origin>``, and the version of URDF, on which its attributes depend.

A rotation is in ``rpy``, or from version 1.1 on in ``quat_xyzw``. The interpretation is that of
urdfdom 6, which Pinocchio uses.
"""

from __future__ import annotations

import re
from math import hypot
from xml.etree.ElementTree import Element

from rbdhw.robot.document import Document
from rbdhw.robot.model import IDENTITY, Matrix3, Placement, Vector3
from rbdhw.robot.spatial import rotation_quaternion, rotation_rpy
from rbdhw.runtime.number_bounds import ANGLE, LENGTH

Version = tuple[int, int]

URDF_1_0: Version = (1, 0)
URDF_1_1: Version = (1, 1)
URDF_1_2: Version = (1, 2)

QUATERNION = "quat_xyzw"

ROUNDED = 1e-3
"""The largest error of a quaternion's length that rounding explains: three digits."""

_VERSION = re.compile(r"\s*\+?(\d+)\.(\d+)", re.ASCII)
_NO_SHIFT: Vector3 = (0.0, 0.0, 0.0)


def urdf_version(document: Document) -> Version:
    """Return the version of URDF that the file follows; without one it is 1.0.

    Raises InputError if the version is not one from 1.0 to 1.2.
    """
    text = document.root.get("version")
    if text is None:
        return URDF_1_0
    matched = _VERSION.fullmatch(text)
    version = (int(matched[1]), int(matched[2])) if matched else (0, 0)
    if not URDF_1_0 <= version <= URDF_1_2:
        remedy = "leave it out if it is the robot's own version"
        raise document.error("<robot>", f'has version="{text}"', "a version of URDF from 1.0 to 1.2", remedy)
    return version


def read_origin(document: Document, element: Element, owner: str) -> Placement:
    """Read the pose in ``<origin>``; a missing shift or rotation is zero.

    Raises InputError if a number is malformed or beyond its bound, or the rotation is given twice.
    """
    origin = document.child(element, "origin", owner)
    if origin is None:
        return Placement()
    translation = document.vector(origin, "xyz", owner, LENGTH, default=_NO_SHIFT)
    return Placement(_read_rotation(document, origin, owner), translation)


def _read_rotation(document: Document, origin: Element, owner: str) -> Matrix3:
    """Read the rotation of an ``<origin>``, of roll, pitch and yaw or of a quaternion."""
    if origin.get(QUATERNION) is None:
        return rotation_rpy(document.vector(origin, "rpy", owner, ANGLE, default=_NO_SHIFT))
    if urdf_version(document) < URDF_1_1:
        reason = f"<origin> has {QUATERNION}, which URDF has from version 1.1 on"
        document.bear(owner, reason, 'version="1.1" in <robot>', "without it, as Pinocchio does")
        return rotation_rpy(document.vector(origin, "rpy", owner, ANGLE, default=_NO_SHIFT))
    if origin.get("rpy") is not None:
        raise document.error(owner, f"<origin> has both rpy and {QUATERNION}", "one of them")
    quaternion = document.numbers(origin, QUATERNION, owner, 4)
    length = hypot(*quaternion)
    if length == 0.0:
        reason, interpretation = f"<origin> has a {QUATERNION} of zeros", "as 0 0 0 1, as Pinocchio does"
        document.bear(owner, reason, "a quaternion of unit length", interpretation)
        return IDENTITY
    if abs(length - 1.0) > ROUNDED:
        reason = f"<origin> has a {QUATERNION} of length {length:.6g}"
        document.bear(owner, reason, "a quaternion of unit length", "divided by it, as Pinocchio does")
    return rotation_quaternion(quaternion)
