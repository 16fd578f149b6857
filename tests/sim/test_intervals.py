"""All seven functions of the toy at initiation intervals of every kind, and at one of a 7-DoF arm."""

from dataclasses import replace
from functools import cache

import pytest

from rbdhw.design.folder import write
from rbdhw.explore.initiation_interval import Interval
from rbdhw.explore.plan import accelerator_of
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.options.build import BEST_LATENCY, BuildOptions
from rbdhw.pipeline import emit_design, generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.schedule.model import MULTIPLIERS
from rbdhw.sim.simulate import simulate
from tests.support.marks import long

OPTIONS = BuildOptions(functions=DEFAULT_FUNCTIONS, width=18, samples=1024)
TASKS = 100


@cache
def build(robot: str) -> BuildSearch:
    """Return the build with the formats, which are the same at every interval."""
    return BuildSearch(prepare_build(load_urdf(path(robot)), OPTIONS), OPTIONS)


def intervals():
    """Return robots and intervals."""
    yield from (long("toy", ii, minutes=0.3) for ii in (1, 2, 3, 4, 5, 7, 8, 12, 16, 24))
    yield long("iiwa14", 5, minutes=2)


@pytest.mark.parametrize(("robot", "ii"), list(intervals()))
def test_schedule_and_hardware_are_exact(tmp_path, robot, ii):
    """A plan exists only if the verifier has accepted its schedule."""
    plan = build(robot).plan(Interval(ii, "tested"))
    products = sum(len(unit.steps) for unit in plan.core.schedule.units if unit.resource in MULTIPLIERS)
    assert plan.ii == ii
    assert plan.core.multipliers <= 1.1 * products / ii + 1
    write(emit_design(accelerator_of(plan), replace(OPTIONS, ii=ii)), tmp_path / "design")
    report = simulate(tmp_path / "design", TASKS, seed=ii, bulk=True)
    assert (report.tasks, report.mismatches) == (TASKS, 0)
    assert report.flagged <= 0.02 * TASKS
    assert all(function.tasks for function in report.functions.values())


@pytest.mark.verify
@pytest.mark.parametrize("ii", [1, 2])
def test_a_build_for_the_soonest_answer_is_exact(tmp_path, ii):
    """At a clock at which sines and reciprocals leave the cycles of their last products."""
    options = replace(OPTIONS, functions=("id", "fd", "difd"), ii=ii, clock_mhz=110.0)
    design, usual = (
        generate(path("toy"), replace(options, clock_goal=goal)) for goal in (BEST_LATENCY, None)
    )
    latencies = [
        {name: entry["latency_cycles"] for name, entry in build.manifest["functions"].items()}
        for build in (design, usual)
    ]
    assert all(cycles <= latencies[1][name] for name, cycles in latencies[0].items())
    assert design.verilog != usual.verilog
    write(design, tmp_path / "design")
    report = simulate(tmp_path / "design", TASKS, seed=ii, bubbles=0.3, back_pressure=0.4, bulk=True)
    assert (report.tasks, report.mismatches) == (TASKS, 0)
    assert all(function.tasks for function in report.functions.values())
