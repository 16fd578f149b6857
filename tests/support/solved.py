"""A simulated solver with its core, beside the bit-exact model."""

from typing import Any

from amaranth.hdl import Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rbdhw.cores.solver.component import SolverComponent
from rbdhw.cores.sweep.array import build_sweep
from rbdhw.fixed.feedback import GAIN
from rbdhw.target import target
from tests.support.bits import pack, unpack


class SolverWithCore(wiring.Component):
    """A solver and its cores; to that of steps a testbench gives tasks, too."""

    def __init__(self, solver: SolverComponent) -> None:
        self.solver, self.core = solver, solver.cores["step"]
        super().__init__(
            {
                "reset": In(1),
                "other": In(1),  # asks for a task of the testbench's, which the solver's go before
                "other_function": In(len(self.core.names)),
                "other_payload": In(sum(self.core.slots)),
            }
        )

    @property
    def starts(self) -> Any:
        """Whether the solver starts a task."""
        return self.solver.starts_step | self.solver.starts_dstep

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        solver, core = self.solver, self.core
        m.submodules.solver, m.submodules.core = solver, core
        if solver.cores["dstep"] is not core:
            m.submodules.derivatives = solver.cores["dstep"]
        m.d.comb += [
            core.functions.eq(self.other_function & self.other.replicate(len(core.names))),
            core.payload.eq(self.other_payload),
            *(getattr(core, name).eq(getattr(solver, name)) for name in core.late_ports),
        ]
        for name, core in solver.cores.items():
            m.d.comb += [
                getattr(solver, f"phase_zero_{name}").eq(core.phase_zero),
                getattr(solver, f"result_{name}").eq(getattr(core, f"result_{name}")),
                getattr(solver, f"overflow_{name}").eq(getattr(core, f"overflow_{name}")),
            ]
            with m.If(getattr(solver, f"starts_{name}")):
                m.d.comb += core.functions.eq(1 << core.names.index(name))
                m.d.comb += core.payload.eq(getattr(solver, f"payload_{name}"))
        return ResetInserter(self.reset)(m)


def packed(words, numbers):
    """Return the integers of words side by side."""
    return pack((word.format for word in words), (numbers[word.name] for word in words))


def unpacked(words, bits):
    """Return the integers of packed words by name."""
    numbers = unpack((word.format for word in words), bits)
    return {word.name: number for word, number in zip(words, numbers, strict=True)}


def component(fixed, core, sweep_ii, extra=None, derivatives=None):
    """Return the solver of a bit-exact model around a core, with ``extra`` units of its sweep.

    Derivatives are taken in the same core, or in that of ``derivatives``.
    """
    turns = {"problems": fixed.shape.problems, "blocks": fixed.shape.blocks}
    sweep = build_sweep(fixed.sweep.sweeps, fixed.sweep.program, target("xcvu9p"), sweep_ii, extra, **turns)
    return SolverComponent(shape=fixed.shape, sweep=sweep, steps=core, derivatives=derivatives or core)


def in_slots(words, slots, numbers):
    """Return the integers of words in their slots of a core."""
    first = [sum(slots[:k]) for k in range(len(slots))]
    masked = ((int(numbers[word.name]) & ((1 << word.format.width) - 1), word.slot) for word in words)
    return sum(number << first[slot] for number, slot in masked)


