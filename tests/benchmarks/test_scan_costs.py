"""A scan over knots: its joins lead to the value functions of the recursion, with the products counted."""

import numpy as np
import pytest

from benchmarks.scan_costs import Join, scan_layout, scan_levels, scan_pivots, scan_products, scan_rows

N, M, STEPS = 4, 2, 8


class Counted:
    """Dense matrices whose products are counted."""

    def __init__(self):
        self.products = 0

    def times(self, one, other, symmetric=False):
        columns = 1 if other.ndim == 1 else other.shape[1]
        results = len(one) * (len(one) + 1) // 2 if symmetric else len(one) * columns
        self.products += results * one.shape[1]
        return one @ other

    def solve(self, matrix, columns):
        """Solve by L U, whose factors are counted apart."""
        self.products += (1 if columns.ndim == 1 else columns.shape[1]) * len(matrix) ** 2
        return np.linalg.solve(matrix, columns)

    def factor(self, matrix):
        """Count the products of Gauss's elimination."""
        for k in range(len(matrix)):
            rest = len(matrix) - 1 - k
            self.products += rest + rest**2
        return matrix

    def join_value(self, one, value):
        A, b, C = one[:3]
        J, eta = value[-2:]
        matrix = self.factor(np.eye(N) + self.times(C, J))
        X = self.solve(matrix, A)
        joined = one[3] + self.times(A.T, self.times(J, X), symmetric=True)
        return matrix, X, joined, one[4] + self.times(X.T, eta - self.times(J, b))

    def join(self, one, other):
        (_, b, C), (A, *others) = one[:3], other
        matrix, X, J, eta = self.join_value(one, other)
        shares = self.solve(matrix, C)
        moved = self.times(A, self.solve(matrix, b + self.times(C, others[3])))
        between = self.times(self.times(A, shares), A.T, symmetric=True)
        return self.times(A, X), others[0] + moved, others[1] + between, J, eta


@pytest.fixture
def steps():
    """Return A, B, the Hessian and the gradient by the state, and those by the forces, of random steps."""
    rng = np.random.default_rng(0)
    return {
        "A": np.eye(N) + 0.3 * rng.normal(size=(STEPS, N, N)),
        "B": rng.normal(size=(STEPS, N, M)),
        "Q": np.array([np.diag(row) for row in rng.uniform(0.1, 1.0, (STEPS + 1, N))]),
        "q": rng.normal(size=(STEPS + 1, N)),
        "R": rng.uniform(0.1, 1.0, (STEPS, M)),
        "r": rng.normal(size=(STEPS, M)),
    }


def recursion(steps):
    """Return the Hessians and gradients of the value functions of all knots, from the last one back."""
    V, s = steps["Q"][-1], steps["q"][-1]
    values = [(V, s)]
    for k in reversed(range(STEPS)):
        A, B = steps["A"][k], steps["B"][k]
        hessian, mixed = np.diag(steps["R"][k]) + B.T @ V @ B, B.T @ V @ A
        gain = np.linalg.solve(hessian, mixed)
        slope = steps["r"][k] + B.T @ s
        V, s = steps["Q"][k] + A.T @ V @ A - mixed.T @ gain, steps["q"][k] + A.T @ s - gain.T @ slope
        values.insert(0, (V, s))
    return values


def test_a_scan_finds_the_value_functions_with_the_products_that_are_counted(steps):
    """The vector eta is the negative gradient of a value function."""
    count, elements = Counted(), []
    for k in range(STEPS):
        B = steps["B"][k]
        shares = B / steps["R"][k]
        count.products += B.size
        C = count.times(shares, B.T, symmetric=True)
        b = -count.times(shares, steps["r"][k])
        elements.append((steps["A"][k], b, C, steps["Q"][k], -steps["q"][k]))
    elements[-1] = count.join_value(elements[-1], (steps["Q"][-1], -steps["q"][-1]))[2:]
    for level in scan_levels(STEPS):
        before = list(elements)
        for each in level:
            join = (lambda *pair: count.join_value(*pair)[2:]) if each.to_end else count.join
            elements[each.first] = join(before[each.first], before[each.second])
    for (J, eta), (V, slope) in zip(elements, recursion(steps), strict=False):
        np.testing.assert_allclose(J, V, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(-eta, slope, rtol=0.0, atol=1e-9)
    policies = scan_products(STEPS, N, M) - count.products
    assert policies == STEPS * (2 * M * N * N + 3 * N + M * N + 1 + 1 + (N + 1) * M * M)


def test_a_scan_has_as_many_levels_as_the_logarithm():
    levels = list(scan_levels(8))
    assert [len(level) for level in levels] == [4, 4, 4]
    assert levels[0][-1] == Join(6, 7, to_end=True)
    assert [each.to_end for each in levels[2]] == [True] * 4
    assert scan_pivots(8, 4, 2) == 18


@pytest.mark.verify
def test_a_scan_of_an_arm_takes_several_times_the_products():
    rows = scan_rows(("iiwa14",), 64, 4)
    sequence, blocks, scan = rows
    assert (sequence["products"], blocks["products"]) == (64 * 4_641, 64 * (4_641 + 14 * 14))
    assert scan["products"] > 10 * sequence["products"]
    assert [row["chain"] for row in rows] == [64, 17, 8]
    line = scan_layout(rows)[1]
    assert line[""] == "iiwa14, 64 steps, in 4 blocks"
    assert line["products of an iteration's sweep"] == "309,568"
