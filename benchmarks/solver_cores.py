"""Solvers around cores of steps and derivatives: resources and cycles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from benchmarks.robot_check import on_base
from benchmarks.rows import Row, Rows, robot_label
from rbdhw.cores.pipeline.core import PipelineCore
from rbdhw.estimate.calibration import weigh
from rbdhw.estimate.model import weights_of
from rbdhw.explore.accelerator import Planner
from rbdhw.explore.plan import AcceleratorPlan
from rbdhw.explore.search import prepare_build
from rbdhw.explore.solver import (
    SWEEP_BITS,
    observed_problems,
    solver_model,
    with_hardware,
)
from rbdhw.fixed.knots import plain_program
from rbdhw.fixed.program import Program
from rbdhw.frontend.knot_step import SWEEP
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.model.solver_words import with_solver
from rbdhw.options.build import BuildOptions, CoreRequest, Mounting
from rbdhw.pipeline import plan_build
from rbdhw.quantize.solver_sweep import observed_magnitudes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.target import target


class Build(NamedTuple):
    """A robot, a target, `--ii`, `--sweep-ii`, `--problems`, `--blocks`, `--base` and `--core`.

    Derivatives may have a core of their own, with another interval than that of steps.
    """

    robot: str
    target: str
    ii: int
    sweep_ii: int | None = None
    problems: int = 1
    blocks: int = 1
    base: str = "fixed"
    dstep_ii: int | None = None
    core: str | None = None

    @property
    def options(self) -> BuildOptions:
        """The options of the build."""
        apart = self.dstep_ii is not None
        cores = CoreRequest(("step",), self.ii), CoreRequest(("dstep",), self.dstep_ii or self.ii)
        return BuildOptions(
            ("solve",),
            target=self.target,
            width=BITS,
            ii=None if apart else self.ii,
            core=self.core,
            cores=cores if apart else (),
            mounting=Mounting(base=self.base),
            knots=KNOTS,
            alphas=ALPHAS,
            sweep_ii=self.sweep_ii,
            problems=self.problems,
            blocks=self.blocks,
        )


BITS, KNOTS, ALPHAS = 27, 64, 8

BUILDS: tuple[Build, ...] = (
    Build("toy", "xcvu9p", 4),
    Build("iiwa14", "xcvu9p", 16),
    Build("iiwa14", "xcvu9p", 4, 280),
    Build("iiwa14", "xcvu9p", 4, 120),
    Build("iiwa14", "xcvu9p", 4, 52),
    Build("iiwa14", "xcvu9p", 1, 52),
    Build("iiwa14", "xcvu9p", 1, 15, blocks=4),
    Build("iiwa14", "xcvu9p", 1, 16, problems=4),
    Build("iiwa14", "xcvu9p", 1, 8, problems=16),
    Build("iiwa14", "xcvu9p", 1, 52, dstep_ii=16),
    Build("iiwa14", "xcvu9p", 1, 15, blocks=4, dstep_ii=8),
    Build("iiwa14", "xcvu9p", 1, 8, problems=16, dstep_ii=8),
    Build("iiwa14", "xck26", 64, 680, core="array"),
    Build("hyq", "xcvu9p", 32, 1200, base="floating"),
)

INTERVALS = (128, 64, 32)
"""The intervals of pipelines of a knot's step."""


def core_rows(builds: Sequence[Build] = BUILDS) -> Rows:
    """Return the resources of each solver and of its sweep, and the cycles of both."""
    return [_row(build, plan) for build, plan in solver_plans(builds)]


def solver_plans(builds: Sequence[Build]) -> Iterator[tuple[Build, AcceleratorPlan]]:
    """Yield builds and their plans. The sweep of a robot is observed once."""
    observed: dict[tuple[str, int], FixedSweep] = {}
    for build in builds:
        options = build.options
        robot, sweep_of = on_base(load_urdf(path(build.robot)), build.base), (build.robot, build.blocks)
        if options.cores:
            yield build, plan_build(robot, options)
            continue
        steps = Planner(prepare_build(robot, options), options).plan_functions(options)
        if sweep_of not in observed:
            sweep = solver_model(steps.accelerator, options).sweep
            assert sweep is not None
            observed[sweep_of] = sweep
        sizes = ALPHAS, options.iterations, build.problems, build.blocks
        model = with_solver(steps.accelerator, observed[sweep_of], *sizes)
        yield build, with_hardware(steps, model, options)


def _row(build: Build, plan: AcceleratorPlan) -> Row:
    assert plan.solver is not None
    array, timing = plan.solver.sweep, plan.solver.timing
    of_sweep = array.estimate()
    return {
        "robot": build.robot,
        "base": build.base,
        "target": build.target,
        "ii": build.ii,
        "dstep: ii": build.dstep_ii or build.ii,
        "problems": build.problems,
        "blocks": build.blocks,
        "clock, MHz": round(plan.clock_mhz),
        **plan.estimate.json(),
        "sweep: ii": array.schedule.ii,
        "luts of it": of_sweep.luts,
        "dsp blocks of it": of_sweep.dsp_blocks,
        "handed on after": array.handed_on,
        "sweep": array.cycles,
        "first pass": timing.solution(0),
        "iteration": timing.iteration,
        "of a problem": round(timing.iteration / build.problems),
    }


def pipeline_rows(name: str = "iiwa14", intervals: Sequence[int] = INTERVALS) -> Rows:
    """Return the resources and the cycles of a sweep on pipelines, in which each sum has an adder."""
    options = BuildOptions(("solve",), width=BITS, knots=KNOTS)
    model = plan_build(load_urdf(path(name)), replace(options, knots=None)).accelerator
    problems = observed_problems(model, KNOTS, options.seed)
    words = model.interface.words("dstep")
    sweeps, magnitudes = observed_magnitudes(model.robot, words, problems, KNOTS)
    program = plain_program(sweeps, magnitudes, SWEEP_BITS)
    return [_pipeline_row(name, program, replace(options, ii=ii)) for ii in intervals]


def _pipeline_row(name: str, program: Program, options: BuildOptions) -> Row:
    core = PipelineCore.build(program, target(options.target), options, ())
    estimate = weigh(core.cells(), core.dsp_blocks, weights_of(core.device, core.estimated_as))
    handed_on = core.latency[SWEEP] + 1
    return {
        "robot": name,
        "target": options.target,
        "sweep: ii": core.schedule.ii,
        **estimate.json(),
        "handed on after": handed_on,
        "sweep": KNOTS * max(handed_on, core.schedule.ii) + max(core.latency.values()),
    }


def core_layout(rows: Rows) -> Rows:
    """Return a line for each build."""
    return [
        {"": robot_label(row)}
        | {
            key.replace("_", " "): f"{value:,}" if isinstance(value, int) else value
            for key, value in row.items()
            if key not in ("robot", "base")
        }
        for row in rows
    ]
