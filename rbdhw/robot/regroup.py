"""Inertial regrouping: move inertia that a joint does not feel to the body on its other side."""

from __future__ import annotations

from dataclasses import replace

from rbdhw.robot.model import BASE, Inertia, JointKind, Placement, Robot
from rbdhw.robot.spatial import add_inertia, move_inertia

ROUNDING = 1e-13
"""A second moment below this fraction of the rotational inertia counts as a rounding error."""


def regroup_inertias(robot: Robot) -> Robot:
    """Return ``robot`` with as many inertial parameters zero as its joints allow (base parameters).

    A revolute joint does not feel mass on its axis: a mass ``m``, a first moment ``(0, 0, h_z)`` and a
    second moment ``s`` along z, which is the rotational inertia ``diag(s, s, 0)``. Its moment about the axis
    is zero and it looks the same at every joint angle, so it can be moved to the parent. What remains has
    ``m = h_z = 0`` and ``I_xx + I_yy = I_zz``. A prismatic joint does not feel its body's rotational
    inertia. A spherical joint does not feel a mass at its centre. Planar and floating joints are left alone.
    Bodies are processed from the leaves to the root. What reaches the base is added to ``unfelt``, which has
    no effect on the joints if the base is fixed or its motion is given.

    Results in joint space keep their values, including those of mimics: a joint that feels no inertia at any
    motion of its own feels none when it follows another. The resulting parameters are not those of a rigid
    body; each body keeps its own as ``whole``. Joints must be elementary and their axes z
    (:func:`rbdhw.robot.frames.align_axes`). Source: Khalil and Dombre, *Modeling, Identification and Control
    of Robots*, section 9.4 (base inertial parameters).
    """
    bodies = [replace(body, whole=body.inertia) for body in robot.bodies]
    at_base = robot.unfelt
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        if body.joint.kind in (JointKind.PLANAR, JointKind.FLOATING):
            continue
        unfelt, felt = _split_inertia(body.inertia, body.joint.kind)
        placement = body.joint.placement
        if body.joint.kind is JointKind.PRISMATIC:
            placement = Placement(placement.rotation)  # a couple has no point of application
        moved = move_inertia(unfelt, placement)
        bodies[i] = replace(body, inertia=felt)
        if body.parent == BASE:
            at_base = add_inertia(at_base, moved)
        else:
            parent = bodies[body.parent]
            bodies[body.parent] = replace(parent, inertia=add_inertia(parent.inertia, moved))
    return replace(robot, bodies=tuple(bodies), unfelt=at_base)


def _split_inertia(inertia: Inertia, kind: JointKind) -> tuple[Inertia, Inertia]:
    """Split ``inertia`` into the part that a joint about or along z does not feel, and the rest."""
    if kind is JointKind.SPHERICAL:
        return Inertia(inertia.mass), replace(inertia, mass=0.0)
    if kind is JointKind.PRISMATIC:
        return Inertia(rotational=inertia.rotational), replace(inertia, rotational=Inertia().rotational)
    (x, y, z), (xx, xy, xz, yy, yz, zz) = inertia.first_moment, inertia.rotational
    along_z = 0.5 * (xx + yy - zz)
    if abs(along_z) <= ROUNDING * zz:
        along_z = 0.0
    unfelt = Inertia(inertia.mass, (0.0, 0.0, z), (along_z, 0.0, 0.0, along_z, 0.0, 0.0))
    felt = Inertia(0.0, (x, y, 0.0), (xx - along_z, xy, xz, yy - along_z, yz, zz))
    return unfelt, felt
