"""Independent references for tests: a Robot as a Pinocchio model, and a plain 6x6 RNEA of any dtype."""

import numpy as np
import pinocchio as pin

from rbdhw.robot.link_frames import BodyFrame
from rbdhw.robot.model import BASE, Inertia, Joint, JointKind, Placement, Robot
from rbdhw.robot.spatial import turn_onto_z


def pinocchio_model(robot: Robot, split: bool = False) -> pin.Model:
    """``robot`` built joint by joint, its mimics as free as the others.

    Revolute and continuous joints become plain revolute ones, so that every one-DoF joint has one
    coordinate (see :func:`to_pinocchio_q`); :func:`pinocchio_joints` says which joint is whose. ``split``
    makes two revolute joints of each universal one: Pinocchio's derivatives take every motion subspace for
    constant in its body, which a universal joint's is not. Where the base's motion is given, the base is
    free. A body whose mass is zero but whose first moment is not (as inertial regrouping leaves) has no
    Pinocchio inertia: ValueError.
    """
    model = pin.Model()
    model.name = robot.name
    model.gravity.linear = np.array(robot.gravity)
    if robot.base_given:
        model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "given base")
    frames = [_body_in_joint(body.joint) for body in robot.bodies]
    joints = pinocchio_joints(robot, split)
    for body, frame, joint in zip(robot.bodies, frames, joints, strict=True):
        at_base = body.parent == BASE
        parent = int(robot.base_given) if at_base else joints[body.parent]
        pose = se3(body.joint.placement) * frame.inverse()
        pose = pose if at_base else frames[body.parent] * pose
        if split and body.joint.kind is JointKind.UNIVERSAL:
            first = pin.JointModelRevoluteUnaligned(np.array(body.joint.axis))
            parent = model.addJoint(parent, first, pose, f"{body.joint.name} first")
            second = pin.JointModelRevoluteUnaligned(np.array(body.joint.second_axis))
            added = model.addJoint(parent, second, pin.SE3.Identity(), body.joint.name)
        else:
            added = model.addJoint(parent, _joint_model(body.joint), pose, body.joint.name)
        assert added == joint
        model.appendBodyToJoint(joint, _inertia(body.name, body.inertia), frame)
    undriven = np.zeros(6 * robot.base_given)
    model.armature = np.concatenate([undriven, robot.armature])
    model.damping = np.concatenate([undriven, robot.damping])
    return model


def pinocchio_joints(robot: Robot, split: bool = False) -> list[int]:
    """For each body, the joint of :func:`pinocchio_model` that carries it."""
    count = [2 if split and body.joint.kind is JointKind.UNIVERSAL else 1 for body in robot.bodies]
    return [int(total) + int(robot.base_given) for total in np.cumsum(count)]


