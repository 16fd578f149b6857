"""Choose body frames: rotate joint axes onto z, and rotate and shift frames about and along their axes.

A body's frame may be rotated about its joint's axis z and shifted along it. The joint's frame on the parent's
side may also be rotated about z. A constant offset of the joint's coordinate absorbs the rotations. Results
in joint space do not change (Khalil and Dombre, *Modeling, Identification and Control of Robots*, section
9.4), but the number of constants that are zero does. Robots must have elementary joints
(:mod:`rbdhw.robot.elementary`). All functions except :func:`align_axes` require that the axes are z already.

The frames of spherical and floating joints are fixed, because the coordinates refer to the body frame. For
the same reason the frame of a planar joint cannot be rotated, but it may be shifted along z.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import atan2, pi, remainder

from rbdhw.robot.model import BASE, Body, Joint, JointKind, Placement, Robot, Vector3
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.spatial import (
    ROUNDING,
    SNAP,
    apply,
    compose,
    inverse,
    is_signed_permutation,
    move_inertia,
    rotation_z,
    scale,
    transpose,
    turn_onto_z,
)

Z: Vector3 = (0.0, 0.0, 1.0)
_STILL: Vector3 = (0.0, 0.0, 0.0)
_PINNED = (JointKind.SPHERICAL, JointKind.FLOATING)
"""Kinds of joints whose body frames cannot be moved."""


def align_axes(robot: Robot) -> Robot:
    """Return ``robot`` with z as the axis, in the body's frame, of every joint that has an axis.

    The x and y coordinates of a planar joint are along x and y of the new frame. Axes along +-x, +-y and +-z
    are rotated by a signed permutation, which keeps every zero of a placement.
    """

    def align(robot: Robot, i: int) -> Robot:
        joint = robot.bodies[i].joint
        if joint.axis == Z:
            return robot
        pose = Placement(turn_onto_z(joint.axis))
        return _reframe(robot, i, pose, replace(joint, axis=Z, placement=compose(joint.placement, pose)))

    return _for_each(robot, align)


def place_frame(robot: Robot, i: int, turn: float = 0.0, shift: Vector3 = _STILL) -> Robot:
    """Return ``robot`` with body ``i``'s frame moved by ``shift`` (m, in the frame) and rotated by ``turn``
    (rad) about z.

    ``shift`` must be along z, except for a prismatic joint, whose frame may lie anywhere. The offset of a
    revolute joint absorbs the rotation; the frame of a planar joint must not be rotated. The rotation can
    remove zeros from the placements of children; their joint frames are rotated back with
    :func:`straighten_joint`.
    """
    body = robot.bodies[i]
    joint = body.joint
    pose = Placement(rotation_z(turn), shift)
    if joint.kind.rotates:
        placement = compose(joint.placement, Placement(translation=shift))
        joint = replace(joint, placement=placement, offset=_wrap(joint.offset + turn))
    else:
        joint = replace(joint, placement=compose(joint.placement, pose))
    robot = _reframe(robot, i, pose, joint)
    for child in robot.children[i] if turn else ():
        robot = straighten_joint(robot, child)
    return robot


def straighten_joint(robot: Robot, i: int) -> Robot:
    """Return ``robot`` with the joint frame of body ``i`` rotated to give the most zeros in its placement.

    The x axis of the joint frame is put on the common normal of the parent's z and its own z, or along the
    parent's x if the two are parallel. A placement that is a signed permutation does not change. Only
    revolute joints are rotated; for others ``robot`` is returned unchanged.
    """
    joint = robot.bodies[i].joint
    rotation = joint.placement.rotation
    if not joint.kind.rotates or is_signed_permutation(rotation):
        return robot
    axis = apply(rotation, Z)
    normal: Vector3 = (-axis[1], axis[0], 0.0)
    x, y, _ = apply(transpose(rotation), normal if _lean(axis) else (1.0, 0.0, 0.0))
    if x < 0.0:
        x, y = -x, -y
    turn = atan2(y, x)
    placement = compose(joint.placement, Placement(rotation_z(turn)))
    moved = replace(joint, placement=placement, offset=_wrap(joint.offset - turn))
    return _with_body(robot, i, replace(robot.bodies[i], joint=moved))


def straighten_joints(robot: Robot) -> Robot:
    """Apply :func:`straighten_joint` to every body."""
    return _for_each(robot, straighten_joint)


def intersect_axes(robot: Robot, toward_children: bool = True) -> Robot:
    """Return ``robot`` with each frame's origin at the point of its axis closest to a neighbour's axis.

    With ``toward_children``, the neighbour is the first child, or the parent for a leaf. Otherwise it is the
    parent, or the first child for a body on the base. Where axes intersect, as in a shoulder or a wrist, the
    offset between the frames becomes zero. Frames are shifted but not rotated.
    """

    def shift_frame(robot: Robot, i: int) -> Robot:
        children = [_foot_toward_child(robot, i, child) for child in robot.children[i][:1]]
        parent = [] if robot.bodies[i].parent == BASE else [_foot_toward_parent(robot, i)]
        choices = children + parent if toward_children else parent + children
        return place_frame(robot, i, shift=choices[0]) if choices else robot

    return _for_each(robot, shift_frame)


def common_normal_frames(robot: Robot) -> Robot:
    """Return ``robot`` with modified Denavit-Hartenberg frames.

    Each frame has its origin and its x axis on the common normal with its first child's axis. The frames of
    leaves are shifted toward their parents. Source: Craig, *Introduction to Robotics*, section 3.4.
    """

    def turn_frame(robot: Robot, i: int) -> Robot:
        if robot.bodies[i].joint.kind is JointKind.PLANAR:
            return robot
        turns = [_turn_toward_child(robot, child) for child in robot.children[i][:1]]
        return place_frame(robot, i, turn=turns[0]) if turns else robot

    return straighten_joints(_for_each(intersect_axes(robot), turn_frame))


def turn_leaves(robot: Robot) -> Robot:
    """Return ``robot`` with the frame of each leaf rotated so that its centre of mass is in the x-z plane.

    This makes the first moment's y zero. Only leaves on revolute joints are rotated; the only cost is a
    joint offset.
    """

    def turn_frame(robot: Robot, i: int) -> Robot:
        body = robot.bodies[i]
        if robot.children[i] or not body.joint.kind.rotates:
            return robot
        return place_frame(robot, i, turn=_turn_of_moment(body))

    return _for_each(robot, turn_frame)


def frame_candidates(robot: Robot, i: int) -> list[Robot]:
    """Return the robots in which another frame of body ``i`` may have more zero constants.

    The candidates are:

    - shifts toward the axes of the parent and of each child;
    - rotations of x onto the common normal with each child's axis;
    - for a prismatic joint, shifts of the origin onto the parent's or a child's origin, or onto the centre
      of mass;
    - for a revolute joint whose children have parallel axes, rotations that zero the first moment's y or the
      product of inertia xy that remains after regrouping.

    A planar body's frame is only shifted along z. Floating and spherical bodies have no candidates.
    Candidates equal to ``robot`` are left out.
    """
    body, children = robot.bodies[i], robot.children[i]
    kind = body.joint.kind
    if kind in _PINNED:
        return []
    shifts = [_foot_toward_child(robot, i, child) for child in children]
    if body.parent != BASE:
        shifts.append(_foot_toward_parent(robot, i))
    turns = [] if kind is JointKind.PLANAR else [_turn_toward_child(robot, child) for child in children]
    regrouped = regroup_inertias(robot).bodies[i]
    if kind is JointKind.PRISMATIC:
        mass = regrouped.inertia.mass
        shifts.extend([scale(1.0 / mass, regrouped.inertia.first_moment)] if mass else [])
    elif kind.rotates and not any(_lean(_axis(robot.bodies[child].joint)) for child in children):
        turns.extend([_turn_of_moment(regrouped), _turn_of_product(regrouped)])
    candidates = [place_frame(robot, i, shift=shift) for shift in dict.fromkeys(shifts)]
    candidates.extend(place_frame(robot, i, turn=turn) for turn in dict.fromkeys(turns))
    return [candidate for candidate in candidates if candidate != robot]


def reframe(bodies: Sequence[Body], i: int, pose: Placement) -> list[Body]:
    """Return bodies, that of body ``i`` with its frame at ``pose`` in the present one, at its joint."""
    back, moved = inverse(pose), list(bodies)
    inertia, link_frame = move_inertia(bodies[i].inertia, back), compose(back, bodies[i].link_frame)
    moved[i] = replace(bodies[i], inertia=inertia, link_frame=link_frame)
    for k, body in enumerate(bodies):
        if body.parent == i:
            placement = compose(back, body.joint.placement)
            moved[k] = replace(body, joint=replace(body.joint, placement=placement))
    return moved


def _for_each(robot: Robot, rewrite: Callable[[Robot, int], Robot]) -> Robot:
    """Apply ``rewrite`` to every body whose frame may move, parents first."""
    for i, body in enumerate(robot.bodies):
        if body.joint.kind not in _PINNED:
            robot = rewrite(robot, i)
    return robot


def _reframe(robot: Robot, i: int, pose: Placement, joint: Joint) -> Robot:
    """Return the robot after :func:`reframe`; ``joint`` replaces the body's joint."""
    bodies = reframe(robot.bodies, i, pose)
    bodies[i] = replace(bodies[i], joint=joint)
    return robot.with_bodies(bodies)


