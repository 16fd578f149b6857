"""Placements and inertias as plain tuples of floats: compose, invert, move, add, and snap to exact values.

The arithmetic is plain Python, so the same robot gives the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin, sqrt

from rbdhw.robot.model import IDENTITY, Inertia, Matrix3, Placement, Vector3

SNAP = 1e-9
"""Rotation entries this close to 0 or 1 are made 0 or 1 (the angles in a URDF are rounded)."""

ROUNDING = 1e-14
"""A sum smaller than this fraction of its terms counts as zero."""


def dot(a: Vector3, b: Vector3) -> float:
    """Return the scalar product of two 3-vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector3, b: Vector3) -> Vector3:
    """Return the vector product of two 3-vectors."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def add(a: Vector3, b: Vector3) -> Vector3:
    """Return the sum of two 3-vectors."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def scale(k: float, a: Vector3) -> Vector3:
    """Return ``k`` times a 3-vector."""
    return (k * a[0], k * a[1], k * a[2])


def norm(a: Vector3) -> float:
    """Return the Euclidean length of a 3-vector."""
    return sqrt(dot(a, a))


def transpose(m: Matrix3) -> Matrix3:
    """Return the transpose of a 3x3 matrix (the inverse of a rotation)."""
    a, b, c = m
    return ((a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2]))


def apply(m: Matrix3, a: Vector3) -> Vector3:
    """Return a 3x3 matrix times a 3-vector."""
    return (dot(m[0], a), dot(m[1], a), dot(m[2], a))


def multiply(m: Matrix3, n: Matrix3) -> Matrix3:
    """Return the product of two 3x3 matrices."""
    x, y, z = transpose(n)
    a, b, c = m
    return (
        (dot(a, x), dot(a, y), dot(a, z)),
        (dot(b, x), dot(b, y), dot(b, z)),
        (dot(c, x), dot(c, y), dot(c, z)),
    )


def snap(m: Matrix3) -> Matrix3:
    """Return a rotation with entries within ``SNAP`` of zero set to zero.

    An entry that is then alone in its row and column is set to +-1. Entries beside other non-zero entries do
    not change, so the result is still a rotation.
    """
    rows = [[0.0 if abs(entry) < SNAP else entry for entry in row] for row in m]
    for i in range(3):
        for j in range(3):
            others = [rows[i][k] for k in range(3) if k != j] + [rows[k][j] for k in range(3) if k != i]
            if not any(others):
                rows[i][j] = 1.0 if rows[i][j] > 0.0 else -1.0
    a, b, c = rows
    return ((a[0], a[1], a[2]), (b[0], b[1], b[2]), (c[0], c[1], c[2]))


def round_terms(a: Vector3, terms: Vector3) -> Vector3:
    """Return the sum ``a``; entries negligible compared with its largest entry or ``terms`` become zero."""
    size = ROUNDING * max(abs(value) for value in (*a, *terms))
    x, y, z = (0.0 if abs(value) <= size else value for value in a)
    return (x, y, z)


def rotation_z(angle: float) -> Matrix3:
    """Return the rotation by ``angle`` (rad) about z, exact at multiples of a quarter turn."""
    c, s = cos(angle), sin(angle)
    return snap(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))


def rotation_rpy(rpy: Vector3) -> Matrix3:
    """Return URDF's roll, pitch, yaw (rad) about fixed x, y, z: ``Rz(yaw) Ry(pitch) Rx(roll)``, snapped."""
    (cr, sr), (cp, sp), (cy, sy) = ((cos(angle), sin(angle)) for angle in rpy)
    about_x: Matrix3 = ((1.0, 0.0, 0.0), (0.0, cr, -sr), (0.0, sr, cr))
    about_y: Matrix3 = ((cp, 0.0, sp), (0.0, 1.0, 0.0), (-sp, 0.0, cp))
    about_z: Matrix3 = ((cy, -sy, 0.0), (sy, cy, 0.0), (0.0, 0.0, 1.0))
    return snap(multiply(about_z, multiply(about_y, about_x)))


def rotation_quaternion(quaternion: Sequence[float]) -> Matrix3:
    """Return the rotation of a quaternion ``x y z w`` of any length but zero, snapped."""
    size = max(map(abs, quaternion))
    x, y, z, w = (value / size for value in quaternion)
    k = 2.0 / (x * x + y * y + z * z + w * w)
    return snap(
        (
            (1.0 - k * (y * y + z * z), k * (x * y - z * w), k * (x * z + y * w)),
            (k * (x * y + z * w), 1.0 - k * (x * x + z * z), k * (y * z - x * w)),
            (k * (x * z - y * w), k * (y * z + x * w), 1.0 - k * (x * x + y * y)),
        )
    )


