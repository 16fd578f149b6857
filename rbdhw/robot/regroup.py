"""Inertial regrouping: what a joint cannot feel moves to the body on the joint's other side."""

from __future__ import annotations

from dataclasses import replace

from rbdhw.robot.model import BASE, Inertia, JointKind, Placement, Robot
from rbdhw.robot.spatial import add_inertia, move_inertia


def regroup_inertias(robot: Robot) -> Robot:
    """``robot`` with as many inertial parameters zero as its joints allow (base parameters).

    A revolute joint does not feel its body's axisymmetric part ``J(m, h_z, I_yy)``: rotational
    ``diag(I_yy, I_yy, 0)``, first moment ``(0, 0, h_z)``, mass ``m``. ``J S = 0`` and J commutes with the
    rotation, so that it may ride on the parent. That leaves ``m = h_z = I_yy = 0``. A prismatic joint
    does not feel its body's rotational inertia. Taken from the leaves to the root; what reaches the base
    is added to ``base_inertia``, which a fixed base does not feel.

    Joint-space results keep their values; inertias become parameters that no rigid body has. Joint axes
    have to be z (:func:`rbdhw.robot.frames.align_axes`). Source: ``math.md``, "Model rewrites".
    """
    bodies = list(robot.bodies)
    base_inertia = robot.base_inertia
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        if body.joint.kind is JointKind.FLOATING:
            continue
        unfelt, felt = _split(body.inertia, body.joint.kind)
        placement = body.joint.placement
        if not body.joint.kind.rotates:
            placement = Placement(placement.rotation)  # a couple has no point of attack
        moved = move_inertia(unfelt, placement)
        bodies[i] = replace(body, inertia=felt)
        if body.parent == BASE:
            base_inertia = add_inertia(base_inertia, moved)
        else:
            parent = bodies[body.parent]
            bodies[body.parent] = replace(parent, inertia=add_inertia(parent.inertia, moved))
    return replace(robot, bodies=tuple(bodies), base_inertia=base_inertia)


def _split(inertia: Inertia, kind: JointKind) -> tuple[Inertia, Inertia]:
    """``inertia`` as the part that a joint about or along z does not feel, and the rest."""
    if not kind.rotates:
        return Inertia(rotational=inertia.rotational), replace(inertia, rotational=Inertia().rotational)
    (x, y, z), (xx, xy, xz, yy, yz, zz) = inertia.first_moment, inertia.rotational
    unfelt = Inertia(inertia.mass, (0.0, 0.0, z), (yy, 0.0, 0.0, yy, 0.0, 0.0))
    felt = Inertia(0.0, (x, y, 0.0), (xx - yy, xy, xz, 0.0, yz, zz))
    return unfelt, felt
