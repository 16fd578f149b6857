"""Sweeps back as cores, and solvers around cores of steps and derivatives: resources and cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.rows import Row, Rows, robot_label
from rbdhw.cores.array.model import ArrayResource
from rbdhw.cores.solver.core import SPARE_ACCUMULATORS, SolverCore
from rbdhw.cores.sweep.array import build_sweep
from rbdhw.model.solver_problems import random_problem
from rbdhw.model.solver_words import with_solver
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.quantize.solver_sweep import observed_sweep
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

Extra = Mapping[ArrayResource, int]

SPARE: Extra = {ArrayResource.ACCUMULATOR: SPARE_ACCUMULATORS}

BUILDS: tuple[tuple[str, int, Extra, int], ...] = (
    ("toy", 94, SPARE, 4),
    ("iiwa14", 304, SPARE, 16),
)
"""Robots, the interval of the sweep, units beyond the least, and the interval of steps and derivatives.

Intervals and units of the sweep are those that builds choose for one problem.
"""

BITS, KNOTS, ALPHAS, ITERATIONS, H = 27, 64, 8, 10, 0.01

OBSERVED, OBSERVED_KNOTS = 4, 16
"""The problems by whose sweeps formats are chosen, and their steps; their knots count for no resource."""


def core_rows(builds: Sequence[tuple[str, int, Extra, int]] = BUILDS) -> Rows:
    """Return the resources of each sweep, and the cycles of a sweep and of an iteration."""
    return [_row(*build) for build in builds]


def _row(name: str, interval: int, extra: Extra, ii: int) -> Row:
    plan = plan_build(load_urdf(path(name)), BuildOptions(functions=("step", "dstep"), width=BITS, ii=ii))
    model, device = plan.accelerator, plan.device
    problems = (
        random_problem(model.robot, model.domain, OBSERVED_KNOTS, H, seed) for seed in range(OBSERVED)
    )
    observed = observed_sweep(model.robot, problems, OBSERVED_KNOTS, BITS)
    longer = replace(observed, sweeps=replace(observed.sweeps, links=KNOTS + 1))
    sweep = build_sweep(longer.sweeps, longer.program, device, interval, extra)
    (core,) = plan.cores
    solver = SolverCore(with_solver(model, longer, ALPHAS, ITERATIONS).interface, sweep, core)
    return {
        "robot": name,
        "interval": interval,
        "problems in turn": sweep.between,
        "handed on after": sweep.schedule.latency[sweep.sweep],
        **sweep.estimate().json(),
        "sweep": sweep.cycles,
        "first pass": solver.timing.solution(0),
        "iteration": solver.timing.solution(1) - solver.timing.solution(0),
    }


def core_layout(rows: Rows) -> Rows:
    """Return a line for each robot."""
    return [
        {"": robot_label(row)}
        | {key.replace("_", " "): f"{value:,}" for key, value in row.items() if key != "robot"}
        for row in rows
    ]
