"""Where body frames lie: joint axes onto z, and frames turned about and shifted along their axes.

A body's frame may be turned about and shifted along its joint's axis z, and the joint's frame on the
parent's side may be turned about it too: a constant offset of the joint's coordinate absorbs the turns.
Joint-space results do not change (Khalil and Dombre, section 9.4), but the number of constants that are
zero does. Robots have elementary joints (:mod:`rbdhw.robot.elementary`), and every function but
:func:`align_axes` wants the axes on z already. Spherical and floating joints stay as they are: their
coordinates are the body frame itself. So is the turn of a planar one, whose frame may be shifted along z.
"""

from __future__ import annotations

from collections.abc import Callable
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
"""Joints whose bodies' frames have to stay where they are."""


def align_axes(robot: Robot) -> Robot:
    """``robot`` with z as the axis of every joint that has one, in its body's frame.

    A planar joint's x and y are then those of the frame, as its coordinates have them. Axes along +-x, +-y
    and +-z are turned by a signed permutation, so that no zero of a placement is lost.
    """

    def aligned(robot: Robot, i: int) -> Robot:
        joint = robot.bodies[i].joint
        if joint.axis == Z:
            return robot
        pose = Placement(turn_onto_z(joint.axis))
        return _reframe(robot, i, pose, replace(joint, axis=Z, placement=compose(joint.placement, pose)))

    return _for_each(robot, aligned)


def place_frame(robot: Robot, i: int, turn: float = 0.0, shift: Vector3 = _STILL) -> Robot:
    """``robot`` with body ``i``'s frame moved by ``shift`` (m, in the frame) and turned by ``turn`` (rad).

    ``shift`` is along z, except for a prismatic joint, whose frame may lie anywhere. The joint's offset
    absorbs the turn of a revolute joint; a planar joint's frame is not to be turned. Children whose
    placements the turn robs of zeros have their joint frames turned back as far as that restores them.
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
    """``robot`` with the most zeros in body ``i``'s placement that a turn of its joint frame can give.

    The joint frame's x is laid along the common normal of the parent's z and its own, or along the
    parent's x where the two are parallel; a signed permutation is left alone. Revolute joints only:
    others are returned unchanged.
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
    """``robot`` with :func:`straighten_joint` done for every body."""
    return _for_each(robot, straighten_joint)


def intersect_axes(robot: Robot, toward_children: bool = True) -> Robot:
    """``robot`` with each frame's origin where its axis comes closest to a neighbour's.

    The neighbour is the first child (``toward_children``; the parent for a leaf) or the parent (the
    first child for a body on the base). Where axes intersect, as in a shoulder or a wrist, the offset
    between the frames vanishes. Frames are shifted, not turned.
    """

    def shifted(robot: Robot, i: int) -> Robot:
        children = [_foot_toward_child(robot, i, child) for child in robot.children[i][:1]]
        parent = [] if robot.bodies[i].parent == BASE else [_foot_toward_parent(robot, i)]
        choices = children + parent if toward_children else parent + children
        return place_frame(robot, i, shift=choices[0]) if choices else robot

    return _for_each(robot, shifted)


def common_normal_frames(robot: Robot) -> Robot:
    """``robot`` with modified Denavit-Hartenberg frames (Craig, *Introduction to Robotics*, section 3.4).

    Each frame has its origin and its x axis on the common normal with its first child's axis; leaves are
    shifted toward their parents.
    """

    def turned(robot: Robot, i: int) -> Robot:
        if robot.bodies[i].joint.kind is JointKind.PLANAR:
            return robot
        turns = [_turn_toward_child(robot, child) for child in robot.children[i][:1]]
        return place_frame(robot, i, turn=turns[0]) if turns else robot

    return straighten_joints(_for_each(intersect_axes(robot), turned))


def turn_leaves(robot: Robot) -> Robot:
    """``robot`` with each leaf's frame turned so that its centre of mass lies in the x-z plane.

    A leaf on a revolute joint may be turned at no cost but the offset; it saves the first moment's y.
    """

    def turned(robot: Robot, i: int) -> Robot:
        body = robot.bodies[i]
        if robot.children[i] or not body.joint.kind.rotates:
            return robot
        return place_frame(robot, i, turn=_turn_of_moment(body))

    return _for_each(robot, turned)


