"""The cost of a task to the host, measured on a small robot."""

from itertools import product

import pytest

from benchmarks.host import CALLED, NUMBERS, host_layout, host_rows


@pytest.mark.verify
def test_rows(monkeypatch):
    monkeypatch.setattr("benchmarks.host.REPEATS", 2)
    rows = host_rows("toy")
    assert [(row["number"], row["function"]) for row in rows] == list(product(NUMBERS, CALLED))
    assert all(0.0 < row["C"] < row["C, one"] and row["C"] < row["Python"] for row in rows)
    fixed, singles = rows[0], rows[len(CALLED)]
    assert singles["latency"] > fixed["latency"]
    assert singles["luts"] > fixed["luts"]
    assert host_layout(rows)[0]["words of a task"] == "8"
    assert host_layout(rows)[len(CALLED)][""] == "id, singles"
