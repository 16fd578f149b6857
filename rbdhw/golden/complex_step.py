"""Derivatives by the complex step: the imaginary part of results at an argument with a tiny imaginary part.

The golden model computes with real and with complex numbers. No difference of nearly equal numbers is taken,
so the derivatives are as exact as the results.

Source: Martins, Sturdza and Alonso, "The complex-step derivative approximation" (2003).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.golden.tasks import Tasks
from rbdhw.robot.model import JointKind, Robot

Array = NDArray[Any]

Results = Callable[[Tasks], dict[str, Array]]
"""A function of tasks whose results (N, ...) are differentiated."""

STEP = 2.0**-100
"""The imaginary step; its square vanishes beside any number of a result."""


def by_position(robot: Robot, results: Results, tasks: Tasks) -> dict[str, Array]:
    """Return the derivatives (N, ..., nv) of results by the configuration, in the tangent space.

    They are right derivatives: the last index is a motion along that velocity coordinate.
    """
    return _differentiate(results, [{**tasks, "q": displaced(robot, tasks["q"], k)} for k in range(robot.nv)])


def by_velocity(robot: Robot, results: Results, tasks: Tasks) -> dict[str, Array]:
    """Return the derivatives (N, ..., nv) of results by ``v``."""
    steps = STEP * 1j * np.eye(robot.nv)
    return _differentiate(results, [{**tasks, "v": tasks["v"] + step} for step in steps])


def displaced(robot: Robot, q: Array, k: int) -> Array:
    """Return ``q`` (N, nq) after an imaginary step along velocity coordinate ``k``."""
    moved = q.astype(np.complex128)
    step = STEP * 1j
    for body, columns, rates in zip(robot.bodies, robot.q_of, robot.v_of, strict=True):
        if body.joint.mimic is not None or not rates.start <= k < rates.stop:
            continue
        kind, axis, part = body.joint.kind, k - rates.start, moved[:, columns]
        if kind is JointKind.PLANAR and axis < 2:
            part[:, :2] += step * _turned(part[:, 2], np.eye(2)[axis])
        elif kind.quaternion is None:
            part[:, axis] += step
        elif kind is JointKind.FLOATING and axis < 3:
            part[:, :3] += step * rotated(part[:, 3:], np.eye(3)[axis])
        else:
            quaternion = part[:, kind.quaternion]
            rotation = np.append(0.5 * step * np.eye(3)[axis % 3], 0.0)
            quaternion += _quaternion_product(quaternion, rotation)
    return moved


def _differentiate(results: Results, steps: list[Tasks]) -> dict[str, Array]:
    """Return the imaginary parts of results after each step, over its length, along a last axis."""
    moved = [results({name: array.astype(np.complex128) for name, array in tasks.items()}) for tasks in steps]
    return {name: np.stack([arrays[name].imag / STEP for arrays in moved], axis=-1) for name in moved[0]}


def _turned(angle: Array, vector: Array) -> Array:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([cos * vector[0] - sin * vector[1], sin * vector[0] + cos * vector[1]], axis=1)


def rotated(quaternion: Array, vector: Array) -> Array:
    """Return a vector (3,), or vectors (N, 3), rotated by unit quaternions (N, 4)."""
    axis, w = quaternion[:, :3], quaternion[:, 3:]
    across = np.cross(axis, vector)
    return np.asarray(vector + 2.0 * (w * across + np.cross(axis, across)))


def _quaternion_product(quaternion: Array, other: Array) -> Array:
    """Return the products of quaternions (N, 4) ``[x y z w]`` with one (4,)."""
    axis, w = quaternion[:, :3], quaternion[:, 3:]
    vector = w * other[:3] + other[3] * axis + np.cross(axis, other[:3])
    return np.hstack([vector, w * other[3] - axis @ other[:3, np.newaxis]])
