"""The clock of a solver's build by the timing check, which knows nothing of its schedule."""

from pathlib import Path

import pytest

from rbdhw.boards.yosys import time_verilog
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robots import path

SIZES = {"knots": 6, "alphas": 4, "width": 27, "ii": 1, "samples": 256}


@pytest.mark.parametrize(
    "turns", [{"sweep_ii": 96}, {"problems": 4, "sweep_ii": 24}, {"blocks": 2}], ids=["one", "four", "blocks"]
)
@pytest.mark.verify(minutes=3)
def test_a_solver_keeps_the_clock_of_its_schedule(turns):
    """Operators of the first cycle have all of it, whatever starts a task in the core."""
    options = BuildOptions(("solve", "id"), target="xcvu9p", **SIZES, **turns)
    manifest = (design := generate(Path(path("toy")), options)).manifest
    report = time_verilog(design.verilog, manifest["name"], options.target)
    assert manifest["clock_mhz"] == 125.0
    assert report.confirms(125.0), report.paths[0]
