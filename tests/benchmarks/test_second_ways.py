"""Second derivatives by two algorithms, and the steps of ``sfd``."""

import pytest

from benchmarks.second_ways import STEPS, WAYS, second_ways, ways_layout


@pytest.mark.verify
def test_ways_and_steps_of_short_robots():
    chain, tree = second_ways([3])
    assert (chain["robot"], tree["robot"]) == ("chain of 3", "binary tree of 3")
    for row in (chain, tree):
        assert all(row[f"{function}, {way}"] > 0 for function in ("sid", "hid") for way in WAYS)
        assert list(row["steps"]) == list(STEPS)
        assert all(count > 0 for count in row["steps"].values())
        assert sum(row["steps"].values()) == row["sfd"] > row["sid, columns"]
    assert tree["sid, columns"] < chain["sid, columns"]


def test_shares():
    steps = dict.fromkeys(STEPS, 100) | {"first derivatives": 600}
    row = {"robot": "chain of 4", "sid, columns": 1234, "sfd": 1000, "steps": steps}
    line = ways_layout([row])[0]
    assert (line["sid, columns"], line["sfd"], line["sfd: first derivatives"]) == ("1,234", "1,000", "60%")
