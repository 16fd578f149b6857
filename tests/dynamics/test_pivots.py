"""Groups of degrees of freedom that are eliminated together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.dynamics.pivots import awaited_bodies, elimination_parents, groups

BASE = (-1, 0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("parents", "done", "expected"),
    [
        ((-1,), (), [((0,),)]),
        ((-1, 0), (), [((1, 0),)]),
        ((-1, 0, 1), (), [((2, 1), (0,))]),
        ((-1, 0, 1), (2,), [((1, 0),)]),
        ((-1, 0, 1, 2, 3, 4, 5), (6,), [((5, 4),), ((3, 2),), ((1, 0),)]),
        ((-1, 0, 1, 2, 3, 4, 5), (6, 5), [((4, 3),), ((2, 1), (0,))]),
        ((-1, -1, 1), (), [((0,),), ((2, 1),)]),
        ((-1, 0, 0), (), [((1,),), ((2,),), ((0,),)]),
        ((), (), []),
        ((-1, 0), (1, 0), []),
    ],
)
def test_pairs_of(parents, done, expected):
    assert sorted(groups(parents, done, 2)) == sorted(expected)


@pytest.mark.parametrize(
    ("parents", "steady", "expected"),
    [
        ((-1, 0, 1), (), [((2, 1, 0),)]),
        ((-1, 0, 1, 2), (), [((3, 2, 1), (0,))]),
        (BASE, (), [((5, 4, 3),), ((2, 1), (0,))]),
        (BASE, (0, 1, 2), [((2, 1, 0), (5, 4, 3))]),
        ((*BASE, 5, 6, 7, 5), (0, 1, 2), [((9,),), ((8, 7, 6),), ((2, 1, 0), (5, 4, 3))]),
        ((*BASE, 2), (0, 1, 2), [((6,),), ((5, 4),), ((1, 0), (3, 2))]),
    ],
)
def test_triples_of(parents, steady, expected):
    assert sorted(groups(parents, (), 3, steady)) == sorted(expected)


@pytest.mark.parametrize(
    ("parents", "steady", "expected"),
    [
        ((*BASE, 5), (), [((6,),), ((5, 4, 3),), ((2, 1), (0,))]),
        ((*BASE, 5, 6), (0, 1, 2), [((7, 6),), ((2, 1, 0), (5, 4, 3))]),
        ((-1, 0, 1, -1, 3, 4, 2), (0, 1, 2), [((5, 4),), ((3,),), ((6,),), ((2, 1, 0),)]),
    ],
)
def test_a_base_stays_apart_and_goes_last(parents, steady, expected):
    assert sorted(groups(parents, (), 3, steady, apart=range(6))) == sorted(expected)


@given(st.data())
def test_a_group_comes_after_all_its_descendants(data):
    parents = [data.draw(st.integers(-1, i - 1)) for i in range(data.draw(st.integers(0, 9)))]
    steady = [i for i in range(len(parents)) if data.draw(st.booleans())]
    largest = data.draw(st.integers(1, 3))
    order = groups(parents, (), largest, steady)
    rank = {i: k for k, step in enumerate(order) for group in step for i in group}
    assert sorted(rank) == list(range(len(parents)))
    for i, parent in enumerate(parents):
        assert parent == -1 or rank[i] <= rank[parent]
    for step in order:
        line = sorted((i for group in step for i in group), reverse=True)
        assert [parents[i] for i in line[:-1]] == line[1:]
        assert all(len(group) <= largest for group in step)
        assert len(step) == 1 or parents[line[-1]] == -1


def chain(parents, order):
    """Return the most steps that wait for each other."""
    length = {-1: 0}
    for step in reversed(order):
        line = [i for group in step for i in group]
        length |= dict.fromkeys(line, 1 + length[parents[min(line)]])
    return max(length.values())


@given(st.data())
def test_larger_groups_make_no_longer_chains(data):
    parents = [data.draw(st.integers(-1, i - 1)) for i in range(data.draw(st.integers(0, 12)))]
    chains = [chain(parents, groups(parents, (), largest)) for largest in (1, 2, 3)]
    assert chains == sorted(chains, reverse=True)


def test_only_the_longest_chain_is_awaited():
    parents = (-1, 0, 1, 2, 0)
    order = [((3,),), ((2,),), ((4,),), ((1,),), ((0,),)]
    assert awaited_bodies(parents, order) == [(2,), (1,), (), (0,), ()]


def test_no_step_is_awaited_where_many_limbs_meet():
    parents = (*BASE, 5, 5, 5, 5)
    order = [*(((i,),) for i in range(6, 10)), ((2, 1, 0), (5, 4, 3))]
    assert awaited_bodies(parents, order) == [()] * 5
    assert awaited_bodies(parents[:7], [order[0], order[-1]]) == [(2, 1, 0, 5, 4, 3), ()]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ((), [-1, -1, -1, -1]),
        (((1, 0), (2, 1), (3, 2)), [-1, 0, 1, 2]),
        (((3, 0), (3, 1)), [-1, 0, -1, 1]),
        (((3, 0),), [-1, -1, -1, 0]),
    ],
)
def test_elimination_parents_of(pairs, expected):
    matrix = [[1.0 if i == j or (i, j) in pairs else 0.0 for j in range(4)] for i in range(4)]
    assert elimination_parents(matrix) == expected


def line(parents, i):
    """Return the ancestors of ``i``."""
    ancestors = set()
    while (i := parents[i]) != -1:
        ancestors.add(i)
    return ancestors


@given(st.data())
def test_elimination_fills_in_nothing_outside_lines(data):
    """The parents of random patterns are checked by numeric elimination."""
    size = data.draw(st.integers(1, 8))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    matrix = np.tril(np.where(rng.random((size, size)) < 0.3, rng.normal(size=(size, size)), 0.0), -1)
    parents = elimination_parents(matrix.tolist())
    matrix += matrix.T + np.diag(np.full(size, 9.0))
    for i in reversed(range(size)):
        coupled = set(np.flatnonzero(matrix[i, :i]).tolist())
        assert coupled <= line(parents, i)
        assert max(coupled, default=-1) == parents[i]
        matrix[:i, :i] -= np.outer(matrix[:i, i], matrix[i, :i]) / matrix[i, i]


@given(st.data())
def test_elimination_parents_are_ancestors_in_a_tree(data):
    tree = [data.draw(st.integers(-1, i - 1)) for i in range(data.draw(st.integers(0, 9)))]
    lines = [line(tree, i) for i in range(len(tree))]
    coupled = [
        [float(j in above and data.draw(st.booleans())) for j in range(i)] for i, above in enumerate(lines)
    ]
    parents = elimination_parents(coupled)
    assert all(line(parents, i) <= above for i, above in enumerate(lines))
