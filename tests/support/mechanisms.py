"""Small robots with given joints."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rbdhw.robot.model import BASE, UNLIMITED, Body, Joint, JointKind, Mimic, Placement, Robot, Vector3
from tests.support.strategies import random_direction, random_inertia, random_rotation

ONE_DOF = tuple(kind for kind in JointKind if kind.nv == 1)

BRANCHED = (BASE, 0, 1, 0, 3)
"""The parents of five bodies: two limbs on the first body."""


def mechanism(
    kinds: Sequence[JointKind], parents: Sequence[int], seed: int, axis: Vector3 | None = None
) -> Robot:
    """Return a fixed-base robot with these joints, random otherwise; all joints have ``axis`` if it is given.

    Joints ``j0``, ``j1``, ... move bodies ``b0``, ``b1``, ...; those of one DoF have offsets, and external
    forces are given in frames that differ from the bodies'.
    """
    rng = np.random.default_rng(seed)
    bodies = []
    for i, (kind, parent) in enumerate(zip(kinds, parents, strict=True)):
        joint = _joint(f"j{i}", kind, axis or random_direction(rng), rng)
        bodies.append(Body(f"b{i}", parent, joint, random_inertia(rng), _placement(rng)))
    gravity = (0.5, -1.0, -9.5)
    return Robot("mechanism", "base", tuple(bodies), base_inertia=random_inertia(rng), gravity=gravity)


def random_parents(count: int, rng: np.random.Generator) -> list[int]:
    """Return the parents of ``count`` bodies in depth-first order, as Pinocchio requires."""
    parents: list[int] = []
    path = [BASE]
    for i in range(count):
        path = path[: int(rng.integers(max(len(path) - 3, 0), len(path))) + 1]
        parents.append(path[-1])
        path.append(i)
    return parents


def with_parallel_joints(robot: Robot, turned: Sequence[int]) -> Robot:
    """Return a robot whose joints, all along z, are parallel to their parents' for the bodies of ``turned``.

    Every second of these has the opposite axis.
    """
    bodies = list(robot.bodies)
    for k, i in enumerate(turned):
        cos, sin = np.cos(1.0 + k), np.sin(1.0 + k)
        sign = (-1.0) ** k
        rotation = ((cos, -sign * sin, 0.0), (sin, sign * cos, 0.0), (0.0, 0.0, sign))
        placement = replace(bodies[i].joint.placement, rotation=rotation)
        bodies[i] = replace(bodies[i], joint=replace(bodies[i].joint, placement=placement))
    return robot.with_bodies(bodies)


def with_mimic(robot: Robot, follower: int, leader: int, multiplier: float, offset: float = 0.0) -> Robot:
    """Return ``robot`` with the joint of body ``follower`` mimicking that of ``leader``."""
    mimic = Mimic(robot.bodies[leader].joint.name, multiplier, offset)
    bodies = list(robot.bodies)
    bodies[follower] = replace(
        bodies[follower], joint=replace(bodies[follower].joint, limits=(UNLIMITED,), mimic=mimic)
    )
    return robot.with_bodies(bodies)


def with_random_drives(robot: Robot, seed: int) -> Robot:
    """Return ``robot`` with random armature and damping of all joints but a floating one."""
    rng = np.random.default_rng(seed)
    bodies = []
    for body in robot.bodies:
        if body.joint.kind is not JointKind.FLOATING:
            armature, damping = rng.uniform(0.1, 1.0, (2, body.joint.kind.nv)).tolist()
            joint = replace(body.joint, armature=tuple(armature), damping=tuple(damping))
            body = replace(body, joint=joint)
        bodies.append(body)
    return robot.with_bodies(bodies)


def _joint(name: str, kind: JointKind, axis: Vector3, rng: np.random.Generator) -> Joint:
    across = np.cross(axis, random_direction(rng))
    x, y, z = (across / np.linalg.norm(across)).tolist()
    return Joint(
        name,
        kind,
        axis,
        _placement(rng),
        (UNLIMITED,) * kind.nv,
        offset=rng.uniform(-1, 1) if kind.nq == 1 else 0.0,
        pitch=rng.uniform(-0.3, 0.3) if kind is JointKind.HELICAL else 0.0,
        second_axis=(x, y, z) if kind is JointKind.UNIVERSAL else (0.0, 0.0, 0.0),
    )


def _placement(rng: np.random.Generator) -> Placement:
    x, y, z = rng.uniform(-0.4, 0.4, 3).tolist()
    return Placement(random_rotation(rng), (x, y, z))


def every_kind(base: str) -> Robot:
    """Return a tree of every kind of joint and a mimic on a base."""
    kinds = [kind for kind in JointKind if kind is not JointKind.FLOATING]
    robot = with_mimic(mechanism(kinds, [BASE, 0, 1, 0, 3, 4, 3, 0, 7], seed=3), 3, 2, 0.6, 0.1)
    return robot.with_floating_base() if base == "floating" else replace(robot, base_given=base == "given")


def every_kind_driven(base: str) -> Robot:
    """Return such a tree with rotors and friction."""
    return with_random_drives(every_kind(base), seed=4)
