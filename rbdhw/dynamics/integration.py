"""Motion of a joint for a step in time: the exponential maps of the groups of rotations and of poses.

A displacement is a velocity times a time, in the body's axes: ``d = [linear; angular]`` for a floating body,
``phi`` for a rotation, and ``[x, y, angle]`` in the plane. The functions of an angle are Taylor series in its
square ``s``::

    B = (1 - cos x) / x^2    = 1/2 - s/24  + s^2/720
    C = (x - sin x) / x^3    = 1/6 - s/120 + s^2/5040

so that up to one radian (:data:`LARGEST_ANGLE`) what they leave out is below :data:`SERIES_ERROR`.

The derivatives are right ones: a joint that is displaced by ``d`` moves by ``transport`` times its motion
before the step, plus ``jacobian`` times the change of ``d``.

Source: Sola, Deray and Atchuthan, "A micro Lie theory for state estimation in robotics" (2018).
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.dynamics.spatial import Vector, add, cross, dot, scale
from rbdhw.robot.model import JointKind
from rbdhw.scalar import Scalar, inner_product

LARGEST_ANGLE = 1.0
"""The largest angle (rad) by which a rotation may change in a step."""

SERIES_ERROR = 2.5e-5
"""A bound of every series' error at :data:`LARGEST_ANGLE`; it falls with the sixth power of the angle."""

Matrix = list[list[Scalar]]


def turn(quaternion: Sequence[Scalar], phi: Vector) -> list[Scalar]:
    """Return the change of a quaternion ``[x y z w]`` by a rotation, whatever the quaternion's length."""
    x, y, z, w = quaternion
    square = dot(phi, phi)
    along = scale(0.5 - square * (1.0 / 48.0 - square * (1.0 / 3840.0)), phi)
    less = square * (0.125 - square * (1.0 / 384.0))  # one minus the cosine of half the angle
    vector = add(scale(w, along), cross((x, y, z), along))
    changed = [part - less * imaginary for part, imaginary in zip(vector, (x, y, z), strict=True)]
    return [*changed, -dot((x, y, z), along) - less * w]


def lengthen(quaternion: Sequence[Scalar]) -> Scalar:
    """Return ``1 / |q| - 1`` for a quaternion of squared length ``1 + e``, up to the square of ``e``."""
    x, y, z, w = quaternion
    excess = ((x * x + y * y) + (z * z + w * w)) - 1.0
    return excess * (excess * 0.375 - 0.5)


def sweep(linear: Vector, phi: Vector) -> Vector:
    """Return the translation of the exponential of a twist, in the axes before the step."""
    square = dot(phi, phi)
    once = cross(phi, linear)
    return add(linear, add(scale(_b(square), once), scale(_c(square), cross(phi, once))))


