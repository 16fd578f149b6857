"""Three-vector algebra over any scalar, and turns about the z axis.

Vectors are tuples of three scalars, tensors tuples of three rows; constant matrices hold floats.
"""

from __future__ import annotations

from rbdhw.robot.model import Matrix3, Vector3
from rbdhw.scalar import Scalar

Vector = tuple[Scalar, Scalar, Scalar]

Tensor = tuple[Vector, Vector, Vector]
"""Rows of a 3x3 tensor."""

ZERO: Vector3 = (0.0, 0.0, 0.0)

UNIT: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
"""The three axes."""


def add(*vectors: Vector) -> Vector:
    """The sum of vectors, left to right."""
    x, y, z = vectors[0]
    for other in vectors[1:]:
        x, y, z = x + other[0], y + other[1], z + other[2]
    return x, y, z


def subtract(a: Vector, b: Vector) -> Vector:
    """``a - b``."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(factor: Scalar, a: Vector) -> Vector:
    """``factor * a``."""
    return factor * a[0], factor * a[1], factor * a[2]


def cross(a: Vector, b: Vector) -> Vector:
    """``a x b``."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def multiply(matrix: Matrix3, a: Vector) -> Vector:
    """A constant matrix times a vector."""
    x, y, z = (row[0] * a[0] + row[1] * a[1] + row[2] * a[2] for row in matrix)
    return x, y, z


def transpose(matrix: Matrix3) -> Matrix3:
    """The matrix with rows and columns exchanged."""
    x, y, z = zip(*matrix, strict=True)
    return x, y, z


def rotate_into(cos: Scalar, sin: Scalar, a: Vector) -> Vector:
    """Coordinates of ``a`` in axes turned about z by the angle."""
    return cos * a[0] + sin * a[1], cos * a[1] - sin * a[0], a[2]


def rotate_out_of(cos: Scalar, sin: Scalar, a: Vector) -> Vector:
    """Coordinates, before the turn about z, of ``a`` given in the turned axes."""
    return cos * a[0] - sin * a[1], sin * a[0] + cos * a[1], a[2]


def dot(a: Vector, b: Vector) -> Scalar:
    """``a . b``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def apply(tensor: Tensor, a: Vector) -> Vector:
    """A tensor times a vector."""
    return dot(tensor[0], a), dot(tensor[1], a), dot(tensor[2], a)


def outer(a: Vector, b: Vector) -> Tensor:
    """``a b^T``."""
    return scale(a[0], b), scale(a[1], b), scale(a[2], b)


def sum_of(first: Tensor, *others: Tensor) -> Tensor:
    """The sum of tensors, left to right."""
    x, y, z = (add(*rows) for rows in zip(first, *others, strict=True))
    return x, y, z


def transpose_tensor(tensor: Tensor) -> Tensor:
    """The tensor with rows and columns exchanged."""
    x, y, z = zip(*tensor, strict=True)
    return x, y, z


def carry(rotation: Matrix3, tensor: Tensor) -> Tensor:
    """``R T R^T``: a tensor in the axes that the constant rotation leads to."""
    x, y, z = (multiply(rotation, row) for row in tensor)
    x, y, z = (multiply(rotation, column) for column in transpose_tensor((x, y, z)))
    return transpose_tensor((x, y, z))


def tensor_out_of_axes(axes: Tensor, tensor: Tensor) -> Tensor:
    """``E^T T E``: a tensor's entries in the axes that ``E`` leads from, of those that it leads to."""
    back = transpose_tensor(axes)
    x, y, z = (apply(back, row) for row in tensor)
    x, y, z = (apply(back, column) for column in transpose_tensor((x, y, z)))
    return transpose_tensor((x, y, z))


def tensor_out_of_turned(cos: Scalar, sin: Scalar, tensor: Tensor) -> Tensor:
    """A tensor's entries, before the turn about z, from those in the turned axes.

    The block across z turns by the double angle, of which its trace and antisymmetric part know nothing:
    twelve products, or eight where the tensor is symmetric.
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
