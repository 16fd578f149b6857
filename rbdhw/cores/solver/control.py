"""The order of a solver's parts: first passes, iterations of all problems, and answers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal

from rbdhw.cores.solver.near_signs import SIGN_CYCLES
from rbdhw.cores.solver.problems import Problems
from rbdhw.fixed.descent import LEAST_REGULARISATION_WORD, REGULARISATION_BITS, with_tolerance
from rbdhw.fixed.knots import REGULARISATION
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.layouts import split_words
from rbdhw.solving import Solved


class SolverControl:
    """Starts the parts of a ``solver``, and takes and keeps what each of its ``problems`` needs."""

    def __init__(self, m: Module, solver: Any, problems: Problems) -> None:
        self.solver, self.problems, self.shape, self.timing = solver, problems, solver.shape, solver.timing
        self.forward, self.expansion, self.curvatures = solver.forward, solver.expansion, solver.curvatures
        self.sweeper, self.rows = solver.sweeper, solver.rows
        numbers = range(self.shape.problems)
        self.next = Signal(numbers, name="next_problem")  # that of the next task
        self.answered = Signal(numbers, name="answered")  # that of the next answer
        self.knot = Signal(range(self.shape.knots), name="knot")  # the row of the plan that is read
        self.most = self.shape.inputs[REGULARISATION].format.highest
        widths = [self.shape.cost.width] * self.timing.trials
        self.costs = Array(split_sum(m, self.forward.costs, widths))
        self._ends_sweep = Signal(name="ends_sweep")
        self._repeated = self._keep_values(m)
        # Whether the core of steps had its first phase since a reset, from which a pass counts.
        self._phased = Signal(name="phased")
        with m.If(self.forward.phase_zero):
            m.d.sync += self._phased.eq(1)
        with m.FSM(name="control"):
            self._begin(m)
            self._iterate(m)
            self._choose(m)
            self._finish(m)

    def _begin(self, m: Module) -> None:
        """Take tasks, and compute their first trajectories."""
        forward, first, problems = self.forward, Signal(name="first"), self.problems
        self._spare = Signal(range(self.timing.phases), name="spare")  # the cycles that the end still waits
        m.d.comb += [
            forward.first.eq(first),
            forward.takes.eq(Cat(Mux(first, each.asked, each.goes_on) for each in problems)),
            forward.cold.eq(Cat(first & each.cold for each in problems)),
            forward.shift.eq(Cat(Mux(first, each.shift, 0) for each in problems)),
        ]
        with m.State("IDLE"):
            m.d.comb += [
                self.solver.ready.eq(self._phased),
                self.solver.waits.eq(Cat(each.asked for each in problems).any()),
            ]
            m.d.sync += [first.eq(1), self._spare.eq(self.timing.phases - 1)]
            last = ~self.solver.more | (self.next == self.shape.problems - 1)
            with m.If(self.solver.start):
                self._take(m, self.problems.of(self.next))
                m.d.sync += self.next.eq(self.next + 1)
            with m.If(self.solver.start & last | self.solver.begins & self.solver.waits):
                m.d.sync += self.next.eq(0)
                m.next = "NEAR" if self.shape.wide else "FIRST"
        if self.shape.wide:
            self._take_near_signs(m)
        with m.State("FIRST"):
            m.d.sync += self._spare.eq(self._spare - 1)
            with m.If(self._aligned(m)):
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
                        each.cost.eq(self.costs[trial]),
                    ]
                    with m.If(forward.flags[trial]):
                        self._end(m, each, Solved.NOT_FINITE, 0)
            m.next = "ITERATE"

    def _aligned(self, m: Module) -> Any:
        """Return whether a pass that starts now finds both cores in phases that are always the same.

        Where derivatives have a longer interval, it is in the first cycle for a pass after one for these.
        """
        aligned = self.forward.aligned
        if self.timing.dstep_ii <= self.timing.ii:
            return aligned
        due, zero = Signal(name="due"), self.expansion.phase_zero
        m.d.sync += due.eq((due | zero) & ~aligned)
        return aligned & (due | zero)

    def _take(self, m: Module, problem: Any) -> None:
        """Take a task."""
        follows, moves, task = Signal(), Signal(), split_words(self.shape.step.inputs, self.solver.task)
        rates = (each.word.name for each in self.shape.rates)
        m.d.comb += [
            follows.eq(self.solver.warm & problem.usable),
            moves.eq(Cat(task[name] for name in rates).any()),
        ]
        m.d.sync += [
            problem.task.eq(self.solver.task),
            problem.cold.eq(~follows),
            problem.settled.eq(follows | ~moves),
            problem.shift.eq(self.solver.shift),
            problem.iterations.eq(self.solver.iterations),
            problem.asked.eq(1),
            problem.goes_on.eq(1),
            problem.usable.eq(0),
            problem.level.eq(0),
            problem.taken.eq(0),
            problem.regularisation.eq(0),
            problem.status.eq(Mux(follows | ~moves, Solved.ITERATIONS, Solved.NOT_FINITE)),
            problem.done.eq(0),
        ]

    def _take_near_signs(self, m: Module) -> None:
        """Compare the tasks of all problems, one after the other, with the plans that they follow."""
        problem, turn = self.problems.of(self.answered), Signal(range(SIGN_CYCLES + 1), name="near_turn")
        with m.State("NEAR"):
            m.d.comb += self.knot.eq(problem.shift)
            m.d.sync += turn.eq(turn + 1)
            with m.If(turn == SIGN_CYCLES):
                m.d.sync += [turn.eq(0), self.answered.eq(self.answered + 1)]
                with m.If(~problem.cold):
                    m.d.sync += problem.task.eq(self.solver.signs.near)
                with m.If(self.answered == self.shape.problems - 1):
                    m.d.sync += self.answered.eq(0)
                    m.next = "FIRST"

    def _keep_values(self, m: Module) -> Any:
        """Keep the values with which blocks begin; return whether a sweep that ends has to be repeated.

        The first sweep of a solution that follows none knows no values. It is repeated until those of the
        last knots have reached all blocks. A sweep without a policy leaves the values before. They are
        forgotten if the state has changed too far since then.
        """
        if self.shape.blocks == 1:
            return Const(0)
        (problem,), repeats = self.problems, Signal(range(self.shape.blocks), name="repeats")
        known, bank, before = Signal(name="known"), Signal(name="value_bank"), Signal.like(problem.bank)
        again = ~known & (repeats != self.shape.blocks - 1)
        m.d.comb += [self.sweeper.bank.eq(bank), self.expansion.before.eq(Mux(known, before, problem.bank))]
        with m.If(self._ends_sweep & self.expansion.far):
            m.d.sync += known.eq(0)
        with m.Elif(self._ends_sweep & again):
            m.d.sync += [repeats.eq(repeats + 1), bank.eq(~bank)]
        with m.Elif(self._ends_sweep):
            m.d.sync += repeats.eq(0)
            with m.If(self.forward.start):  # there is a policy
                m.d.sync += [known.eq(1), bank.eq(~bank), before.eq(problem.bank)]
        with m.Elif(self.solver.ready & self.solver.start & ~(self.solver.warm & problem.usable)):
            m.d.sync += known.eq(0)
        return again

    def _iterate(self, m: Module) -> None:
        """Expand trajectories, sweep back beside that until there are policies, and follow these."""
        forward, expansion, sweeper, problems = self.forward, self.expansion, self.sweeper, self.problems
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
            with m.If(expansion.far):  # again, without values of blocks
                m.d.comb += expansion.start.eq(1)
                m.next = "EXPAND"
            with m.Elif(~self._repeated):
                self._judge_sweep(m)
        with m.State("TRY"), m.If(~forward.busy):
            m.next = "LEAST"

    def _judge_sweep(self, m: Module) -> None:
        """Follow the policies of a sweep, unless one of them is missing and it is repeated."""
        forward, expansion, problems = self.forward, self.expansion, self.problems
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
        problem, index = self.problems.of(number), Signal(range(self.timing.trials), name="trial_of_problem")
        m.d.comb += index.eq(number * alphas + trial)
        cost, allowed = self.costs[index], ~self.forward.flags.bit_select(index, 1)

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
        problem, last = self.problems.of(self.answered), self.shape.problems - 1
        with m.State("READ"):
            m.d.sync += self._spare.eq(Mux(self._spare == 0, 0, self._spare - 1))
            with m.If(self._spare == 0):
                m.next = "END"
        with m.State("END"):
            m.d.comb += self.solver.ends.eq(1)
            m.d.sync += [problem.done.eq(1), problem.asked.eq(0), self.answered.eq(0)]
            m.next = "IDLE"
            with m.If((self.answered != last) & self.problems.of(self.answered + 1).asked):
                m.d.sync += self.answered.eq(self.answered + 1)
                m.next = "READ"

    def _raise(self, m: Module, problem: Any, otherwise: Any) -> Any:
        """Raise the regularisation, or end if there is no larger one; return whether there is."""
        raised = Mux(problem.level == 0, LEAST_REGULARISATION_WORD, problem.level << REGULARISATION_BITS)
        beyond = raised > self.most
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
