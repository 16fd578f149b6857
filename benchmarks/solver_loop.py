"""Optimal control at 1 kHz: the solver of an accelerator, bit for bit, and that in double precision.

A robot whose joints draw a figure-eight has other inertias than the model, and what is measured has noise.
Both solvers have the same problems, and make one iteration for each tick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Row, Rows
from rbdhw.control.candidates import NOWHERE, plant_of
from rbdhw.control.loop import Plant, Tracking, follow, goals_of
from rbdhw.control.optimiser import LostAnswer, Mpc
from rbdhw.design.folder import draft_design
from rbdhw.domain.bounds import Domain
from rbdhw.engines.engine import Source
from rbdhw.engines.model import ModelEngine
from rbdhw.engines.software import CEngine
from rbdhw.explore.solver import solver_model
from rbdhw.front.accelerator import Accelerator
from rbdhw.front.solve import Solution
from rbdhw.golden import evaluate
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import build_software, plan_build
from rbdhw.robot.model import Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.solving import Solved

Array = NDArray[np.float64]

ROBOT, KNOTS, ALPHAS, WIDTH, II = "iiwa14", 32, 8, 27, 32

BLOCKS = 4
"""The blocks of sweeps that are compared with those through all knots."""

PERIOD, TICKS, SECONDS = 1e-3, 20, 2.0
"""The seconds of a tick, the ticks in a step of the plan, and how long the figure is drawn."""

FAILED = (Solved.INDEFINITE, Solved.NOT_FINITE)
"""The ends of solutions without gains."""

ANGLE, RATE, END, FORCE = 20.0, 0.5, 5.0, 1e-4
"""Weights of angles and of rates, how much larger those of the last knot are, and the weights of forces."""


@dataclass(frozen=True)
class Solvers:
    """The solver in double precision, and that of an accelerator, whose Verilog is not written."""

    exact: Accelerator
    fixed: Accelerator
    domain: Domain

    @property
    def limits(self) -> Array:
        """The bounds (nv, 2) of forces."""
        return np.asarray(self.domain.bounds["tau"])

    @property
    def states(self) -> Array:
        """The bounds (2 nv, 2) of positions and velocities."""
        return np.vstack([self.domain.bounds["q"], self.domain.bounds["v"]])

    @property
    def robot(self) -> Robot:
        return self.fixed.robot


@cache
def solvers_of(name: str = ROBOT, knots: int = KNOTS, blocks: int = 1) -> Solvers:
    """Return the solvers of a bundled robot. That of the accelerator sweeps back in ``blocks``."""
    robot, solving = load_urdf(path(name)), BuildOptions(("solve",), target="c", knots=knots, alphas=ALPHAS)
    plan = plan_build(robot, BuildOptions(("step", "dstep"), width=WIDTH, ii=II))
    model = solver_model(plan.accelerator, replace(solving, blocks=blocks))
    software = build_software(robot, solving)
    return Solvers(
        Accelerator.on(CEngine("float64", Source(NOWHERE, "", software))),
        Accelerator.on(ModelEngine("model", Source(NOWHERE, "", draft_design(model)))),
        model.domain,
    )


def solver_loop_rows(name: str = ROBOT, knots: int = KNOTS, seconds: float = SECONDS) -> Rows:
    """Return the errors of the loop of each solver (rad), and how its solutions ended."""
    solvers, rows, label = solvers_of(name, knots), list[Row](), f"accelerator, {WIDTH} bits"
    in_blocks = solvers_of(name, knots, BLOCKS).fixed
    accelerators = {label: solvers.fixed, f"{label}, {BLOCKS} blocks": in_blocks}
    for label, solver in {"float64": solvers.exact, **accelerators}.items():
        errors, ends = _loop_of(solver, solvers.limits, knots, seconds)
        named = {end.name.lower().replace("_", " "): count for end, count in sorted(ends.items())}
        rows.append(
            {"": label, "median": float(np.median(errors)), "max": float(errors.max()), "ends": named}
        )
    return rows


def solver_loop_layout(rows: Rows) -> Rows:
    """Return a line for each solver."""
    return [
        {
            "": row[""],
            "error in the loop, median / max, rad": f"{row['median']:.5g} / {row['max']:.5g}",
            "ends of iterations": ", ".join(f"{count:,} {end}" for end, count in row["ends"].items()),
        }
        for row in rows
    ]


class Watched:
    """A solver that makes one iteration, and counts how its solutions end.

    One that failed is lost, and the next one begins with the forces ``tau`` (nv,) held.
    """

    def __init__(self, solver: Accelerator, tau: Array) -> None:
        self._solver, self._tau, self.ends = solver, tau, Counter[Solved]()
        self._last: Solution | None = None

    def __call__(self, *state: Any, warm: Solution | None, **problem: Any) -> Solution:
        first: dict[str, Any] = {"tau": self._tau} if self._last is None else {"warm": warm}
        solution: Solution = self._solver.solve(*state, **problem, **first, iterations=1)
        end = Solved(int(solution.status))
        self.ends[end] += 1
        self._last = None if end in FAILED else solution
        if self._last is None:
            raise LostAnswer
        return solution


def _loop_of(solver: Accelerator, limits: Array, knots: int, seconds: float) -> tuple[Array, Counter[Solved]]:
    """Return the errors of a loop's ticks, and how its solutions ended."""
    robot, task = solver.robot, Tracking("track", seconds)
    held = forces_at_rest(robot, goals_of(robot, task, np.zeros(1))[0, : robot.nv])
    plant = Plant(robot, Accelerator.on(plant_of(robot, BuildOptions(("step",)))), np.random.default_rng(0))
    solve, problem = Watched(solver, held), partial(_problem, robot, limits, task, knots)
    errors = follow(plant, task, Mpc(solve, TICKS * PERIOD, TICKS, problem, every=1), held, PERIOD)
    return errors, solve.ends


def _problem(robot: Robot, limits: Array, task: Tracking, knots: int, tick: int) -> Mapping[str, Any]:
    """Return the costs of the horizon that begins at a tick."""
    ahead = TICKS * PERIOD * np.arange(knots + 1, dtype=np.float64)
    weights = np.tile(np.repeat([ANGLE, RATE], robot.nv), (knots + 1, 1))
    weights[-1] *= END
    return {
        "x_ref": goals_of(robot, task, tick * PERIOD + ahead),
        "Q": weights,
        "R": np.full(robot.nv, FORCE),
        "tau_min": limits[:, 0],
        "tau_max": limits[:, 1],
    }


def forces_at_rest(robot: Robot, q: Array) -> Array:
    """Return the forces that hold a configuration (nv,) at rest."""
    still = {name: q[np.newaxis] * (name == "q") for name in ("q", "v", "a")}
    held: Array = evaluate(robot, "id", still)["tau"][0]
    return held
