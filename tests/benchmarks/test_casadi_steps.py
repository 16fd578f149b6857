"""Functions in C by CasADi: the loop that times them, and the tables."""

import numpy as np

from benchmarks.casadi_steps import casadi_layout, second_code_layout, time_called

CALLED = """
int step_of_casadi(const double **inputs, double **results, long long *whole, double *work, int memory)
{
    for (int k = 0; k < 4; k++) {
        results[0][k] = k < 2 ? inputs[0][k] + inputs[3][0] * inputs[1][k] : inputs[2][k - 2];
        results[1][4 * k + 1] = k;
    }
    results[2][1] = 5.0;
    results[2][2] = 6.0;
    results[2][4] = 7.0;
    return 0;
}
"""
"""Two coordinates; the second row of the matrix counts up, and a tensor's first index varies fastest."""


def test_tasks_are_called_one_after_the_other_and_columns_become_rows():
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(size=(3, 5, 2))
    h = rng.uniform(size=5)
    inputs, shapes = {"q": q, "v": v, "tau": tau, "h": h}, {"x": (4,), "A": (4, 4), "T": (2, 2, 2)}
    timed = time_called({"called.c": CALLED}, ["-DCALLED=step_of_casadi"], inputs, shapes)
    assert 0.0 < timed.seconds < 1e-3
    assert timed.lines == CALLED.count("\n")
    assert timed.size > 1000
    np.testing.assert_allclose(timed.results["x"], np.hstack([q + h[:, np.newaxis] * v, tau]))
    assert (timed.results["A"][:, 1] == np.arange(4)).all()
    tensor = timed.results["T"][-1]
    assert (tensor[1, 0, 0], tensor[0, 1, 0], tensor[0, 0, 1]) == (5.0, 6.0, 7.0)


def test_ratios():
    theirs, ours = ({"seconds": t, "lines": n, "bytes": 1000 * n} for t, n in ((4e-7, 6000), (1e-7, 1500)))
    row = {"robot": "hyq", "function": "step", "casadi": theirs, "ours": ours}
    times = {"CasADi": "0.40 µs", "generated C": "0.10 µs (4.0×)"}
    assert casadi_layout([row]) == [{"": "step"} | times]
    assert second_code_layout([row]) == [
        {"": "HyQ"}
        | times
        | {
            "CasADi, lines": "6.0 k",
            "generated C, lines": "1.5 k",
            "CasADi, compiled": "6.0 MB",
            "generated C, compiled": "1.5 MB",
        }
    ]
