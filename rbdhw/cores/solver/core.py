"""A solver around a core: its sweep, its resources, and its hardware."""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.cores.array.jobs import jobs
from rbdhw.cores.array.model import ArrayResource
from rbdhw.cores.core import Core
from rbdhw.cores.solver.commands import SolverCommands
from rbdhw.cores.solver.component import SolverComponent
from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.cores.sweep.array import SweepArray, build_sweep
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import weigh
from rbdhw.estimate.fabric import FABRICS, Cells
from rbdhw.estimate.model import weights_of
from rbdhw.estimate.resources import Resources
from rbdhw.fixed.solver import SolverShape
from rbdhw.model.interface import Interface
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.rollout_parts import hardware_of
from rbdhw.target import Primitive

ACCUMULATORS, SHORTEST = 18, 64
"""The accumulators among which the terms of a knot are divided at the first interval that is tried, unless it
is shorter than this."""

SLACK = 32
"""The share of what a knot takes by which the next interval that is tried is longer."""

SPARE_ACCUMULATORS = 4
"""Accumulators beyond those that the terms take, so that what a knot hands on is there sooner."""


@dataclass(frozen=True)
class SolverCore:
    """A solver around ``core``, in which it takes steps and derivatives."""

    interface: Interface
    sweep: SweepArray
    core: Core

    @property
    def shape(self) -> SolverShape:
        assert self.interface.solver is not None
        return self.interface.solver

    def component(self, ports: CorePorts, primitive: Primitive | None) -> SolverCommands:
        """Return the hardware around that of the core."""
        solver = SolverComponent(shape=self.shape, sweep=self.sweep, core=ports, primitive=primitive)
        return SolverCommands(interface=self.interface, solver=solver)

    @property
    def timing(self) -> SolverTiming:
        latency = self.core.latency
        return SolverTiming(self.shape, self.sweep, latency["step"], latency["dstep"], self.core.schedule.ii)

    def memory(self) -> Cells:
        """Return the cells of the memories of trajectories, policies and goals."""
        shape, knots = self.shape, self.shape.knots
        trajectory = sum(word.format.width for word in shape.trajectory)
        gains = sum(word.format.width for word in self.interface.words("plan").outputs if word.array == "K")
        goal = sum(word.format.width for word in shape.goal) + len(shape.curvatures) * self.sweep.width
        rows = ((trajectory, (shape.alphas + 1) * (knots + 1)), (trajectory + gains, 2 * (knots + 1)))
        fabric = FABRICS[self.core.device.family]
        return sum((fabric.memory(*row) for row in (*rows, (goal, 2 * knots))), Cells())

    def estimate(self) -> Resources:
        """Return the estimated resources of the solver without its core and the products between steps."""
        device, shape = self.core.device, self.shape.rollout
        step, fabric = self.interface.words("step"), FABRICS[self.core.device.family]
        cells = sum((part.cells(step, shape, fabric) for part in hardware_of(shape)), Cells())
        around = {"edge": cells, "buffers": self.memory()}
        weights = weights_of(device, self.core.estimated_as)
        return self.sweep.estimate() + weigh(around, 0, weights)


def build_solver(interface: Interface, core: Core, clock_mhz: float | None) -> SolverCore:
    """Return the solver of an accelerator with this interface around one of its cores.

    The interval of the sweep is about the shortest at which what a knot hands on is there when the next one
    starts: then the knots of one problem take every interval.

    Raises InputError if the clock is too fast, or if the device has too little memory for the steps.
    """
    shape, device = interface.solver, core.device
    assert shape is not None
    terms = sum(len(job.terms) for job in jobs(shape.program))
    interval, extra = max(terms // ACCUMULATORS, SHORTEST), {ArrayResource.ACCUMULATOR: SPARE_ACCUMULATORS}
    while True:
        built = build_sweep(shape.sweeps, shape.program, device, interval, extra, clock_mhz)
        if built.between == 1:
            break
        latency = max(built.schedule.latency[built.sweep], interval)
        interval = latency + latency // SLACK + 1
    solver = SolverCore(interface, built, core)
    _check_memory(solver)
    return solver


def _check_memory(solver: SolverCore) -> None:
    """Refuse more steps than the device has memory for, with the number that fits."""
    device, steps = solver.core.device, solver.shape.knots
    needed = solver.estimate().block_rams
    if needed > device.block_rams:
        fits = max(steps * device.block_rams // needed - 1, 1)
        reason = f"{steps} steps take {needed:,} block RAMs; {device.name} has {device.block_rams:,}"
        raise InputError("knots", reason, f"some {fits} steps", "use a smaller --knots or --alphas")
