"""Costs of a state: the difference of two states in the tangent space, and the placements of frames.

Differences of orientations are chords: vectors of the length ``2 sin(angle / 2)``. They are polynomials of
the coordinates, and so are their derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.joint import attitude
from rbdhw.dynamics.kinematics import FrameMotion
from rbdhw.dynamics.spatial import Tensor, Vector, add, apply, cross, rotate_into, scale, transpose_tensor
from rbdhw.robot.model import JointKind
from rbdhw.scalar import Scalar, inner_product

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class Turn:
    """The cosine and sine of an angle of a joint, and of its reference."""

    reference: tuple[Scalar, Scalar]
    actual: tuple[Scalar, Scalar]


def joint_difference(
    kind: JointKind, reference: Sequence[Scalar], q: Sequence[Scalar], turn: Turn | None = None
) -> tuple[list[Scalar], Matrix]:
    """Return the tangent vector (nv_i,) from a reference to a configuration of a joint of several freedoms.

    The second result (nv_i, nv_i) is its derivative by the configuration, in the tangent space. ``turn``
    belongs to a planar joint, whose angle is then that of both, in the unit of the coordinates.
    """
    match kind:
        case JointKind.PLANAR if turn is not None:
            return _planar(reference, q, turn)
        case JointKind.SPHERICAL:
            return _chord(reference, q)
        case JointKind.FLOATING:
            into = attitude(reference[3:], 1.0)
            displacement = apply(into, (q[0] - reference[0], q[1] - reference[1], q[2] - reference[2]))
            chord, turned = _chord(reference[3:], q[3:])
            moved = _tensor_product(into, transpose_tensor(attitude(q[3:], 1.0)))
            zeros = [0.0] * 3
            rows = [[*row, *zeros] for row in moved] + [[*zeros, *row] for row in turned]
            return [*displacement, *chord], rows
    raise ValueError(f"{kind} joints have one degree of freedom")


def coordinate_gains(kind: JointKind, gains: Sequence[Scalar], reference: Sequence[Scalar]) -> list[Scalar]:
    """Return the gains (nq_i,) of the differences of coordinates from those (nv_i,) of a tangent vector.

    The vector is that of :func:`joint_difference` from a ``reference`` (nq_i,). It is a linear function of
    the other configuration, and zero at the reference itself. ValueError for joints without a quaternion.
    """
    if kind.quaternion is None:
        raise ValueError(f"{kind} joints have no quaternion")
    x, y, z = gains[-3:]
    of_quaternion = _chord_gains((x, y, z), reference[-4:])
    if kind is JointKind.SPHERICAL:
        return of_quaternion
    x, y, z = gains[:3]
    return [*apply(transpose_tensor(attitude(reference[-4:], 1.0)), (x, y, z)), *of_quaternion]


def _chord_gains(gains: Vector, reference: Sequence[Scalar]) -> list[Scalar]:
    a, w = (reference[0], reference[1], reference[2]), reference[3]
    vector = scale(2.0, add(scale(w, gains), cross(a, gains)))
    return [*vector, -2.0 * inner_product(gains, a)]


def _planar(reference: Sequence[Scalar], q: Sequence[Scalar], turn: Turn) -> tuple[list[Scalar], Matrix]:
    (cos, sin), (c, s) = turn.reference, turn.actual
    x, y, _ = rotate_into(cos, sin, (q[0] - reference[0], q[1] - reference[1], 0.0))
    level, across = cos * c + sin * s, cos * s - sin * c
    rows = [[level, -across, 0.0], [across, level, 0.0], [0.0, 0.0, 1.0]]
    return [x, y, q[2] - reference[2]], rows


def _chord(reference: Sequence[Scalar], quaternion: Sequence[Scalar]) -> tuple[list[Scalar], Matrix]:
    """Return twice the vector of the quaternion between two orientations, and its derivative."""
    a, w0 = (reference[0], reference[1], reference[2]), reference[3]
    b, w1 = (quaternion[0], quaternion[1], quaternion[2]), quaternion[3]
    x, y, z = add(add(scale(w0, b), scale(-1.0 * w1, a)), cross(b, a))
    w = w0 * w1 + (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
    rows = [[w, -1.0 * z, y], [z, w, -1.0 * x], [-1.0 * y, x, w]]
    return [2.0 * x, 2.0 * y, 2.0 * z], rows


def _tensor_product(left: Tensor, right: Tensor) -> Tensor:
    columns = transpose_tensor(right)
    x, y, z = (apply(columns, row) for row in left)
    return x, y, z


@dataclass(frozen=True)
class PlacementGoal:
    """Where a frame should be: rows of a placement, weights of its coordinates, and that of its attitude."""

    placement: Matrix
    position_weight: Vector
    orientation_weight: Scalar

    def cost(self, placement: Matrix) -> Scalar:
        """Return the cost of a placement."""
        offset = self._offset(placement)
        columns = zip(self._axes(placement), self._axes(self.placement), strict=True)
        aligned = sum((inner_product(one, other) for one, other in columns), 0.0)
        return 0.5 * inner_product(self._weighted(offset), offset) + 0.5 * self.orientation_weight * (
            3.0 - aligned
        )

    def expansion(self, frame: FrameMotion) -> tuple[list[Scalar], Matrix]:
        """Return the gradient (n,) and the lower triangle of the Hessian of a frame's cost; rows are in
        the world's axes."""
        linear, angular = frame.jacobian[:3], frame.jacobian[3:]
        force = self._weighted(self._offset(frame.placement))
        pairs = list(zip(self._axes(self.placement), self._axes(frame.placement), strict=True))
        moment = scale(0.5 * self.orientation_weight, add(*(cross(*pair) for pair in pairs)))
        wrench = [*force, *moment]
        columns = list(zip(*frame.jacobian, strict=True))
        pulled = [[w * x for x in row] for w, row in zip(self.position_weight, linear, strict=True)]
        turned = [[self.orientation_weight * x for x in row] for row in angular]
        weighted = list(zip(*pulled, *turned, strict=True))
        gradient = [inner_product(column, wrench) for column in columns]
        hessian = [
            [inner_product(weighted[i], columns[j]) for j in range(i + 1)] for i in range(len(columns))
        ]
        return gradient, hessian

    def _offset(self, placement: Matrix) -> list[Scalar]:
        pairs = zip(placement[:3], self.placement[:3], strict=True)
        return [row[3] - reference[3] for row, reference in pairs]

    def _weighted(self, offset: Sequence[Scalar]) -> list[Scalar]:
        return [w * x for w, x in zip(self.position_weight, offset, strict=True)]

    @staticmethod
    def _axes(placement: Matrix) -> list[Vector]:
        return [(placement[0][k], placement[1][k], placement[2][k]) for k in range(3)]