def arc(x: Scalar, y: Scalar, angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return the translation of the exponential of a planar twist, in the axes before the step."""
    along, across = _along(angle), _across(angle)
    return along * x - across * y, across * x + along * y


def displacement_derivatives(kind: JointKind, d: Sequence[Scalar]) -> tuple[Matrix, Matrix]:
    """Return ``transport`` and ``jacobian`` (nv_i, nv_i) of a joint of several degrees of freedom."""
    match kind:
        case JointKind.PLANAR:
            return _planar(d[0], d[1], d[2])
        case JointKind.SPHERICAL:
            phi = (d[0], d[1], d[2])
            return _back(phi), _right_jacobian(phi)
        case JointKind.FLOATING:
            return _pose((d[0], d[1], d[2]), (d[3], d[4], d[5]))
    raise ValueError(f"{kind} joints have one degree of freedom")


def multiply(left: Matrix, right: Matrix) -> Matrix:
    """Return the product of two matrices."""
    columns = list(zip(*right, strict=True))
    return [[inner_product(row, column) for column in columns] for row in left]


def _pose(linear: Vector, phi: Vector) -> tuple[Matrix, Matrix]:
    """Return the derivatives of the exponential of a twist."""
    square, back = dot(phi, phi), _back(phi)
    turned = _right_jacobian(phi)
    once = cross(phi, linear)
    twice = cross(phi, once)
    shift = add(linear, add(scale(_b(square), once), scale(_c(square), twice)))
    change = add(
        scale(square * (1.0 / 180.0 - square * (1.0 / 6720.0)) - 1.0 / 12.0, once),
        scale((1.0 / 1260.0) * square - 1.0 / 60.0, twice),
    )
    linear_by_phi = _minus_skew(add(scale(_b(square), linear), scale(_c(square), once)))
    nested = multiply(_skew(phi), _minus_skew(scale(_c(square), linear)))
    swept = [
        [x + y + row * p for x, y, p in zip(first, second, phi, strict=True)]
        for first, second, row in zip(linear_by_phi, nested, change, strict=True)
    ]
    nothing: Matrix = [[0.0] * 3 for _ in range(3)]
    transport = _blocks(back, multiply(back, _minus_skew(shift)), nothing)
    return transport, _blocks(turned, multiply(back, swept), nothing)


def _blocks(diagonal: Matrix, upper: Matrix, lower: Matrix) -> Matrix:
    above = [[*one, *other] for one, other in zip(diagonal, upper, strict=True)]
    return above + [[*one, *other] for one, other in zip(lower, diagonal, strict=True)]


def _planar(x: Scalar, y: Scalar, angle: Scalar) -> tuple[Matrix, Matrix]:
    """Return the derivatives of the exponential of a planar twist."""
    along, across, square = _along(angle), _across(angle), angle * angle
    cos, sin = 1.0 - across * angle, along * angle
    shift = along * x - across * y, across * x + along * y
    slope = angle * (square * (1.0 / 30.0 - square * (1.0 / 840.0)) - 1.0 / 3.0)  # of sin x / x
    other = 0.5 - square * (0.125 - square * (1.0 / 144.0 - square * (1.0 / 5760.0)))  # of (1 - cos x) / x
    bent = slope * x - other * y, other * x + slope * y
    moved = cos * -shift[1] + sin * shift[0], sin * shift[1] + cos * shift[0]
    driven = cos * bent[0] + sin * bent[1], cos * bent[1] - sin * bent[0]
    transport = [[cos, sin, moved[0]], [-sin, cos, moved[1]], [0.0, 0.0, 1.0]]
    return transport, [[along, across, driven[0]], [-across, along, driven[1]], [0.0, 0.0, 1.0]]


def _along(angle: Scalar) -> Scalar:
    """Return ``sin x / x``."""
    return 1.0 - (angle * angle) * _c(angle * angle)


def _across(angle: Scalar) -> Scalar:
    """Return ``(1 - cos x) / x``."""
    return angle * _b(angle * angle)


def _back(phi: Vector) -> Matrix:
    """Return the inverse of a rotation, from the axes before it to those after."""
    square = dot(phi, phi)
    return _polynomial(phi, square, 1.0 - square * _c(square), _b(square))


def _right_jacobian(phi: Vector) -> Matrix:
    """Return the derivative of a rotation by its rotation vector, in the axes after it."""
    square = dot(phi, phi)
    return _polynomial(phi, square, _b(square), _c(square))


def _polynomial(phi: Vector, square: Scalar, first: Scalar, second: Scalar) -> Matrix:
    """Return ``1 - first [phi]x + second [phi]x^2``, where ``[phi]x^2 = phi phi^T - |phi|^2``."""
    diagonal = 1.0 - second * square
    turned = _minus_skew(scale(first, phi))
    outer = [scale(part, phi) for part in scale(second, phi)]
    return [[outer[i][j] + (diagonal if i == j else turned[i][j]) for j in range(3)] for i in range(3)]


def _b(square: Scalar) -> Scalar:
    """Return ``(1 - cos x) / x^2``."""
    return 0.5 - square * (1.0 / 24.0 - square * (1.0 / 720.0))


def _c(square: Scalar) -> Scalar:
    """Return ``(x - sin x) / x^3``."""
    return 1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0))


def _skew(a: Vector) -> Matrix:
    return [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]]


def _minus_skew(a: Vector) -> Matrix:
    return [[0.0, a[2], -a[1]], [-a[2], 0.0, a[0]], [a[1], -a[0], 0.0]]
