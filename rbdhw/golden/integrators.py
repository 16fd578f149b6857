"""One step in time: semi-implicit Euler and the classical Runge-Kutta method, and their derivatives.

``q (+) d`` moves a configuration along a velocity for a unit of time: by the exponential map of each joint's
group, as Pinocchio's ``integrate`` does. The force and the external forces are constant over the step, and
so is the motion of a given base. Derivatives are taken in the tangent space: by a motion before the step, of
the motion after it.

Source: Hairer, Norsett and Wanner, *Solving Ordinary Differential Equations I*, section II.1; for the
exponential maps Sola, Deray and Atchuthan, "A micro Lie theory for state estimation in robotics" (2018).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rbdhw.golden.complex_step import STEP, displaced, rotated
from rbdhw.golden.spatial import Array
from rbdhw.golden.tasks import Tasks
from rbdhw.robot.model import JointKind, Robot

Accelerations = Callable[[Tasks], Array]
"""The accelerations (N, nv) of tasks with ``q``, ``v``, ``tau`` and the external forces."""

Scheme = Callable[[Robot, Accelerations, Tasks], Array]
"""A method of integration: the states (N, nq + nv) after a step from accelerations."""

SMALL = 1e-2
"""Squares of angles below which functions of an angle are Taylor series; the first term left out is 1e-18."""


def euler(robot: Robot, accelerations: Accelerations, tasks: Tasks) -> Array:
    """Return the state (N, nq + nv) after a step of ``h`` by semi-implicit Euler."""
    h = tasks["h"][:, np.newaxis]
    v = tasks["v"] + h * accelerations(tasks)
    return np.hstack([integrate(robot, tasks["q"], h * v), v])


def runge_kutta(robot: Robot, accelerations: Accelerations, tasks: Tasks) -> Array:
    """Return the state (N, nq + nv) after a step of ``h`` by the Runge-Kutta method of four stages."""
    h, q, v = tasks["h"][:, np.newaxis], tasks["q"], tasks["v"]
    rates = [(v, accelerations(tasks))]
    for share in (0.5, 0.5, 1.0):
        before, change = rates[-1]
        stage = {**tasks, "q": integrate(robot, q, share * h * before), "v": v + share * h * change}
        rates.append((stage["v"], accelerations(stage)))
    velocity, acceleration = (
        (first + 2.0 * second + 2.0 * third + fourth) / 6.0
        for first, second, third, fourth in zip(*rates, strict=True)
    )
    return np.hstack([integrate(robot, q, h * velocity), v + h * acceleration])


def derivatives(robot: Robot, step: Callable[[Tasks], Array], tasks: Tasks) -> dict[str, Array]:
    """Return ``A`` (N, 2 nv, 2 nv) and ``B`` (N, 2 nv, nv), the derivatives of a step by state and force."""
    after, units = step(tasks), STEP * 1j * np.eye(robot.nv)
    moved = [{**tasks, "q": displaced(robot, tasks["q"], k)} for k in range(robot.nv)]
    pushed = [{**tasks, "v": tasks["v"] + unit} for unit in units]
    driven = [{**tasks, "tau": tasks["tau"] + unit} for unit in units]
    columns = []
    for arrays in (*moved, *pushed, *driven):
        stepped = step({name: array.astype(np.complex128) for name, array in arrays.items()})
        columns.append(motion_of(robot, after, stepped.imag / STEP))
    both = np.stack(columns, axis=-1)
    return {"A": both[..., : 2 * robot.nv], "B": both[..., 2 * robot.nv :]}


def integrate(robot: Robot, q: Array, displacement: Array) -> Array:
    """Return ``q (+) d`` for configurations (N, nq) and displacements (N, nv)."""
    moved = q + np.zeros_like(displacement[:, :1])
    for body, columns, rates in zip(robot.bodies, robot.q_of, robot.v_of, strict=True):
        if body.joint.mimic is None:
            moved[:, columns] = _moved(body.joint.kind, moved[:, columns], displacement[:, rates])
    return moved


def _moved(kind: JointKind, q: Array, d: Array) -> Array:
    """Return a joint's configuration after a displacement."""
    match kind:
        case JointKind.FLOATING:
            return np.hstack([q[:, :3] + rotated(q[:, 3:], _swept(d)), _turn(q[:, 3:], d[:, 3:])])
        case JointKind.SPHERICAL:
            return _turn(q, d)
        case JointKind.PLANAR:
            along, across = _arc(d[:, 2:])
            normal = np.stack([-d[:, 1], d[:, 0]], axis=1)
            shift = along * d[:, :2] + across * normal
            cos, sin = np.cos(q[:, 2]), np.sin(q[:, 2])
            level = np.stack([cos * shift[:, 0] - sin * shift[:, 1], sin * shift[:, 0] + cos * shift[:, 1]])
            return np.hstack([q[:, :2] + level.T, q[:, 2:] + d[:, 2:]])
    return q + d