class Bench:
    """A testbench's view of a simulated solver."""

    def __init__(self, dut: SolverWithCore, ctx: Any) -> None:
        self.dut, self.solver, self.ctx, self.shape = dut, dut.solver, ctx, dut.solver.shape

    async def load(self, goal, problem=0):
        """Load a goal of a problem."""
        ctx, solver, curvatures = self.ctx, self.solver, [each.word for each in self.shape.curvatures]
        ctx.set(solver.goal_enable, 1)
        ctx.set(solver.goal_problem, problem)
        for step in range(self.shape.knots):
            row = {name: words[step] for name, words in goal.rows.items()}
            ctx.set(solver.goal_step, step)
            ctx.set(solver.goal, packed(self.shape.goal, row))
            ctx.set(solver.goal_curvatures, packed(curvatures, row))
            ctx.set(solver.goal_limits, packed(self.shape.limits, row))
            await ctx.tick()
        ctx.set(solver.goal_enable, 0)
        assert ctx.get(solver.loaded) == self.shape.knots

    async def start(self, task, iterations, warm=False, shift=0, more=False):
        ctx, solver = self.ctx, self.solver
        while not ctx.get(solver.ready):  # for the first phase of the core after a reset
            await ctx.tick()
        assert ctx.get(solver.has_goal)
        ctx.set(solver.more, more)
        ctx.set(solver.task, packed(self.shape.step.inputs, task))
        ctx.set(solver.iterations, iterations)
        ctx.set(solver.warm, warm)
        ctx.set(solver.shift, shift)
        ctx.set(solver.start, 1)
        await ctx.tick()
        ctx.set(solver.start, 0)

    async def solve(self, task, iterations, warm=False, shift=0):
        """Return the results of a task, and its cycles."""
        await self.start(task, iterations, warm, shift)
        cycles = 1
        while not self.ctx.get(self.solver.ends):
            await self.ctx.tick()
            cycles += 1
        self.first = await self.row()
        assert self.ctx.get(self.solver.done)
        return await self.results(), cycles

    async def solve_together(self, tasks):
        """Return the results of tasks, which are arguments of :meth:`start`, and their cycles."""
        for k, task in enumerate(tasks, 1):
            await self.start(*task, more=k < len(tasks))
        cycles, firsts = 1, []
        while len(firsts) < len(tasks):
            if self.ctx.get(self.solver.ends):
                firsts.append(await self.row())
            else:
                await self.ctx.tick()
            cycles += 1
        answers = [await self.results(k) for k in range(len(tasks))]
        names = [word.name for word in self.shape.taus]
        assert firsts == [{name: each["trajectory"][0][name] for name in names} for each in answers]
        return answers, cycles

    async def solve_beside(self, words, served):
        """Return the same for the task of the last start, with other tasks of the core in all free cycles.

        ``words`` are those of the other tasks, (N,) each; the function, the number, and the packed result
        of each are appended to ``served``.
        """
        ctx, core, cycles, due = self.ctx, self.dut.core, 1, {}
        total, index = len(next(iter(words.values()))), 0
        while not ctx.get(self.solver.ready):
            name = core.names[index % 2]
            task = {word: int(column[index % total]) for word, column in words.items()}
            ctx.set(self.dut.other, 1)
            ctx.set(self.dut.other_function, 1 << index % 2)
            ctx.set(self.dut.other_payload, in_slots(self.shape.dstep.inputs, core.slots, task))
            if ctx.get(core.phase_zero) and not ctx.get(self.dut.starts):
                due.setdefault(cycles + core.latency(name), []).append((name, index % total))
                index += 1
            served += [
                (*request, ctx.get(getattr(core, f"result_{request[0]}"))) for request in due.get(cycles, ())
            ]
            await ctx.tick()
            cycles += 1
        return await self.results(), cycles

    async def row(self):
        """Return the forces of the row that the solver shows, in the cycle after this one."""
        row = unpacked(self.shape.trajectory, self.ctx.get(self.solver.trajectory))
        await self.ctx.tick()
        return {word.name: row[word.name] for word in self.shape.taus}

    async def reset(self):
        self.ctx.set(self.dut.reset, 1)
        await self.ctx.tick()
        self.ctx.set(self.dut.reset, 0)

    async def results(self, problem=0):
        """Return the results of a problem."""
        ctx, solver = self.ctx, self.solver
        ctx.set(solver.read_problem, problem)
        names = ("cost", "taken", "regularisation", "status")
        trajectory, gains = [], []
        for knot in range(self.shape.knots + 1):
            ctx.set(solver.read_knot, knot)
            await ctx.tick()
            trajectory.append(unpacked(self.shape.trajectory, ctx.get(solver.trajectory)))
            gains.append(ctx.get(solver.gains))
        numbers = {name: ctx.get(getattr(solver, name)) for name in names}
        return {**numbers, "trajectory": trajectory, "gains": gains[:-1]}


def expected(fixed, solution):
    """Return the same results of the bit-exact model."""
    shape, plan = fixed.shape, solution.plan
    gains = [each.stored(term) for each in shape.feedback for term in each.terms]
    references = {term.reference: term.word.name for term in shape.followed}
    references |= {each.word.name: each.word.name for each in shape.tracked}
    rows = [
        {name: int(plan.states[state][knot]) for name, state in references.items()}
        | {word.name: int(plan.forces[word.name][knot]) for word in shape.taus if knot < shape.knots}
        for knot in range(shape.knots + 1)
    ]
    mask = (1 << GAIN.width) - 1
    return {
        "cost": solution.cost,
        "taken": solution.iterations,
        "regularisation": solution.regularisation,
        "status": solution.status,
        "trajectory": rows,
        "gains": [
            sum((int(plan.gains[name][step]) & mask) << GAIN.width * k for k, name in enumerate(gains))
            for step in range(shape.knots)
        ],
    }


def compare(fixed, answer, solution):
    """Compare results with a model's; the last knot of a trajectory has no forces."""
    wanted = expected(fixed, solution)
    last = {name: answer["trajectory"][-1][name] for name in wanted["trajectory"][-1]}
    assert {**answer, "trajectory": [*answer["trajectory"][:-1], last]} == wanted
