"""Spatial algebra with dense 6x6 NumPy matrices, one for each of N tasks.

Spatial vectors are ``[angular; linear]``, column vectors of shape (N, 6, 1).

Source: Featherstone, *Rigid Body Dynamics Algorithms*, chapter 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Real numbers, or complex ones for derivatives by the complex step."""


def skew(r: Array) -> Array:
    """Return the matrix ``r x`` (..., 3, 3) of a 3-vector (..., 3)."""
    x, y, z = r[..., 0], r[..., 1], r[..., 2]
    matrix = np.zeros((*r.shape, 3), r.dtype)
    matrix[..., 0, 1], matrix[..., 0, 2] = -z, y
    matrix[..., 1, 0], matrix[..., 1, 2] = z, -x
    matrix[..., 2, 0], matrix[..., 2, 1] = -y, x
    return matrix


def blocks(upper_left: Array, upper_right: Array, lower_left: Array, lower_right: Array) -> Array:
    """Return the 6x6 matrix of four 3x3 blocks; any block may lack the task axis."""
    shape = np.broadcast_shapes(upper_left.shape, upper_right.shape, lower_left.shape, lower_right.shape)
    kind = np.result_type(upper_left, upper_right, lower_left, lower_right)
    matrix = np.empty((*shape[:-2], 6, 6), kind)
    matrix[..., :3, :3], matrix[..., :3, 3:] = upper_left, upper_right
    matrix[..., 3:, :3], matrix[..., 3:, 3:] = lower_left, lower_right
    return matrix


def transform(E: Array, r: Array) -> Array:
    """Return the matrix X that maps motion vectors into a frame at ``r`` with coordinate transform ``E``.

    Its transpose maps force vectors back. (Featherstone, 2.8.)
    """
    below = -E @ skew(r)
    matrix = np.zeros((*below.shape[:-2], 6, 6), below.dtype)
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = E
    matrix[..., 3:, :3] = below
    return matrix


def motion_cross(m: Array) -> Array:
    """Return ``m x`` (N, 6, 6), which acts on motion vectors, for the motion vector ``m`` (N, 6, 1)."""
    angular, linear = skew(m.reshape(len(m), 2, 3)).swapaxes(0, 1)
    matrix = np.zeros((len(m), 6, 6), m.dtype)
    matrix[:, :3, :3] = matrix[:, 3:, 3:] = angular
    matrix[:, 3:, :3] = linear
    return matrix


def force_cross(m: Array) -> Array:
    """Return ``m x*`` (N, 6, 6), which acts on force vectors, for the motion vector ``m`` (N, 6, 1)."""
    return -transpose(motion_cross(m))


def cross_force(f: Array) -> Array:
    """Return the matrix (N, 6, 6) that maps a motion ``m`` to ``m x* f``, for the force ``f`` (N, 6, 1)."""
    moment, force = skew(f[:, :3, 0]), skew(f[:, 3:, 0])
    return blocks(-moment, -force, -force, np.zeros((3, 3)))


def transpose(matrix: Array) -> Array:
    """Return the transpose of the last two axes."""
    return matrix.swapaxes(-1, -2)
