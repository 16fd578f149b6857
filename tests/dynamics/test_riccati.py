"""A step of Riccati's recursion, compared with dense matrices."""

import numpy as np
import pytest

from rbdhw.dynamics.riccati import Quadratic, StepChange, riccati_step


def positive(rng, size):
    half = rng.normal(size=(size, size))
    return half @ half.T + np.eye(size)


def random_step(n, seed, wide=0, held=0):
    """Return a value function, a step with a block of ``wide`` joint rates, and a cost, as matrices.

    There are as many forces as rates, less those ``held``.
    """
    rng = np.random.default_rng(seed)
    value = positive(rng, 2 * n), rng.normal(size=2 * n)
    T, J = np.eye(n), 0.01 * np.eye(n)
    T[:wide, :wide], J[:wide, :wide] = rng.normal(size=(2, wide, wide))
    size = 3 * n - held
    return value, (T, J, rng.normal(size=(n, size))), (positive(rng, size), rng.normal(size=size))


def dense(value, step, cost):
    """Return the value function before a step, the gains and the changes."""
    (V, slope), (T, J, D), (H, g) = value, step, cost
    n = len(D)
    Z = np.vstack([J @ D, D])
    Z[:n, :n] += T
    Q, q = Z.T @ V @ Z + H, Z.T @ slope + g
    x, u = slice(0, 2 * n), slice(2 * n, None)
    K, k = -np.linalg.solve(Q[u, u], Q[u, x]), -np.linalg.solve(Q[u, u], q[u])
    return (Q[x, x] + Q[x, u] @ K, q[x] + Q[x, u] @ k), (K, k)


def scalars(array):
    return array.tolist()


@pytest.mark.parametrize(
    ("n", "wide", "held"), [(1, 0, 0), (3, 0, 0), (7, 0, 0), (5, 3, 0), (6, 6, 0), (8, 6, 6)]
)
def test_equals_dense_matrices(n, wide, held):
    value, step, cost = random_step(n, n, wide, held)
    after, policy = riccati_step(
        Quadratic(*map(scalars, value)), StepChange(*map(scalars, step)), Quadratic(*map(scalars, cost))
    )
    (hessian, gradient), (gains, changes) = dense(value, step, cost)
    np.testing.assert_allclose(after.hessian, hessian, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(after.gradient, gradient, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(policy.gains, gains, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(policy.changes, changes, rtol=1e-10, atol=1e-10)
    assert min(policy.pivots) > 0.0


def test_a_pivot_shows_that_a_hessian_is_not_positive():
    value, step, (H, g) = random_step(3, 0)
    H[-1, -1] -= 1e6
    _, policy = riccati_step(
        Quadratic(*map(scalars, value)), StepChange(*map(scalars, step)), Quadratic(H.tolist(), g.tolist())
    )
    assert min(policy.pivots) < 0.0


@pytest.mark.parametrize("summed", [(0, 1, 2), (3, 4)])
def test_value_functions_of_differences_equal_dense_matrices(summed):
    """Coordinates whose next change is ``dq + dv'`` have ``dq - dv`` in place of ``dq``."""
    n = 5
    (V, slope), (T, J, D), cost = random_step(n, 4, wide=0 if 0 in summed else 3)
    J[list(summed), list(summed)] = 1.0
    basis = np.eye(2 * n)  # dq and dv from dq - dv and dv
    basis[list(summed), [n + i for i in summed]] = 1.0
    value = Quadratic((basis.T @ V @ basis).tolist(), (basis.T @ slope).tolist())
    step = StepChange(scalars(T), scalars(J), scalars(D), summed)
    after, policy = riccati_step(value, step, Quadratic(*map(scalars, cost)))
    (hessian, gradient), (gains, changes) = dense((V, slope), (T, J, D), cost)
    np.testing.assert_allclose(after.hessian, basis.T @ hessian @ basis, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(after.gradient, basis.T @ gradient, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(policy.gains, gains, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(policy.changes, changes, rtol=1e-10, atol=1e-10)
