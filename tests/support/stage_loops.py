"""Stages of small robots on the loop core."""

from dataclasses import replace

from rbdhw.cores.steps.loop import LoopCore
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.options.build import LOOP, BuildOptions
from rbdhw.robot.model import Robot

MODERATE = Overrides(any_forces=True, default=JointBounds(velocity=2.0, effort=5.0))
"""Bounds of the inputs of a small robot."""


def search_of(robot: Robot, function: str, **options: object) -> BuildSearch:
    """Return the search for a build whose stages loop."""
    build_options = replace(
        BuildOptions((function,), ii=4, width=18, samples=256, share_stages=LOOP, data_width=1024), **options
    )
    return BuildSearch(prepare_build(robot, build_options, MODERATE), build_options)


def loop_core(search: BuildSearch, window: int) -> LoopCore:
    """Return the core of a build in which each stage has ``window`` cycles."""
    core = search.schedule("loop", 4 * window).core
    assert isinstance(core, LoopCore)
    return core
