"""The loop in C++: both programs compute the same forces, and every tick is timed."""

import re

import pytest

from examples.loop import run


def test_loop(example):
    ticks, lines = example(run, "--ticks", "200")
    assert all(times.shape == (200, 2) and times.min() > 0 for times in ticks.values())
    assert all(line.startswith("200 ticks, 0 flagged") for line in lines.values())
    exact, force = (float(re.search(r"force (\S+),", line)[1]) for line in lines.values())
    assert 0 < abs(force - exact) < 1e-2
    assert force == pytest.approx(exact, rel=1e-3)
