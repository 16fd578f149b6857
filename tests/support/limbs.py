"""Robots with symmetric limbs."""

from dataclasses import replace

import numpy as np

from rbdhw.robot.model import BASE, Body, Inertia, Joint, JointKind, Limits, Placement, Robot

KINDS = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.CONTINUOUS)

QUARTER_TURN = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
BACK = ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0))


def limbed(limbs: int, joints: int = 2, seed: int = 0, trunk: bool = False) -> Robot:
    """Return a robot with limbs of one shape, mirrored and of different sizes, on the base or on a trunk."""
    rng = np.random.default_rng(seed)
    bodies = []
    if trunk:
        placement = Placement(QUARTER_TURN, (0.0, 0.0, 0.4))
        bodies.append(
            _body("trunk", BASE, JointKind.REVOLUTE, placement, rng.uniform(1.0, 2.0, 10).tolist(), 1.0)
        )
    shape = rng.uniform(0.3, 1.0, (joints, 10))
    for limb in range(limbs):
        side = -1.0 if limb % 2 else 1.0
        for k in range(joints):
            numbers = (shape[k] * rng.uniform(0.6, 1.7, 10)).tolist()
            parent = len(bodies) - 1 if k else (0 if trunk else BASE)
            rotation = QUARTER_TURN if side > 0 else BACK
            placement = Placement(rotation, (0.3 * numbers[8], 0.2 * side, 0.0))
            bodies.append(_body(f"limb_{limb}_{k}", parent, KINDS[(seed + k) % 3], placement, numbers, side))
    return Robot("limbed", "base", tuple(bodies))


def _body(
    name: str, parent: int, kind: JointKind, placement: Placement, numbers: list[float], side: float
) -> Body:
    mass, x, y, z, *diagonal = numbers[:7]
    inertia = Inertia(mass, (0.1 * x, 0.1 * side * y, 0.1 * z), _rotational(diagonal))
    reach = np.inf if kind is JointKind.CONTINUOUS else 0.8
    joint = Joint(f"{name}_joint", kind, (0.0, 0.0, 1.0), placement, (Limits(-reach, reach, 3.0, 100.0),))
    return Body(name, parent, joint, inertia)


def _rotational(diagonal: list[float]) -> tuple[float, float, float, float, float, float]:
    xx, yy, zz = (0.2 + 0.01 * entry for entry in diagonal)
    return xx, 0.0, 0.0, yy, 0.0, zz


def without(robot: Robot, body: int) -> Robot:
    """Return the robot with one body's mass set to zero."""
    bodies = list(robot.bodies)
    bodies[body] = replace(bodies[body], inertia=replace(bodies[body].inertia, mass=0.0))
    return robot.with_bodies(bodies)
