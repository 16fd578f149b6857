"""Limbs that share hardware, in Verilator: every bit equals the model's."""

import pytest

from rbdhw.design.folder import write
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import build_design
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.sim.simulate import simulate
from tests.support.limbs import limbed
from tests.support.marks import long


def builds():
    """Return limbs, joints of each, whether they hang from a trunk, interval, forces, width and functions."""
    yield long(2, 2, False, 2, "none", 18, ("fd", "did"))
    yield 3, 1, True, 4, "none", 27, ("id", "did")
    yield long(4, 1, False, 8, "none", 27, ("id", "dfd"))
    more = [
        (limbs, 2, trunk, ii, "all", 18, DEFAULT_FUNCTIONS)
        for limbs, ii in ((2, 4), (2, 6), (3, 3), (4, 8), (4, 4), (4, 2), (4, 6))
        for trunk in (False, True)
    ]
    for case in more:
        yield long(*case)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("limbs", "joints", "trunk", "ii", "fext", "width", "functions"), list(builds()))
def test_functions_mixed(tmp_path, limbs, joints, trunk, ii, fext, width, functions):
    options = BuildOptions(
        functions=functions,
        ii=ii,
        width=width,
        fext=fext,
        share_limbs="on",
        samples=512,
    )
    design = build_design(limbed(limbs, joints, seed=limbs + ii, trunk=trunk), options)
    assert design.description.parts[0].limbs.shared
    write(design, tmp_path / "design")
    report = simulate(tmp_path / "design", 200, seed=ii, bulk=True)
    assert (report.tasks, report.mismatches) == (200, 0)
    assert report.flagged <= 2
    for function, figures in report.functions.items():
        assert figures.error_median is not None
        assert figures.error_median < 5e-3, function
