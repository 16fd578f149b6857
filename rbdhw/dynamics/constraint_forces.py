"""Forward dynamics by the forces with which joints keep their bodies together.

Each body alone moves as the wrenches on it tell, so all bodies can be computed at once. The unknowns are the
five components of each joint's wrench in which the joint does not move. Their equations say that there the
bodies on both sides have the same acceleration; only neighbouring joints are coupled. The axes are z, so the
projection on the constrained directions leaves out a row. A rotor gives its joint a sixth equation: the force
that arrives is less than the joint's force by what turns the rotor.

Source: Fijany, Sharf and D'Eleuterio, "Parallel O(log N) algorithms for computation of manipulator forward
dynamics" (1995).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.dynamics.block_elimination import BlockSystem, Pair, Rows
from rbdhw.dynamics.columns import in_child
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import (
    STILL,
    Motion,
    RoundTrip,
    inertial_wrench,
    make_motion,
    motion_of,
    without_external,
)
from rbdhw.dynamics.rnea import backward as in_parent
from rbdhw.dynamics.spatial import (
    ZERO,
    Tensor,
    Twist,
    Wrench,
    add,
    add_twist,
    cross,
    subtract,
    transpose_tensor,
)
from rbdhw.dynamics.velocity_scan import segment_velocities
from rbdhw.robot.model import BASE, Inertia, Joint, Placement, Robot
from rbdhw.robot.spatial import rotational_matrix
from rbdhw.scalar import Scalar, inner_product, region

Array = NDArray[np.float64]

SMALLEST_RATIO = 1e-6
"""The least ratio of a body's smallest and largest moment of inertia about its centre of mass."""


def has_whole_bodies(robot: Robot) -> bool:
    """Return whether each body can be moved by itself: it has a mass, and moments about all axes."""
    return all(_is_whole(body.inertia if body.whole is None else body.whole) for body in robot.bodies)


def _is_whole(inertia: Inertia) -> bool:
    if inertia.mass <= 0.0:
        return False
    x, y, z = (np.array(inertia.first_moment)) / inertia.mass
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    moments = np.linalg.eigvalsh(np.array(rotational_matrix(inertia)) + inertia.mass * skew @ skew)
    return bool(moments[0] > SMALLEST_RATIO * moments[-1])


def accelerate(
    robot: Robot,
    q: Sequence[Coordinate],
    v: Sequence[Scalar],
    forces: Sequence[Scalar],
    fext: Mapping[int, Wrench],
    eliminated: bool = False,
) -> list[Scalar]:
    """Return the accelerations of forward dynamics (rad/s^2, m/s^2), one for each joint.

    ``robot`` has a fixed base, joints of one freedom, all axes z, and whole bodies
    (:func:`has_whole_bodies`). ``q`` and ``v`` are the coordinate and the velocity of each joint, ``forces``
    the force of each less its friction (Nm, N), and ``fext`` external wrenches as for
    :func:`rbdhw.dynamics.rnea.newton_euler`. With ``eliminated`` chains are solved by elimination, and not by
    reduction.
    """
    bodies = [replace(body, inertia=body.whole or body.inertia) for body in robot.bodies]
    return _Constraints(replace(robot, bodies=tuple(bodies)), q, v, forces, fext).solve(eliminated)


