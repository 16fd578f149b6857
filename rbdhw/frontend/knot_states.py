"""What a knot's step computes from the states of joints of several degrees of freedom.

A solver on an accelerator has the coordinates of these joints, and no displacements in their tangent spaces.
The numbers of a knot are then, for element ``c`` of ``q`` and coordinate ``i`` of the tangent space

=====================  ==================================================================================
``displacement[i]``    ``h`` times the velocity behind the step
``offset[c]``          the position of a floating joint, less that of its reference
``quaternion[c]``      the orientation of the knot
``reference[c]``       that of its reference
``attitude[c]``        the orientation of the knot again, for the gains; the last knot needs none
``H[i,i]``             the weight of a coordinate of the difference from the reference
=====================  ==================================================================================

in place of blocks of ``T`` and ``J``, of a Hessian in the tangent space, and of a gradient. The gains are
those of differences of coordinates. Planar joints are not among them: the cosine and the sine of their angle
are no coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rbdhw.dynamics.integration import displacement_derivatives
from rbdhw.dynamics.riccati import Matrix, Vector
from rbdhw.dynamics.state_cost import coordinate_gains, joint_difference
from rbdhw.graph.knots import ATTITUDE, DISPLACEMENT, OFFSET, QUATERNION, REFERENCE
from rbdhw.graph.trace import Recorder
from rbdhw.robot.model import Robot
from rbdhw.robot.wide_joints import wide_joints
from rbdhw.scalar import Scalar, inner_product, region


class JointStates:
    """The numbers of the joints of a ``robot`` that have several degrees of freedom, at one knot."""

    def __init__(self, recorder: Recorder, robot: Robot) -> None:
        self._recorder, self._nv = recorder, robot.nv
        self.joints = wide_joints(robot)

    def blocks(self) -> Iterator[tuple[slice, Matrix, Matrix]]:
        """Yield the coordinates of each joint, and its blocks of ``T`` and ``J``."""
        for wide in self.joints:
            displacement = self._inputs(DISPLACEMENT, wide.coordinates)
            with region("displacement", wide.rates.start):
                yield wide.rates, *displacement_derivatives(wide.joint.kind, displacement)

    def costs(self) -> Iterator[tuple[slice, Vector, Matrix]]:
        """Yield the coordinates of each joint, and the gradient and the Hessian of its cost by them."""
        for wide in self.joints:
            weights = [self._recorder.input(f"H[{i},{i}]") for i in wide.coordinates]
            orientation, reference = (self._inputs(name, wide.quaternion) for name in (QUATERNION, REFERENCE))
            offset = self._inputs(OFFSET, wide.position)
            still = [0.0] * len(offset)
            with region("state_cost", wide.rates.start):
                difference, turned = joint_difference(
                    wide.joint.kind, [*still, *reference], [*offset, *orientation]
                )
                weighted = [[weight * x for x in row] for weight, row in zip(weights, turned, strict=True)]
                columns = list(zip(*weighted, strict=True))
                gradient = [inner_product(column, difference) for column in columns]
                yield wide.rates, gradient, _symmetric(columns, list(zip(*turned, strict=True)))

    def gains(self, row: Vector) -> Vector:
        """Return gains (nq + nv,) of differences of coordinates from those (2 nv,) of a tangent vector."""
        of_position, of_velocity = list[Scalar](row[: self._nv]), row[self._nv :]
        for wide in reversed(self.joints):  # a joint has more coordinates than velocities
            attitude = self._inputs(ATTITUDE, wide.quaternion)
            still = [0.0] * len(wide.position)
            with region("coordinate_gains", wide.rates.start):
                of_position[wide.rates] = coordinate_gains(
                    wide.joint.kind, of_position[wide.rates], [*still, *attitude]
                )
        return [*of_position, *of_velocity]

    def _inputs(self, array: str, elements: Iterable[int]) -> list[Scalar]:
        return [self._recorder.input(f"{array}[{k}]") for k in elements]


def _symmetric(weighted: Sequence[Sequence[Scalar]], columns: Sequence[Sequence[Scalar]]) -> Matrix:
    """Return the products of weighted columns with all columns, each pair once."""
    rows = [[inner_product(weighted[i], columns[j]) for j in range(i + 1)] for i in range(len(columns))]
    return [[rows[max(i, j)][min(i, j)] for j in range(len(rows))] for i in range(len(rows))]
