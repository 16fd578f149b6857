"""A solver around a core: its sweep, its resources, and its hardware."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rbdhw.cores.array.jobs import jobs
from rbdhw.cores.array.model import ArrayResource
from rbdhw.cores.core import Core
from rbdhw.cores.solver.commands import SolverCommands
from rbdhw.cores.solver.component import SolverComponent
from rbdhw.cores.solver.expansion import expansion_cells
from rbdhw.cores.solver.forward import pass_cells
from rbdhw.cores.solver.memories import solver_memories
from rbdhw.cores.solver.near_signs import sign_products
from rbdhw.cores.solver.policy import policy_cells
from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.cores.sweep.array import SweepArray, build_sweep, least_handover
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import weigh
from rbdhw.estimate.energy import Energy, block_cycles, energy_of_blocks
from rbdhw.estimate.fabric import FABRICS, Cells
from rbdhw.estimate.model import weights_of
from rbdhw.estimate.resources import Resources
from rbdhw.fixed.solver import SolverShape
from rbdhw.model.interface import Interface
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.rollout_cost import cost_cells
from rbdhw.rtl.rollout_gains import feedback_cells
from rbdhw.rtl.scaler import product_widths
from rbdhw.rtl.step_products import solver_products
from rbdhw.target import Primitive

ACCUMULATORS, SHORTEST = 28, 48
"""The accumulators among which the terms of a knot are divided at the first interval that is tried, unless it
is shorter than this."""

SLACK = 32
"""The share of what a knot takes by which the next interval that is tried is longer, from the second on."""

SPARES = (4, 8, 16)
"""Numbers of accumulators beyond those that the terms take, so that what a knot hands on is there sooner.

The next one is tried where operations find no place."""

SPARE_AT_INTERVAL = (0, 4, 20, 40, 60)
"""Numbers of them that are tried in turn at an interval that is asked for."""

OF_PARTS = 2.5, 1.9
"""The look-up tables and flip-flops of a solver beside its sweep, as multiples of those of its parts.

They are fitted to solvers of the toy and of an iiwa14 that Yosys counted: what many units read is there more
than once, and answers to ``plan`` wait in a queue.
"""


@dataclass(frozen=True)
class SolverCore:
    """A solver around ``core``, in which it takes steps, and ``derivatives``, often the same."""

    interface: Interface
    sweep: SweepArray
    core: Core
    derivatives: Core

    @property
    def shape(self) -> SolverShape:
        assert self.interface.solver is not None
        return self.interface.solver

    def component(
        self, cores: Sequence[Core], ports: Sequence[CorePorts], primitive: Primitive | None
    ) -> SolverCommands:
        """Return the hardware around that of the solver's two among some ``cores``, which have ``ports``."""
        steps, derivatives = (ports[cores.index(core)] for core in (self.core, self.derivatives))
        solver = SolverComponent(
            shape=self.shape, sweep=self.sweep, steps=steps, derivatives=derivatives, primitive=primitive
        )
        return SolverCommands(interface=self.interface, solver=solver)

    def with_steps(self, steps: int) -> SolverCore:
        """Return the same solver for so many steps: with memories of another depth, and other counters."""
        sweeps = replace(self.sweep.sweeps, links=steps + 1)
        interface = replace(self.interface, solver=replace(self.shape, sweeps=sweeps))
        return replace(self, interface=interface, sweep=replace(self.sweep, sweeps=sweeps))

    @property
    def timing(self) -> SolverTiming:
        latencies = self.core.latency["step"], self.derivatives.latency["dstep"]
        intervals = self.core.schedule.ii, self.derivatives.schedule.ii
        return SolverTiming(self.shape, self.sweep, *latencies, *intervals, self.core.late)

    def block_cycles(self) -> int:
        """Return the uses of DSP blocks in an iteration of a problem whose sweep is not repeated.

        They are those of the steps of all trials with feedback and costs, of derivatives, and of the sweep.
        """
        shape, device = self.shape, self.core.device
        beside = solver_products(shape)
        of_step = block_cycles(self.core.program, ("step",), device) + sum(map(device.blocks, beside))
        scaled = [
            (each.source.width, each.factor.width) for each in (*shape.numbers, *shape.gains, *shape.changes)
        ]
        of_knot = block_cycles(self.derivatives.program, ("dstep",), device) + sum(map(device.blocks, scaled))
        of_knot += block_cycles(shape.program, shape.program.outputs, device)
        return shape.knots * (shape.alphas * of_step + of_knot)

    def energy(self, clock_mhz: float) -> Energy | None:
        """Return the energy of an iteration of a problem; None for a device without an estimate.

        Others of all problems follow.
        """
        microseconds = self.timing.iteration / self.shape.problems / clock_mhz
        return energy_of_blocks(self.block_cycles(), 1e6 / microseconds, microseconds, self.core.device)

    def memory(self) -> Cells:
        """Return the cells of the memories of trajectories, policies and goals."""
        memories = solver_memories(self.timing).values()
        return sum((memory.cells(self.core.device) for memory in memories), Cells())

    def estimate(self) -> Resources:
        """Return the estimated resources of the solver without its core and the products between steps."""
        device, shape, fabric = self.core.device, self.shape, FABRICS[self.core.device.family]
        timing, weights = self.timing, weights_of(device, self.core.estimated_as)
        between = cost_cells(shape.terms, shape.differences) + feedback_cells(shape.feedback, fabric)
        parts = pass_cells(timing, fabric), expansion_cells(timing, fabric), policy_cells(timing, fabric)
        lanes = [*(lane.numbers for lane in timing.lanes), *timing.policy_lanes]
        blocks = sum(device.blocks(product_widths(lane)) for lane in lanes)
        blocks += sum(map(device.blocks, sign_products(shape)))
        beside = weigh({"edge": sum(parts, between)}, blocks, weights)
        counts = beside.luts, beside.flip_flops
        luts, flip_flops = (math.ceil(part * count) for part, count in zip(OF_PARTS, counts, strict=True))
        whole = replace(beside, luts=luts, flip_flops=flip_flops)
        return self.sweep.estimate() + whole + weigh({"buffers": self.memory()}, 0, weights)


