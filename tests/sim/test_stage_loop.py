"""Stages that loop, in whole accelerators: every bit, and the rate."""

from pathlib import Path

import numpy as np
import pytest

from rbdhw.design.folder import Design, read, write
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.domain.sampling import sample
from rbdhw.model.packets import encode, merge, requests
from rbdhw.options.build import LOOP, BuildOptions, CoreRequest, Mounting
from rbdhw.pipeline import build_design, generate
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.verilator import bulk
from rbdhw.verilator.simulator import Disturbance
from tests.support.mechanisms import mechanism


def assert_exact(design: Design, folder: Path, tasks: int, limit: float = 1e-3) -> None:
    """Check that no bit differs, that few tasks are flagged, and the median of the errors."""
    write(design, folder / "design")
    report = simulate(folder / "design", tasks, seed=7, bulk=True)
    assert (report.tasks, report.mismatches) == (tasks, 0)
    assert report.flagged <= 0.02 * tasks
    assert all(own.error_median < limit for own in report.functions.values() if own.error_median is not None)


def test_copies_beside_another_core_and_alone_at_full_rate(tmp_path: Path) -> None:
    """Tasks of both cores mixed with pauses; then tasks of the loop alone, without a lost cycle."""
    cores = (CoreRequest(("rk4",), 8, copies=2), CoreRequest(("id",), 2))
    options = BuildOptions(("id", "rk4"), width=24, samples=256, cores=cores, share_stages=LOOP)
    design = build_design(mechanism([JointKind.REVOLUTE], (BASE,), seed=4), options)
    loop, other = design.manifest["parts"]
    assert (loop["core"], other["core"]) == ("loop", "pipeline")
    assert (loop["loop"]["stages"], loop["loop"]["window"]) == (4, 2)
    assert_exact(design, tmp_path, 300)
    folder, tasks = tmp_path / "design", 100
    design = read(folder)
    arrays = sample(design.robot, design.domain, tasks, np.random.default_rng(0), design.fext)
    places = np.arange(tasks)
    packets = requests(design, "rk4", places, encode(design, "rk4", arrays))
    (record,) = bulk.exchange(bulk.build(folder), [merge({"rk4": places}, {"rk4": packets})], Disturbance())
    assert record.taken[-1] - record.taken[0] <= 4 * (tasks - 1) + 2  # each copy, every eight cycles


@pytest.mark.verify
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("function", "ii"), [("rk4", 4), ("rk4", 8), ("drk4", 4)])
def test_iiwa14(tmp_path: Path, function: str, ii: int) -> None:
    options = BuildOptions((function,), ii=ii, width=24, samples=1024, data_width=1024, share_stages=LOOP)
    design = generate(path("iiwa14"), options)
    assert design.manifest["core"] == "loop"
    assert_exact(design, tmp_path, 300)


@pytest.mark.verify
@pytest.mark.timeout(7200)
def test_a_floating_quadruped(tmp_path: Path) -> None:
    options = BuildOptions(
        ("rk4",), ii=4, width=24, samples=1024, share_stages=LOOP, mounting=Mounting("floating")
    )
    assert_exact(generate(path("hyq"), options), tmp_path, 300, limit=5e-3)


@pytest.mark.verify
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("function", "ii"), [("rk4", 4), ("drk4", 12)])
def test_rotations_of_three_axes(tmp_path: Path, function: str, ii: int) -> None:
    robot = mechanism([JointKind.SPHERICAL, JointKind.REVOLUTE, JointKind.PLANAR], (BASE, 0, 0), seed=4)
    overrides = Overrides(default=JointBounds(velocity=2.0, effort=50.0))
    options = BuildOptions((function,), ii=ii, width=24, samples=1024, data_width=1024, share_stages=LOOP)
    assert_exact(build_design(robot, options, overrides), tmp_path, 1000, limit=5e-3)