def _with_body(robot: Robot, i: int, body: Body) -> Robot:
    return robot.with_bodies((*robot.bodies[:i], body, *robot.bodies[i + 1 :]))


def _axis(joint: Joint) -> Vector3:
    """Return the joint's axis in the parent's frame."""
    return apply(joint.placement.rotation, joint.axis)


def _lean(axis: Vector3) -> bool:
    """Return whether an axis is not parallel to z."""
    return abs(axis[0]) >= SNAP or abs(axis[1]) >= SNAP


def _feet(joint: Joint) -> tuple[float, float]:
    """Return where the parent's z axis and the joint's axis are closest.

    Both values are coordinates along the axis from the origin of its frame (m).
    """
    axis, origin = _axis(joint), joint.placement.translation
    along = axis[0] * origin[0] + axis[1] * origin[1] + axis[2] * origin[2]
    if not _lean(axis):
        return origin[2], -along
    # Between the closest points of two lines the distance is stationary along both: two linear equations with
    # the determinant `lean`.
    lean = axis[0] * axis[0] + axis[1] * axis[1]
    return (origin[2] - axis[2] * along) / lean, (axis[2] * origin[2] - along) / lean


def _foot_toward_child(robot: Robot, i: int, child: int) -> Vector3:
    """Return the shift of body ``i``'s frame to the point of its axis closest to the child's axis.

    If the child's joint has no axis (spherical), its centre is used. If body ``i`` is prismatic, the shift
    goes to the child's origin.
    """
    joint = robot.bodies[child].joint
    origin = joint.placement.translation
    if robot.bodies[i].joint.kind is JointKind.PRISMATIC:
        return origin
    return (0.0, 0.0, origin[2] if joint.kind in _PINNED else _feet(joint)[0])


