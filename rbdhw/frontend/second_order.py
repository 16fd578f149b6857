"""Second derivatives in the robot's coordinates: of inverse and of forward dynamics, whole or contracted.

Those of inverse dynamics are computed over all degrees of freedom and at constant proper acceleration of a
floating body (:mod:`rbdhw.dynamics.second_columns`). Here they are reduced to the robot's coordinates, and
the terms of the proper acceleration are added. Those of forward dynamics follow by differentiating
``tau = ID(q, v, F(q, v, tau))`` twice, where ``M_q`` is the derivative of the mass matrix::

    F_qq = -M^-1 (ID_qq + M_q F_q + (M_q F_q)^T)        F_vv   = -M^-1 ID_vv
    F_qv = -M^-1 (ID_qv + M_q F_v)                      F_qtau = -M^-1 M_q M^-1

Contracted with ``lambda``, ``mu . ID`` with ``mu = M^-1 lambda`` takes the place of ``ID``, and
``B = d(M mu)/dq`` that of ``M_q``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rbdhw.dynamics.contractions import contracted_derivatives
from rbdhw.dynamics.floating_base import FloatingBody
from rbdhw.dynamics.second_columns import SecondDerivatives
from rbdhw.dynamics.second_derivatives import second_derivatives
from rbdhw.dynamics.spatial import UNIT, cross, dot, scale
from rbdhw.dynamics.spatial import Vector as Vector3
from rbdhw.frontend import differentiated
from rbdhw.frontend.forward_dynamics import symmetric
from rbdhw.frontend.inputs import Coupling, Matrix
from rbdhw.frontend.setting import State
from rbdhw.graph.trace import equal
from rbdhw.scalar import Scalar, in_regions, inner_product, region

Vector = list[Scalar]

Tensor = list[Matrix]
"""A matrix for each index of the first axis."""

Hessian = tuple[Matrix, Matrix, Matrix, Matrix]
"""Second derivatives by ``qq``, ``qv`` and ``vv``, and by ``q`` and accelerations or forces."""


Product = Callable[[Vector], Vector]
"""The product of the inverse of the mass matrix with a vector."""


@dataclass(frozen=True)
class Forward:
    """What second derivatives of forward dynamics need besides those of inverse dynamics."""

    by_position: Matrix
    by_velocity: Matrix
    """The first derivatives of the accelerations, proper for a floating body."""
    inverse: Matrix
    """The lower triangle of the inverse of the mass matrix, as rows."""
    inverse_times: Product
    """The product of that inverse with a vector."""


def contract(state: State, multipliers: Sequence[Scalar]) -> SecondDerivatives:
    """Return the second derivatives of ``mu . tau`` at constant proper acceleration."""
    spread = state.coupling.spread(multipliers)
    if state.differentiated:
        return differentiated.contraction(state, spread)
    second = contracted_derivatives(state.robot, state.coordinates, state.v, state.trip, spread)
    return _gather(state.coupling, second)


def force_hessian(state: State, second: SecondDerivatives) -> Hessian:
    """Return the second derivatives of ``lambda . tau``, completed, from those at constant acceleration."""
    qq, qv, vv = _complete(state.floating, second)
    return qq, qv, vv, _transpose(second.momentum)


def acceleration_hessian(
    state: State, forward: Forward, second: SecondDerivatives, multipliers: Sequence[Scalar]
) -> Hessian:
    """Return the second derivatives of ``lambda . a`` from those of ``mu . tau``."""
    moved = _transposed_product(second.momentum, forward.by_position)
    pushed = _transposed_product(second.momentum, forward.by_velocity)
    by_force = _minus_inverse_times(forward.inverse_times, second.momentum)
    with region("second_correction"):
        qq = _symmetric_like(
            second.by_position, lambda j, k: -(second.by_position[j][k] + (moved[j][k] + moved[k][j]))
        )
        qv = [
            [-(x + y) for x, y in zip(*rows, strict=True)] for rows in zip(second.mixed, pushed, strict=True)
        ]
    vv = [[-entry for entry in row] for row in second.by_velocity]
    if state.floating is not None:
        linear = (-multipliers[0], -multipliers[1], -multipliers[2])
        qq, vv = _add_rotation(state.floating, qq, vv, linear)
    return qq, qv, vv, _transpose(by_force)


def force_tensors(state: State) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ``d2tau_dqdq``, ``d2tau_dqdv``, ``d2tau_dvdv`` and ``dM_dq``."""
    forces = _all_forces(state)
    completed = [_complete(state.floating, force) for force in forces]
    qq, qv, vv = ([parts[k] for parts in completed] for k in range(3))
    return qq, qv, vv, [force.momentum for force in forces]


