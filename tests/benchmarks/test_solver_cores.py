"""The table of solvers in hardware: its line of the toy is as in the results."""

from pathlib import Path

from benchmarks import markdown_tables
from benchmarks.solver_cores import BUILDS, core_layout, core_rows

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


def test_the_toys_line_is_that_of_the_results():
    (line,) = core_layout(core_rows(BUILDS[:1]))
    headings, _, *rows = markdown_tables.tables(RESULTS)["solver-cores"]
    assert headings == tuple(line)
    assert tuple(line.values()) in rows