def _foot_toward_parent(robot: Robot, i: int) -> Vector3:
    """Return the shift of body ``i``'s frame to the point of its axis closest to the parent's axis.

    If body ``i`` is prismatic, the shift goes to the parent's origin.
    """
    joint = robot.bodies[i].joint
    if joint.kind is JointKind.PRISMATIC:
        return apply(transpose(joint.placement.rotation), scale(-1.0, joint.placement.translation))
    return (0.0, 0.0, _feet(joint)[1])


def _turn_toward_child(robot: Robot, child: int) -> float:
    """Return the rotation of the parent's frame that puts x on the common normal with the child's axis.

    It is zero if the child's axis already lies in a coordinate plane, because x or y is then such a normal.
    If the child's axis is parallel to z, or its joint has no axis, x points toward the child's origin.
    """
    joint = robot.bodies[child].joint
    axis, origin = _axis(joint), joint.placement.translation
    leans = _lean(axis) and joint.kind not in _PINNED
    x, y = (-axis[1], axis[0]) if leans else (origin[0], origin[1])
    return _small_turn(x, y)


def _turn_of_moment(body: Body) -> float:
    """Return the rotation about z that zeroes the first moment's y."""
    x, y, _ = body.inertia.first_moment
    return _small_turn(x, y)


def _turn_of_product(body: Body) -> float:
    """Return the rotation about z that zeroes the product of inertia xy."""
    xx, xy, _, yy, _, _ = body.inertia.rotational
    return 0.0 if abs(xy) <= ROUNDING * abs(xx - yy) else 0.5 * atan2(2.0 * xy, xx - yy)


def _small_turn(x: float, y: float) -> float:
    """Return the rotation of at most a right angle that puts x along +-(x, y).

    It is zero if (x, y) is already along x or y.
    """
    if min(abs(x), abs(y)) <= ROUNDING * max(abs(x), abs(y)):
        return 0.0
    return atan2(y, x) if x > 0.0 else atan2(-y, -x)


def _wrap(angle: float) -> float:
    """Return ``angle`` minus the nearest multiple of a full turn, within [-pi, pi] (rad)."""
    return remainder(angle, 2.0 * pi)
