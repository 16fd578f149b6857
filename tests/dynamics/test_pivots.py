"""Groups of degrees of freedom that are eliminated together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.dynamics.pivots import groups


@pytest.mark.parametrize(
    ("parents", "done", "expected"),
    [
        ((-1,), (), [(0,)]),
        ((-1, 0), (), [(1, 0)]),
        ((-1, 0, 1), (), [(2, 1, 0)]),
        ((-1, 0, 1), (2,), [(1, 0)]),
        ((-1, 0, 1, 2, 3, 4, 5), (6,), [(5, 4), (3, 2), (1, 0)]),
        ((-1, 0, 1, 2, 3, 4, 5), (6, 5), [(4, 3), (2, 1, 0)]),
        ((-1, -1, 1), (), [(0,), (2, 1)]),
        ((-1, 0, 0), (), [(0,), (1,), (2,)]),
        ((), (), []),
        ((-1, 0), (1, 0), []),
    ],
)
def test_groups_of(parents, done, expected):
    assert sorted(groups(parents, done)) == sorted(expected)


@given(st.data())
def test_a_group_comes_after_all_that_hangs_from_it(data):
    parents = [data.draw(st.integers(-1, i - 1)) for i in range(data.draw(st.integers(0, 9)))]
    order = groups(parents, ())
    place = {i: k for k, group in enumerate(order) for i in group}
    assert sorted(place) == list(range(len(parents)))
    for i, parent in enumerate(parents):
        assert parent == -1 or place[i] <= place[parent]
    for group in order:
        assert [parents[i] for i in group[:-1]] == list(group[1:])
        assert len(group) < 3 or (len(group) == 3 and parents[group[-1]] == -1)
