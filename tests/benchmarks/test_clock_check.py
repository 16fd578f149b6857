"""The table of the timing check beside nextpnr: its errors, and the fit of the wires."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import markdown_tables
from benchmarks.clock_check import Lengths, PlacedDesign, clock_layout, fit, rows_of, share_above, subjects
from rbdhw.timing.analysis import Graph
from rbdhw.timing.ecp5 import ECP5
from rbdhw.timing.netlist import Cell, Netlist
from rbdhw.timing.report import LARGEST_ERROR, MARGIN, MEDIAN_ERROR
from rbdhw.timing.wires import Wires

TRUE = Wires(base=900.0, by_side=0.0, by_fan_out=50.0, to_block=300.0)

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


def graph(luts: int, readers: int, blocks: int) -> Graph:
    """Return a path through look-up tables, of which each net has some readers, into blocks side by side."""
    cells = [Cell("q", "TRELLIS_FF", {}, {"Q": (3,)})]
    for net in range(3, 3 + luts):
        cells += [Cell(f"l{net}", "LUT4", {}, {"A": (net,), "Z": (net + 1,)})]
        cells += [Cell(f"i{net}_{k}", "LUT4", {}, {"A": (net,)}) for k in range(readers - 1)]
    cells += [Cell(f"m{k}", "MULT18X18D", {}, {"A0": (3 + luts,), "P0": (900 + k,)}) for k in range(blocks)]
    cells += [Cell("d", "TRELLIS_FF", {}, {"M": (900 if blocks else 3 + luts,)})]
    signals = {net: f"n{net}" for net in range(3, 1000)}
    return Graph(Netlist(tuple(cells), (), (), signals), ECP5)


def placed(name: str, *of: int) -> PlacedDesign:
    """Return a design that is as slow as the wires :data:`TRUE` say."""
    shape = graph(*of)
    times = shape.times(TRUE)
    mhz = 1e6 / times.period
    return PlacedDesign(name, shape, (mhz,), np.array([times.at_ends] * 2, float), mhz)


DESIGNS = [
    placed(f"design {k} ecp5-85", *of)
    for k, of in enumerate([(2, 1, 0), (6, 1, 0), (4, 8, 0), (9, 2, 0), (3, 1, 1), (3, 4, 1), (7, 2, 1)])
]


def test_a_fit_finds_the_wires() -> None:
    wires = fit(DESIGNS)
    assert (wires.base, wires.by_fan_out) == pytest.approx((TRUE.base, TRUE.by_fan_out), rel=0.02)
    assert wires.to_block == pytest.approx(TRUE.to_block, rel=0.02)
    assert all(abs(design.error(wires)) < 1e-3 for design in DESIGNS)


def test_designs_that_were_not_routed_are_fitted_by_their_longest_paths() -> None:
    wires = fit([replace(design, arrivals=design.arrivals[:0]) for design in DESIGNS])
    assert list(vars(wires).values()) == pytest.approx(list(vars(TRUE).values()), rel=0.02)


def test_the_slowest_end_is_found() -> None:
    assert DESIGNS[0].rank(TRUE) == DESIGNS[0].rank_by_seed() == 0.0
    assert replace(DESIGNS[0], arrivals=DESIGNS[0].arrivals[:0]).rank(TRUE) is None


def test_an_end_has_the_share_of_ends_behind_it() -> None:
    arrivals = np.array([3.0, -np.inf, 5.0, np.nan, 4.0, 1.0])
    assert [share_above(arrivals, end) for end in (2, 4, 5)] == [0.0, 1 / 4, 3 / 4]


def test_wires_take_as_long_as_others_of_their_length() -> None:
    """A carry chain that was packed is where its neighbour is; constants have no place."""
    shape = graph(2, 1, 1)
    places = {"q": (0, 0), "l3": (3, 0), "l4": (3, 8), "m0": (60, 8), "d": (61, 8)}
    lengths = Lengths([(0, 500.0), (5, 1000.0), (10, 1500.0), (20, 2000.0), (40, 3000.0)])
    wires = 800.0 + 1300.0 + (1500.0 + 47 * 50.0) + 600.0
    assert lengths.arrivals(shape, places).max() == pytest.approx(525 + 2 * 236 + 3927 + wires)
    del places["l4"]
    assert np.isfinite(lengths.arrivals(shape, places).max())


def test_errors_by_the_others_and_in_all() -> None:
    lines = clock_layout(rows_of(DESIGNS))
    assert lines[0]["design"] == "design 0"
    assert [line["error by the others"] for line in lines[:-1]] == ["+0.0%"] * len(DESIGNS)
    assert re.fullmatch(r"0\.0% / [-+]0\.0% / [-+]0\.0%", lines[-1]["error by the others"])
    assert not lines[-1]["error"].startswith("0.0%"), "the package's wires are others"


def test_designs_are_distinct() -> None:
    names = [str(subject) for subject in subjects()]
    assert len(set(names)) == len(names) >= 12
    assert {subject.target for subject in subjects()} == {"ecp5-85"}


def test_the_errors_that_the_check_states_are_those_of_the_table() -> None:
    """They stand in the last line of the table, by the check's own wires."""
    heading, *_, last = markdown_tables.tables(RESULTS)["timing"]
    median, fast, slow = map(float, re.findall(r"[-+]?[\d.]+", last[heading.index("error")]))
    assert (median, fast) == pytest.approx((100 * MEDIAN_ERROR, 100 * LARGEST_ERROR))
    assert slow < 0
    assert LARGEST_ERROR <= MARGIN
