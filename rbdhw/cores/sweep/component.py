"""The core of a sweep back: an array that passes the value function from knot to knot, and its memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.cores.array.component import ArrayComponent
from rbdhw.cores.sweep.array import SweepArray
from rbdhw.frontend.knot_step import REGULARISATION
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.target import Primitive

PIVOT = "pivot["
"""The beginning of the names of pivots."""


class _Task(NamedTuple):
    """The knot that the array takes in the present interval, or took some intervals ago."""

    running: Any
    position: Any  # 0 for the last knot of a block
    turn: Any  # the number of its problem, or that of its block


class SweepComponent(wiring.Component):
    """Sweeps back through the knots of the problems that take turns in the array.

    The memory is read row by row: all rows of the last knot of every problem, then those of the knot before,
    and so on. :attr:`SweepArray.places` has the row and the column of each number in the part of a knot. The
    numbers stay for the next sweep. ``last`` are numbers that the last knot of each problem has from the
    beginning; all others are zero then.

    The knots of one problem may be in blocks. Then blocks take turns in place of problems, and all but the
    one of the last knots begin with what an earlier sweep handed on to them: what it wrote to ``bank``.
    """

    def __init__(
        self, sweep: SweepArray, primitive: Primitive | None = None, last: Mapping[str, int] | None = None
    ) -> None:
        self.sweep, self.primitive, self.last = sweep, primitive, dict(last or {})
        self._inputs = {word.name: word for word in sweep.program.inputs}
        # Those that take turns are the blocks of one problem, or problems.
        self.problems = 1 if sweep.blocks > 1 else sweep.between
        self._policy = sweep.program.outputs[sweep.sweeps.function]
        super().__init__(
            {
                "write_enable": In(len(sweep.columns)),  # by column
                **{f"write_row_{column}": In(range(sweep.rows)) for column in range(len(sweep.columns))},
                **{f"write_data_{column}": In(signed(sweep.width)) for column in range(len(sweep.columns))},
                "start": In(1),  # begins a sweep while `ready`; the memory holds all problems
                "ready": Out(1),
                "turn": Out(range(sweep.between)),  # the problem or block of the interval
                # The bank of values with which blocks begin, during a sweep, which writes to the other one.
                "bank": In(1),
                # That of the problem whose turn it is.
                REGULARISATION: In(signed(self._inputs[REGULARISATION].format.width)),
                "valid": Out(1),  # whether a knot has a policy in this cycle, and which one
                "knot": Out(range(sweep.sweeps.links)),
                "problem": Out(range(self.problems)),
                "policy": Out(sum(word.format.width for word in self._policy)),  # its packed words
                # Whether a value of this knot and all before it in the sweep overflowed; and whether a
                # Hessian by the forces was not positive.
                "overflow": Out(1),
                "indefinite": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        sweep, array = self.sweep, self.sweep.schedule
        m.submodules.array = core = ArrayComponent(
            program=sweep.program,
            array=array,
            memory_stages=sweep.device.memory_stages,
            primitive=self.primitive,
            streamed=sweep.streamed,
            handover=sweep.handover,
        )
        self.slot = Signal(range(array.ii))  # the cycle of the interval
        self.rests = Signal()  # the last cycle of the interval goes on until a sweep begins
        self._last = self.slot == array.ii - 1
        with m.If(~self.rests):
            m.d.sync += self.slot.eq(Mux(self._last, 0, self.slot + 1))
        m.d.comb += core.rests.eq(self.rests)
        done = Signal()
        task = self._control(m, done)
        self._stream(m, core, task)
        self._hand_on(m, core, task)
        self._put_out(m, core, task, done)
        return m

    def _control(self, m: Module, done: Any) -> _Task:
        """Let the knots of all problems follow each other, and return the present one."""
        sweep = self.sweep
        asked, busy = Signal(), Signal()
        position = Signal(range(sweep.length), name="position")
        turn = Signal(range(sweep.between), name="task_turn")
        task = _Task(Signal(name="running"), position, turn)
        m.d.comb += [self.ready.eq(~busy), self.turn.eq(turn)]
        idle, ends = ~busy & ~self.start & ~task.running, task.turn == sweep.between - 1
        m.d.sync += self.rests.eq(idle & (self.rests | ends & (self.slot == sweep.schedule.ii - 2)))
        with m.If(self._last & ~self.rests):
            m.d.sync += task.turn.eq(task.turn + 1)
            with m.If(ends):
                m.d.sync += task.turn.eq(0)
                with m.If(task.running & (task.position != sweep.length - 1)):
                    m.d.sync += task.position.eq(task.position + 1)
                with m.Else():
                    m.d.sync += [task.running.eq(asked), task.position.eq(0), asked.eq(0)]
        with m.If(self.start & self.ready):  # also in the last cycle of an interval
            m.d.sync += [asked.eq(1), busy.eq(1)]
        with m.Elif(done):
            m.d.sync += busy.eq(0)
        return task

    def _stream(self, m: Module, core: ArrayComponent, task: _Task) -> None:
        """Read the rows of a knot from its start on; the sources hand out their words in the next cycle."""
        sweep = self.sweep
        self.row = row = Signal(range(sweep.rows), name="row")
        with m.If(~task.running):
            m.d.sync += row.eq(0)
        with m.Elif(self.slot < sweep.rows_of_knot):
            m.d.sync += row.eq(Mux(row == sweep.rows - 1, 0, row + 1))
        for column, unit in enumerate(sweep.columns):
            memory = Memory(shape=signed(sweep.width), depth=sweep.rows, init=self._first(column))
            m.submodules[f"numbers_{column}"] = memory
            write, read = memory.write_port(), memory.read_port()
            m.d.comb += [
                write.en.eq(self.write_enable[column]),
                write.addr.eq(getattr(self, f"write_row_{column}")),
                write.data.eq(getattr(self, f"write_data_{column}")),
                read.addr.eq(row),
                getattr(core, f"streamed_{unit}").eq(read.data),
            ]

    def _first(self, column: int) -> list[int]:
        """Return the numbers with which a column of the memory begins."""
        sweep, numbers = self.sweep, {}
        for name, number in self.last.items():
            row, at_column = sweep.places.get(name, (0, None))
            for problem in range(sweep.between) if at_column == column else ():
                numbers[sweep.row(sweep.sweeps.links - 1, problem) + row] = number
        return [numbers.get(row, 0) for row in range(max(numbers, default=-1) + 1)]

    def _hand_on(self, m: Module, core: ArrayComponent, task: _Task) -> None:
        """Let each knot take what the one behind it hands on; the last knot takes zeros.

        The first knots of other blocks take what was handed on to them in an earlier sweep.
        """
        slots = [Const(0, width) for width in self.sweep.program.slots]
        slots[self._inputs[REGULARISATION].slot] = getattr(self, REGULARISATION)
        first, blocks = task.position == 0, self.sweep.blocks
        m.d.comb += [core.payload.eq(Cat(slots)), core.first.eq(first)]
        if blocks > 1:
            tasks = self._history(m, task, len(core.runs))
            m.d.comb += [
                core.first.eq(first & (task.turn == 0)),
                core.begins.eq(first & (task.turn != 0)),
                core.bank.eq(self.bank),
                core.runs.eq(Cat(each.running for each in tasks)),
                core.turns.eq(Cat(each.turn for each in tasks)),
            ]

    def _split(self, m: Module, result: Any, function: str) -> dict[str, Any]:
        """Return the words of a function's result by name."""
        words = self.sweep.program.outputs[function]
        parts = split_sum(m, result, [word.format.width for word in words])
        return {word.name: part for word, part in zip(words, parts, strict=True)}

    def _put_out(self, m: Module, core: ArrayComponent, task: _Task, done: Any) -> None:
        """Put out the policy of a knot after all its results and their flags are there."""
        sweep, function, cycle = self.sweep, self.sweep.sweeps.function, self.sweep.put_out
        tasks = self._history(m, task, cycle // core.ii + 1)

        def known(at: int) -> tuple[Any, _Task]:
            then = tasks[at // core.ii]
            return (self.slot == at % core.ii) & then.running & self._exists(then), then

        overflows, indefinites = (
            Array(Signal(name=f"{name}_of_{k}") for k in range(self.problems))
            for name in ("overflow", "indefinite")
        )
        with m.If(self.start & self.ready):
            m.d.sync += [flag.eq(0) for flag in (*overflows, *indefinites)]
        for name in (sweep.sweep, function):  # not before the policy of the knot behind it is put out
            at, flag = core.latency(name), getattr(core, f"overflow_{name}")
            intervals = (cycle - 1 - at) // core.ii
            here, then = known(at + intervals * core.ii)
            with m.If(here & self._kept(m, flag, at, intervals)):
                m.d.sync += overflows[self._problem_of(then)].eq(1)
        here, then = known(cycle)
        problem = self._problem_of(then)
        policy = self._kept(m, getattr(core, f"result_{function}"), core.latency(function) - 1, sweep.kept)
        pivots = [part for name, part in self._split(m, policy, function).items() if f".{PIVOT}" in name]
        indefinite = Cat(pivot[-1] | ~pivot.any() for pivot in pivots).any() | indefinites[problem]
        with m.If(here):
            m.d.sync += indefinites[problem].eq(indefinite)
        ends = (self.slot == cycle % core.ii) & then.running
        last = (then.position == sweep.length - 1) & (then.turn == sweep.between - 1)
        m.d.comb += [
            done.eq(ends & last),
            self.valid.eq(here),
            self.knot.eq(self._knot(then)),
            self.problem.eq(problem),
            self.policy.eq(policy),
            self.overflow.eq(overflows[problem]),
            self.indefinite.eq(indefinite),
        ]

    def _problem_of(self, task: _Task) -> Any:
        """Return the problem of a task; all blocks are those of the first one."""
        return Const(0, 0) if self.sweep.blocks > 1 else task.turn

    def _knot(self, task: _Task) -> Any:
        """Return the knot of a task, which is negative beyond the first one."""
        block = task.turn * self.sweep.length if self.sweep.blocks > 1 else 0
        return self.sweep.sweeps.links - 1 - task.position - block

    def _exists(self, task: _Task) -> Any:
        """Return whether a task has a knot. The last block may be shorter than the others."""
        return self._knot(task) >= 0 if self.sweep.blocks > 1 else Const(1)

    def _kept(self, m: Module, value: Any, cycle: int, intervals: int) -> Any:
        """Return what a value was some intervals ago, taken in the last cycle in which a knot has it."""
        for _ in range(intervals):
            kept = Signal(value.shape())
            with m.If(self.slot == cycle % self.sweep.schedule.ii):
                m.d.sync += kept.eq(value)
            value = kept
        return value

    def _history(self, m: Module, task: _Task, intervals: int) -> list[_Task]:
        """Return the present knot and the knots before it, one for each interval."""
        tasks = [task]
        for k in range(1, intervals):
            before = _Task(*(Signal(part.shape(), name=f"{part.name}_before_{k}") for part in tasks[-1]))
            with m.If(self._last):
                m.d.sync += [old.eq(new) for old, new in zip(before, tasks[-1], strict=True)]
            tasks.append(before)
        return tasks
