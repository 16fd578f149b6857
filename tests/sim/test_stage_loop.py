"""Stages that loop, in whole accelerators: every bit, and the rate."""

from pathlib import Path

import numpy as np
import pytest

from rbdhw.design.folder import read
from rbdhw.domain.sampling import sample
from rbdhw.model.packets import encode, merge, requests
from rbdhw.options.build import LOOP, BuildOptions, CoreRequest
from rbdhw.pipeline import build_design
from rbdhw.robot.model import BASE, JointKind
from rbdhw.verilator import bulk
from rbdhw.verilator.simulator import Disturbance
from tests.support.mechanisms import mechanism
from tests.support.verilated import assert_exact


@pytest.mark.verify
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
