"""Factors of the mass matrix, its inverse and solves, on matrices with the sparsity of trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw.dynamics.derivatives import mass_matrix
from rbdhw.dynamics.factorization import factorize, inverse, solve
from rbdhw.dynamics.joint import coordinates
from rbdhw.graph.graph import Op
from rbdhw.graph.trace import Recorder
from rbdhw.passes.prune import prune
from rbdhw.robot.frames import align_axes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.sim import golden
from tests.strategies import random_states

CHAIN = (-1, 0, 1, 2, 3, 4, 5)
LIMBS = (-1, 0, 1, -1, 3, 4)
BUSH = (-1, 0, 1, 1, 0, 4, 5, 4, -1, 8)


def ancestors(parents, i):
    """The degrees of freedom between ``i`` and the root, ``i`` first."""
    found = []
    while i != -1:
        found.append(i)
        i = parents[i]
    return found


def tree_matrix(parents, seed):
    """A random positive definite matrix, zero but for pairs of ancestor and descendant."""
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
    """Parents of up to ten degrees of freedom."""
    n = draw(st.integers(1, 10))
    return tuple(draw(st.integers(-1, i - 1)) for i in range(n))


@settings(max_examples=60, deadline=None)
@given(trees(), st.booleans(), st.integers(0, 1000))
def test_inverse_and_solves_of_any_tree(parents, paired, seed):
    matrix = tree_matrix(parents, seed)
    check_factors(matrix, factorize(parents, unknown(matrix), paired))


@settings(max_examples=30, deadline=None)
@given(trees(), st.integers(0, 1000))
def test_pivots_that_are_known_go_first(parents, seed):
    """All floats: nothing needs to go in pairs."""
    matrix = tree_matrix(parents, seed)
    factors = factorize(parents, matrix.tolist(), paired=True)
    assert [block.members for block in factors.blocks] == [(i,) for i in reversed(range(len(parents)))]
    check_factors(matrix, factors)


def unknown(matrix):
    """Rows whose entries are no floats, as those of a matrix of signals."""
    return [[np.array([entry]) for entry in row] for row in matrix]


def check_factors(matrix, factors):
    """The inverse and a solve from the factors of a matrix."""
    n = len(matrix)
    rows = inverse(factors)
    full = np.zeros((n, n))
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            full[i, j] = full[j, i] = np.squeeze(entry)
    np.testing.assert_allclose(full @ matrix, np.eye(n), rtol=0, atol=1e-8)
    right = np.random.default_rng(n).normal(size=n)
    found = np.array([float(np.squeeze(x)) for x in solve(factors, right.tolist())])
    np.testing.assert_allclose(matrix @ found, right, rtol=0, atol=1e-8)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("name", sorted(bundled()))
def test_inverse_of_a_bundled_robot(name, paired):
    robot = align_axes(load_urdf(bundled()[name]))
    states = random_states(robot, 3, seed=2)
    matrix = mass_matrix(robot, coordinates(robot, states["q"].T))
    rows = inverse(factorize([body.parent for body in robot.bodies], matrix, paired))
    expected = golden.evaluate(robot, "minv", {"q": states["q"]})["Minv"]
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            np.testing.assert_allclose(entry, expected[:, i, j], rtol=0, atol=1e-9 * np.abs(expected).max())


def traced(parents, paired, known=()):
    """The graph of the inverse of a matrix of inputs, but for known entries of the diagonal."""
    make = Recorder()
    matrix = [[0.0] * len(parents) for _ in parents]
    for i in range(len(parents)):
        for j in ancestors(parents, i):
            matrix[i][j] = 2.0 if i == j and i in known else make.input(f"H[{i},{j}]")
    for i, row in enumerate(inverse(factorize(parents, matrix, paired))):
        for j, entry in enumerate(row):
            make.output(f"r.x[{i},{j}]", entry)
    return make.builder.finish(make.outputs)


def chain_of_reciprocals(graph):
    """The most reciprocals on a path."""
    depth = []
    for node in graph.nodes:
        before = max((depth[edge.node] for edge in node.args), default=0)
        depth.append(before + (node.op is Op.RECIPROCAL))
    return max(depth)


@pytest.mark.parametrize(
    ("parents", "single", "in_pairs"),
    [(CHAIN, (7, 7), (4, 3)), (LIMBS, (6, 3), (4, 1)), (BUSH, (10, 4), (9, 3))],
)
def test_pairs_shorten_the_chain_of_reciprocals(parents, single, in_pairs):
    for paired, (count, longest) in ((False, single), (True, in_pairs)):
        graph = prune(traced(parents, paired))
        assert (graph.count(Op.RECIPROCAL), chain_of_reciprocals(graph)) == (count, longest)


def test_a_known_leaf_costs_no_reciprocal():
    graph = prune(traced(LIMBS, True, known=(2, 5)))
    assert (graph.count(Op.RECIPROCAL), chain_of_reciprocals(graph)) == (2, 1)


def test_limbs_on_one_base_stay_apart():
    graph = traced(LIMBS, True)
    constants = [name for name, edge in graph.outputs if graph.nodes[edge.node].op is Op.CONSTANT]
    assert constants == [f"r.x[{i},{j}]" for i in range(3, 6) for j in range(3)]


@pytest.mark.parametrize(("paired", "most"), [(False, 190), (True, 235)])
def test_products_of_a_chain_of_seven(paired, most):
    assert traced(CHAIN, paired).count(Op.MULTIPLY) <= most
