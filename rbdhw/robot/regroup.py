"""Inertial regrouping: what a joint cannot feel moves to the body on the joint's other side."""

from __future__ import annotations

from dataclasses import replace

from rbdhw.robot.model import BASE, Inertia, JointKind, Placement, Robot
from rbdhw.robot.spatial import add_inertia, move_inertia

ROUNDING = 1e-13
"""A second moment below this fraction of the rotational inertia is what is left of a cancellation."""


def regroup_inertias(robot: Robot) -> Robot:
    """``robot`` with as many inertial parameters zero as its joints allow (base parameters).

    A revolute joint does not feel mass on its axis: a mass ``m``, a first moment ``(0, 0, h_z)`` and a
    second moment ``s`` along z, that is the rotational inertia ``diag(s, s, 0)``. Neither its force about
    the axis nor its shape changes with the joint's angle, so that it may ride on the parent. That leaves
    ``m = h_z = 0`` and ``I_xx + I_yy = I_zz``. A prismatic joint does not feel its body's rotational
    inertia, nor a spherical one a mass at its centre. Planar and floating joints are left alone. Taken from
    the leaves to the root; what reaches the base is added to ``base_inertia``, which neither a fixed base
    nor one of given motion feels.

    Joint-space results keep their values, those of mimics too: what a joint does not feel however it moves,
    it does not feel when it follows another. Inertias become parameters that no rigid body has. Joints have
    to be elementary, their axes z (:func:`rbdhw.robot.frames.align_axes`). Source: Khalil and Dombre,
    *Modeling, Identification and Control of Robots*, section 9.4 (base inertial parameters).
    """
    bodies = list(robot.bodies)
    base_inertia = robot.base_inertia
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        if body.joint.kind in (JointKind.PLANAR, JointKind.FLOATING):
            continue
        unfelt, felt = _split_inertia(body.inertia, body.joint.kind)
        placement = body.joint.placement
        if body.joint.kind is JointKind.PRISMATIC:
            placement = Placement(placement.rotation)  # a couple has no point of attack
        moved = move_inertia(unfelt, placement)
        bodies[i] = replace(body, inertia=felt)
        if body.parent == BASE:
            base_inertia = add_inertia(base_inertia, moved)
        else:
            parent = bodies[body.parent]
            bodies[body.parent] = replace(parent, inertia=add_inertia(parent.inertia, moved))
    return replace(robot, bodies=tuple(bodies), base_inertia=base_inertia)


def _split_inertia(inertia: Inertia, kind: JointKind) -> tuple[Inertia, Inertia]:
    """``inertia`` as the part that a joint (about or along z) does not feel, and the rest."""
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
