"""Independent references for tests: a Robot as a Pinocchio model, and a plain 6x6 RNEA of any dtype."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from rbdhw.robot.model import BASE, Inertia, Joint, JointKind, Placement, Robot


def pinocchio_model(robot: Robot) -> pin.Model:
    """``robot`` built joint by joint: body ``i`` is Pinocchio's joint ``i + 1``.

    Revolute and continuous joints become plain revolute ones, so that every one-DoF joint has one
    coordinate: ``q + offset`` (see :func:`to_pinocchio_q`). A body whose mass is zero but whose first
    moment is not (as inertial regrouping leaves) has no Pinocchio inertia: ValueError.
    """
    model = pin.Model()
    model.name = robot.name
    model.gravity.linear = np.array(robot.gravity)
    for body in robot.bodies:
        parent = 0 if body.parent == BASE else body.parent + 1
        joint = model.addJoint(parent, _joint_model(body.joint), se3(body.joint.placement), body.joint.name)
        model.appendBodyToJoint(joint, _inertia(body.name, body.inertia), pin.SE3.Identity())
    return model


def to_pinocchio_q(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The user's configurations ``q (..., nq)`` as those of :func:`pinocchio_model`: joint offsets added."""
    offsets = [
        offset for body in robot.bodies for offset in [body.joint.offset] + [0.0] * (body.joint.kind.nq - 1)
    ]
    return np.asarray(q) + np.array(offsets)


def to_pinocchio_fext(robot: Robot, fext: np.ndarray) -> pin.StdVec_Force:
    """One task's ``fext (bodies, 6)``, [moment; force] in link frames, as forces in joint frames."""
    forces = pin.StdVec_Force()
    forces.append(pin.Force.Zero())
    for body, wrench in zip(robot.bodies, fext, strict=True):
        forces.append(se3(body.link_frame).act(pin.Force(wrench[3:], wrench[:3])))
    return forces


def se3(placement: Placement) -> pin.SE3:
    """``placement`` as Pinocchio's type."""
    return pin.SE3(np.array(placement.rotation), np.array(placement.translation))


def _joint_model(joint: Joint) -> pin.JointModel:
    if joint.kind is JointKind.FLOATING:
        return pin.JointModelFreeFlyer()
    if joint.kind is JointKind.PRISMATIC:
        return pin.JointModelPrismaticUnaligned(np.array(joint.axis))
    return pin.JointModelRevoluteUnaligned(np.array(joint.axis))


def _inertia(name: str, inertia: Inertia) -> pin.Inertia:
    about_origin = symmetric(inertia)
    first = np.array(inertia.first_moment)
    if inertia.mass == 0.0:
        if first.any():
            raise ValueError(f"body {name!r} has a first moment but no mass: Pinocchio cannot hold it")
        return pin.Inertia(0.0, np.zeros(3), about_origin)
    centre = first / inertia.mass
    return pin.Inertia(inertia.mass, centre, about_origin + inertia.mass * cross(centre) @ cross(centre))


def symmetric(inertia: Inertia) -> np.ndarray:
    """The rotational inertia about the frame's origin as a 3x3 matrix."""
    xx, xy, xz, yy, yz, zz = inertia.rotational
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def cross(a: np.ndarray) -> np.ndarray:
    """The 3x3 matrix of ``a x``."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def spatial_inertia(inertia: Inertia) -> np.ndarray:
    """The 6x6 inertia about the frame's origin, ``[angular; linear]``; it need not be physical."""
    h = cross(np.array(inertia.first_moment))
    return np.block([[symmetric(inertia), h], [h.T, inertia.mass * np.eye(3)]])


def rnea(
    robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, fext: np.ndarray | None = None
) -> np.ndarray:
    """Joint torques of one task by 6x6 RNEA; complex inputs are allowed (not for a floating joint's ``q``).

    Unlike Pinocchio it takes any six-by-six inertia, and complex steps through it give derivatives.
    """
    dtype = np.result_type(q, v, a, float)
    motion, acceleration, force, transforms, subspaces = [], [], [], [], []
    gravity = np.concatenate([np.zeros(3), -np.array(robot.gravity)]).astype(dtype)
    iq = iv = 0
    for i, body in enumerate(robot.bodies):
        kind = body.joint.kind
        x, s = _joint_transform(body.joint, q[iq : iq + kind.nq])
        rate, rate_of_rate = s @ v[iv : iv + kind.nv], s @ a[iv : iv + kind.nv]
        at_base = body.parent == BASE
        motion.append(rate if at_base else x @ motion[body.parent] + rate)
        before = gravity if at_base else acceleration[body.parent]
        acceleration.append(x @ before + rate_of_rate + _crm(motion[i]) @ rate)
        inertia = spatial_inertia(body.inertia)
        force.append(inertia @ acceleration[i] - _crm(motion[i]).T @ inertia @ motion[i])
        if fext is not None:
            link = motion_transform(np.array(body.link_frame.rotation), body.link_frame.translation)
            force[i] = force[i] - link.T @ fext[i]
        transforms.append(x)
        subspaces.append(s)
        iq, iv = iq + kind.nq, iv + kind.nv
    torques: list[np.ndarray] = []
    for i in reversed(range(len(robot.bodies))):
        torques.insert(0, subspaces[i].T @ force[i])
        parent = robot.bodies[i].parent
        if parent != BASE:
            force[parent] = force[parent] + transforms[i].T @ force[i]
    return np.concatenate(torques) if torques else np.zeros(0, dtype)


def motion_transform(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """6x6 map of motion vectors from the parent frame into the frame at (rotation, translation) in it."""
    turn = rotation.T
    return np.block([[turn, np.zeros((3, 3))], [-turn @ cross(np.asarray(translation)), turn]])


def _joint_transform(joint: Joint, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rotation, translation = np.array(joint.placement.rotation), np.array(joint.placement.translation)
    if joint.kind is JointKind.FLOATING:
        pose = pin.XYZQUATToSE3(q)
        subspace = np.roll(np.eye(6), 3, axis=0)  # the user's [linear; angular] as [angular; linear]
        return motion_transform(rotation @ pose.rotation, translation + rotation @ pose.translation), subspace
    axis, coordinate = np.array(joint.axis), q[0] + joint.offset
    if joint.kind is JointKind.PRISMATIC:
        moved = translation + rotation @ axis * coordinate
        return motion_transform(rotation, moved), np.concatenate([np.zeros(3), axis])[:, None]
    k = cross(axis)
    turned = rotation @ (np.eye(3) + np.sin(coordinate) * k + (1 - np.cos(coordinate)) * k @ k)
    return motion_transform(turned, translation), np.concatenate([axis, np.zeros(3)])[:, None]


def _crm(motion: np.ndarray) -> np.ndarray:
    angular, linear = cross(motion[:3]), cross(motion[3:])
    return np.block([[angular, np.zeros((3, 3))], [linear, angular]])
