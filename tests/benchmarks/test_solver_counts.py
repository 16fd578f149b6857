"""The table of solvers that Yosys maps: its errors, what its clocks say, and its first line."""

import re
from pathlib import Path

import pytest

from benchmarks import markdown_tables
from benchmarks.solver_cores import core_rows
from benchmarks.solver_counts import COUNTED, count_layout, count_row
from rbdhw.timing.report import MARGIN

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


def lines():
    """Return the lines of the table in the results."""
    heading, _, *cells = markdown_tables.tables(RESULTS)["solver-counts"]
    return [dict(zip(heading, line, strict=True)) for line in cells]


def numbers(cell):
    """Return an estimate, a count, the error in percent, and the share of the device in percent."""
    return [int(number.replace(",", "")) for number in re.findall(r"[-+]?\d[\d,]*(?=\D|$)", cell)]


def test_estimates_are_near_the_counts_and_the_arm_fits_its_device():
    assert len(lines()) == len(COUNTED)
    for line in lines():
        estimate, counted, error, share = numbers(line["look-up tables"])
        assert error == round(100 * (estimate / counted - 1))
        assert abs(error) <= 10
        assert share <= 100
        check, safe = float(line["check, MHz"]), float(line["with the margin"])
        assert safe == pytest.approx(check / (1 + MARGIN), abs=0.1)
        assert line["confirmed"] == ("yes" if safe >= float(line["scheduled, MHz"]) else "no")


@pytest.mark.verify
def test_the_estimate_of_the_toy_is_that_of_today():
    (row,) = core_rows(COUNTED[:1])
    assert numbers(lines()[0]["look-up tables"])[0] == row["luts"]


@pytest.mark.verify(minutes=4)
def test_the_toy_is_counted_as_in_the_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert count_layout([count_row(COUNTED[0])]) == lines()[:1]
