"""The table of means of samples in hardware: its line of the toy is as in the results."""

from pathlib import Path

import pytest

from benchmarks import markdown_tables
from benchmarks.mppi_cores import BUILDS, mean_rows
from benchmarks.solver_cores import core_layout

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


@pytest.mark.verify(minutes=1)
def test_the_toys_line_is_that_of_the_results():
    (line,) = core_layout(mean_rows(BUILDS[:1]))
    headings, _, *rows = markdown_tables.tables(RESULTS)["mppi-cores"]
    assert headings == tuple(line)
    assert tuple(line.values()) in rows


def test_a_mean_of_an_arm_takes_as_long_as_was_promised():
    """1,024 samples of 64 steps at 125 MHz in 0.6 ms."""
    headings, _, *rows = markdown_tables.tables(RESULTS)["mppi-cores"]
    arm = dict(zip(headings, next(row for row in rows if row[:3] == ("iiwa14", "xcvu9p", "1")), strict=True))
    assert int(arm["cycles"].replace(",", "")) <= 75_000
