"""Second derivatives of inverse dynamics by differentiating its graph.

These are the results of :mod:`rbdhw.dynamics.contractions` and :mod:`rbdhw.dynamics.second_derivatives`, in
the robot's coordinates, by the passes of :mod:`rbdhw.passes.differentiate` instead of hand-derived columns:

- contracted: ``mu . tau`` is differentiated in reverse, and its gradient forward along each coordinate;
- whole: the first derivatives of :mod:`rbdhw.dynamics.derivatives` are differentiated forward.

Derivatives by a configuration are taken in the tangent space. A direction therefore seeds the numbers of a
joint's :class:`rbdhw.dynamics.joint.Coordinate`, as functions of the same numbers: ``d cos = -sin``,
``d sin = cos``, and for a rotation about axis ``k`` of a spherical joint ``dE = -[e_k]x E``. A second
derivative differentiates these functions, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from rbdhw.dynamics.derivatives import Matrix, inverse_dynamics_derivatives
from rbdhw.dynamics.joint import Coordinate, Direction, directions, dofs
from rbdhw.dynamics.rnea import joint_forces
from rbdhw.dynamics.second_columns import SecondDerivatives, empty_derivatives
from rbdhw.dynamics.second_derivatives import enter_symbols
from rbdhw.dynamics.spatial import UNIT, ZERO, Vector, cross, scale, transpose_tensor
from rbdhw.frontend.setting import State
from rbdhw.graph.graph import Edge, Op
from rbdhw.graph.trace import Signal
from rbdhw.passes.differentiate import derivatives, gradient
from rbdhw.robot.model import Joint, JointKind, Robot
from rbdhw.scalar import Scalar, current_region, inner_product, region

Seeds = dict[int, Scalar]
"""The derivatives of nodes along a direction."""

Cell = tuple[Matrix, int, int, Scalar]
"""A place in a matrix, and the number whose derivative belongs there."""

Change = tuple[Scalar, Scalar]
"""A number and its derivative along a direction."""


def contraction(state: State, multipliers: Sequence[Scalar]) -> SecondDerivatives:
    """Return the second derivatives of ``mu . tau`` at constant proper acceleration."""
    along = _Directions(state, multipliers)
    with region("second"):
        forces = joint_forces(state.robot, state.trip)
        total = inner_product(multipliers, forces)
    slopes = along.slopes(total)
    n = state.robot.nv
    by_position, by_velocity, momentum = slopes[:n], slopes[n : 2 * n], slopes[2 * n :]
    second = empty_derivatives(n, _root_momentum(state, momentum))
    _differentiate(along, state.robot, [second], [by_position], [by_velocity], [momentum])
    return second


def all_forces(state: State) -> list[SecondDerivatives]:
    """Return the second derivatives of each joint force at constant proper acceleration."""
    first = inverse_dynamics_derivatives(state.robot, state.coordinates, state.v, state.trip)
    gather = state.coupling.gather_both
    by_position, by_velocity = gather(first.by_position), gather(first.by_velocity)
    momentum = gather(first.mass_matrix)
    forces = [empty_derivatives(state.robot.nv, _root_momentum(state, row)) for row in momentum]
    _differentiate(_Directions(state, ()), state.robot, forces, by_position, by_velocity, momentum)
    joints = _joints(state.robot)
    with region("christoffel"):
        for i, joint in enumerate(joints):
            if joint.kind.nv == 1:
                enter_symbols(forces, i, [other.kind is not JointKind.FLOATING for other in joints])
    return forces


def _differentiate(
    along: _Directions,
    robot: Robot,
    forces: Sequence[SecondDerivatives],
    by_position: Matrix,
    by_velocity: Matrix,
    momentum: Matrix,
) -> None:
    """Fill in second derivatives from first ones and from the momentum, a row for each of ``forces``.

    Of two derivatives that differ only in their order, the one by the smaller index first is computed. Within
    a joint of several degrees of freedom, both are.
    """
    n = robot.nv
    joints = _joints(robot)
    for k in range(n):
        # Second derivatives by coordinates of different joints do not depend on the order. Within a joint
        # they do: positions there are rotations, which do not commute.
        others = [j for j in range(n) if j <= k or joints[j] is joints[k]]
        cells: list[Cell] = []
        for force, *rows in zip(forces, by_position, by_velocity, momentum, strict=True):
            cells += [(force.by_position, j, k, rows[0][j]) for j in others]
            cells += [(force.mixed, k, j, rows[1][j]) for j in range(n)]
            cells += [(force.momentum, j, k, rows[2][j]) for j in range(n)]
        _fill(cells, along.position(k, [value for *_, value in cells]))
        cells = [
            (force.by_velocity, j, k, row[j])
            for force, row in zip(forces, by_velocity, strict=True)
            for j in others
        ]
        _fill(cells, along.velocity(k, [value for *_, value in cells]))
    for force in forces:
        for matrix in (force.by_position, force.by_velocity):
            for k in range(n):
                for j in range(k):
                    if joints[j] is not joints[k]:
                        matrix[k][j] = matrix[j][k]


def _joints(robot: Robot) -> list[Joint]:
    """Return the joint of each of the robot's coordinates."""
    joints = [body.joint for body in robot.bodies if body.joint.mimic is None]
    return [joint for joint in joints for _ in range(joint.kind.nv)]


