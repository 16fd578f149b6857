"""A solver of optimal control: sweeps back and forward passes around a core of steps and derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.curvatures import Curvatures
from rbdhw.cores.solver.expansion import Expansion
from rbdhw.cores.solver.forward import ForwardPass
from rbdhw.cores.solver.policy import PolicyRows
from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.cores.sweep.array import SweepArray
from rbdhw.cores.sweep.component import SweepComponent
from rbdhw.fixed.knots import REGULARISATION
from rbdhw.fixed.solver import (
    LEAST_REGULARISATION_WORD,
    REGULARISATION_BITS,
    SolverShape,
    with_tolerance,
)
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.layouts import split_words
from rbdhw.solving import Solved
from rbdhw.target import Primitive


class _Ports(NamedTuple):
    """The ports of a memory."""

    write: Any
    read: Any


class SolverComponent(wiring.Component):
    """Solves a problem from the state of a task: the twin of :class:`rbdhw.model.fixed_solver.FixedSolver`.

    The core is outside. The solver starts a task in it in some of the cycles in which ``phase_zero`` is set,
    and in all others of them it may have other tasks.

    Trajectories are in banks of a memory. A forward pass writes its trials to the banks that the kept
    trajectory does not use, so a trial is kept by the number of its bank, and nothing is copied. Goals have
    two banks. A task begins with a goal whose rows were all loaded; the next goal goes to the other bank.
    Policies have two banks, too: those of a sweep take the place of the last ones only if all are valid.

    Raises ValueError if the core lacks ``step`` or ``dstep``, or if the sweep hands out policies faster than
    they are written.
    """

    def __init__(
        self, *, shape: SolverShape, sweep: SweepArray, core: CorePorts, primitive: Primitive | None = None
    ) -> None:
        if missing := {"step", "dstep"} - set(core.names):
            raise ValueError(f"core: has no {' and no '.join(sorted(missing))}; a solver needs both")
        self.shape, self.sweep, self.core = shape, sweep, core
        self.sweeper = SweepComponent(sweep, primitive, shape.last)
        latencies = core.latency("step"), core.latency("dstep")
        self.timing = timing = SolverTiming(shape, sweep, *latencies, core.ii, core.late)
        self.forward = ForwardPass(timing=timing, slots=core.slots)
        self.expansion = Expansion(timing=timing, slots=core.slots)
        self.rows, self.curvatures = PolicyRows(timing=timing), Curvatures(shape=shape, sweep=sweep)
        if timing.between < timing.policy:
            raise ValueError(
                f"sweep: a policy every {timing.between} cycles; expected at least {timing.policy}"
            )
        self._regularisation = shape.inputs[REGULARISATION].format
        iterations = range(shape.iterations + 1)
        super().__init__(
            {
                # A task begins while `ready`. The packed words of `step` are a first state, forces that the
                # first trajectory holds, from rest, and what stays the same. `warm` follows the last solution
                # in place of these forces, from its step `shift` on, if there is one with a policy.
                "start": In(1),
                "ready": Out(1),
                "task": In(len(self.forward.task)),
                "iterations": In(iterations),
                "warm": In(1),
                "shift": In(range(shape.knots)),
                # In one cycle at the end, in which `trajectory` and `gains` are those of the first step.
                "ends": Out(1),
                # The solution, while `done`, until the next start: its cost, the iterations taken, what the
                # last sweep was regularised with, and the status, one of `Solved`.
                "done": Out(1),
                "cost": Out(shape.cost.width),
                "taken": Out(iterations),
                REGULARISATION: Out(self._regularisation.width + REGULARISATION_BITS),
                "status": Out(range(max(Solved) + 1)),
                # The row of a knot while `ready`, in the next cycle: state and forces, and gains, which are
                # zero without a sweep that found some.
                "read_knot": In(range(shape.knots + 1)),
                "trajectory": Out(len(self.forward.row)),
                "gains": Out(len(self.rows.gains)),
                # A row of the next goal: what passes and expansions take, curvatures, and the limits of
                # forces. Row 0 begins a goal. Others follow in order, in any cycle but that of a start.
                "goal_enable": In(1),
                "goal_step": In(range(shape.knots)),
                "goal": In(len(self.forward.goal)),
                "goal_curvatures": In(sum(each.word.format.width for each in shape.curvatures)),
                "goal_limits": In(len(self.forward.limits)),
                "loaded": Out(range(shape.knots + 1)),  # the rows of the next goal
                "has_goal": Out(1),  # whether there is a goal, and a task may begin
                # The core.
                "phase_zero": In(1),
                "starts": Out(1),
                "functions": Out(len(core.names)),
                "payload": Out(sum(core.slots)),
                **{name: Out(core.signature.members[name].shape) for name in core.late_ports},
                **{f"result_{name}": In(core.result_bits(name)) for name in ("step", "dstep")},
                **{f"overflow_{name}": In(1) for name in ("step", "dstep")},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.sweep, m.submodules.policy = self.sweeper, self.rows
        m.submodules.forward, m.submodules.expansion = self.forward, self.expansion
        m.submodules.curvatures = self.curvatures
        self._task = Signal.like(self.task, name="kept_task")
        self._bank = Signal(range(self.forward.banks), name="bank")
        self._level = Signal.like(self.regularisation, name="level")  # the regularisation of the next sweep
        self._policies = Signal(name="policies")  # the bank of those that are followed
        self._usable = Signal(name="usable")  # whether there is a policy to follow
        self._settled = Signal(name="settled")  # whether the kept trajectory begins with the task's state
        costs = split_sum(m, self.forward.costs, [self.shape.cost.width] * self.shape.alphas)
        self._costs = Array(costs)
        m.d.comb += [part.task.eq(self._task) for part in (self.forward, self.expansion, self.rows)]
        m.d.comb += [part.around.eq(self._bank) for part in (self.forward, self.expansion)]
        self._share_core(m)
        self._load_goals(m)
        self._add_memories(m)
        self._take_policies(m)
        with m.FSM(name="control"):
            self._begin(m)
            self._iterate(m)
            self._choose(m)
            self._finish(m)
        return m

    def _share_core(self, m: Module) -> None:
        """Connect the core: the passes and the expansion never use it at the same time."""
        forward, expansion, names = self.forward, self.expansion, self.core.names
        step, dstep = (1 << names.index(name) for name in ("step", "dstep"))
        m.d.comb += [
            self.starts.eq(forward.starts | expansion.starts),
            self.functions.eq(Mux(forward.starts, step, dstep)),
            self.payload.eq(Mux(forward.starts, forward.payload, expansion.payload)),
            *(port.eq(words) for port, words in self._late_forces()),
            forward.phase_zero.eq(self.phase_zero),
            forward.result.eq(self.result_step),
            forward.overflow.eq(self.overflow_step),
            expansion.phase_zero.eq(self.phase_zero),
            expansion.result.eq(self.result_dstep),
            expansion.overflow.eq(self.overflow_dstep),
        ]

    def _late_forces(self) -> Iterator[tuple[Any, Any]]:
        """Yield the ports of forces that the core takes later than the rest, and what drives them."""
        forces = split_words(self.shape.taus, self.forward.late_payload)
        driven = self.forward.late_enable, Cat(forces[word.name] for word in self.core.late_words)
        for name, words in zip(self.core.late_ports, driven, strict=False):
            yield getattr(self, name), words

    def _load_goals(self, m: Module) -> None:
        """Count the rows of the next goal, and change banks where a task begins with it."""
        knots, begun = self.shape.knots, Signal(name="begun")  # whether a task began with a goal
        self._goal_bank = Signal(name="goal_bank")
        complete, step = self.loaded == knots, self.goal_step
        m.d.comb += self.has_goal.eq(begun | complete)
        with m.If(self.ready & self.start & complete):
            m.d.sync += [self._goal_bank.eq(~self._goal_bank), self.loaded.eq(0), begun.eq(1)]
        with m.Elif(self.goal_enable & ((step == 0) | (step == self.loaded))):
            m.d.sync += self.loaded.eq(step + 1)

    def _add_memories(self, m: Module) -> None:
        """Add the memories of trajectories, policies and the goal, and connect that of the sweep."""
        shape, forward, expansion, rows = self.shape, self.forward, self.expansion, self.rows
        knots = shape.knots + 1
        idle = self._bank * knots + Mux(self.ready, self.read_knot, 0)
        trajectories = self._memory(m, "trajectories", len(forward.row), forward.banks * knots)
        policies = self._memory(m, "policies", len(rows.gains) + len(rows.changes), 2 * knots)
        goals = self._memory(m, "goals", len(forward.goal), 2 * shape.knots)
        curvatures = self._memory(m, "curvatures_of_goals", len(self.curvatures.row), 2 * shape.knots)
        limits = self._memory(m, "limits_of_goals", len(forward.limits), 2 * shape.knots)
        written = Mux(self._goal_bank, 0, shape.knots) + self.goal_step
        read = Mux(self._goal_bank, shape.knots, 0)
        followed = Mux(forward.busy, forward.policy_step, Mux(self.ready, self.read_knot, 0))
        other_row = Mux(expansion.busy, expansion.read_row, idle)
        m.d.comb += [
            trajectories.read.addr.eq(Mux(forward.busy, forward.read_row, other_row)),
            trajectories.write.en.eq(forward.write_enable),
            trajectories.write.addr.eq(forward.write_row),
            trajectories.write.data.eq(forward.write_data),
            policies.read.addr.eq(Mux(self._policies, knots, 0) + followed),
            policies.write.en.eq(rows.write_enable),
            policies.write.addr.eq(Mux(self._policies, 0, knots) + rows.write_step),
            policies.write.data.eq(Cat(rows.gains, rows.changes)),
            goals.read.addr.eq(read + Mux(forward.busy, forward.goal_step, expansion.goal_step)),
            curvatures.read.addr.eq(read + self.curvatures.step),
            curvatures.write.data.eq(self.curvatures.packed(self.goal_curvatures)),
            limits.read.addr.eq(read + forward.limit_step),
            limits.write.data.eq(self.goal_limits),
            forward.limits.eq(limits.read.data),
            goals.write.data.eq(self.goal),
            Cat(forward.gains, forward.changes).eq(policies.read.data),
            self.gains.eq(Mux(self._usable, forward.gains, 0)),
            self.trajectory.eq(trajectories.read.data),
            self.curvatures.row.eq(curvatures.read.data),
        ]
        for memory in (goals, curvatures, limits):
            m.d.comb += [memory.write.en.eq(self.goal_enable), memory.write.addr.eq(written)]
        self._write_numbers(m)
        m.d.comb += [part.row.eq(trajectories.read.data) for part in (forward, expansion)]
        m.d.comb += [part.goal.eq(goals.read.data) for part in (forward, expansion)]

    def _write_numbers(self, m: Module) -> None:
        """Connect the memory of the sweep: curvatures of a goal and numbers of steps do not come together."""
        sweeper, expansion, goal = self.sweeper, self.expansion, self.curvatures
        m.d.comb += sweeper.write_enable.eq(Mux(goal.busy, goal.write_enable, expansion.write_enable))
        for k, lane in enumerate(expansion.lanes):
            for column in lane.columns:
                for port in ("write_row", "write_data"):
                    of_goal, of_steps = getattr(goal, port), getattr(expansion, f"{port}_{k}")
                    number = getattr(sweeper, f"{port}_{column}")
                    m.d.comb += number.eq(Mux(goal.busy, of_goal, of_steps))

    @staticmethod
    def _memory(m: Module, name: str, width: int, depth: int) -> _Ports:
        m.submodules[name] = memory = Memory(shape=width, depth=depth, init=[])
        return _Ports(memory.write_port(), memory.read_port())

    def _take_policies(self, m: Module) -> None:
        """Take the policy of each step, and note whether that of the first one is valid."""
        sweeper, self._swept = self.sweeper, Signal(name="swept")
        requested = sweeper.valid & (sweeper.problem == 0)
        m.d.comb += [
            self.rows.take.eq(requested & (sweeper.knot != self.shape.knots)),
            self.rows.step.eq(sweeper.knot),
            self.rows.policy.eq(sweeper.policy),
        ]
        with m.If(requested):
            m.d.sync += self._swept.eq(~sweeper.overflow & ~sweeper.indefinite)

    def _begin(self, m: Module) -> None:
        """Take a task, and compute its first trajectory."""
        forward = self.forward
        cold, first, shift = Signal(), Signal(), Signal.like(self.shift, name="kept_shift")
        self._spare = Signal(range(self.timing.ii), name="spare")  # the cycles that the end still waits
        self._iterations = Signal.like(self.iterations, name="kept_iterations")
        m.d.comb += [
            forward.first.eq(first),
            forward.cold.eq(first & cold),
            forward.shift.eq(Mux(first, shift, 0)),
        ]
        follows, moves, task = Signal(), Signal(), split_words(self.shape.step.inputs, self.task)
        rates = (each.word.name for each in self.shape.state[self.shape.nv :])
        m.d.comb += [follows.eq(self.warm & self._usable), moves.eq(Cat(task[name] for name in rates).any())]
        with m.State("IDLE"):
            m.d.comb += self.ready.eq(1)
            with m.If(self.start):
                m.d.sync += [
                    self._task.eq(self.task),
                    cold.eq(~follows),
                    self._settled.eq(follows | ~moves),
                    shift.eq(self.shift),
                    self._iterations.eq(self.iterations),
                    first.eq(1),
                    self._spare.eq(self.timing.ii - 1),
                    self._usable.eq(0),
                    self._level.eq(0),
                    self.taken.eq(0),
                    self.regularisation.eq(0),
                    self.status.eq(Mux(follows | ~moves, Solved.ITERATIONS, Solved.NOT_FINITE)),
                    self.done.eq(0),
                ]
                m.next = "FIRST"
        with m.State("FIRST"):
            m.d.sync += self._spare.eq(self._spare - 1)
            with m.If(forward.aligned):
                m.d.comb += [forward.start.eq(1), self.curvatures.start.eq(1)]
                m.d.sync += self._spare.eq(self._spare)
                m.next = "FOLLOW"
        with m.State("FOLLOW"), m.If(~forward.busy & ~self.curvatures.busy):
            m.d.sync += [first.eq(0), self._bank.eq(forward.bank_of(0, self._bank))]
            m.d.sync += self.cost.eq(self._costs[0])
            m.next = "ITERATE"
            with m.If(forward.flags[0]):
                self._end(m, Solved.NOT_FINITE, 0)

    def _iterate(self, m: Module) -> None:
        """Expand the trajectory, sweep back beside that until there is a policy, and follow it."""
        forward, expansion, sweeper = self.forward, self.expansion, self.sweeper
        m.d.comb += sweeper.regularisation.eq(self._level[: self._regularisation.width])
        with m.State("ITERATE"):
            m.next = "READ"
            with m.If(self.taken != self._iterations):
                m.d.sync += self.taken.eq(self.taken + 1)
                m.d.comb += expansion.start.eq(1)
                m.next = "EXPAND"
        with m.State("EXPAND"), m.If(expansion.ahead):
            m.next = "SWEEP"
        with m.State("SWEEP"):
            m.d.comb += sweeper.start.eq(1)
            m.next = "SWEEPING"
        with m.State("SWEEPING"), m.If(sweeper.ready & ~self.rows.busy):
            with m.If(expansion.failed):
                self._end(m, Solved.INDEFINITE, self._level)
            with m.Elif(self._swept):
                m.d.sync += [self._usable.eq(1), self._policies.eq(~self._policies)]
                m.d.sync += self.regularisation.eq(self._level)
                m.d.comb += forward.start.eq(1)
                m.next = "TRY"
            with m.Else():
                m.d.sync += self._usable.eq(0)
                self._raise(m, "SWEEP", Solved.INDEFINITE)
        with m.State("TRY"), m.If(~forward.busy):
            m.next = "LEAST"

    def _choose(self, m: Module) -> None:
        """Keep the longest step among the cheapest trials, unless all cost more than the trajectory."""
        trial, feasible = Signal(range(self.shape.alphas)), Signal()
        least = Signal(self.shape.cost.width)
        cost, allowed = self._costs[trial], ~self.forward.flags.bit_select(trial, 1)
        last = trial == self.shape.alphas - 1
        with m.State("LEAST"):
            with m.If(allowed & (~feasible | (cost < least))):
                m.d.sync += [feasible.eq(1), least.eq(cost)]
            m.d.sync += trial.eq(Mux(last, 0, trial + 1))
            with m.If(last):
                m.next = "CHOOSE"
        with m.State("CHOOSE"):
            m.d.sync += trial.eq(trial + 1)
            with m.If(~feasible | self._settled & (least > with_tolerance(self.cost))):
                m.d.sync += [trial.eq(0), feasible.eq(0)]
                self._raise(m, "ITERATE", Mux(self._settled, Solved.STALLED, Solved.NOT_FINITE))
            with m.Elif(allowed & (cost <= with_tolerance(least))):
                lower = self._level >> REGULARISATION_BITS
                m.d.sync += [
                    trial.eq(0),
                    feasible.eq(0),
                    self._bank.eq(self.forward.bank_of(trial, self._bank)),
                    self.cost.eq(cost),
                    self._settled.eq(1),
                    self.status.eq(Solved.ITERATIONS),
                    self._level.eq(Mux(lower >= LEAST_REGULARISATION_WORD, lower, 0)),
                ]
                m.next = "ITERATE"

    def _finish(self, m: Module) -> None:
        """Read the first step, as many cycles after the start in every phase of the core."""
        with m.State("READ"):
            m.d.sync += self._spare.eq(self._spare - 1)
            with m.If(self._spare == 0):
                m.next = "END"
        with m.State("END"):
            m.d.comb += self.ends.eq(1)
            m.d.sync += self.done.eq(1)
            m.next = "IDLE"

    def _raise(self, m: Module, then: str, otherwise: Any) -> None:
        """Raise the regularisation and go on, or end if there is no larger one."""
        raised = Mux(self._level == 0, LEAST_REGULARISATION_WORD, self._level << REGULARISATION_BITS)
        m.d.sync += self._level.eq(raised)
        m.next = then
        with m.If(raised > self._regularisation.highest):
            self._end(m, otherwise, raised if otherwise is Solved.INDEFINITE else self.regularisation)

    def _end(self, m: Module, status: Any, regularisation: Any) -> None:
        m.d.sync += [self.status.eq(status), self.regularisation.eq(regularisation)]
        m.next = "READ"