class _Constraints:
    """The equations of the constraint forces.

    A twist or wrench here is six numbers, the angular part or the moment first.
    """

    def __init__(
        self,
        robot: Robot,
        q: Sequence[Coordinate],
        v: Sequence[Scalar],
        forces: Sequence[Scalar],
        fext: Mapping[int, Wrench],
    ) -> None:
        self._robot, self._q, self._forces = robot, q, forces
        self._mobilities = [_mobility(body.inertia) for body in robot.bodies]
        self._into = [_transform(body.joint.placement) for body in robot.bodies]
        self._kept = [_constrained(body.joint) for body in robot.bodies]
        self._resisting, self._coriolis = _velocity_terms(robot, q, v, fext)

    def solve(self, eliminated: bool) -> list[Scalar]:
        """Return the acceleration of each joint."""
        wrenches = [self._own_wrench(i) for i in range(len(self._robot.bodies))]
        right = self._right(self._net_wrenches(wrenches))
        system = BlockSystem(*self._blocks(), right)
        solution = system.eliminate() if eliminated else system.reduce()
        for i, (kept, values) in enumerate(zip(self._kept, solution, strict=True)):
            for component, value in zip(kept, values, strict=True):
                wrenches[i][component] = value
        net = self._net_wrenches(wrenches)
        return [self._acceleration(i, net) for i in range(len(net))]

    def _own_wrench(self, i: int) -> list[Scalar]:
        """Return the wrench of a joint without constraint forces."""
        joint = self._robot.bodies[i].joint
        wrench: list[Scalar] = [0.0] * 6
        if not joint.armature:
            wrench[_axis(joint)] = self._forces[i]
        return wrench

    def _net_wrenches(self, wrenches: Sequence[list[Scalar]]) -> list[list[Scalar]]:
        """Return the wrench that accelerates each body, from the wrenches of the joints."""
        net = [add_twist(_pair(wrench), left) for wrench, left in zip(wrenches, self._resisting, strict=True)]
        for i, body in enumerate(self._robot.bodies):
            if body.parent != BASE:
                with region("net_wrench", body.parent):
                    reaction = in_parent(body.joint, self._q[i], _pair([-1.0 * x for x in wrenches[i]]))
                    net[body.parent] = add_twist(net[body.parent], reaction)
        return [[*moment, *force] for moment, force in net]

    def _relative(self, i: int, net: Sequence[list[Scalar]]) -> list[Scalar]:
        """Return the acceleration that a joint has, given the net wrenches on the bodies."""
        body = self._robot.bodies[i]
        with region("relative_acceleration", i):
            acceleration = _times(self._mobilities[i], net[i])
            if body.parent == BASE:
                above: list[Scalar] = [*ZERO, *subtract(ZERO, self._robot.gravity)]
            else:
                above = _times(self._mobilities[body.parent], net[body.parent])
            reached = in_child(body.joint, self._q[i], _pair(above))
            moved = add_twist(reached, self._coriolis[i])
            return [x - y for x, y in zip(acceleration, (*moved[0], *moved[1]), strict=True)]

    def _acceleration(self, i: int, net: Sequence[list[Scalar]]) -> Scalar:
        """Return that acceleration along or about the joint's axis, to which its coordinate adds nothing."""
        body = self._robot.bodies[i]
        k = _axis(body.joint)
        with region("relative_acceleration", i):
            acceleration = (
                _dot(self._mobilities[i][k], net[i]) - [*self._coriolis[i][0], *self._coriolis[i][1]][k]
            )
            into = self._into[i][k]
            if body.parent == BASE:
                falling = np.array([*ZERO, *self._robot.gravity])
                return acceleration + float(into @ falling)
            return acceleration - _dot(into @ self._mobilities[body.parent], net[body.parent])

    def _right(self, net: Sequence[list[Scalar]]) -> list[list[Scalar]]:
        """Return the right side of each joint's equations."""
        right = []
        for i, body in enumerate(self._robot.bodies):
            relative = self._relative(i, net)
            rows = [-1.0 * relative[k] for k in self._kept[i]]
            if body.joint.armature:
                row = self._kept[i].index(_axis(body.joint))
                rows[row] = rows[row] + self._forces[i] * (1.0 / body.joint.armature[0])
            right.append(rows)
        return right

    def _blocks(self) -> tuple[list[Rows], dict[Pair, Rows]]:
        """Return the blocks of the joints and of the pairs of joints on one body."""
        diagonal: list[Rows] = []
        coupling: dict[Pair, Rows] = {}
        for i, body in enumerate(self._robot.bodies):
            with region("constraint_matrix", i):
                diagonal.append(self._diagonal(i))
                if body.parent == BASE:
                    continue
                above = self._into[i] @ self._mobilities[body.parent]
                coupling[i, body.parent] = self._rows(i, (-above[:, self._kept[body.parent]]).tolist())
                for j in (j for j in self._robot.children[body.parent] if j < i):
                    across = self._rows(j, (self._into[j] @ above.T).tolist())
                    coupling[i, j] = self._rows(i, [list(row) for row in zip(*across, strict=True)])
        return diagonal, coupling

    def _diagonal(self, i: int) -> Rows:
        """Return the block of a joint: how far its bodies yield to a wrench between them."""
        body, kept = self._robot.bodies[i], self._kept[i]
        block: Rows = self._mobilities[i].tolist()
        if body.parent != BASE:
            into = self._into[i]
            above = _turned(self._q[i], into @ self._mobilities[body.parent] @ into.T)
            block = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(block, above, strict=True)]
        if body.joint.armature:
            k = _axis(body.joint)
            block[k][k] = block[k][k] + 1.0 / body.joint.armature[0]
        return [[block[a][b] for b in kept] for a in kept]

    def _rows(self, i: int, matrix: Rows) -> Rows:
        """Return a joint's rows of a matrix given in the axes of its frame on the parent."""
        moved = [_through(self._q[i], list(column)) for column in zip(*matrix, strict=True)]
        return [[column[k] for column in moved] for k in self._kept[i]]


