"""A solver of optimal control: sweeps back and forward passes around a core of steps and derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.control import SolverControl
from rbdhw.cores.solver.curvatures import Curvatures
from rbdhw.cores.solver.expansion import Expansion
from rbdhw.cores.solver.forward import ForwardPass
from rbdhw.cores.solver.memories import (
    CURVATURES,
    GOALS,
    LIMITS,
    POLICIES,
    TRAJECTORIES,
    solver_memories,
)
from rbdhw.cores.solver.near_signs import NearSigns
from rbdhw.cores.solver.policy import PolicyRows
from rbdhw.cores.solver.problems import Problems
from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.cores.solver.words import row_of, trajectory_row
from rbdhw.cores.sweep.array import SweepArray
from rbdhw.cores.sweep.component import SweepComponent
from rbdhw.fixed.descent import REGULARISATION_BITS
from rbdhw.fixed.knots import REGULARISATION
from rbdhw.fixed.solver import SolverShape
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.layouts import split_words
from rbdhw.solving import Solved
from rbdhw.target import Primitive


class _Ports(NamedTuple):
    """The ports of a memory."""

    write: Any
    read: Any


class SolverComponent(wiring.Component):
    """Solves problems from the states of tasks: the twin of :class:`rbdhw.model.fixed_solver.FixedSolver`.

    The cores of ``step`` and ``dstep``, often one, are outside. The solver starts a task in one in some of
    the cycles in which its ``phase_zero`` is set, and in all others of them it may have other tasks. It never
    starts two tasks in a cycle.

    Trajectories are in banks of a memory. A forward pass writes its trials to the banks that the kept
    trajectory does not use, so a trial is kept by the number of its bank, and nothing is copied. Goals have
    two banks. A task begins with a goal whose rows were all loaded; the next goal goes to the other bank.
    Policies have two banks, too: those of a sweep take the place of the last ones only if all are valid.

    Each problem has memory of its own. Tasks are collected, the first for problem 0, and are solved together:
    all parts take the problems in turn. One that has ended waits for the others.

    Raises ValueError if a core lacks its function, or if other than its problems take turns in the sweep.
    """

    def __init__(
        self,
        *,
        shape: SolverShape,
        sweep: SweepArray,
        steps: CorePorts,
        derivatives: CorePorts,
        primitive: Primitive | None = None,
    ) -> None:
        self.cores = {"step": steps, "dstep": derivatives}
        for name, core in self.cores.items():
            if name not in core.names:
                raise ValueError(f"core: has no {name}, which a solver needs")
        self.shape, self.sweep = shape, sweep
        self.sweeper = SweepComponent(sweep, primitive, shape.last)
        latencies = steps.latency("step"), derivatives.latency("dstep")
        intervals = steps.ii, derivatives.ii
        self.timing = timing = SolverTiming(shape, sweep, *latencies, *intervals, steps.late)
        self.forward = ForwardPass(timing=timing, slots=steps.slots)
        self.expansion = Expansion(timing=timing, slots=derivatives.slots)
        self.rows, self.curvatures = PolicyRows(timing=timing), Curvatures(timing=timing)
        self.signs = NearSigns(shape=shape) if shape.wide else None
        if (sweep.between, sweep.blocks) != (shape.problems * shape.blocks, shape.blocks):
            turns = f"{shape.problems} in {shape.blocks} blocks"
            raise ValueError(f"sweep: {sweep.between} problems take turns; expected {turns}")
        super().__init__(
            {
                **self._task_ports(),
                **self._solution_ports(),
                **self._goal_ports(),
                **self._core_ports("step"),
                **self._core_ports("dstep"),
                **{name: Out(steps.signature.members[name].shape) for name in steps.late_ports},
            }
        )

    def _task_ports(self) -> dict[str, Any]:
        """Return the ports of tasks.

        A task begins while ``ready``. The packed words of ``step`` are a first state, forces that the first
        trajectory holds, from rest, and what stays the same. ``warm`` follows the last solution in place of
        these forces, from its step ``shift`` on, if there is one with a policy. With ``more`` the solution
        waits for the task of the next problem, or until it ``begins``.
        """
        return {
            "start": In(1),
            "ready": Out(1),
            "more": In(1),
            "begins": In(1),
            "waits": Out(1),  # whether tasks wait
            "next": Out(range(self.shape.problems)),  # the problem of the next task
            "task": In(self.forward.task_bits),
            "iterations": In(range(self.shape.iterations + 1)),
            "warm": In(1),
            "shift": In(range(self.shape.knots)),
        }

    def _solution_ports(self) -> dict[str, Any]:
        """Return the ports of solutions.

        ``ends`` is set in one cycle for each problem at the end, in which ``trajectory`` and ``gains`` are
        those of the first step. While ``ready`` they are the row of ``read_knot``, in the next cycle: state,
        positions and forces, and gains, which are zero without a sweep that found some.

        The solution is that in this cycle, and that of ``read_problem`` while ``ready``, if it is ``done``:
        its cost, the iterations taken, what the last sweep was regularised with, the status, one of
        :class:`~rbdhw.solving.Solved`, and whether it followed the solution before.
        """
        regularisation = self.shape.inputs[REGULARISATION].format.width
        return {
            "ends": Out(1),
            "done": Out(1),
            "cost": Out(self.shape.cost.width),
            "taken": Out(range(self.shape.iterations + 1)),
            REGULARISATION: Out(regularisation + REGULARISATION_BITS),
            "status": Out(range(max(Solved) + 1)),
            "followed": Out(1),
            "read_problem": In(range(self.shape.problems)),
            "read_knot": In(range(self.shape.knots + 1)),
            "trajectory": Out(len(self.forward.row)),
            "gains": Out(len(self.rows.gains)),
        }

    def _goal_ports(self) -> dict[str, Any]:
        """Return the ports of a row of a problem's next goal.

        It has what passes and expansions take, curvatures, and the limits of forces. Row 0 begins a goal.
        Others follow in order, in any cycle but that of a start.
        """
        return {
            "goal_enable": In(1),
            "goal_problem": In(range(self.shape.problems)),
            "goal_step": In(range(self.shape.knots)),
            "goal": In(len(self.forward.goal)),
            "goal_curvatures": In(sum(each.word.format.width for each in self.shape.curvatures)),
            "goal_limits": In(len(self.forward.limits)),
            "loaded": Out(range(self.shape.knots + 1)),  # the rows of that goal
            "has_goal": Out(1),  # whether the problem of the next task has a goal
        }

    def _core_ports(self, name: str) -> dict[str, Any]:
        """Return the ports to the core of a function."""
        core = self.cores[name]
        return {
            f"phase_zero_{name}": In(1),
            f"starts_{name}": Out(1),
            f"payload_{name}": Out(sum(core.slots)),
            f"result_{name}": In(core.result_bits(name)),
            f"overflow_{name}": In(1),
        }

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.sweep, m.submodules.policy = self.sweeper, self.rows
        m.submodules.forward, m.submodules.expansion = self.forward, self.expansion
        m.submodules.curvatures = self.curvatures
        bits = self.forward.task_bits, self.forward.banks, len(self.regularisation)
        self._problems = Problems(self.shape, *bits)
        for part in (self.forward, self.expansion):
            m.d.comb += part.task.eq(Cat(each.task for each in self._problems))
            m.d.comb += part.around.eq(Cat(each.bank for each in self._problems))
        self._connect_cores(m)
        self._control = SolverControl(m, self, self._problems)
        if self.signs is not None:
            m.submodules.signs = signs = self.signs
            m.d.comb += signs.task.eq(self._problems.each("task")[self._control.answered])
            m.d.comb += signs.row.eq(self.trajectory)
        self._load_goals(m)
        self._add_memories(m)
        self._take_policies(m)
        return m

    def _connect_cores(self, m: Module) -> None:
        """Connect passes and the expansion, which never use their cores at the same time."""
        for name, part in (("step", self.forward), ("dstep", self.expansion)):
            m.d.comb += [
                getattr(self, f"starts_{name}").eq(part.starts),
                getattr(self, f"payload_{name}").eq(part.payload),
                part.phase_zero.eq(getattr(self, f"phase_zero_{name}")),
                part.result.eq(getattr(self, f"result_{name}")),
                part.overflow.eq(getattr(self, f"overflow_{name}")),
            ]
        m.d.comb += [port.eq(words) for port, words in self._late_forces()]

    def _late_forces(self) -> Iterator[tuple[Any, Any]]:
        """Yield the ports of forces that the core takes later than the rest, and what drives them."""
        forces = split_words(self.shape.taus, self.forward.late_payload)
        core = self.cores["step"]
        driven = self.forward.late_enable, Cat(forces[word.name] for word in core.late_words)
        for name, words in zip(core.late_ports, driven, strict=False):
            yield getattr(self, name), words

    def _load_goals(self, m: Module) -> None:
        """Count the rows of the next goals, and change banks where a task begins with one."""
        knots, step = self.shape.knots, self.goal_step
        loaded, begun = self._problems.each("loaded"), self._problems.each("begun")
        complete = loaded[self._control.next] == knots
        m.d.comb += [
            self.next.eq(self._control.next),
            self.loaded.eq(loaded[self.goal_problem]),
            self.has_goal.eq(begun[self._control.next] | complete),
        ]
        bank = self._problems.each("goal_bank")[self._control.next]
        with m.If(self.ready & self.start & complete):
            m.d.sync += [bank.eq(~bank), loaded[self._control.next].eq(0), begun[self._control.next].eq(1)]
        with m.Elif(self.goal_enable & ((step == 0) | (step == self.loaded))):
            m.d.sync += loaded[self.goal_problem].eq(step + 1)

    def _add_memories(self, m: Module) -> None:
        """Add the memories of trajectories, policies and goals, and connect that of the sweep."""
        self._memories = solver_memories(self.timing)
        self._keep_trajectories(m)
        self._keep_policies(m)
        self._keep_goals(m)
        self._write_numbers(m)

    def _keep_trajectories(self, m: Module) -> None:
        """Add the memory of trajectories, and show that of a problem outside of solutions."""
        shape, forward, expansion = self.shape, self.forward, self.expansion
        memory = self._memory(m, TRAJECTORIES)
        self._shown, self._shown_knot = (
            Signal(range(shape.problems), name="shown"),
            Signal.like(self.read_knot),
        )
        bank = self._problems.each("bank")[self._shown]
        shown = trajectory_row(self.timing, self._shown, bank, self._shown_knot)
        m.d.comb += [
            self._shown.eq(Mux(self.ready, self.read_problem, self._control.answered)),
            self._shown_knot.eq(Mux(self.ready, self.read_knot, self._control.knot)),
            memory.read.addr.eq(
                Mux(forward.busy, forward.read_row, Mux(expansion.busy, expansion.read_row, shown))
            ),
            memory.write.en.eq(forward.write_enable),
            memory.write.addr.eq(forward.write_row),
            memory.write.data.eq(forward.write_data),
            self.trajectory.eq(memory.read.data),
            *(part.row.eq(memory.read.data) for part in (forward, expansion)),
            self.followed.eq(~self._problems.each("cold")[self._shown]),
            *(
                getattr(self, name).eq(self._problems.each(name)[self._shown])
                for name in ("done", "cost", "taken", REGULARISATION, "status")
            ),
        ]

    def _keep_policies(self, m: Module) -> None:
        """Add the memory of policies, in which each problem has two banks."""
        forward, rows, knots = self.forward, self.rows, self.shape.knots + 1
        memory = self._memory(m, POLICIES)
        banks, usable = self._problems.each("policies"), Signal(name="shown_usable")
        problem = Mux(forward.busy, forward.policy_problem, self._shown)
        step = Mux(forward.busy, forward.policy_step, self._shown_knot)
        written = Cat(~banks[rows.write_problem], rows.write_problem)
        m.d.sync += usable.eq(self._problems.each("usable")[self._shown])
        m.d.comb += [
            memory.read.addr.eq(self._row(Cat(banks[problem], problem), knots, step)),
            memory.write.en.eq(rows.write_enable),
            memory.write.addr.eq(self._row(written, knots, rows.write_step)),
            memory.write.data.eq(Cat(rows.gains, rows.changes)),
            Cat(forward.gains, forward.changes).eq(memory.read.data),
            self.gains.eq(Mux(usable, forward.gains, 0)),
        ]

    def _keep_goals(self, m: Module) -> None:
        """Add the memories of goals, in which each problem has two banks."""
        forward, expansion, copied, knots = self.forward, self.expansion, self.curvatures, self.shape.knots
        banks = self._problems.each("goal_bank")
        goals, curvatures, limits = (self._memory(m, name) for name in (GOALS, CURVATURES, LIMITS))
        problem = Mux(forward.busy, forward.goal_problem, expansion.goal_problem)
        step = Mux(forward.busy, forward.goal_step, expansion.goal_step)

        def row(problem: Any, step: Any) -> Any:
            return self._row(Cat(banks[problem], problem), knots, step)

        # A row is written a cycle after it came: what refuses it takes most of a cycle.
        enable, written = Signal(name="goal_comes"), Signal.like(goals.write.addr, name="goal_row")
        free = Cat(~banks[self.goal_problem], self.goal_problem)
        m.d.sync += [enable.eq(self.goal_enable), written.eq(self._row(free, knots, self.goal_step))]
        came = self.goal, self.goal_curvatures, self.goal_limits
        rows = [Signal.like(coming, name=f"{coming.name}_row") for coming in came]
        m.d.sync += [row.eq(coming) for row, coming in zip(rows, came, strict=True)]
        m.d.comb += [
            goals.read.addr.eq(row(problem, step)),
            curvatures.read.addr.eq(row(copied.problem, copied.step)),
            limits.read.addr.eq(row(forward.limit_problem, forward.limit_step)),
            *(part.goal.eq(goals.read.data) for part in (forward, expansion)),
            copied.row.eq(curvatures.read.data),
            forward.limits.eq(limits.read.data),
        ]
        for memory, data in zip((goals, curvatures, limits), rows, strict=True):
            m.d.comb += [
                memory.write.en.eq(enable),
                memory.write.addr.eq(written),
                memory.write.data.eq(data),
            ]

    def _write_numbers(self, m: Module) -> None:
        """Connect the memory of the sweep: curvatures of goals and numbers of steps do not come together."""
        sweeper, expansion, copied = self.sweeper, self.expansion, self.curvatures
        m.d.comb += sweeper.write_enable.eq(Mux(copied.busy, copied.write_enable, expansion.write_enable))
        for k, lane in enumerate(expansion.lanes):
            for column in lane.columns:
                for port in ("row", "data"):
                    number = getattr(expansion, f"write_{port}_{k}")
                    if column in copied.columns:
                        number = Mux(copied.busy, getattr(copied, f"write_{port}_{column}"), number)
                    m.d.comb += getattr(sweeper, f"write_{port}_{column}").eq(number)

    def _row(self, bank: Any, rows: int, row: Any) -> Any:
        """Return the place of a row in a memory with two banks for each problem."""
        return row_of(bank, 2 * self.shape.problems, rows, row)

    def _memory(self, m: Module, name: str) -> _Ports:
        held = self._memories[name]
        style = {"ram_style": "distributed"} if held.in_tables(self.sweep.device) else {}
        m.submodules[name] = memory = Memory(shape=held.width, depth=held.rows, init=[], attrs=style)
        return _Ports(memory.write_port(), memory.read_port())

    def _take_policies(self, m: Module) -> None:
        """Take the policy of each step, and note whether that of the first one is valid."""
        sweeper, rows = self.sweeper, self.rows
        turn = sweeper.turn if self.shape.blocks == 1 else 0
        m.d.comb += [
            sweeper.regularisation.eq(self._problems.each("level")[turn][: len(sweeper.regularisation)]),
            rows.take.eq(sweeper.valid & (sweeper.knot != self.shape.knots)),
            rows.problem.eq(sweeper.problem),
            rows.step.eq(sweeper.knot),
            rows.policy.eq(sweeper.policy),
            rows.task.eq(self._problems.each("task")[sweeper.problem]),
        ]
        with m.If(sweeper.valid):
            m.d.sync += self._problems.each("swept")[sweeper.problem].eq(
                ~sweeper.overflow & ~sweeper.indefinite
            )