def acceleration_tensors(state: State, forward: Forward) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ``d2a_dqdq``, ``d2a_dqdv``, ``d2a_dvdv`` and ``dMinv_dq``."""
    forces = _all_forces(state)
    with region("second_correction"):
        totals = [_add_products(force, forward) for force in forces]
    qq = _solve(forward, [total[0] for total in totals], symmetric=True)
    qv = _solve(forward, [total[1] for total in totals])
    momenta = [force.momentum for force in forces]
    if all(body.joint.kind.nv == 1 for body in state.robot.bodies):
        vv = acceleration_symbols(forward.inverse_times, momenta)
    else:
        vv = _solve(forward, [force.by_velocity for force in forces], symmetric=True)
    if state.floating is not None:
        for i in range(3):
            qq[i], vv[i] = _add_rotation(state.floating, qq[i], vv[i], scale(-1.0, UNIT[i]))
    return qq, qv, vv, _inverse_by_position(forward, momenta)


def rates_by_symbols(symbols: Tensor, v: Sequence[Scalar]) -> tuple[Vector, Matrix]:
    """Return the accelerations that velocities cause, and their derivatives by velocity.

    Both follow from the second derivatives, because accelerations are quadratic in the velocities of a robot
    on a base at rest.
    """
    total: Vector = []
    by_velocity: Matrix = []
    for i, rows in enumerate(symbols):
        with region("second_product", i):
            slopes = [inner_product(row, v) for row in rows]
            total.append(0.5 * inner_product(slopes, v))
        by_velocity.append(slopes)
    return total, by_velocity


def _all_forces(state: State) -> list[SecondDerivatives]:
    """Return the second derivatives of each joint force at constant proper acceleration."""
    if state.differentiated:
        return differentiated.all_forces(state)
    forces = second_derivatives(state.robot, state.coordinates, state.v, state.trip)
    gathered = [_gather(state.coupling, force) for force in forces]
    return [_sum(parts) for parts in state.coupling.parts(gathered)]


def _gather(coupling: Coupling, second: SecondDerivatives) -> SecondDerivatives:
    """Reduce second derivatives over all degrees of freedom to the robot's coordinates."""
    gather = coupling.gather_both
    return SecondDerivatives(
        gather(second.by_position),
        gather(second.mixed),
        gather(second.by_velocity),
        gather(second.momentum),
        second.root_momentum,
    )


def _sum(parts: Sequence[tuple[float, SecondDerivatives]]) -> SecondDerivatives:
    """Return the sum of second derivatives, each times a factor."""

    factors, summands = zip(*parts, strict=True)

    def total(*rows: Sequence[Scalar]) -> list[Scalar]:
        return [inner_product(factors, values) for values in zip(*rows, strict=True)]

    x, y, z = total(*(part.root_momentum for part in summands))
    return SecondDerivatives(
        list(map(total, *(part.by_position for part in summands))),
        list(map(total, *(part.mixed for part in summands))),
        list(map(total, *(part.by_velocity for part in summands))),
        list(map(total, *(part.momentum for part in summands))),
        (x, y, z),
    )


def _complete(floating: FloatingBody | None, second: SecondDerivatives) -> tuple[Matrix, Matrix, Matrix]:
    """Return derivatives by ``qq``, ``qv`` and ``vv`` with the terms of the proper acceleration.

    Forces are linear in the proper acceleration, with ``second.root_momentum`` as coefficients.
    """
    if floating is None:
        return second.by_position, second.mixed, second.by_velocity
    n = len(second.mixed)
    by_position, by_velocity = floating.by_coordinates(n), floating.by_rates(n)
    columns = [(rows[0], rows[1], rows[2]) for rows in zip(*second.momentum[:3], strict=True)]
    with region("floating"):
        qq = _symmetric_like(
            second.by_position,
            lambda j, k: (
                second.by_position[j][k] + (dot(columns[j], by_position[k]) + dot(columns[k], by_position[j]))
            ),
        )
        qv = [[second.mixed[j][k] + dot(columns[j], by_velocity[k]) for k in range(n)] for j in range(n)]
    qq, vv = _add_rotation(floating, qq, second.by_velocity, second.root_momentum)
    return qq, qv, vv


def _add_rotation(
    floating: FloatingBody, qq: Matrix, vv: Matrix, coefficients: Vector3
) -> tuple[Matrix, Matrix]:
    """Add the second derivatives of the proper acceleration, times coefficients, to ``qq`` and ``vv``."""
    qq, vv = [list(row) for row in qq], [list(row) for row in vv]
    with region("floating"):
        for j in range(3):
            for k in range(3):
                turned = dot(coefficients, floating.by_attitude_twice(j, k))
                qq[3 + j][3 + k] = qq[3 + j][3 + k] + turned
                swept = dot(coefficients, cross(UNIT[k], UNIT[j]))
                vv[j][3 + k] = vv[j][3 + k] + swept
                vv[3 + k][j] = vv[3 + k][j] + swept
    return qq, vv


