"""Algebra of 3-vectors and of pairs of them over any scalar type, and rotations about the z axis.

Vectors are tuples of three scalars, and tensors are tuples of three rows. Constant matrices hold floats.
"""

from __future__ import annotations

from rbdhw.robot.model import Matrix3, Vector3
from rbdhw.scalar import Scalar

Vector = tuple[Scalar, Scalar, Scalar]

Tensor = tuple[Vector, Vector, Vector]
"""Rows of a 3x3 tensor."""

Twist = tuple[Vector, Vector]
"""Angular and linear part of a velocity or acceleration, in a body's axes at its origin."""

Wrench = tuple[Vector, Vector]
"""Moment and force."""

ZERO: Vector3 = (0.0, 0.0, 0.0)

UNIT: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
"""The three unit vectors."""

ZERO_TWIST: Twist = (ZERO, ZERO)


def add(*vectors: Vector) -> Vector:
    """Return the sum of vectors, added left to right."""
    x, y, z = vectors[0]
    for other in vectors[1:]:
        x, y, z = x + other[0], y + other[1], z + other[2]
    return x, y, z


def subtract(a: Vector, b: Vector) -> Vector:
    """Return ``a - b``."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(factor: Scalar, a: Vector) -> Vector:
    """Return ``factor * a``."""
    return factor * a[0], factor * a[1], factor * a[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Return ``a x b``."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def multiply(matrix: Matrix3, a: Vector) -> Vector:
    """Return a constant matrix times a vector."""
    x, y, z = (row[0] * a[0] + row[1] * a[1] + row[2] * a[2] for row in matrix)
    return x, y, z


def transpose(matrix: Matrix3) -> Matrix3:
    """Return the transpose of a constant matrix."""
    x, y, z = zip(*matrix, strict=True)
    return x, y, z


def rotate_into(cos: Scalar, sin: Scalar, a: Vector) -> Vector:
    """Return the coordinates of ``a`` in axes rotated about z by the angle."""
    return cos * a[0] + sin * a[1], cos * a[1] - sin * a[0], a[2]


def rotate_out_of(cos: Scalar, sin: Scalar, a: Vector) -> Vector:
    """Return the coordinates, in the original axes, of ``a`` given in axes rotated about z by the angle."""
    return cos * a[0] - sin * a[1], sin * a[0] + cos * a[1], a[2]


def dot(a: Vector, b: Vector) -> Scalar:
    """Return ``a . b``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def apply(tensor: Tensor, a: Vector) -> Vector:
    """Return a tensor times a vector."""
    return dot(tensor[0], a), dot(tensor[1], a), dot(tensor[2], a)


def outer(a: Vector, b: Vector) -> Tensor:
    """Return ``a b^T``."""
    return scale(a[0], b), scale(a[1], b), scale(a[2], b)


def sum_of(first: Tensor, *others: Tensor) -> Tensor:
    """Return the sum of tensors, added left to right."""
    x, y, z = (add(*rows) for rows in zip(first, *others, strict=True))
    return x, y, z


def transpose_tensor(tensor: Tensor) -> Tensor:
    """Return the transpose of a tensor."""
    x, y, z = zip(*tensor, strict=True)
    return x, y, z


def cross_tensor(a: Vector, tensor: Tensor) -> Tensor:
    """Return ``a x T``."""
    x, y, z = (cross(a, column) for column in transpose_tensor(tensor))
    return transpose_tensor((x, y, z))


def carry(rotation: Matrix3, tensor: Tensor) -> Tensor:
    """Return ``R T R^T``: a tensor in the axes into which the constant rotation transforms."""
    x, y, z = (multiply(rotation, row) for row in tensor)
    x, y, z = (multiply(rotation, column) for column in transpose_tensor((x, y, z)))
    return transpose_tensor((x, y, z))


def tensor_out_of_axes(axes: Tensor, tensor: Tensor) -> Tensor:
    """Return ``E^T T E``: a tensor given in the axes into which ``E`` transforms, in the original axes."""
    back = transpose_tensor(axes)
    x, y, z = (apply(back, row) for row in tensor)
    x, y, z = (apply(back, column) for column in transpose_tensor((x, y, z)))
    return transpose_tensor((x, y, z))


def tensor_out_of_rotated(cos: Scalar, sin: Scalar, tensor: Tensor) -> Tensor:
    """Return, in the original axes, a tensor given in axes rotated about z.

    The 2x2 block perpendicular to z rotates by the double angle, which leaves its trace and antisymmetric
    part unchanged. This takes twelve products, or eight if the tensor is symmetric.
    """
    if isinstance(cos, float) and cos == 1.0:
        return tensor
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = tensor
    cos2, sin2 = 1.0 - 2.0 * (sin * sin), 2.0 * (sin * cos)
    mean, difference = 0.5 * (xx + yy), 0.5 * (xx - yy)
    symmetric, skew = 0.5 * (xy + yx), 0.5 * (xy - yx)
    turned = cos2 * difference - sin2 * symmetric
    symmetric = sin2 * difference + cos2 * symmetric
    xz, yz, _ = rotate_out_of(cos, sin, (xz, yz, 0.0))
    zx, zy, _ = rotate_out_of(cos, sin, (zx, zy, 0.0))
    return (
        (mean + turned, symmetric + skew, xz),
        (symmetric - skew, mean - turned, yz),
        (zx, zy, zz),
    )


def add_twist(first: Twist, *others: Twist) -> Twist:
    """Return the sum of twists or wrenches, added left to right."""
    return add(first[0], *(x[0] for x in others)), add(first[1], *(x[1] for x in others))


def scale_twist(factor: Scalar, twist: Twist) -> Twist:
    """Return a twist or a wrench times a scalar."""
    return scale(factor, twist[0]), scale(factor, twist[1])


def cross_twist(twist: Twist, other: Twist) -> Twist:
    """Return the cross product of two motions."""
    return cross(twist[0], other[0]), add(cross(twist[0], other[1]), cross(twist[1], other[0]))


def cross_wrench(twist: Twist, wrench: Wrench) -> Wrench:
    """Return the cross product of a motion and a force."""
    return add(cross(twist[0], wrench[0]), cross(twist[1], wrench[1])), cross(twist[0], wrench[1])


def power(wrench: Wrench, twist: Twist) -> Scalar:
    """Return the product of a wrench and a twist."""
    return dot(wrench[0], twist[0]) + dot(wrench[1], twist[1])
