"""The cost of a task to the host, measured on a small robot."""

import pytest

from benchmarks.host import CALLED, host_layout, host_rows


@pytest.mark.verify
def test_rows(monkeypatch):
    monkeypatch.setattr("benchmarks.host.REPEATS", 2)
    rows = host_rows("toy")
    assert [row["function"] for row in rows] == list(CALLED)
    assert all(0.0 < row["C"] < row["C, one"] and row["C"] < row["Python"] for row in rows)
    assert host_layout(rows)[0]["words of a task"] == "8"