def to_pinocchio_q(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The user's configurations ``q (..., nq)`` as those of :func:`pinocchio_model`.

    Offsets are added, mimics follow, planar joints have the cosine and sine of their angle, and a base of
    given motion is at the world's origin.
    """
    q = np.asarray(q)
    base = np.broadcast_to([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (*q.shape[:-1], 7))
    columns = [base] if robot.base_given else []
    for body, indices in zip(robot.bodies, robot.q_of, strict=True):
        part = _coordinates(body.joint, q[..., indices])
        if body.joint.kind is JointKind.PLANAR:
            part = np.concatenate([part[..., :2], np.cos(part[..., 2:]), np.sin(part[..., 2:])], axis=-1)
        columns.append(part)
    return np.concatenate(columns, axis=-1)


def velocity_map(robot: Robot) -> np.ndarray:
    """The matrix G that takes the user's ``v`` to that of :func:`pinocchio_model`; a given base gets none."""
    rows = [np.zeros((6, robot.nv))] if robot.base_given else []
    unit = np.eye(robot.nv)
    rows += [
        _ratio(body.joint) * unit[indices] for body, indices in zip(robot.bodies, robot.v_of, strict=True)
    ]
    return np.concatenate(rows)


def to_pinocchio_fext(robot: Robot, fext: np.ndarray, split: bool = False) -> pin.StdVec_Force:
    """One task's ``fext (bodies, 6)``, [force; moment] in link frames, as forces in joint frames."""
    joints = pinocchio_joints(robot, split)
    forces = pin.StdVec_Force([pin.Force.Zero()] * (max(joints, default=int(robot.base_given)) + 1))
    for body, joint, wrench in zip(robot.bodies, joints, fext, strict=True):
        frame = _body_in_joint(body.joint) * se3(body.link_frame)
        forces[joint] = frame.act(pin.Force(wrench))
    return forces


def se3(placement: Placement) -> pin.SE3:
    """``placement`` as Pinocchio's type."""
    return pin.SE3(np.array(placement.rotation), np.array(placement.translation))


def _joint_model(joint: Joint) -> pin.JointModel:
    axis = np.array(joint.axis)
    match joint.kind:
        case JointKind.PRISMATIC:
            return pin.JointModelPrismaticUnaligned(axis)
        case JointKind.HELICAL:
            return pin.JointModelHelicalUnaligned(axis, joint.pitch)
        case JointKind.CYLINDRICAL:
            both = pin.JointModelComposite(pin.JointModelRevoluteUnaligned(axis))
            both.addJoint(pin.JointModelPrismaticUnaligned(axis))
            return both
        case JointKind.UNIVERSAL:
            return pin.JointModelUniversal(axis, np.array(joint.second_axis))
        case JointKind.TRANSLATION:
            return pin.JointModelTranslation()
        case JointKind.PLANAR:
            return pin.JointModelPlanar()
        case JointKind.SPHERICAL:
            return pin.JointModelSpherical()
        case JointKind.FLOATING:
            return pin.JointModelFreeFlyer()
    return pin.JointModelRevoluteUnaligned(axis)


def _body_in_joint(joint: Joint) -> pin.SE3:
    """The pose of our body frame in Pinocchio's joint frame: its planar joint always lies across z."""
    if joint.kind is not JointKind.PLANAR:
        return pin.SE3.Identity()
    return pin.SE3(np.array(turn_onto_z(joint.axis)).T, np.zeros(3))


def _ratio(joint: Joint) -> float:
    """The joint's velocity by the user's that moves it."""
    return joint.mimic.multiplier if joint.mimic else 1.0


def _coordinates(joint: Joint, q: np.ndarray) -> np.ndarray:
    """The joint's own coordinates, from the user's ``q (..., nq_i)`` that move it."""
    followed = joint.mimic.multiplier * q + joint.mimic.offset if joint.mimic else q
    return followed + joint.offset if joint.kind.nq == 1 else followed


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
    """Joint torques of one task by 6x6 RNEA; complex inputs are allowed.

    Unlike Pinocchio it takes any six-by-six inertia, and complex steps through it give derivatives.
    Quaternions are brought to unit length.
    """
    dtype = np.result_type(q, v, a, float)
    motion, acceleration, force, transforms, subspaces = [], [], [], [], []
    gravity = np.concatenate([np.zeros(3), -np.array(robot.gravity)]).astype(dtype)
    for i, body in enumerate(robot.bodies):
        ratio = _ratio(body.joint)
        x, s, s_rate = _across(body.joint, q[robot.q_of[i]], ratio * v[robot.v_of[i]])
        rate = s @ (ratio * v[robot.v_of[i]])
        rate_of_rate = s @ (ratio * a[robot.v_of[i]]) + s_rate @ (ratio * v[robot.v_of[i]])
        at_base = body.parent == BASE
        motion.append(rate if at_base else x @ motion[body.parent] + rate)
        before = gravity if at_base else acceleration[body.parent]
        acceleration.append(x @ before + rate_of_rate + _crm(motion[i]) @ rate)
        inertia = spatial_inertia(body.inertia)
        force.append(inertia @ acceleration[i] - _crm(motion[i]).T @ inertia @ motion[i])
        if fext is not None:
            link = motion_transform(np.array(body.link_frame.rotation), body.link_frame.translation)
            force[i] = force[i] - link.T @ np.roll(fext[i], 3)
        transforms.append(x)
        subspaces.append(s)
    torques = np.zeros(robot.nv, dtype)
    for i, body in reversed(list(enumerate(robot.bodies))):
        torques[robot.v_of[i]] += _ratio(body.joint) * subspaces[i].T @ force[i]
        if body.parent != BASE:
            force[body.parent] = force[body.parent] + transforms[i].T @ force[i]
    return torques


def motion_transform(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """6x6 map of motion vectors from the parent frame into the frame at (rotation, translation) in it."""
    turn = rotation.T
    return np.block([[turn, np.zeros((3, 3))], [-turn @ cross(np.asarray(translation)), turn]])


def _across(joint: Joint, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X from the parent's frame, the motion subspace in the body's, and its rate of change there."""
    rotation, translation = np.array(joint.placement.rotation), np.array(joint.placement.translation)
    turn, shift = _pose(joint, _coordinates(joint, q))
    x = motion_transform(rotation @ turn, translation + rotation @ shift)
    subspace = _subspace(joint)
    change = np.zeros_like(subspace)
    if joint.kind is JointKind.UNIVERSAL:  # the second turn moves the first axis through the body
        second = np.array(joint.second_axis)
        first = _rotation(second, q[1]).T @ joint.axis
        subspace = np.stack([[*first, 0, 0, 0], [*second, 0, 0, 0]], axis=1)
        change = np.zeros_like(subspace, np.result_type(subspace, v))
        change[:3, 0] = -cross(second * v[1]) @ first
    return x, subspace, change


def _pose(joint: Joint, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far the joint turns its body (a matrix) and shifts it, in its own frame at zero."""
    axis, level, still = np.array(joint.axis), np.eye(3), np.zeros(3)
    match joint.kind:
        case JointKind.PRISMATIC:
            return level, axis * q[0]
        case JointKind.HELICAL:
            return _rotation(axis, q[0]), joint.pitch * axis * q[0]
        case JointKind.CYLINDRICAL:
            return _rotation(axis, q[0]), axis * q[1]
        case JointKind.UNIVERSAL:
            return _rotation(axis, q[0]) @ _rotation(np.array(joint.second_axis), q[1]), still
        case JointKind.TRANSLATION:
            return level, q
        case JointKind.PLANAR:
            return _rotation(axis, q[2]), np.array(turn_onto_z(joint.axis))[:, :2] @ q[:2]
        case JointKind.SPHERICAL:
            return _attitude(q), still
        case JointKind.FLOATING:
            return _attitude(q[3:]), q[:3]
    return _rotation(axis, q[0]), still


def _subspace(joint: Joint) -> np.ndarray:
    """The motion subspace (6, nv_i) in the body frame, of joints that have a constant one."""
    axis, angular, linear = np.array(joint.axis), np.eye(6)[:, :3], np.eye(6)[:, 3:]
    match joint.kind:
        case JointKind.PRISMATIC:
            return (linear @ axis)[:, None]
        case JointKind.HELICAL:
            return (angular @ axis + joint.pitch * linear @ axis)[:, None]
        case JointKind.CYLINDRICAL:
            return np.stack([angular @ axis, linear @ axis], axis=1)
        case JointKind.TRANSLATION:
            return linear
        case JointKind.PLANAR:
            x, y, _ = np.array(turn_onto_z(joint.axis)).T
            return np.stack([linear @ x, linear @ y, angular @ axis], axis=1)
        case JointKind.SPHERICAL:
            return angular
        case JointKind.FLOATING:
            return np.hstack([linear, angular])
    return (angular @ axis)[:, None]


def _rotation(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    k = cross(axis)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def _attitude(quaternion: np.ndarray) -> np.ndarray:
    """The rotation of a quaternion ``[x y z w]``; its length is taken without conjugation, as steps need."""
    unit = quaternion / np.sqrt(quaternion @ quaternion)
    k = cross(unit[:3])
    return np.eye(3) + 2 * unit[3] * k + 2 * k @ k


def _crm(motion: np.ndarray) -> np.ndarray:
    angular, linear = cross(motion[:3]), cross(motion[3:])
    return np.block([[angular, np.zeros((3, 3))], [linear, angular]])


def placement_in_joint(robot: Robot, frame: BodyFrame) -> pin.SE3:
    """The pose of a frame in Pinocchio's joint frame."""
    return _body_in_joint(robot.bodies[frame.body].joint) * se3(frame.placement)
