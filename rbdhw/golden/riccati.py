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
    return Policy(gains, changes, decrease)
