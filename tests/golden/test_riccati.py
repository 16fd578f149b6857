"""Riccati's recursion in double precision."""

import numpy as np
from scipy.linalg import solve_discrete_are

from rbdhw.golden.riccati import Expansion, sweep_back

N, NV, STEP = 200, 3, 0.05


def test_gains_of_a_long_horizon_are_those_of_one_without_end():
    """Three pendulums upside down fall: without feedback their states grow a thousandfold in 30 steps."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(NV, NV)))[0]
    velocity = [STEP * axes @ np.diag([1.0, 20.0, 30.0]) @ axes.T, np.eye(NV), STEP * np.eye(NV)]
    A, B = (np.vstack([STEP * rows, rows]) for rows in (np.hstack(velocity[:2]), velocity[2]))
    A[:NV, :NV] += np.eye(NV)
    assert np.abs(np.linalg.eigvals(A)).max() ** 30 > 1e3
    Q, R = np.eye(2 * NV), np.full(NV, 1e-3)
    P = solve_discrete_are(A, B, Q, np.diag(R))
    expansion = Expansion(
        np.tile(A, (N, 1, 1)),
        np.tile(B, (N, 1, 1)),
        np.zeros((N + 1, 2 * NV)),
        np.tile(Q, (N + 1, 1, 1)),
        np.zeros((N, NV)),
        np.tile(R, (N, 1)),
    )
    policy = sweep_back(expansion, 0.0)
    assert policy is not None
    gains = -np.linalg.solve(np.diag(R) + B.T @ P @ B, B.T @ P @ A)
    np.testing.assert_allclose(policy.gains[0], gains, rtol=0.0, atol=1e-6 * np.abs(gains).max())