def compose(outer: Placement, inner: Placement) -> Placement:
    """Return the pose of ``inner``'s frame in the frame in which ``outer`` is given: outer o inner."""
    moved = add(outer.translation, apply(outer.rotation, inner.translation))
    return Placement(
        rotation=snap(multiply(outer.rotation, inner.rotation)),
        translation=round_terms(moved, inner.translation),
    )


def inverse(placement: Placement) -> Placement:
    """Return the pose of the parent frame in the child frame."""
    back, translation = transpose(placement.rotation), placement.translation
    return Placement(back, round_terms(scale(-1.0, apply(back, translation)), translation))


def rotational_matrix(inertia: Inertia) -> Matrix3:
    """Return the rotational inertia about the frame's origin as a symmetric 3x3 matrix (kg m^2)."""
    xx, xy, xz, yy, yz, zz = inertia.rotational
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def point_inertia(mass: float, centre: Vector3, about_centre: Matrix3) -> Inertia:
    """Return the inertia of ``mass`` (kg) at ``centre`` (m) with ``about_centre`` (kg m^2) about it."""
    x, y, z = centre
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = about_centre
    return Inertia(
        mass=mass,
        first_moment=scale(mass, centre),
        rotational=(
            xx + mass * (y * y + z * z),
            xy - mass * x * y,
            xz - mass * x * z,
            yy + mass * (x * x + z * z),
            yz - mass * y * z,
            zz + mass * (x * x + y * y),
        ),
    )


def move_inertia(inertia: Inertia, placement: Placement) -> Inertia:
    """Return an inertia given in the child frame at ``placement``, about and along the parent frame.

    ``I = R I R^T + (2 h.t + m t.t) E - (h t^T + t h^T + m t t^T)``, with ``h`` rotated into the parent frame.
    The formula is linear in (m, h, I), so it also holds for parameters that no rigid body has.
    """
    turn, t = placement.rotation, placement.translation
    h = apply(turn, inertia.first_moment)
    turned = multiply(turn, multiply(rotational_matrix(inertia), transpose(turn)))
    mass = inertia.mass
    diagonal = 2.0 * dot(h, t) + mass * dot(t, t)

    def entry(i: int, j: int) -> float:
        shift = -(h[i] * t[j] + t[i] * h[j] + mass * t[i] * t[j])
        return turned[i][j] + shift + (diagonal if i == j else 0.0)

    moved = (entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2))
    size = max(abs(value) for value in moved)
    return Inertia(
        mass=mass,
        first_moment=round_terms(add(h, scale(mass, t)), inertia.first_moment),
        rotational=_without_dust(moved, size),
    )


def add_inertia(a: Inertia, b: Inertia) -> Inertia:
    """Return the inertia of two bodies rigidly joined, both given in one frame."""
    p, q = a.rotational, b.rotational
    total = (p[0] + q[0], p[1] + q[1], p[2] + q[2], p[3] + q[3], p[4] + q[4], p[5] + q[5])
    size = max(abs(value) for value in (*p, *q))
    return Inertia(
        mass=a.mass + b.mass,
        first_moment=round_terms(add(a.first_moment, b.first_moment), a.first_moment),
        rotational=_without_dust(total, size),
    )


def is_signed_permutation(m: Matrix3) -> bool:
    """Return whether every entry is 0, 1 or -1; such a rotation needs no multiplication."""
    return all(entry in (0.0, 1.0, -1.0) for row in m for entry in row)


def turn_onto_z(axis: Vector3) -> Matrix3:
    """Return a rotation whose third column is the unit vector ``axis``.

    For +-x, +-y and +-z it is a signed permutation; the rotations of an axis and of its opposite differ only
    in signs, so mirrored limbs stay alike. For a skew axis the first column is the common normal of ``axis``
    and z, which makes one entry zero.
    """
    exact: dict[Vector3, Matrix3] = {
        (0.0, 0.0, 1.0): IDENTITY,
        (0.0, 0.0, -1.0): ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)),
        (1.0, 0.0, 0.0): ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        (-1.0, 0.0, 0.0): ((0.0, 0.0, -1.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        (0.0, 1.0, 0.0): ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
        (0.0, -1.0, 0.0): ((0.0, -1.0, 0.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)),
    }
    if axis in exact:
        return exact[axis]
    x, y, _ = axis
    across = sqrt(x * x + y * y)
    first: Vector3 = (y / across, -x / across, 0.0)
    second = cross(axis, first)
    return snap(transpose((first, second, axis)))


def _without_dust(
    values: tuple[float, float, float, float, float, float], size: float
) -> tuple[float, float, float, float, float, float]:
    """Return ``values`` with those of at most ``ROUNDING`` times ``size`` set to zero."""
    xx, xy, xz, yy, yz, zz = (0.0 if abs(value) <= ROUNDING * size else value for value in values)
    return (xx, xy, xz, yy, yz, zz)
