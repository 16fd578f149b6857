"""All seven functions at every initiation interval from 1 to 16, and some larger ones, of a 7-DoF arm."""

from dataclasses import replace
from functools import cache

import pytest

from rbdhw.design.folder import write
from rbdhw.explore.initiation_interval import Interval
from rbdhw.explore.plan import accelerator_of
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import emit_design
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.schedule.model import MULTIPLIERS
from rbdhw.sim.simulate import simulate
from tests.support.marks import long

OPTIONS = BuildOptions(functions=DEFAULT_FUNCTIONS, width=18, samples=1024)
SHORT = ("id", "m")
"""The functions of the short run."""
TASKS = 100


@cache
def build(robot: str, functions: tuple[str, ...]) -> BuildSearch:
    """Return the build with the formats, which are the same at every interval."""
    options = replace(OPTIONS, functions=functions)
    return BuildSearch(prepare_build(load_urdf(path(robot)), options), options)


def intervals():
    """Return robots, intervals and functions: for the short run an arm of two joints."""
    yield "toy", 3, SHORT
    yield long("toy", 3, DEFAULT_FUNCTIONS)
    yield long("toy", 24, DEFAULT_FUNCTIONS)
    for ii in (*range(1, 17), 24, 32, 64):
        yield long("iiwa14", ii, DEFAULT_FUNCTIONS)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("robot", "ii", "functions"), list(intervals()))
def test_schedule_and_hardware_are_exact(tmp_path, robot, ii, functions):
    """A plan exists only if the verifier has accepted its schedule."""
    plan = build(robot, functions).plan(Interval(ii, "tested"))
    products = sum(len(unit.steps) for unit in plan.core.schedule.units if unit.resource in MULTIPLIERS)
    assert plan.ii == ii
    assert plan.core.multipliers <= 1.1 * products / ii + 1
    write(
        emit_design(accelerator_of(plan), replace(OPTIONS, functions=functions, ii=ii)), tmp_path / "design"
    )
    report = simulate(tmp_path / "design", TASKS, seed=ii, bulk=True)
    assert (report.tasks, report.mismatches) == (TASKS, 0)
    assert report.flagged <= 0.02 * TASKS
    assert all(own.tasks for own in report.functions.values())