def _fill(cells: Sequence[Cell], entries: Sequence[Scalar]) -> None:
    for (matrix, j, k, _), entry in zip(cells, entries, strict=True):
        matrix[j][k] = entry


class _Directions:
    """The directions of the robot's coordinates in the graph: those of position, velocity and acceleration.

    The multipliers are constant along all of them, and the accelerations along the first two.
    """

    def __init__(self, state: State, multipliers: Sequence[Scalar]) -> None:
        robot, spans = state.robot, dofs(state.robot)
        self._builder = next(rate.builder for rate in state.v if isinstance(rate, Signal))
        kinds = [directions(body.joint) for body in robot.bodies]
        self._position = _seeds(robot, lambda i, k: _tangent(state.joint_coordinates[i], kinds[i][k]))
        self._velocity = _seeds(robot, lambda i, k: [(state.v[spans[i]][k], 1.0)])
        self._acceleration = _seeds(robot, lambda i, k: [(state.a[spans[i]][k], 1.0)])
        self._fixed: Seeds = {}
        for multiplier in multipliers:
            if isinstance(multiplier, Signal):
                self._fixed |= _node_seeds(multiplier, 0.0)
        self._held = self._fixed | {i: 0.0 for seeds in self._acceleration for i in seeds}

    def position(self, k: int, values: Sequence[Scalar]) -> list[Scalar]:
        """Return the derivatives of values by the position of coordinate ``k``."""
        return self._derivatives(values, self._position[k] | self._held)

    def velocity(self, k: int, values: Sequence[Scalar]) -> list[Scalar]:
        """Return the derivatives of values by the velocity of coordinate ``k``."""
        return self._derivatives(values, self._velocity[k] | self._held)

    def slopes(self, value: Scalar) -> list[Scalar]:
        """Return the derivatives of a value by all positions, then velocities, then accelerations."""
        every = [*self._position, *self._velocity, *self._acceleration]
        edges = [self._edges(seeds) for seeds in every]
        slopes = gradient(self._builder, self._edge(value), edges, self._fixed)
        return [self._scalar(edge) for edge in slopes]

    def _derivatives(self, values: Sequence[Scalar], seeds: Seeds) -> list[Scalar]:
        edges = [self._edge(value) for value in values]
        return [self._scalar(edge) for edge in derivatives(self._builder, edges, self._edges(seeds))]

    def _edges(self, seeds: Seeds) -> dict[int, Edge]:
        return {i: self._edge(seed) for i, seed in seeds.items()}

    def _edge(self, value: Scalar) -> Edge:
        return value.edge if isinstance(value, Signal) else self._builder.constant(value, current_region())

    def _scalar(self, edge: Edge) -> Scalar:
        known = self._builder.constant_value(edge)
        return Signal(self._builder, edge) if known is None else known


def _seeds(robot: Robot, changes: Callable[[int, int], Iterable[Change]]) -> list[Seeds]:
    """Return the seeds of each of the robot's coordinates.

    ``changes`` returns the numbers that depend on a degree of freedom, from its body and its number there.
    """
    by_coordinate: list[Seeds] = [{} for _ in range(robot.nv)]
    for i, (body, span) in enumerate(zip(robot.bodies, robot.v_of, strict=True)):
        factor = body.joint.mimic.multiplier if body.joint.mimic else 1.0
        with region("second", i):
            for k, seeds in enumerate(by_coordinate[span]):
                for number, change in changes(i, k):
                    if isinstance(number, Signal):
                        seeds |= _node_seeds(number, factor * change)
    return by_coordinate


def _node_seeds(number: Signal, change: Scalar) -> Seeds:
    """Return the seed of a number's node.

    The builder merges successive products with constants. If the number is such a product, others may be
    computed from its argument, which is hence seeded, too.
    """
    node, negative, shift = number.edge
    seed = math.ldexp(-1.0 if negative else 1.0, -shift) * change
    source = number.builder.nodes[node]
    if source.op is not Op.SCALE:
        return {node: seed}
    return {node: seed} | _node_seeds(Signal(number.builder, source.args[0]), (1.0 / source.value) * seed)


def _tangent(q: Coordinate, direction: Direction) -> list[Change]:
    """Return the numbers of a joint's coordinate with their derivatives by one degree of freedom."""
    turns, k = direction
    if q.attitude is not None:
        columns = [scale(-1.0, cross(UNIT[k], column)) for column in transpose_tensor(q.attitude)]
        changes = zip(*columns, strict=True)
        return [pair for rows in zip(q.attitude, changes, strict=True) for pair in zip(*rows, strict=True)]
    if turns:
        return [(q.cos, -q.sin), (q.sin, q.cos)]
    return list(zip(q.shift, q.out_of(UNIT[k]), strict=True))


def _root_momentum(state: State, momentum: Sequence[Scalar]) -> Vector:
    """Return the linear part of the momentum of a floating body, which others do not need."""
    return ZERO if state.floating is None else (momentum[0], momentum[1], momentum[2])
