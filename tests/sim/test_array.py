"""Accelerators with an array core, from the URDF to the RTL in Verilator, bit for bit."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from rbdhw.design.folder import read, write
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design, generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.model import JointKind
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from tests.support.mechanisms import mechanism

ALL = DEFAULT_FUNCTIONS


def builds():
    """Return robot, base, functions, target, clock, interval, number format and tasks."""
    yield "toy", "fixed", ("id", "m"), "ecp5-85", None, 16, "fixed", 400
    long = [
        ("toy", "fixed", ALL, "ecp5-85", None, 16, "fixed", 400),
        ("iiwa14", "fixed", ("id",), "xcvu9p", None, 24, "fixed", 200),
        ("iiwa14", "fixed", ("id", "fd"), "xcvu9p", None, 24, "fixed", 200),
        ("toy", "fixed", ALL, "xc7a200t", None, 9, "float32", 2000),
        ("iiwa14", "fixed", ALL, "ecp5-85", None, 32, "fixed", 2000),
        ("iiwa14", "fixed", ALL, "ecp5-85", None, 61, "fixed", 1000),
        ("iiwa14", "fixed", ALL, "xcvu9p", 250.0, 24, "fixed", 1000),
        ("hyq", "fixed", ALL, "ecp5-85", None, 48, "float32", 1000),
        ("hyq", "floating", ("id", "fd"), "xcvu9p", None, 32, "fixed", 1000),
        ("tiago", "fixed", ("id", "did"), "xcvu9p", None, 32, "fixed", 1000),
    ]
    for case in long:
        yield pytest.param(*case, marks=pytest.mark.verify)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("robot", "base", "functions", "device", "clock", "ii", "number", "tasks"), list(builds())
)
def test_arrays(tmp_path, robot, base, functions, device, clock, ii, number, tasks):
    options = BuildOptions(
        functions=functions,
        target=device,
        clock_mhz=clock,
        ii=ii,
        width=18,
        core="array",
        number=number,
        mounting=Mounting(base),
        samples=1024,
    )
    write(generate(path(robot), options), tmp_path / "design")
    manifest = read(tmp_path / "design").manifest
    slots = manifest["multiplier_slots"]
    assert slots["offered"] == manifest["multipliers"] * ii
    least = math.ceil(slots["used"] / ii)
    assert 0 < least <= manifest["multipliers"] <= math.ceil(1.1 * least)
    report = simulate(tmp_path / "design", tasks, seed=23, bulk=True)
    assert report.mismatches == 0
    assert report.tasks == tasks
    assert report.flagged <= 0.02 * tasks


BODY = tuple(range(-1, 31))
"""The parents in a chain of 32 links."""


@pytest.mark.verify
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("parents", "ii"),
    [
        pytest.param(range(-1, 15), 64, id="16"),
        pytest.param(range(-1, 31), 256, id="32"),
        pytest.param(range(-1, 63), 512, id="64"),
        pytest.param((*BODY, 9, 32, 33, 34, 19, 36, 37, 38), 256, id="arms of 4 on a body of 32"),
    ],
)
def test_long_chains(tmp_path: Path, parents: Sequence[int], ii: int) -> None:
    """Bodies of random shapes on joints that turn and slide; values wait for many intervals."""
    kinds = [JointKind.REVOLUTE, JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE]
    robot = mechanism(kinds * (len(parents) // 4), parents, seed=len(parents))
    overrides = Overrides(default=JointBounds(velocity=1.0, effort=10.0))
    options = BuildOptions(
        functions=("fd",), ii=ii, width=27, core="array", samples=256, algorithms={"forward": "propagated"}
    )
    write(build_design(robot, options, overrides), tmp_path / "design")
    report = simulate(tmp_path / "design", 100, seed=3, bulk=True)
    assert report.mismatches == 0
