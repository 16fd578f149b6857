"""The loop in C++: both programs compute the same forces, and every tick is timed."""

import re
import subprocess

import pytest

from examples.loop import run
from rbdhw.robots import path


@pytest.mark.verify
def test_generated_c(tmp_path):
    program = run.build_software(path("toy"), tmp_path)
    done = subprocess.run([program, "20", tmp_path / "ticks.txt"], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1].startswith("20 ticks, 0 flagged")
    assert len((tmp_path / "ticks.txt").read_text().splitlines()) == 20


@pytest.mark.verify
def test_loop(example):
    ticks, lines = example(run, "--ticks", "200")
    assert all(times.shape == (200, 2) and times.min() > 0 for times in ticks.values())
    assert all(line.startswith("200 ticks, 0 flagged") for line in lines.values())
    exact, force = (float(re.search(r"force (\S+),", line)[1]) for line in lines.values())
    assert 0 < abs(force - exact) < 1e-2
    assert force == pytest.approx(exact, rel=1e-3)
