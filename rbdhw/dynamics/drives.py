"""What drives add to the equations of motion: the inertia of rotors, and viscous friction.

With ``R`` the diagonal matrix of rotor inertias and ``D`` that of friction coefficients, over all degrees of
freedom, ``tau = ID(q, v, a) + R a + D v``. The mass matrix becomes ``M + R``, and ``D`` is added to the
derivatives by velocity. Second derivatives of ``tau`` do not change. A rotor counts only by its speed about
its own axis: what it adds to its link's inertia is a part of the link's ``<inertial>``.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, section 9.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.dynamics.derivatives import Matrix
from rbdhw.dynamics.joint import dofs
from rbdhw.robot.model import Robot
from rbdhw.scalar import Scalar, region


def with_drive_forces(
    robot: Robot, forces: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Return joint forces of all degrees of freedom with the forces that rotors and friction need."""
    driven = list(forces)
    for i, span in enumerate(dofs(robot)):
        with region("drives", i):
            for k in range(len(driven))[span]:
                driven[k] = driven[k] + robot.armature[k] * a[k] + robot.damping[k] * v[k]
    return driven


def with_armature(robot: Robot, matrix: Matrix) -> Matrix:
    """Return a mass matrix of all degrees of freedom with the inertia of the rotors."""
    return _add_diagonal(robot, matrix, robot.armature)


def with_damping(robot: Robot, matrix: Matrix) -> Matrix:
    """Return derivatives of the forces by velocity, of all degrees of freedom, with those of the friction."""
    return _add_diagonal(robot, matrix, robot.damping)


def _add_diagonal(robot: Robot, matrix: Matrix, diagonal: Sequence[float]) -> Matrix:
    result = [list(row) for row in matrix]
    for i, span in enumerate(dofs(robot)):
        with region("drives", i):
            for k in range(len(result))[span]:
                result[k][k] = result[k][k] + diagonal[k]
    return result
