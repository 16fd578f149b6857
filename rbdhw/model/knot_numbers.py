"""The numbers of the knots of a sweep back, from an expansion in double precision, and its policy.

Their names are those of :mod:`rbdhw.frontend.knot_step`, where velocities are counted in steps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.knots import MOVED
from rbdhw.golden.kinematics import positions
from rbdhw.golden.riccati import Expansion, Policy, expected_decrease
from rbdhw.graph.knots import (
    ATTITUDE,
    DISPLACEMENT,
    OFFSET,
    POSITION_ROW,
    POSITION_SLOPE,
    POSITION_WEIGHT,
    QUATERNION,
    REFERENCE,
)
from rbdhw.robot.model import Robot
from rbdhw.robot.wide_joints import wide_joints

Array = NDArray[np.float64]


def knot_numbers(expansion: Expansion, h: float, forces: Sequence[int]) -> dict[str, Array]:
    """Return the numbers (N + 1,) of all knots by name; ``forces`` are the coordinates whose forces change.

    ValueError if costs of the state join velocities with other coordinates.
    """
    knots, n, m = len(expansion.gradient), expansion.B.shape[2], len(forces)
    if np.any(expansion.hessian[:, n:] * (1.0 - np.eye(2 * n)[n:])):
        raise ValueError("costs of the state join velocities with other coordinates")
    units = np.repeat([1.0, h], n)
    A = units[:, np.newaxis] * expansion.A / units
    B = units[:, np.newaxis] * expansion.B[..., forces]
    D, T, J = np.zeros((knots, n, 2 * n + m)), np.zeros((knots, n, n)), np.zeros((knots, n, n))
    D[:-1] = np.concatenate([A[:, n:], B[:, n:]], axis=2)
    J[:-1] = A[:, :n, n:] @ np.linalg.inv(A[:, n:, n:])
    T[:-1] = A[:, :n, :n] - J[:-1] @ A[:, n:, :n]
    H = expansion.hessian / np.multiply.outer(units, units)
    g, R = np.zeros((knots, 2 * n + m)), np.zeros((knots, m))
    g[:, : 2 * n] = expansion.gradient / units
    g[:-1, 2 * n :], R[:-1] = expansion.force_gradient[:, forces], expansion.force_weight[:, forces]
    # The last knot has no forces. Weights like the pivots before it have formats of their size.
    R[-1] = R[-2] + np.einsum("ij,ik,kj->j", B[-1], H[-1], B[-1])
    arrays = {"D": D, "T": T, "J": J, "H": H, "g": g, "R": R}
    return _named(arrays)


def _named(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the elements (N + 1,) of arrays (N + 1, ...) by name."""
    return {
        f"{name}[{','.join(map(str, index))}]": array[(slice(None), *index)]
        for name, array in arrays.items()
        for index in np.ndindex(array.shape[1:])
    }


def position_numbers(
    robot: Robot, problem: Mapping[str, Array], states: Array, whole: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the numbers (N + 1,) of costs of frames' positions of all knots with ``states``.

    ``whole`` are those of the expansion, of whose Hessians and gradients by q the costs are taken away.
    """
    knots, n = len(states), robot.nv
    placed = positions(robot, states[:, : robot.nq])
    error = placed["position"] - problem["placement_ref"][..., :3, 3]
    P, W = placed["J_position"].reshape(knots, -1, n), problem["position_weight"].reshape(knots, -1)
    G = W * error.reshape(knots, -1)
    gradient, hessian = np.einsum("kri,kr->ki", P, G), np.einsum("kri,kr,krj->kij", P, W, P)
    others = {name: whole[name] - number for name, number in _named({"g": gradient, "H": hessian}).items()}
    return others | _named({POSITION_ROW: P, POSITION_SLOPE: G, POSITION_WEIGHT: W})


def state_numbers(robot: Robot, problem: Mapping[str, Array], states: Array) -> dict[str, Array]:
    """Return the numbers (N + 1,) of :mod:`rbdhw.frontend.knot_states` of all knots with ``states``.

    ``problem`` has the arrays ``h``, ``x_ref`` and ``Q`` of :func:`rbdhw.golden.solver.solve`.
    """
    reference, behind = problem["x_ref"], np.roll(states[:, robot.nq :], -1, axis=0)
    behind[-1] = 0.0  # the last knot has no step
    numbers = {}
    for wide in wide_joints(robot):
        for i in wide.coordinates:
            numbers[f"{DISPLACEMENT}[{i}]"] = problem["h"] * behind[:, i]
            numbers[f"H[{i},{i}]"] = problem["Q"][:, i]
        for c in wide.position:
            numbers[f"{OFFSET}[{c}]"] = states[:, c] - reference[:, c]
        for c in wide.quaternion:
            numbers[f"{QUATERNION}[{c}]"] = numbers[f"{ATTITUDE}[{c}]"] = states[:, c]
            numbers[f"{REFERENCE}[{c}]"] = reference[:, c]
    return numbers


def moved_numbers(changes: Array, h: float, starts: Collection[int]) -> dict[str, Array]:
    """Return the numbers of all knots for ``changes`` (N + 1, 2 nv) of a trajectory by the state.

    Only the first knots of blocks, ``starts``, have some: those of the knot behind.
    """
    moved = np.zeros_like(changes)
    for knot in starts:
        moved[knot] = changes[knot + 1]
    n = changes.shape[1] // 2
    return {f"{MOVED}[{i}]": moved[:, i] * (1.0 if i < n else h) for i in range(2 * n)}


def policy_of(
    results: Mapping[str, Array], expansion: Expansion, regularisation: float, h: float, forces: Sequence[int]
) -> Policy:
    """Return the policy from the results (N + 1,) of all knots by name, of which the last has no step.

    They are those of a sweep back through ``expansion``.
    """
    knots, n = expansion.force_gradient.shape
    gains, changes = np.zeros((knots, n, 2 * n)), np.zeros((knots, n))
    for i, force in enumerate(forces):
        changes[:, force] = results[f"k[{i}]"][:-1]
        for j in range(2 * n):
            gains[:, force, j] = results[f"K[{i},{j}]"][:-1] * (h if j >= n else 1.0)
    return Policy(gains, changes, expected_decrease(expansion, gains, changes, regularisation))
