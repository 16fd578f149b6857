"""The table of solvers in hardware: its line of the toy is as in the results."""

from pathlib import Path

import pytest

from benchmarks import markdown_tables
from benchmarks.solver_cores import BUILDS, Build, core_layout, core_rows, pipeline_rows

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


@pytest.mark.verify
def test_the_toys_line_is_that_of_the_results():
    (line,) = core_layout(core_rows(BUILDS[:1]))
    headings, _, *rows = markdown_tables.tables(RESULTS)["solver-cores"]
    assert headings == tuple(line)
    assert tuple(line.values()) in rows


@pytest.mark.verify
def test_a_pipeline_hands_on_about_as_soon_as_an_array_and_takes_more_tables():
    (pipeline,), (array,) = pipeline_rows("toy", (95,)), core_rows([Build("toy", "xcvu9p", 4, 95)])
    assert pipeline["sweep: ii"] == array["sweep: ii"] == 95
    assert pipeline["handed on after"] == pytest.approx(array["handed on after"], rel=0.1)
    assert pipeline["luts"] > array["luts of it"]