def _velocity_terms(
    robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], fext: Mapping[int, Wrench]
) -> tuple[list[Wrench], list[Twist]]:
    """Return the wrenches of velocities and of the environment, and the Coriolis terms of the joints.

    Only the angular velocities follow each other along a chain, and on a long one only within segments.
    """
    known = segment_velocities(robot, q, v)
    trip = RoundTrip(STILL, [], {}, [])
    wrenches: list[Wrench] = []
    coriolis: list[Twist] = []
    for i, body in enumerate(robot.bodies):
        with region("velocity_terms", i):
            motion = motion_of(robot, i, q[i], [v[i]], [0.0], trip)
            coriolis.append((motion.angular, motion.linear))
            if i in known:
                motion = make_motion(known[i], ZERO, ZERO)
            motion = Motion(motion.velocity, ZERO, ZERO, motion.squares, motion.products)
            trip.motions.append(motion)
            wrench = inertial_wrench(body.inertia, motion)
            if i in fext:
                wrench = without_external(wrench, fext[i], body.link_frame)
            wrenches.append((subtract(ZERO, wrench[0]), subtract(ZERO, wrench[1])))
    return wrenches, coriolis


def _mobility(inertia: Inertia) -> Array:
    """Return the inverse of a body's spatial inertia."""
    x, y, z = inertia.first_moment
    coupling = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotational = np.array(rotational_matrix(inertia))
    inverse = np.linalg.inv(np.block([[rotational, coupling], [coupling.T, inertia.mass * np.eye(3)]]))
    return _without_dust(0.5 * (inverse + inverse.T))


def _transform(placement: Placement) -> Array:
    """Return the matrix that transforms a parent's twist to a joint's frame."""
    into, (x, y, z) = np.array(placement.rotation).T, placement.translation
    across = into @ np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    return np.block([[into, np.zeros((3, 3))], [across, into]])


def _without_dust(matrix: Array) -> Array:
    """Return a matrix without the entries that are rounding errors."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    return np.where(np.abs(matrix) <= 1e-13 * np.outer(size, size), 0.0, matrix)


def _constrained(joint: Joint) -> list[int]:
    """Return the places of a joint's unknowns in its wrench."""
    return [k for k in range(6) if k != _axis(joint) or joint.armature]


def _axis(joint: Joint) -> int:
    """Return the place of a joint's own motion or force among the six."""
    return 2 if joint.kind.rotates else 5


def _pair(six: Sequence[Scalar]) -> Twist:
    a, b, c, d, e, f = six
    return (a, b, c), (d, e, f)


def _times(matrix: Array, six: Sequence[Scalar]) -> list[Scalar]:
    return [_dot(row, six) for row in matrix]


def _dot(row: Array, six: Sequence[Scalar]) -> Scalar:
    return inner_product(row.tolist(), six)


def _through(q: Coordinate, twist: list[Scalar]) -> list[Scalar]:
    """Return a twist of the joint's frame on the parent, in the frame that the joint moves."""
    angular, linear = _pair(twist)
    angular = q.into(angular)
    return [*angular, *add(q.into(linear), cross(angular, q.shift))]


def _turned(q: Coordinate, matrix: Array) -> Rows:
    """Return a symmetric matrix of the joint's frame on the parent, in the frame that the joint moves."""
    if q.shift != ZERO:
        columns = [_through(q, column) for column in matrix.tolist()]
        return [_through(q, list(row)) for row in zip(*columns, strict=True)]
    back = Coordinate(q.cos, -1.0 * q.sin)
    angular, across, linear = (
        back.tensor_out_of(_tensor(block)) for block in (matrix[:3, :3], matrix[:3, 3:], matrix[3:, 3:])
    )
    upper = [[*row, *rest] for row, rest in zip(angular, across, strict=True)]
    lower = [[*row, *rest] for row, rest in zip(transpose_tensor(across), linear, strict=True)]
    return upper + lower


def _tensor(block: Array) -> Tensor:
    x, y, z = (tuple(row) for row in block.tolist())
    return x, y, z