Build = Callable[[int, int, bool], SweepArray]
"""Builds a sweep with an interval and spare accumulators; if asked to, it refuses one that is too late."""


def build_solver(
    interface: Interface,
    core: Core,
    derivatives: Core,
    clock_mhz: float | None,
    interval: int | None = None,
) -> SolverCore:
    """Return the solver of an accelerator with this interface around its cores of steps and derivatives.

    A knot of the sweep starts every ``interval``. What it hands on is there when the next one of its problem
    starts, after one of each other problem. Without an interval about the shortest is taken.

    Raises InputError if the interval is too short, if the clock is too fast, or if the device has too little
    memory for the steps.
    """
    shape, device = interface.solver, core.device
    assert shape is not None
    _check_intervals(core.schedule.ii, derivatives.schedule.ii)

    def build(cycles: int, spare: int, in_time: bool) -> SweepArray:
        extra = {ArrayResource.ACCUMULATOR: spare}
        problems = shape.problems if in_time else None
        knots = shape.sweeps, shape.program, device
        return build_sweep(*knots, cycles, extra, clock_mhz, problems, shape.blocks)

    if interval is None:
        sweep = _soonest(build, shape)
    else:
        least = least_handover(shape.sweeps, shape.program, device, interval, clock_mhz)
        sweep = _at_interval(build, interval, least, shape)
    solver = SolverCore(interface, sweep, core, derivatives)
    _check_memory(solver)
    return solver


def _soonest(build: Build, shape: SolverShape) -> SweepArray:
    """Return a sweep with about the shortest interval for :data:`ACCUMULATORS` for each turn."""
    terms, turns = sum(len(job.terms) for job in jobs(shape.program)), shape.problems * shape.blocks
    interval, tries = -(-max(terms // ACCUMULATORS, SHORTEST) // turns), 0
    while (built := _with_place(build, interval)).between > turns:
        cycles = max(-(-built.handed_on // turns), interval)
        interval = cycles + tries * cycles // SLACK + 1
        tries += 1
    return replace(built, problems=shape.problems)


def _with_place(build: Build, interval: int) -> SweepArray:
    """Return the sweep with the fewest spare accumulators among which all operations find a place."""
    *fewer, most = SPARES
    for spare in fewer:
        try:
            return build(interval, spare, False)
        except InputError as error:
            if error.where != "ii":
                raise
    return build(interval, most, False)


def _at_interval(build: Build, interval: int, least: int, shape: SolverShape) -> SweepArray:
    """Return the sweep with the fewest accumulators at an interval, or refuse one that is too short.

    With any number of units a knot hands on after the ``least`` cycles.
    """
    turns = shape.problems * shape.blocks
    if interval * turns < least:
        reason = f"a knot hands results on after {least} cycles, with any number of units"
        expected = f"an interval of at least {-(-least // turns)}"
        option = "blocks" if shape.blocks > 1 else "problems"
        raise InputError("sweep-ii", reason, expected, f"use --{option} {-(-least // interval)}")
    reason = ""
    for spare in SPARE_AT_INTERVAL:
        try:
            return build(interval, spare, True)
        except InputError as error:
            if error.where != "ii":
                raise
            reason = error.reason
    raise InputError("sweep-ii", reason, "a longer interval")


def _check_intervals(steps: int, derivatives: int) -> None:
    """Refuse cores of which the phases differ from solution to solution."""
    if max(steps, derivatives) % min(steps, derivatives):
        reason = f"step starts every {steps} cycles, and dstep every {derivatives}"
        raise InputError("cores", reason, "one interval that is a multiple of the other")


def _check_memory(solver: SolverCore) -> None:
    """Refuse more steps than the device has memory for, with the number that fits."""
    device, steps = solver.core.device, solver.shape.knots

    def needed(steps: int) -> int:
        return solver.with_steps(steps).estimate().block_rams

    if needed(steps) > device.block_rams:
        fits = bisect_right(range(1, steps), device.block_rams, key=needed)
        reason = f"{steps} steps take {needed(steps):,} block RAMs; {device.name} has {device.block_rams:,}"
        expected = f"at most {fits} steps" if fits else "a device with more"
        raise InputError("knots", reason, expected, "use a smaller --knots or --alphas")
