"""Riccati's recursion in double precision, by dense matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdhw.golden.spatial import Array


@dataclass(frozen=True)
class Expansion:
    """The steps of a trajectory of N steps to first order, and its costs to second order."""

    A: Array
    """The next state by the state, (N, 2 nv, 2 nv)."""
    B: Array
    """The next state by the forces, (N, 2 nv, nv)."""
    gradient: Array
    """The gradients by the states, (N + 1, 2 nv)."""
    hessian: Array
    """The Hessians by the states, (N + 1, 2 nv, 2 nv)."""
    force_gradient: Array
    """The gradients by the forces, (N, nv)."""
    force_weight: Array
    """The diagonals of the Hessians by the forces, (N, nv)."""
    states: Array | None = None
    """The states of the trajectory, (N + 1, nq + nv), if they are known."""


@dataclass(frozen=True)
class Policy:
    """Gains (N, nv, 2 nv), changes of the forces (N, nv), and the decrease of the cost for them."""

    gains: Array
    changes: Array
    decrease: float


def sweep_back(expansion: Expansion, regularisation: float) -> Policy | None:
    """Return the policy of an expansion; None if a Hessian by the forces is not positive.

    ``regularisation`` is added to the weights of the forces.
    """
    V, slope = expansion.hessian[-1], expansion.gradient[-1]
    gains, changes = np.empty_like(expansion.B.swapaxes(1, 2)), np.empty_like(expansion.force_gradient)
    decrease = 0.0
    for k in reversed(range(len(expansion.A))):
        A, B = expansion.A[k], expansion.B[k]
        by_force = expansion.force_gradient[k] + B.T @ slope
        hessian = np.diag(expansion.force_weight[k] + regularisation) + B.T @ V @ B
        mixed = B.T @ V @ A
        try:
            factor = np.linalg.cholesky(hessian)
        except np.linalg.LinAlgError:
            return None
        gains[k], changes[k] = (-np.linalg.solve(hessian, right) for right in (mixed, by_force))
        decrease += 0.5 * float(np.sum(np.linalg.solve(factor, by_force) ** 2))
        slope = expansion.gradient[k] + A.T @ slope + mixed.T @ changes[k]
        V = expansion.hessian[k] + A.T @ V @ A + mixed.T @ gains[k]
        V = 0.5 * (V + V.T)  # feedback does not stop a difference from growing from knot to knot
    return Policy(gains, changes, decrease)


def expected_decrease(expansion: Expansion, gains: Array, changes: Array, regularisation: float) -> float:
    """Return by how much the cost of an expansion decreases along its steps to first order.

    The forces change by ``changes`` (N, nv) and by ``gains`` (N, nv, 2 nv) times the change of the state.
    ``regularisation`` is part of the cost.
    """
    x, cost = np.zeros(expansion.A.shape[1]), 0.0
    weights = expansion.force_weight + regularisation
    for k, (A, B) in enumerate(zip(expansion.A, expansion.B, strict=True)):
        u = changes[k] + gains[k] @ x
        cost += expansion.gradient[k] @ x + 0.5 * x @ expansion.hessian[k] @ x
        cost += expansion.force_gradient[k] @ u + 0.5 * weights[k] @ u**2
        x = A @ x + B @ u
    return -float(cost + expansion.gradient[-1] @ x + 0.5 * x @ expansion.hessian[-1] @ x)
