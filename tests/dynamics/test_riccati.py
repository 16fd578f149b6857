"""A step of Riccati's recursion, compared with dense matrices, and its operations."""

import numpy as np
import pytest

from rbdhw.dynamics.riccati import Policy, Quadratic, StepChange, feedback, riccati_step
from rbdhw.graph.graph import Op
from rbdhw.graph.interpret import interpret
from rbdhw.graph.trace import Recorder
from rbdhw.passes.balance import balance
from rbdhw.passes.factor import factor
from rbdhw.passes.prune import prune


def positive(rng, size):
    half = rng.normal(size=(size, size))
    return half @ half.T + np.eye(size)


def random_step(n, seed, wide=0):
    """Return a value function, a step with a block of ``wide`` joint rates, and a cost, as matrices."""
    rng = np.random.default_rng(seed)
    value = positive(rng, 2 * n), rng.normal(size=2 * n)
    T, J = np.eye(n), 0.01 * np.eye(n)
    T[:wide, :wide], J[:wide, :wide] = rng.normal(size=(2, wide, wide))
    return value, (T, J, rng.normal(size=(n, 3 * n))), (positive(rng, 3 * n), rng.normal(size=3 * n))


def dense(value, step, cost):
    """Return the value function before a step, the gains and the changes."""
    (V, slope), (T, J, D), (H, g) = value, step, cost
    n = len(D)
    Z = np.vstack([J @ D, D])
    Z[:n, :n] += T
    Q, q = Z.T @ V @ Z + H, Z.T @ slope + g
    x, u = slice(0, 2 * n), slice(2 * n, None)
    K, k = -np.linalg.solve(Q[u, u], Q[u, x]), -np.linalg.solve(Q[u, u], q[u])
    return (Q[x, x] + Q[x, u] @ K, q[x] + Q[x, u] @ k), (K, k, -0.5 * q[u] @ k)


def scalars(array):
    return array.tolist()


@pytest.mark.parametrize(("n", "wide"), [(1, 0), (3, 0), (7, 0), (5, 3), (6, 6)])
def test_equals_dense_matrices(n, wide):
    value, step, cost = random_step(n, n, wide)
    after, policy = riccati_step(
        Quadratic(*map(scalars, value)), StepChange(*map(scalars, step)), Quadratic(*map(scalars, cost))
    )
    (hessian, gradient), (gains, changes, decrease) = dense(value, step, cost)
    np.testing.assert_allclose(after.hessian, hessian, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(after.gradient, gradient, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(policy.gains, gains, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(policy.changes, changes, rtol=1e-10, atol=1e-10)
    assert policy.decrease == pytest.approx(decrease, rel=1e-10)
    assert min(policy.pivots) > 0.0


def test_a_pivot_shows_that_a_hessian_is_not_positive():
    value, step, (H, g) = random_step(3, 0)
    H[-1, -1] -= 1e6
    _, policy = riccati_step(
        Quadratic(*map(scalars, value)), StepChange(*map(scalars, step)), Quadratic(H.tolist(), g.tolist())
    )
    assert min(policy.pivots) < 0.0


def test_feedback():
    policy = Policy([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0], 0.0, [1.0, 1.0])
    assert feedback(policy, [10.0, 20.0], 0.5, [0.1, 0.2]) == pytest.approx([13.0, 24.1])


def recorded(n):
    """Return the graph of a step through joints of one degree of freedom, with a diagonal cost of forces."""
    recorder = Recorder()
    h = recorder.input("h")

    def vector(name, size):
        return [recorder.input(f"{name}[{i}]") for i in range(size)]

    def symmetric(name, size):
        rows = [[recorder.input(f"{name}[{i},{j}]") for j in range(i + 1)] for i in range(size)]
        return [[rows[max(i, j)][min(i, j)] for j in range(size)] for i in range(size)]

    T = [[float(i == j) for j in range(n)] for i in range(n)]
    J = [[h if i == j else 0.0 for j in range(n)] for i in range(n)]
    D = [[recorder.input(f"D[{i},{j}]") for j in range(3 * n)] for i in range(n)]
    cost, forces = symmetric("H", 2 * n), vector("R", n)
    full = [row + [0.0] * n for row in cost]
    full += [[0.0] * (2 * n + i) + [forces[i]] + [0.0] * (n - i - 1) for i in range(n)]
    value = Quadratic(symmetric("V", 2 * n), vector("s", 2 * n))
    after, policy = riccati_step(value, StepChange(T, J, D), Quadratic(full, vector("g", 3 * n)))
    recorder.output("decrease", policy.decrease)
    for i in range(2 * n):
        recorder.output(f"gradient[{i}]", after.gradient[i])
        for j in range(i + 1):
            recorder.output(f"hessian[{i},{j}]", after.hessian[i][j])
    for i in range(n):
        recorder.output(f"k[{i}]", policy.changes[i])
        recorder.output(f"pivot[{i}]", policy.pivots[i])
        for j in range(2 * n):
            recorder.output(f"K[{i},{j}]", policy.gains[i][j])
    return prune(recorder.builder.finish(recorder.outputs))


def test_operations_of_an_arm():
    """Dense products would be 9,485."""
    graph = prune(balance(factor(recorded(7)), lambda op: float(op is Op.MULTIPLY)))
    assert graph.count(Op.MULTIPLY) + graph.count(Op.SCALE) <= 4_700
    assert graph.count(Op.ADD) <= 4_500
    assert graph.count(Op.RECIPROCAL) == 7


def test_the_graph_after_passes_computes_the_step():
    n = 3
    (V, slope), (_, J, D), (H, g) = random_step(n, 5)
    weights = np.diag(H)[2 * n :]
    H[2 * n :], H[:, 2 * n :] = 0.0, 0.0
    numbers = {"h": np.array([J[0, 0]])}
    for name, matrix in (("V", V), ("D", D), ("H", H)):
        numbers |= {f"{name}[{i},{j}]": np.array([x]) for (i, j), x in np.ndenumerate(matrix)}
    for name, vector in (("s", slope), ("g", g), ("R", weights)):
        numbers |= {f"{name}[{i}]": np.array([x]) for i, x in enumerate(vector)}
    graph = prune(factor(recorded(n)))
    results = interpret(graph, {name: numbers[name] for name in graph.inputs})
    H[2 * n :, 2 * n :] = np.diag(weights)
    (hessian, _), (gains, changes, _) = dense((V, slope), (np.eye(n), J, D), (H, g))
    assert results["hessian[4,2]"] == pytest.approx(hessian[4, 2], rel=1e-9)
    assert results["K[1,3]"] == pytest.approx(gains[1, 3], rel=1e-9)
    assert results["k[2]"] == pytest.approx(changes[2], rel=1e-9)