def frame_candidates(robot: Robot, i: int) -> list[Robot]:
    """Other placements of body ``i``'s frame that may save constants, each differing from ``robot``.

    Shifts toward the parent's and each child's axis; turns onto the common normal with each child; for a
    prismatic joint, the origin on the parent's, a child's or the centre of mass; and where no child is
    turned out of its zeros, turns that zero the first moment's y or the product of inertia xy that
    regrouping leaves. A planar body's frame is only shifted along z, and a floating or spherical body has
    no candidates.
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


def _for_each(robot: Robot, rewrite: Callable[[Robot, int], Robot]) -> Robot:
    """``rewrite`` done for every body whose frame may move, from the root on."""
    for i, body in enumerate(robot.bodies):
        if body.joint.kind not in _PINNED:
            robot = rewrite(robot, i)
    return robot


def _reframe(robot: Robot, i: int, pose: Placement, joint: Joint) -> Robot:
    """Body ``i`` in the frame at ``pose`` in its present one, moved by ``joint``; children follow."""
    back = inverse(pose)
    body = robot.bodies[i]
    moved = replace(
        body,
        joint=joint,
        inertia=move_inertia(body.inertia, back),
        link_frame=compose(back, body.link_frame),
    )
    robot = _with_body(robot, i, moved)
    for child in robot.children[i]:
        attached = robot.bodies[child]
        placement = compose(back, attached.joint.placement)
        robot = _with_body(
            robot, child, replace(attached, joint=replace(attached.joint, placement=placement))
        )
    return robot


def _with_body(robot: Robot, i: int, body: Body) -> Robot:
    return robot.with_bodies((*robot.bodies[:i], body, *robot.bodies[i + 1 :]))


def _axis(joint: Joint) -> Vector3:
    """The joint's axis in the parent's frame."""
    return apply(joint.placement.rotation, joint.axis)


def _lean(axis: Vector3) -> bool:
    """Whether an axis leans away from z."""
    return abs(axis[0]) >= SNAP or abs(axis[1]) >= SNAP


def _feet(joint: Joint) -> tuple[float, float]:
    """Where the parent's z axis and the joint's come closest: how far up each, from its frame's origin."""
    axis, origin = _axis(joint), joint.placement.translation
    along = axis[0] * origin[0] + axis[1] * origin[1] + axis[2] * origin[2]
    if not _lean(axis):
        return origin[2], -along
    lean = axis[0] * axis[0] + axis[1] * axis[1]
    return (origin[2] - axis[2] * along) / lean, (axis[2] * origin[2] - along) / lean


def _foot_toward_child(robot: Robot, i: int, child: int) -> Vector3:
    """The shift of body ``i``'s frame to where it is closest to the child's axis (or origin: prismatic).

    A child without an axis, on a spherical joint, has its centre instead.
    """
    joint = robot.bodies[child].joint
    origin = joint.placement.translation
    if robot.bodies[i].joint.kind is JointKind.PRISMATIC:
        return origin
    return (0.0, 0.0, origin[2] if joint.kind in _PINNED else _feet(joint)[0])


def _foot_toward_parent(robot: Robot, i: int) -> Vector3:
    """The shift of body ``i``'s frame to where it is closest to the parent's axis (or origin: prismatic)."""
    joint = robot.bodies[i].joint
    if joint.kind is JointKind.PRISMATIC:
        return apply(transpose(joint.placement.rotation), scale(-1.0, joint.placement.translation))
    return (0.0, 0.0, _feet(joint)[1])


def _turn_toward_child(robot: Robot, child: int) -> float:
    """The turn of the parent's frame that lays its x on the common normal with the child's axis.

    Zero where the child's axis already lies in a coordinate plane: x or y is then such a normal. A child
    without an axis is taken for one that is parallel: x is laid toward its centre.
    """
    joint = robot.bodies[child].joint
    axis, origin = _axis(joint), joint.placement.translation
    leans = _lean(axis) and joint.kind not in _PINNED
    x, y = (-axis[1], axis[0]) if leans else (origin[0], origin[1])
    return _small_turn(x, y)


def _turn_of_moment(body: Body) -> float:
    """The turn that zeroes the first moment's y."""
    x, y, _ = body.inertia.first_moment
    return _small_turn(x, y)


def _turn_of_product(body: Body) -> float:
    """The turn that zeroes the product of inertia xy."""
    xx, xy, _, yy, _, _ = body.inertia.rotational
    return 0.0 if abs(xy) <= ROUNDING * abs(xx - yy) else 0.5 * atan2(2.0 * xy, xx - yy)


def _small_turn(x: float, y: float) -> float:
    """The turn within a right angle that lays x along +-(x, y); zero where x or y lies so already."""
    if min(abs(x), abs(y)) <= ROUNDING * max(abs(x), abs(y)):
        return 0.0
    return atan2(y, x) if x > 0.0 else atan2(-y, -x)


def _wrap(angle: float) -> float:
    """``angle`` less whole turns, within half a turn of zero."""
    return remainder(angle, 2.0 * pi)
