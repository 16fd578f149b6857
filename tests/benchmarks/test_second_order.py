"""The tables of second derivatives."""

from benchmarks import second_order
from benchmarks.second_order import (
    FROM_FIRST,
    FROM_VALUES,
    GRAPH,
    SECOND,
    binary_tree,
    chain,
    differences,
    differences_layout,
    second_operations,
    second_operations_layout,
    second_steps,
    second_steps_layout,
)


def test_operations():
    rows = second_operations([("toy", "fixed", SECOND)])
    assert [row["function"] for row in rows] == ["sid", "sfd", "hid", "hfd"]
    assert all(0 < row["multiplications"] < 150 for row in rows)
    direct, differenced = second_operations_layout(rows)
    assert (direct[""], differenced[""]) == ("toy", "toy, by differences")
    assert direct["sid"].endswith(" 9 words")
    assert all(row["by differences"] > 2 * row["multiplications"] for row in rows)


def test_differences(monkeypatch):
    """The graph is exact to rounding, and each difference that is taken costs digits."""
    monkeypatch.setattr(second_order, "robot_of", lambda _: chain(2))
    monkeypatch.setattr(second_order, "FORWARD", ("binary tree of 3",))
    rows = differences(sizes=[3])
    assert len(rows) == 5 * 3
    assert [row["function"] for row in rows[-4:]] == ["sid", "sfd", "sfd", "sfd"]
    for exact, once, twice in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        assert exact["root mean square relative"] < 1e-11
        assert 1e-10 < once["root mean square relative"] < 1e-4
        assert once["root mean square"] < twice["root mean square"] < 1e-5
    assert differences_layout(rows)[0]["method"] == "graph in double precision"


def test_differences_over_their_step():
    """Large steps cut off, small ones cancel; second differences have the larger best step."""
    rows = second_steps([("sid", "chain", 2)], [1e-1, 1e-4, 1e-6, 1e-9])
    assert [row["step"] for row in rows] == [None, *[1e-1, 1e-4, 1e-6, 1e-9] * 2]
    (line,) = second_steps_layout(rows)
    assert list(line) == ["", GRAPH, FROM_FIRST, FROM_VALUES]
    assert line[""] == "chain of 2, sid"
    assert "step" not in line[GRAPH]
    assert line[FROM_FIRST].endswith("step 1e-06")
    assert line[FROM_VALUES].endswith("step 1e-04")


def test_shapes():
    assert [body.parent for body in chain(4).bodies] == [-1, 0, 1, 2]
    assert [body.parent for body in binary_tree(6).bodies] == [-1, 0, 0, 1, 1, 2]
