"""Steps in C by CasADi: the loop that times them, and the table."""

import numpy as np

from benchmarks.casadi_steps import _time, casadi_layout

CALLED = """
int step_of_casadi(const double **inputs, double **results, long long *whole, double *work, int memory)
{
    for (int k = 0; k < 4; k++) {
        results[0][k] = k < 2 ? inputs[0][k] + inputs[3][0] * inputs[1][k] : inputs[2][k - 2];
        results[1][4 * k + 1] = k;
    }
    return 0;
}
"""
"""Two coordinates; the second column of the first matrix counts up."""


def test_tasks_are_called_one_after_the_other_and_columns_become_rows():
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(size=(3, 5, 2))
    h = rng.uniform(size=5)
    seconds, (x, A, B) = _time({"called.c": CALLED}, ["-DCALLED=step_of_casadi"], [q, v, tau, h])
    assert 0.0 < seconds < 1e-3
    np.testing.assert_allclose(x, np.hstack([q + h[:, np.newaxis] * v, tau]))
    assert (A[:, 1] == np.arange(4)).all()
    assert not B.any()


def test_ratios():
    row = {"function": "step", "casadi": 4e-7, "ours": 1e-7}
    assert casadi_layout([row]) == [{"": "step", "CasADi": "0.40 µs", "generated C": "0.10 µs (4.0×)"}]
