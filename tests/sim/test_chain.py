"""Accelerators with a chain core, from the robot to the RTL in Verilator, bit for bit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbdhw.design.folder import read, write
from rbdhw.errors import InputError
from rbdhw.model.responses import respond
from rbdhw.options.build import Pacing
from rbdhw.pipeline import build_design
from rbdhw.sim.simulate import simulate
from rbdhw.software.exact_library import ExactLibrary
from tests.support.chains import MODERATE, chain, options_of, tree
from tests.support.designs import assert_same


@pytest.mark.verify
@pytest.mark.parametrize(("function", "inward"), [("fd", [False, True, False]), ("id", [False, True])])
def test_links_of_both_kinds(tmp_path: Path, function: str, inward: list[bool]) -> None:
    """Two cores, with pauses on both streams; the C, the manifest and the folder agree with the hardware."""
    robot, options = chain(4, "mixed"), replace(options_of(4, 2, function=function), copies=2, data_width=64)
    folder = tmp_path / "design"
    built = build_design(robot, options, MODERATE)
    write(built, folder)
    design = read(folder)
    assert_same(design, built)
    report = simulate(folder, 400, seed=3, bulk=True)
    assert (report.tasks, report.mismatches) == (400, 0)
    (part,) = design.description.parts
    assert (part.core, part.ii, part.copies) == ("chain", 8, 2)
    assert part.links is not None
    assert (part.links.links, part.links.window) == (4, 2)
    assert [sweep.inward for sweep in part.links.sweeps] == inward
    latency = report.functions[function].latency_cycles
    assert latency >= design.description.functions[function].latency_cycles
    library, rng = ExactLibrary(design), np.random.default_rng(5)
    words = {
        word.name: rng.integers(word.format.lowest, word.format.highest, 200, endpoint=True)
        for word in design.interface.inputs(function, False)
    }
    status, results = respond(design, function, words, False)
    computed_status, computed = library.respond(function, words, False)
    np.testing.assert_array_equal(computed_status, status)
    for name, values in results.items():
        np.testing.assert_array_equal(computed[name], values)


@pytest.mark.usefixtures("only_heading")
def test_intervals() -> None:
    """By default a link has one cycle; a share of the device asks for more."""
    robot = chain(4)
    default = build_design(robot, replace(options_of(4), ii=None), MODERATE)
    assert default.manifest["ii"] == 4
    options = replace(options_of(4), ii=None, fit=0.025, pacing=Pacing(link=False))
    fitting = build_design(robot, options, MODERATE)
    assert fitting.manifest["ii"] % 4 == 0
    assert 4 < fitting.manifest["ii"] <= 64
    assert fitting.manifest["estimate"]["shares"]["dsp_blocks"] <= 0.025
    with pytest.raises(InputError) as refusal:
        build_design(robot, replace(options_of(4), ii=7), MODERATE)
    assert str(refusal.value) == (
        "ii: 7 is no multiple of the robot's 4 links; expected as many cycles for each link; use --ii 8"
    )


def hang(parents: list[int], on: int, links: int) -> None:
    """Add a chain of links on a link."""
    parents += [on, *range(len(parents), len(parents) + links - 1)]


@pytest.mark.verify(minutes=6)
def test_a_long_robot_that_branches(tmp_path: Path) -> None:
    """Arms of 8 links on a body of 16, with hands of three fingers, on the chain core."""
    parents = list(range(-1, 15))
    for shoulder in (5, 10):
        hang(parents, shoulder, 8)
        wrist = len(parents) - 1
        for _ in range(3):
            hang(parents, wrist, 2)
    robot, options = tree(parents, "mixed"), options_of(len(parents), 2, 32)
    write(build_design(robot, options, MODERATE), tmp_path / "design")
    report = simulate(tmp_path / "design", 200, seed=3, bulk=True)
    assert (report.tasks, report.mismatches) == (200, 0)