def _add_products(second: SecondDerivatives, forward: Forward) -> tuple[Matrix, Matrix]:
    """Return one force's derivatives by ``qq`` and ``qv`` along the motion of forward dynamics."""
    moved = _transposed_product(second.momentum, forward.by_position)
    pushed = _transposed_product(second.momentum, forward.by_velocity)
    qq = _symmetric_like(
        second.by_position, lambda j, k: second.by_position[j][k] + (moved[j][k] + moved[k][j])
    )
    qv = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(second.mixed, pushed, strict=True)]
    return qq, qv


def _solve(forward: Forward, forces: Tensor, symmetric: bool = False) -> Tensor:
    """Return ``-M^-1`` times a tensor of forces, by its first index."""
    n = len(forces)
    tensor: Tensor = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for j in range(n):
        for k in range(n):
            # Where all forces are symmetric in j and k, so are the solutions, and one column serves both.
            if symmetric and j < k and all(equal(matrix[j][k], matrix[k][j]) for matrix in forces):
                continue
            column = forward.inverse_times([-matrix[j][k] for matrix in forces])
            for i, entry in enumerate(column):
                tensor[i][j][k] = entry
            if symmetric and k < j and all(equal(matrix[j][k], matrix[k][j]) for matrix in forces):
                for matrix in tensor:
                    matrix[k][j] = matrix[j][k]
    return tensor


def acceleration_symbols(inverse_times: Product, momenta: Tensor) -> Tensor:
    """Return the accelerations' derivatives by two velocities of joints that all have one.

    These are ``-M^-1`` times ``dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i``; ``momenta[i][j][k]`` is
    ``dM_ij/dq_k``.
    """
    n = len(momenta)
    tensor: Tensor = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for j in range(n):
        for k in range(j + 1):
            with region("christoffel"):
                forces = [momenta[j][k][i] - (momenta[i][j][k] + momenta[i][k][j]) for i in range(n)]
            for i, entry in enumerate(inverse_times(forces)):
                tensor[i][j][k] = tensor[i][k][j] = entry
    return tensor


def _inverse_by_position(forward: Forward, momenta: Tensor) -> Tensor:
    """Return ``dMinv_dq``, ``-M^-1 dM/dq_k M^-1`` for each position.

    Its middle factor is ``U + U^T`` with a triangular ``U``. Only the rows of ``U`` above joint ``k`` are not
    zero, so that few products remain.
    """
    n, inverse = len(momenta), symmetric(forward.inverse)
    tensor: Tensor = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for k in range(n):
        change = [[momenta[i][j][k] for j in range(n)] for i in range(n)]
        rows = [[-0.5 * row[i] if j == i else -row[j] for j in range(i, n)] for i, row in enumerate(change)]
        with region("inverse_derivative", k):
            halves = [
                [inner_product(row, [line[j] for line in inverse[i:]]) for j in range(n)]
                for i, row in enumerate(rows)
            ]
            for i in range(n):
                for j in range(i + 1):
                    one = inner_product(inverse[i], [half[j] for half in halves])
                    other = inner_product(inverse[j], [half[i] for half in halves])
                    tensor[i][j][k] = tensor[j][i][k] = one + other
    return tensor


def _minus_inverse_times(inverse_times: Product, matrix: Matrix) -> Matrix:
    columns = [inverse_times([-entry for entry in column]) for column in zip(*matrix, strict=True)]
    return _transpose(columns)


def _transposed_product(left: Matrix, right: Matrix) -> Matrix:
    columns = list(zip(*right, strict=True))
    rows = list(zip(*left, strict=True))
    return in_regions("second_product", lambda row: [inner_product(row, other) for other in columns], rows)


def _symmetric_like(reference: Matrix, entry: Callable[[int, int], Scalar]) -> Matrix:
    """Return the matrix of entries; those above the diagonal are copied where ``reference`` is symmetric."""
    n = len(reference)
    matrix: Matrix = [[0.0] * n for _ in range(n)]
    for j in range(n):
        for k in range(j + 1):
            matrix[j][k] = entry(j, k)
            same = j == k or equal(reference[j][k], reference[k][j])
            matrix[k][j] = matrix[j][k] if same else entry(k, j)
    return matrix


def _transpose(matrix: Sequence[Sequence[Scalar]]) -> Matrix:
    return [list(row) for row in zip(*matrix, strict=True)]