def _arc(angle: Array) -> tuple[Array, Array]:
    """Return ``sin x / x`` and ``(1 - cos x) / x`` of angles."""
    half = np.sin(0.5 * angle)
    square = np.square(angle)
    small = np.abs(square) < SMALL
    safe = np.where(small, 1.0, angle)
    series = 1.0 + square * (-1 / 6 + square * (1 / 120 + square * (-1 / 5040 + square / 362880)))
    first = angle * (0.5 + square * (-1 / 24 + square * (1 / 720 + square * (-1 / 40320 + square / 3628800))))
    return np.where(small, series, np.sin(safe) / safe), np.where(small, first, 2.0 * half * half / safe)


def _turn(quaternion: Array, vector: Array) -> Array:
    """Return quaternions (N, 4) after a rotation by rotation vectors (N, 3) in the body's axes."""
    half = 0.5 * vector
    angle = np.sqrt(np.sum(half * half, axis=1, keepdims=True) + 0j)
    along = half * _arc(angle)[0]
    last = np.cos(angle)
    if not np.iscomplexobj(vector) and not np.iscomplexobj(quaternion):
        along, last = along.real, last.real
    axis, w = quaternion[:, :3], quaternion[:, 3:]
    turned = last * axis + w * along + np.cross(axis, along)
    return np.hstack([turned, w * last - np.sum(axis * along, axis=1, keepdims=True)])


def _swept(twist: Array) -> Array:
    """Return the translation (N, 3) of the exponential of twists (N, 6): of linear velocity, then angular."""
    linear, angular = twist[:, :3], twist[:, 3:]
    square = np.sum(angular * angular, axis=1, keepdims=True)
    small = np.abs(square) < SMALL
    safe = np.where(small, 1.0, square)
    angle = np.sqrt(safe + 0j)
    first, second = (1.0 - np.cos(angle)) / safe, (angle - np.sin(angle)) / (angle * safe)
    if not np.iscomplexobj(twist):
        first, second = first.real, second.real
    near = 0.5 + square * (-1 / 24 + square * (1 / 720 + square * (-1 / 40320 + square / 3628800)))
    last = 1 / 6 + square * (-1 / 120 + square * (1 / 5040 + square * (-1 / 362880 + square / 39916800)))
    once = np.cross(angular, linear)
    turned = np.where(small, near, first) * once
    return np.asarray(linear + turned + np.where(small, last, second) * np.cross(angular, once))


def motion_of(robot: Robot, state: Array, change: Array) -> Array:
    """Return the motion (N, 2 nv) in the tangent space of states (N, nq + nv) that change at a rate."""
    motion = np.empty((len(state), 2 * robot.nv))
    motion[:, robot.nv :] = change[:, robot.nq :]
    for body, columns, rates in zip(robot.bodies, robot.q_of, robot.v_of, strict=True):
        if body.joint.mimic is None:
            motion[:, rates] = _rates(body.joint.kind, state[:, columns], change[:, columns])
    return motion


def _rates(kind: JointKind, q: Array, change: Array) -> Array:
    """Return the velocity of a joint whose configuration changes at a rate."""
    match kind:
        case JointKind.FLOATING:
            back = np.hstack([-q[:, 3:6], q[:, 6:]])
            return np.hstack([rotated(back, change[:, :3]), _body_rates(q[:, 3:], change[:, 3:])])
        case JointKind.SPHERICAL:
            return _body_rates(q, change)
        case JointKind.PLANAR:
            cos, sin = np.cos(q[:, 2]), np.sin(q[:, 2])
            x, y = change[:, 0], change[:, 1]
            return np.stack([cos * x + sin * y, cos * y - sin * x, change[:, 2]], axis=1)
    return change


def _body_rates(quaternion: Array, change: Array) -> Array:
    """Return the angular velocity in the body's axes of quaternions (N, 4) that change at a rate."""
    axis, w = quaternion[:, :3], quaternion[:, 3:]
    return np.asarray(2.0 * (w * change[:, :3] - change[:, 3:] * axis - np.cross(axis, change[:, :3])))
