"""What a second thread gains: rows of a small robot and of a short chain, and their cells."""

import pytest

from benchmarks import thread_scaling, timing
from benchmarks.thread_scaling import thread_layout, thread_rows


@pytest.mark.verify
def test_rows_of_a_robot_and_of_a_chain(monkeypatch):
    monkeypatch.setattr(timing, "ROUND_SECONDS", 0.0)
    monkeypatch.setattr(thread_scaling, "SIZES", (2, 64))
    rows = thread_rows([("toy", "fixed", ("id",))], [2])
    assert [(row["robot"], row["function"]) for row in rows] == [("toy", "id"), ("chain of 2", "fd")]
    assert all(list(row["times"]) == [2, 64] for row in rows)
    assert all(time > 0.0 for row in rows for pair in row["times"].values() for time in pair)


def test_cells():
    times = {256: (10.0, 12.5, 60.0), 4096: (160.0, 80.0, 120.0)}
    row = {"robot": "arm", "function": "fd", "cores": 2, "times": times}
    assert thread_layout([row]) == [
        {
            "": "arm, fd",
            "cores": "2",
            "256 tasks": "10.0 µs, 12.5 µs (0.8×), 60.0 µs",
            "4,096 tasks": "160 µs, 80.0 µs (2.0×), 120 µs",
        }
    ]
