"""The forward pass of a solver: trials with several step lengths, which take turns in a core for steps."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.cores.solver.words import core_payload, of_problem, trajectory_row
from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.feedback import GAIN
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.options.build import DATA_WIDTHS
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.delay import delay_line, delayed, register
from rbdhw.rtl.domain_check import CHECKED, DomainCheck
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.preparation import LIMITED, MEMORY_STAGES, limited
from rbdhw.rtl.rollout_cost import StageCost
from rbdhw.rtl.rollout_entry import go_back
from rbdhw.rtl.rollout_gains import FeedbackSum
from rbdhw.schedule.model import stage as stage_of


class _Turn(NamedTuple):
    """A step of a trial of a problem."""

    trial: Any
    problem: Any
    step: Any


class ForwardPass(wiring.Component):
    """Follows trajectories with feedback and with changes of the forces, for all step lengths in turn.

    A round takes a step of every trial of every problem that ``takes`` part. Trials start an interval of the
    core apart, and a round lasts until the state of the first one is back. Nothing is arbitrated: a pass
    takes the same cycles whatever else the core computes.

    Each problem has ``banks`` trajectories of ``knots + 1`` rows in a memory, from which the pass reads the
    one that it follows, and to which it writes those of the trials, in the banks of :meth:`bank_of`.
    """

    def __init__(self, *, timing: SolverTiming, slots: tuple[int, ...]) -> None:
        self.timing, self.shape, self.slots, self.ii = timing, timing.shape, slots, timing.ii
        self.latency, self.late, shape = timing.step, timing.late, timing.shape
        self.banks = timing.banks
        self.feedback = FeedbackSum(feedback=shape.feedback, words=shape.trajectory)
        self.stage = StageCost(terms=shape.terms, words=shape.goal, residuals=shape.differences)
        self.before, self._fixed, self._after = timing.before, timing.forces, timing.after
        # The state and the positions behind a step, which travel together.
        self.carried_words = [each.word for each in shape.carried]
        self.state_bits = sum(each.word.format.width for each in shape.state)
        self.carried_bits = sum(word.format.width for word in self.carried_words)
        force_bits = sum(word.format.width for word in shape.taus)
        row_bits = self.carried_bits + force_bits
        problems, rows = shape.problems, shape.problems * self.banks * (shape.knots + 1)
        self.task_bits = sum(word.format.width for word in shape.step.inputs)
        bank, shift = Signal(range(self.banks)).shape(), Signal(range(max(shape.knots, 2))).shape()
        super().__init__(
            {
                "start": In(1),
                "first": In(1),  # one trial of each problem, and no changes of the forces
                # Of each problem, during a pass.
                "takes": In(problems),  # whether it takes part
                "cold": In(problems),  # the forces of the task without feedback, from rest
                "shift": In(
                    data.ArrayLayout(shift, problems)
                ),  # the step from which the trajectory is followed
                "around": In(data.ArrayLayout(bank, problems)),  # the bank of the trajectory that is followed
                "task": In(data.ArrayLayout(self.task_bits, problems)),  # the words of `step`
                "busy": Out(1),
                # The core.
                "phase_zero": In(1),
                "aligned": Out(1),  # whether a pass that starts now waits for no cycle of the core
                "starts": Out(1),
                "payload": Out(sum(slots)),
                # The packed forces of a step, where the core takes them later than the rest.
                "late_enable": Out(1),
                "late_payload": Out(force_bits),
                "result": In(sum(word.format.width for word in shape.step.outputs)),
                "overflow": In(1),
                # Memories: a row is there in the cycle after its address.
                "read_row": Out(range(rows)),
                "row": In(row_bits),
                "write_enable": Out(1),
                "write_row": Out(range(rows)),
                "write_data": Out(row_bits),
                "policy_problem": Out(range(problems)),
                "policy_step": Out(range(shape.knots)),
                "gains": In(len(shape.feedback) * len(self.feedback.terms) * GAIN.width),
                "changes": In(force_bits),
                "limit_problem": Out(range(problems)),
                "limit_step": Out(range(shape.knots)),
                "limits": In(sum(word.format.width for word in shape.limits)),
                "goal_problem": Out(range(problems)),
                "goal_step": Out(range(shape.knots)),
                "goal": In(sum(word.format.width for word in shape.goal)),
                # Of each trial, problem after problem, the cost, and whether a step was flagged.
                "costs": Out(self.timing.trials * shape.cost.width),
                "flags": Out(self.timing.trials),
            }
        )

    def bank_of(self, trial: Any, around: Any) -> Any:
        """Return the bank of a trial: ``trial + 1`` banks after the one that is followed, in a circle."""
        bank = around + trial + 1
        return Mux(bank >= self.banks, bank - self.banks, bank)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.feedback, m.submodules.stage = self.feedback, self.stage
        valid, turn = self._turns(m)
        entered = delayed(m, valid, 1)
        limited = self.timing.fed_back - LIMITED
        back_after = self.before + self.latency
        times = (0, self.before, self._fixed, back_after, back_after + self.stage.latency, limited)
        stages = tuple(1 + cycles for cycles in times)
        in_order = tuple(sorted(stages))
        tags = delay_line(m, Cat(turn), 1, in_order, name="tag", memory_stages=MEMORY_STAGES)
        turns = [_Turn(*split_sum(m, tags[at], list(map(len, turn)))) for at in stages]
        in_core, fixed = delayed(m, entered, self.before), delayed(m, entered, self._fixed)
        back = delayed(m, in_core, self.latency)
        came, state = Signal(self.carried_bits, name="came_back"), Signal(self.carried_bits)
        m.d.comb += state.eq(Mux(turns[0].step == 0, self._first(m, turns[0].problem), came))
        m.d.comb += [self.limit_problem.eq(turns[5].problem), self.limit_step.eq(turns[5].step)]
        forces = self._forces(m, state, turns[0])
        starting = self._later(m, "state", state, self.before)
        starts = in_core & (turns[1].step != self.shape.knots)
        self._start(m, starts, starting, forces, self._task(m, turns[1].problem))
        state = self._later(m, "state_then", starting, self.late)
        self._keep(m, fixed, turns[2], Cat(state, forces))
        outside = self._outside(m, state, forces, self._task(m, turns[2].problem))
        next_state, flagged = self._next_state(m, outside)
        used = back & (turns[3].step != self.shape.knots)
        m.d.comb += came.eq(self._waiting(m, next_state))
        forces = self._later(m, "forces", forces, self.latency - self.late)
        self._judge(m, used, turns[3], flagged, Cat(next_state, forces), turns[4])
        return m

    def _first(self, m: Module, problem: Any) -> Any:
        """Return the first state of a problem, from rest for a cold one, with zeros for positions."""
        task, cold = self._task(m, problem), self.cold.bit_select(problem, 1)
        names = [each.word.name for each in self.shape.state]
        rates = {each.word.name for each in self.shape.rates}
        return Cat(Mux(cold, 0, task[name]) if name in rates else task[name] for name in names)

    def _task(self, m: Module, problem: Any) -> dict[str, Any]:
        """Return the words of a problem's task."""
        words = Signal(self.task_bits)
        m.d.comb += words.eq(of_problem(self.task, problem))
        return split_words(self.shape.step.inputs, words)

    def _turns(self, m: Module) -> tuple[Any, _Turn]:
        """Return whether a trial has its turn, and which step of which one."""
        phase, self._phase = Signal(range(self.ii)), Signal(range(self.ii), name="phase_now")
        now = self._phase
        m.d.comb += now.eq(Mux(self.phase_zero, 0, phase))
        m.d.sync += phase.eq(Mux(now == self.ii - 1, 0, now + 1))
        running, left = Signal(), Signal(range(self._after + 1))
        slot, most = Signal(range(self.timing.slots_of_round)), Signal(range(self.timing.trials))
        trials, problems = self.shape.alphas, self.shape.problems
        trial, problem = Signal(range(trials), name="trial"), Signal(range(problems), name="problem")
        step = Signal(range(self.shape.knots + 1), name="step")
        phase_of_turn = -(1 + self.before) % self.ii
        turn = running & (now == phase_of_turn)
        m.d.comb += self.aligned.eq(now == (phase_of_turn - 1) % self.ii)
        m.d.comb += self.busy.eq(running | (left != 0))
        with m.If(self.start):
            last = Mux(self.first, (problems - 1) * trials, problems * trials - 1)
            m.d.sync += [running.eq(1), slot.eq(0), step.eq(0), most.eq(last), left.eq(self._after)]
            m.d.sync += [trial.eq(0), problem.eq(0)]
        with m.Elif(turn):
            m.d.sync += [slot.eq(slot + 1), trial.eq(trial + 1)]
            with m.If(trial == trials - 1):
                m.d.sync += [trial.eq(0), problem.eq(problem + 1)]
            with m.If(slot == self.timing.slots_of_round - 1):
                m.d.sync += [slot.eq(0), trial.eq(0), problem.eq(0), step.eq(step + 1)]
            with m.If((step == self.shape.knots) & (slot == most)):
                m.d.sync += running.eq(0)
        with m.Elif(~running & (left != 0)):
            m.d.sync += left.eq(left - 1)
        of_pass = (slot <= most) & (~self.first | (trial == 0)) & self.takes.bit_select(problem, 1)
        return turn & of_pass, _Turn(trial, problem, step)

    def _forces(self, m: Module, state: Any, turn: _Turn) -> Any:
        """Return the packed forces of a step, some cycles after its state."""
        shape, block = self.shape, self.feedback
        last = shape.knots - 1
        followed = Signal(range(2 * shape.knots), name="followed")
        shift, around = (of_problem(numbers, turn.problem) for numbers in (self.shift, self.around))
        later = turn.step + shift
        m.d.comb += [
            followed.eq(Mux(later > last, last, later)),
            self.read_row.eq(trajectory_row(self.timing, turn.problem, around, followed)),
            self.policy_problem.eq(turn.problem),
            self.policy_step.eq(followed),
            block.values.eq(state[: self.state_bits]),
            block.row.eq(self.row),
            block.gains.eq(self.gains),
        ]
        row, changes = split_words(shape.trajectory, self.row), split_words(shape.taus, self.changes)
        trial = register(m, "trial_of_row", turn.trial, turn.trial.shape())
        problem = register(m, "problem_of_row", turn.problem, turn.problem.shape())
        task = self._task(m, problem)
        cold = self.cold.bit_select(problem, 1)
        limits = split_words(shape.limits, self.limits)
        without = delayed(m, cold, block.latency - 1)
        added = dict(zip((each.force.name for each in shape.feedback), self._added(), strict=True))
        forces = []
        for word, bounds in zip(shape.taus, shape.limits_of_forces, strict=True):
            change = (Cat(Const(0, 1), changes[word.name]).as_signed() >> trial) + 1 >> 1
            followed_force = Mux(cold, task[word.name], row[word.name]).as_signed()
            base = followed_force + Mux(self.first, 0, change).as_signed()
            base = register(m, f"base_{word.slot}", base, signed(len(base)))
            base = self._later(m, f"base_{word.slot}_then", base, block.latency - 2).as_signed()
            least, most = (limits[bound.name] for bound in bounds)
            if word.name in added:
                base = base + Mux(without, 0, added[word.name]).as_signed()
            forces.append(limited(m, word, base, (least, most)))
        return self._later(m, "forces_of_step", Cat(forces), self._fixed - self.timing.fed_back)

    def _added(self) -> list[Any]:
        """Return what feedback adds to each force that changes."""
        ends = list(accumulate(self.feedback.widths, initial=0))
        return [self.feedback.added[first:end].as_signed() for first, end in pairwise(ends)]

    def _keep(self, m: Module, valid: Any, turn: _Turn, row: Any) -> None:
        """Write the row of a trial's step."""
        bank = Signal(range(self.banks), name="bank")
        m.d.comb += [
            bank.eq(self.bank_of(turn.trial, of_problem(self.around, turn.problem))),
            self.write_enable.eq(valid),
            self.write_row.eq(trajectory_row(self.timing, turn.problem, bank, turn.step)),
            self.write_data.eq(row),
        ]

    def _start(self, m: Module, starts: Any, state: Any, forces: Any, task: Mapping[str, Any]) -> None:
        """Start a step, to which its forces are given at once or when the core takes them."""
        words = self._words(state, forces, task)
        m.d.comb += [
            self.starts.eq(starts),
            self.payload.eq(core_payload(self.shape.step, words, self.slots)),
            self.late_enable.eq(delayed(m, starts, self.late)),
            self.late_payload.eq(forces),
        ]

    def _outside(self, m: Module, state: Any, forces: Any, task: Mapping[str, Any]) -> Any:
        """Return whether a word of a step is outside its domain, when the step's result is there."""
        step = self.shape.step
        assert isinstance(step, FunctionWords)
        alone = Interface((step,), DATA_WIDTHS[0])
        m.submodules.domain_check = check = DomainCheck(interface=alone)
        words = core_payload(step, self._words(state, forces, task), alone.fields)
        m.d.comb += [check.select.eq(1), check.words.eq(words)]
        return delayed(m, check.outside, self.latency - self.late - CHECKED)

    def _words(self, state: Any, forces: Any, task: Mapping[str, Any]) -> dict[str, Any]:
        """Return the words of a step, with those of a task that stay the same."""
        states, taus = split_words(self.carried_words, state), split_words(self.shape.taus, forces)
        return {word.name: task[word.name] for word in self.shape.step.inputs} | states | taus

    def _next_state(self, m: Module, outside: Any) -> tuple[Any, Any]:
        """Return the state and the positions after a step, and whether the step was flagged."""
        results = list(split_words(self.shape.step.outputs, self.result).values())
        pairs = list(zip(self.shape.step.outputs, results, strict=True))
        state, too_large = zip(*(go_back(word, pairs) for word in self.shape.carried), strict=True)
        packed = Signal(self.carried_bits, name="next_state")
        m.d.comb += packed.eq(Cat(state))
        return packed, outside | self.overflow | Cat(too_large).any()

    def _waiting(self, m: Module, state: Any) -> Any:
        """Return the state that came back in the turn that its trial has now."""
        waits, comes_back = stage_of(self.timing.waits, self.ii), self._phase == self.latency % self.ii
        line = delay_line(m, state, comes_back, (waits,), name="waiting", memory_stages=MEMORY_STAGES)
        return line[waits]

    def _judge(self, m: Module, valid: Any, turn: _Turn, flagged: Any, values: Any, later: _Turn) -> None:
        """Add up the costs and flags of trials."""
        m.d.comb += [
            self.stage.values.eq(values),
            self.goal_problem.eq(turn.problem),
            self.goal_step.eq(turn.step),
            self.stage.row.eq(self.goal),
        ]
        trials, alphas = range(self.timing.trials), self.shape.alphas
        flags = Array(Signal(name=f"flag_{k}") for k in trials)
        flag = flags[turn.problem * alphas + turn.trial]
        with m.If(valid):
            m.d.sync += flag.eq(flag & (turn.step != 0) | flagged)
        costs = Array(Signal(self.shape.cost.width, name=f"cost_{k}") for k in trials)
        cost = costs[later.problem * alphas + later.trial]
        with m.If(delayed(m, valid, self.stage.latency)):
            m.d.sync += cost.eq(Mux(later.step == 0, 0, cost) + self.stage.cost)
        m.d.comb += [self.costs.eq(Cat(costs)), self.flags.eq(Cat(flags))]

    @staticmethod
    def _later(m: Module, name: str, value: Any, cycles: int) -> Any:
        now = Signal(len(value), name=name)
        m.d.comb += now.eq(value)
        return delay_line(m, now, 1, (cycles,), name=name, memory_stages=MEMORY_STAGES)[cycles]


def pass_cells(timing: SolverTiming, fabric: Fabric) -> Cells:
    """Return the cells of forward passes without feedback and costs, and of the tasks of all problems."""
    shape, trials = timing.shape, timing.trials
    state = sum(each.word.format.width for each in shape.carried)
    forces = sum(word.format.width for word in shape.taus)
    task = sum(word.format.width for word in shape.step.inputs)
    lines = (
        (state, timing.before),
        (state, timing.late),
        (state, stage_of(timing.waits, timing.ii)),
        (forces, timing.step - timing.late),
        (forces, timing.fed_back - LIMITED),
    )
    cells = sum((fabric.delay(width, stages, MEMORY_STAGES) for width, stages in lines), Cells())
    # The first states, changes of forces by halves, what the core takes, and costs of trials.
    luts = state + 2 * task + fabric.multiplexer(shape.problems, 2 * task) + fabric.check(task)
    luts += (
        fabric.multiplexer(shape.alphas, forces)
        + 2 * forces
        + 2 * fabric.multiplexer(trials, shape.cost.width)
    )
    return cells + Cells(luts, shape.problems * task + trials * (shape.cost.width + 1))
