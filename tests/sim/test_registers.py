"""Accelerators whose clock requires pipelined products, in their targets' own blocks, bit for bit."""

import pytest

from rbdhw.design.folder import read, write
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.target import target
from tests.support.verilog import count

ALL = DEFAULT_FUNCTIONS


def builds():
    """Return robot, functions, target, clock, interval, width (None: several blocks per product), tasks."""
    yield "toy", ("id",), "ecp5-85", 90.0, 2, None, 400
    long = [
        ("toy", ALL, "ecp5-85", 90.0, 3, 18, 2000),
        ("toy", ALL, "xcvu9p", 300.0, 1, 18, 2000),
        ("toy", ALL, "xc7a200t", 180.0, 5, None, 2000),
        ("iiwa14", ("id",), "ecp5-85", 90.0, 4, 18, 2000),
        ("iiwa14", ("id",), "xcvu9p", 300.0, 2, 18, 2000),
        ("iiwa14", ("id",), "xc7a200t", 180.0, 1, 18, 2000),
    ]
    for case in long:
        yield pytest.param(*case, marks=pytest.mark.verify)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("robot", "functions", "device", "clock", "ii", "width", "tasks"), list(builds()))
def test_registered_products(tmp_path, robot, functions, device, clock, ii, width, tasks):
    options = BuildOptions(
        functions=functions, target=device, clock_mhz=clock, ii=ii, width=width, samples=1024
    )
    write(generate(path(robot), options), tmp_path / "design")
    design = read(tmp_path / "design")
    blocks = count(design.verilog, rf"\b{target(device).primitive.name} #")
    assert blocks == design.manifest["dsp_blocks"]
    report = simulate(tmp_path / "design", tasks, seed=17, bulk=True)
    assert report.mismatches == 0
    assert report.tasks == tasks
    assert report.flagged <= 0.01 * tasks
