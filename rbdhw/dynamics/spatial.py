"""Three-vector algebra over any scalar, and turns about the z axis.

Vectors are tuples of three scalars, constant matrices are tuples of rows of floats.
"""

from __future__ import annotations

from rbdhw.robot.model import Matrix3, Vector3
from rbdhw.scalar import Scalar

Vector = tuple[Scalar, Scalar, Scalar]

ZERO: Vector3 = (0.0, 0.0, 0.0)


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


def into_turned(cos: Scalar, sin: Scalar, a: Vector) -> Vector:
    """Coordinates of ``a`` in axes turned about z by the angle."""
    return cos * a[0] + sin * a[1], cos * a[1] - sin * a[0], a[2]


def out_of_turned(cos: Scalar, sin: Scalar, a: Vector) -> Vector:
    """Coordinates, before the turn about z, of ``a`` given in the turned axes."""
    return cos * a[0] - sin * a[1], sin * a[0] + cos * a[1], a[2]
