"""The comment above the Verilog: what the design is, and a digest of its inputs."""

import re
from dataclasses import replace

import pytest

from rbdhw.emit.heading import digest
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate, plan_build
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

pytestmark = pytest.mark.usefixtures("without_verilog")

OPTIONS = BuildOptions(functions=("m",), ii=8, width=12, samples=64)


def heading(options):
    return generate(path("toy"), options).verilog.splitlines()


@pytest.mark.parametrize("core", ["pipeline", "array"])
def test_it_says_what_the_design_is(core):
    first, empty, *others = heading(
        replace(OPTIONS, functions=("id", "m"), core=core, target="ecp5-85", clock_mhz=40.0)
    )
    assert re.match(r'rbdhw [\d.]+: rigid-body dynamics of the robot "toy" with 2 degrees of freedom', first)
    assert empty == ""
    assert others[:4] == [
        "Target: ecp5-85 at 40 MHz",
        f"Core: id, m; {core}, a task every 8 cycles, products of 12 x 12 bits",
        "Streams: TDATA of 512 bits, fixed numbers",
        "Base: fixed; external forces: none",
    ]
    assert re.fullmatch(r"Robot, domain and options: SHA-256 [0-9a-f]{16}\.\.\.", others[4])


def test_the_digest_is_that_of_the_inputs():
    one, again, seed, samples = (
        next(line for line in heading(options) if "SHA-256" in line)
        for options in (OPTIONS, OPTIONS, replace(OPTIONS, seed=1), replace(OPTIONS, samples=65))
    )
    assert one == again
    assert len({one, seed, samples}) == 3


def test_the_digest_counts_several_problems_and_blocks():
    plan = plan_build(load_urdf(path("toy")), OPTIONS)
    robot, domain = plan.accelerator.robot, plan.accelerator.domain
    several = {digest(robot, domain, replace(OPTIONS, problems=problems)) for problems in (1, 2, 3)}
    several |= {digest(robot, domain, replace(OPTIONS, blocks=blocks)) for blocks in (1, 2, 3)}
    assert len(several) == 5
