"""A solver of optimal control: sweeps back and forward passes around a core of steps and derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
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


class _Problem:
    """What a solver keeps of a problem: the task, what is kept and followed, and the solution."""

    def __init__(self, solver: SolverComponent, k: int) -> None:
        shape, forward = solver.shape, solver.forward

        def signal(name: str, form: Any = 1) -> Any:
            return Signal(form, name=f"{name}_{k}" if shape.problems > 1 else f"{name}_of_problem")

        self.task = signal("task", len(solver.task))
        self.shift = signal("shift", range(shape.knots))
        self.iterations = signal("iterations", range(shape.iterations + 1))
        self.asked = signal("asked")  # whether it is being solved
        self.goes_on = signal("goes_on")  # whether it needs further iterations
        self.cold = signal("cold")  # whether the first pass follows no plan
        self.settled = signal("settled")  # whether the kept trajectory begins with the task's state
        self.bank = signal("bank", range(forward.banks))  # the trajectory that is kept
        self.policies = signal("policies")  # the bank of those that are followed
        self.usable = signal("usable")  # whether there is a policy to follow
        self.swept = signal("swept")  # whether the last sweep has a policy
        self.level = signal("level", len(solver.regularisation))  # the regularisation of the next sweep
        self.cost = signal("cost", shape.cost.width)
        self.taken = signal("taken", range(shape.iterations + 1))
        self.regularisation = signal("regularisation", len(solver.regularisation))
        self.status = signal("status", range(max(Solved) + 1))
        self.done = signal("done")
        self.goal_bank = signal("goal_bank")
        self.begun = signal("begun")  # whether a task began with a goal
        self.loaded = signal("loaded", range(shape.knots + 1))  # the rows of the next goal


class SolverComponent(wiring.Component):
    """Solves problems from the states of tasks: the twin of :class:`rbdhw.model.fixed_solver.FixedSolver`.

    The core is outside. The solver starts a task in it in some of the cycles in which ``phase_zero`` is set,
    and in all others of them it may have other tasks.

    Trajectories are in banks of a memory. A forward pass writes its trials to the banks that the kept
    trajectory does not use, so a trial is kept by the number of its bank, and nothing is copied. Goals have
    two banks. A task begins with a goal whose rows were all loaded; the next goal goes to the other bank.
    Policies have two banks, too: those of a sweep take the place of the last ones only if all are valid.

    Each problem has memory of its own. Tasks are collected, the first for problem 0, and are solved together:
    all parts take the problems in turn. One that has ended waits for the others.

    Raises ValueError if the core lacks ``step`` or ``dstep``, or if other than its problems take turns in the
    sweep.
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
        self.rows, self.curvatures = PolicyRows(timing=timing), Curvatures(timing=timing)
        if (sweep.between, sweep.blocks) != (shape.problems * shape.blocks, shape.blocks):
            turns = f"{shape.problems} in {shape.blocks} blocks"
            raise ValueError(f"sweep: {sweep.between} problems take turns; expected {turns}")
        self._regularisation = shape.inputs[REGULARISATION].format
        iterations, problems = range(shape.iterations + 1), range(shape.problems)
        super().__init__(
            {
                # A task begins while `ready`. The packed words of `step` are a first state, forces that the
                # first trajectory holds, from rest, and what stays the same. `warm` follows the last solution
                # in place of these forces, from its step `shift` on, if there is one with a policy.
                # With `more` the solution waits for the task of the next problem, or until it `begins`.
                "start": In(1),
                "ready": Out(1),
                "more": In(1),
                "begins": In(1),
                "waits": Out(1),  # whether tasks wait
                "next": Out(problems),  # the problem of the next task
                "task": In(self.forward.task_bits),
                "iterations": In(iterations),
                "warm": In(1),
                "shift": In(range(shape.knots)),
                # In one cycle for each problem at the end, in which `trajectory` and `gains` are those of the
                # first step.
                "ends": Out(1),
                # The solution in this cycle, and that of `read_problem` while `ready`, if it is `done`: its
                # cost, the iterations taken, what the last sweep was regularised with, and the status, one of
                # `Solved`.
                "done": Out(1),
                "cost": Out(shape.cost.width),
                "taken": Out(iterations),
                REGULARISATION: Out(self._regularisation.width + REGULARISATION_BITS),
                "status": Out(range(max(Solved) + 1)),
                # The row of a knot while `ready`, in the next cycle: state and forces, and gains, which are
                # zero without a sweep that found some.
                "read_problem": In(problems),
                "read_knot": In(range(shape.knots + 1)),
                "trajectory": Out(len(self.forward.row)),
                "gains": Out(len(self.rows.gains)),
                # A row of a problem's next goal: what passes and expansions take, curvatures, and the limits
                # of forces. Row 0 begins a goal. Others follow in order, in any cycle but that of a start.
                "goal_enable": In(1),
                "goal_problem": In(problems),
                "goal_step": In(range(shape.knots)),
                "goal": In(len(self.forward.goal)),
                "goal_curvatures": In(sum(each.word.format.width for each in shape.curvatures)),
                "goal_limits": In(len(self.forward.limits)),
                "loaded": Out(range(shape.knots + 1)),  # the rows of that goal
                "has_goal": Out(1),  # whether the problem of the next task has a goal
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
        problems = range(self.shape.problems)
        self._problems = [_Problem(self, k) for k in problems]
        self._next = Signal(problems, name="next_problem")  # that of the next task
        self._answered = Signal(problems, name="answered")  # that of the next answer
        costs = split_sum(m, self.forward.costs, [self.shape.cost.width] * self.timing.trials)
        self._costs = Array(costs)
        for part in (self.forward, self.expansion):
            m.d.comb += part.task.eq(Cat(each.task for each in self._problems))
            m.d.comb += part.around.eq(Cat(each.bank for each in self._problems))
        self._share_core(m)
        self._load_goals(m)
        self._add_memories(m)
        self._take_policies(m)
        self._ends_sweep = Signal(name="ends_sweep")
        self._repeated = self._keep_values(m)
        with m.FSM(name="control"):
            self._begin(m)
            self._iterate(m)
            self._choose(m)
            self._finish(m)
        return m

    def _each(self, name: str) -> Array:
        """Return one of the signals of all problems, to be chosen from."""
        return Array(getattr(each, name) for each in self._problems)

    def _of(self, number: Any) -> Any:
        """Return the signals of the problem of a number."""
        names = vars(self._problems[0])
        return SimpleNamespace(**{name: self._each(name)[number] for name in names})

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
        """Count the rows of the next goals, and change banks where a task begins with one."""
        knots, step = self.shape.knots, self.goal_step
        loaded, begun = self._each("loaded"), self._each("begun")
        complete = loaded[self._next] == knots
        m.d.comb += [
            self.next.eq(self._next),
            self.loaded.eq(loaded[self.goal_problem]),
            self.has_goal.eq(begun[self._next] | complete),
        ]
        bank = self._each("goal_bank")[self._next]
        with m.If(self.ready & self.start & complete):
            m.d.sync += [bank.eq(~bank), loaded[self._next].eq(0), begun[self._next].eq(1)]
        with m.Elif(self.goal_enable & ((step == 0) | (step == self.loaded))):
            m.d.sync += loaded[self.goal_problem].eq(step + 1)

    def _add_memories(self, m: Module) -> None:
        """Add the memories of trajectories, policies and goals, and connect that of the sweep."""
        self._keep_trajectories(m)
        self._keep_policies(m)
        self._keep_goals(m)
        self._write_numbers(m)

    def _keep_trajectories(self, m: Module) -> None:
        """Add the memory of trajectories, and show that of a problem outside of solutions."""
        shape, forward, expansion = self.shape, self.forward, self.expansion
        rows = shape.problems * forward.banks * (shape.knots + 1)
        memory = self._memory(m, "trajectories", len(forward.row), rows)
        self._shown, self._shown_knot = (
            Signal(range(shape.problems), name="shown"),
            Signal.like(self.read_knot),
        )
        shown = forward.row_of(self._shown, self._each("bank")[self._shown], self._shown_knot)
        m.d.comb += [
            self._shown.eq(Mux(self.ready, self.read_problem, self._answered)),
            self._shown_knot.eq(Mux(self.ready, self.read_knot, 0)),
            memory.read.addr.eq(
                Mux(forward.busy, forward.read_row, Mux(expansion.busy, expansion.read_row, shown))
            ),
            memory.write.en.eq(forward.write_enable),
            memory.write.addr.eq(forward.write_row),
            memory.write.data.eq(forward.write_data),
            self.trajectory.eq(memory.read.data),
            *(part.row.eq(memory.read.data) for part in (forward, expansion)),
            *(
                getattr(self, name).eq(self._each(name)[self._shown])
                for name in ("done", "cost", "taken", REGULARISATION, "status")
            ),
        ]

    def _keep_policies(self, m: Module) -> None:
        """Add the memory of policies, in which each problem has two banks."""
        forward, rows, knots = self.forward, self.rows, self.shape.knots + 1
        memory = self._memory(
            m, "policies", len(rows.gains) + len(rows.changes), 2 * self.shape.problems * knots
        )
        banks, usable = self._each("policies"), Signal(name="shown_usable")
        problem = Mux(forward.busy, forward.policy_problem, self._shown)
        step = Mux(forward.busy, forward.policy_step, self._shown_knot)
        written = Cat(~banks[rows.write_problem], rows.write_problem)
        m.d.sync += usable.eq(self._each("usable")[self._shown])
        m.d.comb += [
            memory.read.addr.eq(Cat(banks[problem], problem) * knots + step),
            memory.write.en.eq(rows.write_enable),
            memory.write.addr.eq(written * knots + rows.write_step),
            memory.write.data.eq(Cat(rows.gains, rows.changes)),
            Cat(forward.gains, forward.changes).eq(memory.read.data),
            self.gains.eq(Mux(usable, forward.gains, 0)),
        ]

    def _keep_goals(self, m: Module) -> None:
        """Add the memories of goals, in which each problem has two banks."""
        forward, expansion, copied, knots = self.forward, self.expansion, self.curvatures, self.shape.knots
        banks, rows = self._each("goal_bank"), 2 * self.shape.problems * knots
        goals = self._memory(m, "goals", len(self.goal), rows)
        curvatures = self._memory(m, "curvatures_of_goals", len(self.goal_curvatures), rows)
        limits = self._memory(m, "limits_of_goals", len(self.goal_limits), rows)
        problem = Mux(forward.busy, forward.goal_problem, expansion.goal_problem)
        step = Mux(forward.busy, forward.goal_step, expansion.goal_step)

        def row(problem: Any, step: Any) -> Any:
            return Cat(banks[problem], problem) * knots + step

        written = Cat(~banks[self.goal_problem], self.goal_problem) * knots + self.goal_step
        m.d.comb += [
            goals.read.addr.eq(row(problem, step)),
            curvatures.read.addr.eq(row(copied.problem, copied.step)),
            limits.read.addr.eq(row(forward.limit_problem, forward.limit_step)),
            *(part.goal.eq(goals.read.data) for part in (forward, expansion)),
            copied.row.eq(curvatures.read.data),
            forward.limits.eq(limits.read.data),
            goals.write.data.eq(self.goal),
            curvatures.write.data.eq(self.goal_curvatures),
            limits.write.data.eq(self.goal_limits),
        ]
        for memory in (goals, curvatures, limits):
            m.d.comb += [memory.write.en.eq(self.goal_enable), memory.write.addr.eq(written)]

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

    @staticmethod
    def _memory(m: Module, name: str, width: int, depth: int) -> _Ports:
        m.submodules[name] = memory = Memory(shape=width, depth=depth, init=[])
        return _Ports(memory.write_port(), memory.read_port())

    def _take_policies(self, m: Module) -> None:
        """Take the policy of each step, and note whether that of the first one is valid."""
        sweeper, rows = self.sweeper, self.rows
        turn = sweeper.turn if self.shape.blocks == 1 else 0
        m.d.comb += [
            sweeper.regularisation.eq(self._each("level")[turn][: self._regularisation.width]),
            rows.take.eq(sweeper.valid & (sweeper.knot != self.shape.knots)),
            rows.problem.eq(sweeper.problem),
            rows.step.eq(sweeper.knot),
            rows.policy.eq(sweeper.policy),
            rows.task.eq(self._each("task")[sweeper.problem]),
        ]
        with m.If(sweeper.valid):
            m.d.sync += self._each("swept")[sweeper.problem].eq(~sweeper.overflow & ~sweeper.indefinite)

    def _begin(self, m: Module) -> None:
        """Take tasks, and compute their first trajectories."""
        forward, first, problems = self.forward, Signal(name="first"), self._problems
        self._spare = Signal(range(self.timing.ii), name="spare")  # the cycles that the end still waits
        m.d.comb += [
            forward.first.eq(first),
            forward.takes.eq(Cat(Mux(first, each.asked, each.goes_on) for each in problems)),
            forward.cold.eq(Cat(first & each.cold for each in problems)),
            forward.shift.eq(Cat(Mux(first, each.shift, 0) for each in problems)),
        ]
        with m.State("IDLE"):
            m.d.comb += [self.ready.eq(1), self.waits.eq(Cat(each.asked for each in problems).any())]
            m.d.sync += [first.eq(1), self._spare.eq(self.timing.ii - 1)]
            last = ~self.more | (self._next == self.shape.problems - 1)
            with m.If(self.start):
                self._take(m, self._of(self._next))
                m.d.sync += self._next.eq(self._next + 1)
            with m.If(self.start & last | self.begins & self.waits):
                m.d.sync += self._next.eq(0)
                m.next = "FIRST"
        with m.State("FIRST"):
            m.d.sync += self._spare.eq(self._spare - 1)
            with m.If(forward.aligned):
                m.d.comb += [forward.start.eq(1), self.curvatures.start.eq(1)]
                m.d.sync += self._spare.eq(self._spare)
                m.next = "FOLLOW"
        with m.State("FOLLOW"), m.If(~forward.busy & ~self.curvatures.busy):
            m.d.sync += first.eq(0)
            for k, each in enumerate(problems):
                trial = k * self.shape.alphas
                with m.If(each.asked):
                    m.d.sync += [
                        each.bank.eq(forward.bank_of(0, each.bank)),
                        each.cost.eq(self._costs[trial]),
                    ]
                    with m.If(forward.flags[trial]):
                        self._end(m, each, Solved.NOT_FINITE, 0)
            m.next = "ITERATE"

    def _take(self, m: Module, problem: Any) -> None:
        """Take a task."""
        follows, moves, task = Signal(), Signal(), split_words(self.shape.step.inputs, self.task)
        rates = (each.word.name for each in self.shape.state[self.shape.nv :])
        m.d.comb += [
            follows.eq(self.warm & problem.usable),
            moves.eq(Cat(task[name] for name in rates).any()),
        ]
        m.d.sync += [
            problem.task.eq(self.task),
            problem.cold.eq(~follows),
            problem.settled.eq(follows | ~moves),
            problem.shift.eq(self.shift),
            problem.iterations.eq(self.iterations),
            problem.asked.eq(1),
            problem.goes_on.eq(1),
            problem.usable.eq(0),
            problem.level.eq(0),
            problem.taken.eq(0),
            problem.regularisation.eq(0),
            problem.status.eq(Mux(follows | ~moves, Solved.ITERATIONS, Solved.NOT_FINITE)),
            problem.done.eq(0),
        ]

    def _keep_values(self, m: Module) -> Any:
        """Keep the values with which blocks begin; return whether a sweep that ends has to be repeated.

        The first sweep of a solution that follows none knows no values. It is repeated until those of the
        last knots have reached all blocks. A sweep without a policy leaves the values before.
        """
        if self.shape.blocks == 1:
            return Const(0)
        (problem,), repeats = self._problems, Signal(range(self.shape.blocks), name="repeats")
        known, bank, before = Signal(name="known"), Signal(name="value_bank"), Signal.like(problem.bank)
        again = ~known & (repeats != self.shape.blocks - 1)
        m.d.comb += [self.sweeper.bank.eq(bank), self.expansion.before.eq(Mux(known, before, problem.bank))]
        with m.If(self._ends_sweep & again):
            m.d.sync += [repeats.eq(repeats + 1), bank.eq(~bank)]
        with m.Elif(self._ends_sweep):
            m.d.sync += repeats.eq(0)
            with m.If(self.forward.start):  # there is a policy
                m.d.sync += [known.eq(1), bank.eq(~bank), before.eq(problem.bank)]
        with m.Elif(self.ready & self.start & ~(self.warm & problem.usable)):
            m.d.sync += known.eq(0)
        return again

    def _iterate(self, m: Module) -> None:
        """Expand trajectories, sweep back beside that until there are policies, and follow these."""
        forward, expansion, sweeper, problems = self.forward, self.expansion, self.sweeper, self._problems
        goes_on = Cat(each.goes_on for each in problems)
        m.d.comb += expansion.takes.eq(goes_on)
        with m.State("ITERATE"):
            m.next = "READ"
            for each in problems:
                with m.If(each.taken == each.iterations):
                    m.d.sync += each.goes_on.eq(0)
                with m.Elif(each.goes_on):
                    m.d.sync += each.taken.eq(each.taken + 1)
                    m.d.comb += expansion.start.eq(1)
                    m.next = "EXPAND"
        with m.State("EXPAND"), m.If(expansion.ahead):
            m.next = "SWEEP"
        with m.State("SWEEP"):
            m.d.comb += sweeper.start.eq(1)
            m.next = "SWEEPING"
        with m.State("SWEEPING"), m.If(sweeper.ready & ~self.rows.busy):
            m.d.comb += self._ends_sweep.eq(1)
            m.next = "SWEEP"
            with m.If(~self._repeated):
                self._judge_sweep(m)
        with m.State("TRY"), m.If(~forward.busy):
            m.next = "LEAST"

    def _judge_sweep(self, m: Module) -> None:
        """Follow the policies of a sweep, unless one of them is missing and it is repeated."""
        forward, expansion, problems = self.forward, self.expansion, self._problems
        again, found = Signal(name="again"), Signal(name="found")
        for k, each in enumerate(problems):
            fails = expansion.failed[k]
            with m.If(each.goes_on & fails):
                self._end(m, each, Solved.INDEFINITE, each.level)
            with m.Elif(each.goes_on & ~each.swept):
                m.d.sync += each.usable.eq(0)
                with m.If(self._raise(m, each, Solved.INDEFINITE)):
                    m.d.comb += again.eq(1)
            with m.Elif(each.goes_on):
                m.d.comb += found.eq(1)
        with m.If(again):
            m.next = "SWEEP"
        with m.Elif(found):
            for k, each in enumerate(problems):
                with m.If(each.goes_on & each.swept & ~expansion.failed[k]):
                    m.d.sync += [each.usable.eq(1), each.policies.eq(~each.policies)]
                    m.d.sync += each.regularisation.eq(each.level)
            m.d.comb += forward.start.eq(1)
            m.next = "TRY"
        with m.Else():
            m.next = "READ"

    def _choose(self, m: Module) -> None:
        """Keep the longest step among the cheapest trials of each problem, unless all cost more."""
        alphas, last = self.shape.alphas, self.shape.problems - 1
        number, trial = Signal(range(last + 1), name="chosen"), Signal(range(alphas), name="trial")
        feasible, least = Signal(name="feasible"), Signal(self.shape.cost.width, name="least")
        problem, index = self._of(number), Signal(range(self.timing.trials), name="trial_of_problem")
        m.d.comb += index.eq(number * alphas + trial)
        cost, allowed = self._costs[index], ~self.forward.flags.bit_select(index, 1)

        def end() -> None:
            m.d.sync += [trial.eq(0), feasible.eq(0), number.eq(Mux(number == last, 0, number + 1))]
            m.next = "LEAST"
            with m.If(number == last):
                m.next = "ITERATE"

        with m.State("LEAST"):
            with m.If(allowed & (~feasible | (cost < least))):
                m.d.sync += [feasible.eq(1), least.eq(cost)]
            m.d.sync += trial.eq(Mux(trial == alphas - 1, 0, trial + 1))
            with m.If(trial == alphas - 1):
                m.next = "CHOOSE"
            with m.If(~problem.goes_on):
                end()
        with m.State("CHOOSE"):
            m.d.sync += trial.eq(trial + 1)
            with m.If(~feasible | problem.settled & (least > with_tolerance(problem.cost))):
                self._raise(m, problem, Mux(problem.settled, Solved.STALLED, Solved.NOT_FINITE))
                end()
            with m.Elif(allowed & (cost <= with_tolerance(least))):
                lower = problem.level >> REGULARISATION_BITS
                m.d.sync += [
                    problem.bank.eq(self.forward.bank_of(trial, problem.bank)),
                    problem.cost.eq(cost),
                    problem.settled.eq(1),
                    problem.status.eq(Solved.ITERATIONS),
                    problem.level.eq(Mux(lower >= LEAST_REGULARISATION_WORD, lower, 0)),
                ]
                end()

    def _finish(self, m: Module) -> None:
        """Read the first steps of all problems, as many cycles after the start in every phase of the core."""
        problem, last = self._of(self._answered), self.shape.problems - 1
        with m.State("READ"):
            m.d.sync += self._spare.eq(Mux(self._spare == 0, 0, self._spare - 1))
            with m.If(self._spare == 0):
                m.next = "END"
        with m.State("END"):
            m.d.comb += self.ends.eq(1)
            m.d.sync += [problem.done.eq(1), problem.asked.eq(0), self._answered.eq(0)]
            m.next = "IDLE"
            with m.If((self._answered != last) & self._of(self._answered + 1).asked):
                m.d.sync += self._answered.eq(self._answered + 1)
                m.next = "READ"

    def _raise(self, m: Module, problem: Any, otherwise: Any) -> Any:
        """Raise the regularisation, or end if there is no larger one; return whether there is."""
        raised = Mux(problem.level == 0, LEAST_REGULARISATION_WORD, problem.level << REGULARISATION_BITS)
        beyond = raised > self._regularisation.highest
        m.d.sync += problem.level.eq(raised)
        with m.If(beyond):
            of_end = raised if otherwise is Solved.INDEFINITE else problem.regularisation
            self._end(m, problem, otherwise, of_end)
        return ~beyond

    @staticmethod
    def _end(m: Module, problem: Any, status: Any, regularisation: Any) -> None:
        m.d.sync += [
            problem.status.eq(status),
            problem.regularisation.eq(regularisation),
            problem.goes_on.eq(0),
        ]
