"""Factors of the mass matrix, its inverse, and solves, on matrices with the sparsity of trees."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.dynamics.factorization import factorize, inverse, solve
from rbdhw.dynamics.triangular_inverse import triangular_inverse
from rbdhw.graph.graph import Op
from rbdhw.graph.trace import Recorder
from rbdhw.passes.prune import prune

CHAIN = (-1, 0, 1, 2, 3, 4, 5)
LIMBS = (-1, 0, 1, -1, 3, 4)
BUSH = (-1, 0, 1, 1, 0, 4, 5, 4, -1, 8)


def ancestors(parents, i):
    """Return the degrees of freedom between ``i`` and the root, ``i`` first."""
    path = []
    while i != -1:
        path.append(i)
        i = parents[i]
    return path


def tree_matrix(parents, seed):
    """Return a random positive definite matrix that is zero except for pairs of ancestor and descendant."""
    rng = np.random.default_rng(seed)
    n = len(parents)
    factor = np.zeros((n, n))
    for i in range(n):
        for j in ancestors(parents, i):
            factor[i, j] = rng.normal()
        factor[i, i] = 1.0 + rng.random()
    return factor.T @ factor


@st.composite
def trees(draw):
    """Draw the parents of up to ten degrees of freedom."""
    n = draw(st.integers(1, 10))
    return tuple(draw(st.integers(-1, i - 1)) for i in range(n))


@given(trees(), st.integers(1, 3), st.integers(0, 1000))
def test_inverse_and_solves_of_any_tree(parents, largest, seed):
    matrix = tree_matrix(parents, seed)
    check_factors(matrix, factorize(unknown(matrix), largest))


@given(trees(), st.integers(0, 1000))
def test_pivots_that_are_known_go_first(parents, seed):
    """All pivots are floats, so none are eliminated in pairs."""
    matrix = tree_matrix(parents, seed)
    factors = factorize(matrix.tolist(), 2)
    assert [block.members for block in factors.blocks] == [(i,) for i in reversed(range(len(parents)))]
    check_factors(matrix, factors)


@given(st.integers(1, 9), st.floats(0.0, 0.5), st.integers(1, 3), st.integers(0, 1000))
def test_inverse_and_solves_of_any_pattern(size, density, largest, seed):
    """The sparsity is not that of a tree, as in robots with mimics."""
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((size, size)) < density, rng.normal(size=(size, size)), 0.0)
    matrix = np.tril(matrix, -1) + np.tril(matrix, -1).T
    matrix += np.diag(1.0 + np.abs(matrix).sum(axis=0))
    check_factors(matrix, factorize(unknown(matrix), largest))


@given(trees(), st.integers(1, 3), st.integers(0, 1000))
def test_inverse_and_solves_above_a_known_diagonal(limbs, largest, seed):
    """Limbs hang from a floating base whose first block starts from a known mass."""
    parents = with_base(limbs)
    matrix = tree_matrix(parents, seed)
    matrix[:3, :3] = np.eye(3) * (matrix[:3, :3].trace() + 1.0)
    rows = unknown(matrix)
    for i in range(3):
        rows[i][:3] = matrix[i, :3].tolist()
    check_factors(matrix, factorize(rows, largest))


def with_base(limbs):
    """Return the parents of a base of six degrees of freedom and of limbs on it."""
    return (-1, 0, 1, 2, 3, 4, *(parent + 6 for parent in limbs))


def unknown(matrix):
    """Return rows in which only zeros are floats, as in a matrix of signals."""
    return [[np.array([entry]) if entry else 0.0 for entry in row] for row in matrix]


def check_factors(matrix, factors):
    """Check the inverse, a solve and a product from the factors against the matrix."""
    n = len(matrix)
    rows = inverse(factors)
    full = np.zeros((n, n))
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            full[i, j] = full[j, i] = np.squeeze(entry)
    np.testing.assert_allclose(full @ matrix, np.eye(n), rtol=0, atol=1e-8)
    right = np.random.default_rng(n).normal(size=n)
    for times in (partial(solve, factors), triangular_inverse(factors).times):
        solution = np.array([float(np.squeeze(x)) for x in times(right.tolist())])
        np.testing.assert_allclose(matrix @ solution, right, rtol=0, atol=1e-8)


def trace_inverse(parents, largest, known=()):
    """Return the graph of the inverse of a matrix of inputs; ``known`` diagonal entries are floats.

    Entries between two known degrees of freedom are floats, too.
    """
    make = Recorder()
    matrix = [[0.0] * len(parents) for _ in parents]
    for i in range(len(parents)):
        for j in ancestors(parents, i):
            if i in known and j in known:
                matrix[i][j] = 2.0 if i == j else 0.0
            else:
                matrix[i][j] = make.input(f"H[{i},{j}]")
    for i, row in enumerate(inverse(factorize(matrix, largest))):
        for j, entry in enumerate(row):
            make.output(f"r.x[{i},{j}]", entry)
    return prune(make.builder.finish(make.outputs))


def chain_of_reciprocals(graph):
    """Return the most reciprocals on a path."""
    depth = []
    for node in graph.nodes:
        before = max((depth[edge.node] for edge in node.args), default=0)
        depth.append(before + (node.op is Op.RECIPROCAL))
    return max(depth)


QUADRUPED = with_base((-1, 0, 1, -1, 3, 4, -1, 6, 7, -1, 9, 10))


@pytest.mark.parametrize(
    ("parents", "known", "expected"),
    [
        (CHAIN, (), [(7, 7), (4, 3), (3, 2)]),
        (LIMBS, (), [(6, 3), (4, 1), (2, 1)]),
        (BUSH, (), [(10, 4), (9, 3), (9, 3)]),
        (with_base(()), (0, 1, 2), [(6, 6), (3, 2), (1, 1)]),
        (QUADRUPED, (0, 1, 2), [(18, 9), (11, 4), (6, 2)]),
    ],
)
def test_blocks_shorten_the_chain_of_reciprocals(parents, known, expected):
    graphs = [trace_inverse(parents, largest, known) for largest in (1, 2, 3)]
    assert [(graph.count(Op.RECIPROCAL), chain_of_reciprocals(graph)) for graph in graphs] == expected


def test_a_known_leaf_costs_no_reciprocal():
    graph = trace_inverse(LIMBS, 2, known=(2, 5))
    assert (graph.count(Op.RECIPROCAL), chain_of_reciprocals(graph)) == (2, 1)


def test_the_triangular_inverse_waits_for_no_reciprocal_before_the_shares_of_the_last_block():
    """The product with a vector takes two products and a sum after the last reciprocals."""
    make = Recorder()
    matrix = [[make.input(f"H[{i},{j}]") for j in range(i + 1)] for i in range(3)]
    product = triangular_inverse(factorize(matrix, 2)).times([make.input(f"x[{i}]") for i in range(3)])
    for i, entry in enumerate(product):
        make.output(f"r.x[{i}]", entry)
    graph = prune(make.builder.finish(make.outputs))
    after: list[float] = []
    for node in graph.nodes:
        waited = max((after[edge.node] for edge in node.args), default=-np.inf)
        after.append(0 if node.op is Op.RECIPROCAL else waited + (node.op is Op.MULTIPLY))
    assert chain_of_reciprocals(graph) == 1
    assert after[dict(graph.outputs)["r.x[0]"].node] == 1


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_limbs_on_one_base_stay_apart(largest):
    graph = trace_inverse(LIMBS, largest)
    constants = [name for name, edge in graph.outputs if graph.nodes[edge.node].op is Op.CONSTANT]
    assert constants == [f"r.x[{i},{j}]" for i in range(3, 6) for j in range(3)]


@pytest.mark.parametrize(
    ("parents", "known", "expected"),
    [
        (CHAIN[:6], (), [120, 145, 151]),
        (CHAIN, (), [189, 215, 228]),
        (QUADRUPED, (0, 1, 2), [1548, 1607, 1605]),
    ],
)
def test_products(parents, known, expected):
    """Up to six rows take some products more, because the last reciprocal is multiplied last."""
    assert [trace_inverse(parents, largest, known).count(Op.MULTIPLY) for largest in (1, 2, 3)] == expected


def test_a_base_keeps_its_linear_block_apart():
    """The known mass goes first; its determinant is multiplied into the other block."""
    make = Recorder()
    matrix = [[make.input(f"H[{i},{j}]") for j in range(i + 1)] for i in range(9)]
    for i in range(3):
        matrix[i] = [0.0] * i + [5.0]
    factors = factorize(matrix, 3)
    assert [block.members for block in factors.blocks] == [(8, 7, 6), (2, 1, 0), (5, 4, 3)]
    assert [block.above for block in factors.blocks] == [(5, 4, 3, 2, 1, 0), (5, 4, 3), ()]
