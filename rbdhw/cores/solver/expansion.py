"""The expansion of a trajectory: the numbers of all knots, from a core for derivatives of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.arrays import WordName
from rbdhw.cores.solver.knot_rows import KnotRows
from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.cores.solver.words import core_payload, factor_values, of_problem, trajectory_row
from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.knots import MOVED
from rbdhw.rtl.arithmetic import half, split_sum
from rbdhw.rtl.delay import after, delay_line, delayed, register
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.preparation import MEMORY_STAGES
from rbdhw.rtl.scaler import LATENCY, Scaler, scaler_cells
from rbdhw.rtl.state_error import ERROR_CYCLES, error


class Expansion(wiring.Component):
    """Writes the numbers of the knots of trajectories into the memory of a sweep, from the last knot back.

    At each knot the problems take turns, as in the sweep. The derivatives of a step are computed while the
    numbers of steps before it are written. A sweep begins when enough steps are expanded: it never reads a
    number that is not there.
    """

    def __init__(self, *, timing: SolverTiming, slots: tuple[int, ...]) -> None:
        if timing.dstep <= ERROR_CYCLES:
            raise ValueError(f"latency: is {timing.dstep}; expected more than {ERROR_CYCLES}")
        self.timing, self.shape, self.sweep = timing, timing.shape, timing.sweep
        self.slots, self.latency = slots, timing.dstep
        shape, sweep = timing.shape, timing.sweep
        outputs = [word.format.width for word in shape.dstep.outputs]
        copies, changes = (each.word.format for each in shape.copies), shape.changes_of_state
        formats = (*shape.errors, *copies, *(change.format for change in changes))
        self.lanes, sources = timing.lanes, [*outputs, *(format_.width for format_ in formats)]
        factors = [factor.format.width for factor in shape.number_factors]
        self.scalers = [Scaler(items=lane.numbers, sources=sources, factors=factors) for lane in self.lanes]
        problems, rows = shape.problems, shape.problems * timing.banks * (shape.knots + 1)
        self.task_bits = sum(word.format.width for word in shape.step.inputs)
        bank = Signal(range(timing.banks)).shape()
        super().__init__(
            {
                "start": In(1),
                # Of each problem, during an expansion.
                "takes": In(problems),  # whether it takes part
                "around": In(data.ArrayLayout(bank, problems)),  # the bank of the trajectory
                "before": In(bank),  # that of the sweep whose values blocks begin with
                "task": In(data.ArrayLayout(self.task_bits, problems)),  # the words of `step`
                "busy": Out(1),
                "ahead": Out(1),  # whether a sweep may begin: all knots are there before it reads them
                # Whether a number of a problem exceeds its format in the last expansion; and whether a change
                # of the state since the trajectory before does.
                "failed": Out(problems),
                "far": Out(1),
                # The core.
                "phase_zero": In(1),
                "starts": Out(1),
                "payload": Out(sum(slots)),
                "result": In(sum(outputs)),
                "overflow": In(1),
                # Memories: a row is there in the cycle after its address.
                "read_row": Out(range(rows)),
                "row": In(sum(word.format.width for word in shape.trajectory)),
                "goal_problem": Out(range(problems)),
                "goal_step": Out(range(shape.knots)),
                "goal": In(sum(word.format.width for word in shape.goal)),
                # The memory of the sweep: rows and numbers by lane.
                "write_enable": Out(len(sweep.columns)),
                **{f"write_row_{k}": Out(range(sweep.rows)) for k in range(len(self.scalers))},
                **{f"write_data_{k}": Out(signed(sweep.width)) for k in range(len(self.scalers))},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self._places = KnotRows(m, self.sweep)
        for k, scaler in enumerate(self.scalers):
            m.submodules[f"scaler_{k}"] = scaler
        self._turn = Signal(range(self.timing.period), name="turn")
        self._step = Signal(range(self.shape.knots), name="step")
        self._problem = Signal(range(self.shape.problems), name="problem")
        self._written = Signal(name="written")  # whether all numbers are
        begins, takes = self._control(m), Signal(name="takes_part")
        task, here, behind, before = self._read(m)
        m.d.comb += [
            self.goal_problem.eq(self._problem),
            self.goal_step.eq(self._step),
            self.payload.eq(self._payload(task, here)),
            self.starts.eq(begins & takes),
        ]
        m.d.sync += takes.eq(self.takes.bit_select(self._problem, 1))  # known long before a step begins
        self._scale(m, begins, self._brought(m, begins, task, (here, behind, before)))
        return m

    def _control(self, m: Module) -> Any:
        """Give each step of each problem its turn, and return whether its derivatives begin in this cycle.

        The first turn waits in its first cycle, so that its last one is free in the core, as later ones are.
        """
        shape, turn, last, begins = self.shape, self._turn, self.timing.period - 1, Signal(name="begins")
        interval = self.timing.dstep_ii
        runs, waits, phase = Signal(name="runs"), Signal(name="waits"), Signal(range(interval))
        now = Signal.like(phase, name="phase_now")
        m.d.comb += [self.busy.eq(1), now.eq(Mux(self.phase_zero, 0, phase))]
        m.d.sync += phase.eq(Mux(now == interval - 1, 0, now + 1))
        free = now == (1 - self.timing.read_in) % interval
        with m.If(~waits | free):
            m.d.sync += [turn.eq(Mux(turn == last, 0, turn + 1)), waits.eq(0)]
            m.d.sync += begins.eq(runs & (turn == last - 1))
        with m.FSM(name="control"):
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(0)
                m.d.sync += [self._step.eq(shape.knots - 1), self._problem.eq(0)]
                m.d.sync += [turn.eq(last + 1 - self.timing.read_in), waits.eq(self.start)]
                with m.If(self.start):
                    m.d.sync += [self.failed.eq(0), self.far.eq(0), self.ahead.eq(0)]
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += runs.eq(1)
                with m.If(begins):
                    m.d.sync += self._problem.eq(self._problem + 1)
                    with m.If(self._problem == shape.problems - 1):
                        m.d.sync += [self._problem.eq(0), self._step.eq(self._step - 1)]
                        with m.If(self._step == 0):
                            m.next = "END"
            with m.State("END"), m.If(self._written):
                m.next = "IDLE"
        return begins

    def _read(self, m: Module) -> tuple[Any, Any, Any, Any]:
        """Return the task of the step's problem, and the rows before and behind the step, which are read.

        The last one is that behind the step in the trajectory before.
        """
        shape, first, problem = self.shape, self.timing.period - self.timing.read_in, self._problem
        task = Signal(self.task_bits, name="task_of_problem")
        here, behind = Signal.like(self.row, name="here"), Signal.like(self.row, name="behind")
        before, read_before = Signal.like(self.row, name="before_row"), Const(0)
        if shape.blocks > 1:
            read_before = self._turn == first + 2
            with m.If(self._turn == first + 3):
                m.d.sync += before.eq(self.row)
        bank = Mux(read_before, self.before, of_problem(self.around, problem))
        step = self._step + ((self._turn == first) | read_before)
        m.d.comb += [
            task.eq(of_problem(self.task, problem)),
            self.read_row.eq(trajectory_row(self.timing, problem, bank, step)),
        ]
        with m.If(self._turn == first + 1):
            m.d.sync += behind.eq(self.row)
        with m.If(self._turn == first + 2):
            m.d.sync += here.eq(self.row)
        return split_words(shape.step.inputs, task), here, behind, before

    def _payload(self, task: Mapping[str, Any], here: Any) -> Any:
        """Return the words of ``dstep`` in the core's slots."""
        shape = self.shape
        row = split_words(shape.trajectory, here)
        named = dict(zip((state.word.name for state in shape.state), row.values(), strict=False))
        words = {**task, **named, **{word.name: row[word.name] for word in shape.taus}}
        finer = {name: Cat(Const(0, zeros), words[name]) for name, zeros in shape.finer.items()}
        return core_payload(shape.dstep, finer, self.slots)

    def _brought(
        self, m: Module, begins: Any, task: Mapping[str, Any], rows: tuple[Any, Any, Any]
    ) -> list[Any]:
        """Return what belongs to a step when its derivatives are there.

        These are the row of its numbers in the memory of the sweep, whether it begins a block, its problem,
        whether the sweep may begin with it, whether it is the last one, and the factors and the sources of
        its numbers but for derivatives.
        """
        timing, (here, behind, before) = self.timing, rows
        number, places = Signal(range(timing.steps), name="number"), self._places
        with m.If(self.start):
            m.d.sync += number.eq(0)
            places.reset()
        with m.Elif(begins):
            m.d.sync += number.eq(number + 1)
            places.advance()
        goal = split_words(self.shape.goal, self.goal)
        factors = factor_values(self.shape.number_factors, {**task, **goal})
        starts, ends = number >= timing.ahead - 1, number == timing.steps - 1
        begun = [Cat(each) for each in (places.row, places.begins, self._problem, starts, ends, factors)]
        errors = Cat(self._errors(m, (here, behind), goal))
        copies = Cat(self._copies(m, (here, behind), goal))
        kept = Signal(sum(map(len, begun)), name="begun")
        with m.If(begins):
            m.d.sync += kept.eq(Cat(begun))
        sources = Cat(errors, copies, self._changes(behind, before, kept[len(places.row)]))
        line = delay_line(
            m,
            Cat(kept, sources),
            self._turn == ERROR_CYCLES - 1,
            (timing.in_progress,),
            name="brought",
            memory_stages=MEMORY_STAGES,
        )
        return split_sum(m, line[timing.in_progress], [*map(len, begun), len(sources)])

    def _copies(self, m: Module, rows: tuple[Any, Any], goal: Mapping[str, Any]) -> list[Any]:
        """Return the words that are numbers as they are, when the errors are there.

        The rows of the trajectory stay until then, but that of a goal is the next one in the same cycle.
        """
        here, behind = (self._named(row) for row in rows)
        copies = []
        for copy in self.shape.copies:
            if copy.of_goal:
                value = goal[copy.word.name]
                copies.append(register(m, f"copied_{copy.number}", value, value.shape()))
            else:
                copies.append((behind if copy.behind else here)[copy.word.name])
        return copies

    def _named(self, row: Any) -> dict[str, Any]:
        """Return the words of a row of a trajectory by the names of those of a step."""
        names = [term.word.name for term in self.shape.terms]
        return dict(zip(names, split_words(self.shape.trajectory, row).values(), strict=True))

    def _changes(self, behind: Any, before: Any, begins: Any) -> Any:
        """Return how far the state behind the first step of a block has moved; other steps have zeros."""
        rows = (split_words(self.shape.trajectory, row).values() for row in (behind, before))
        triples = zip(self.shape.changes_of_state, *rows, strict=False)
        changes = []
        for change, new, old in triples:
            difference = (new - old)[: change.bits].as_signed()
            rounded = difference + half(change.drop) >> change.drop
            changes.append(Mux(begins, rounded, 0)[: change.format.width])
        return Cat(changes)

    def _scale(self, m: Module, begins: Any, brought: Sequence[Any]) -> None:
        """Keep the results of a step and what belongs to them, and write the numbers of both knots."""
        *tag, factors, others = brought
        done, longest, sources = delayed(m, begins, self.latency), self.scalers[0], Cat(self.result, others)
        kept = [
            Signal(len(value), name=f"kept_{name}")
            for name, value in (("sources", sources), ("factors", factors), ("tag", Cat(tag)))
        ]
        with m.If(done):
            m.d.sync += [old.eq(new) for old, new in zip(kept, (sources, factors, Cat(tag)), strict=True)]
            with m.If(self.overflow):
                m.d.sync += self.failed.bit_select(tag[2], 1).eq(1)
        for scaler in self.scalers:
            m.d.comb += [scaler.start.eq(done), scaler.sources.eq(kept[0]), scaler.factors.eq(kept[1])]
        (then,) = after(m, LATENCY, tag=kept[2])
        row, begun, problem, is_ahead, is_last = split_sum(m, then, list(map(len, tag)))
        written = longest.valid & (longest.item == len(longest.items) - 1)
        m.d.comb += self._written.eq(written & is_last)
        with m.If(written & is_ahead):
            m.d.sync += self.ahead.eq(1)
        beyond, far = [], []
        for each in self.scalers:
            exceeds, names = each.valid & each.beyond, (WordName.parse(item.name) for item in each.items)
            moved = Array(Const(name.array == MOVED, 1) for name in names)[each.item]
            beyond.append(exceeds & ~moved)
            far.append(exceeds & moved)
        with m.If(Cat(beyond).any()):
            m.d.sync += self.failed.bit_select(problem, 1).eq(1)
        with m.If(Cat(far).any()):
            m.d.sync += self.far.eq(1)
        self._write(m, row, self._places.behind(row, begun))

    def _errors(self, m: Module, rows: tuple[Any, Any], goal: Mapping[str, Any]) -> list[Any]:
        """Return the errors of all terms of the cost: of what a step carries behind it, and of its forces."""
        shape = self.shape
        here, behind = (self._named(row) for row in rows)
        values = behind | {word.name: here[word.name] for word in shape.taus}
        references = (goal[name] for name in shape.references)
        return [
            error(m, str(k), term, values[term.word.name], reference)
            for k, (term, reference) in enumerate(zip(shape.terms, references, strict=True))
        ]

    def _write(self, m: Module, row: Any, behind: Any) -> None:
        """Write numbers into their places in the sweep's memory; those that it does not read have none.

        The numbers of a step's knot begin with a ``row``, and those of the knot behind it with another.
        """
        places, enabled = self.sweep.places, list[Any]()
        for k, scaler in enumerate(self.scalers):
            items, turn = scaler.items, scaler.item
            rows = [places.get(item.name, (0, 0))[0] for item in items]
            of_next = Array(Const(self.shape.is_of_next_knot(item.name), 1) for item in items)
            enables = [1 << places[item.name][1] if item.name in places else 0 for item in items]
            enabled.append(Mux(scaler.valid, Array(map(Const, enables))[turn], 0))
            place = Mux(of_next[turn], behind, row) + Array(map(Const, rows))[turn]
            m.d.comb += [
                getattr(self, f"write_row_{k}").eq(place),
                getattr(self, f"write_data_{k}").eq(scaler.word),
            ]
        m.d.comb += self.write_enable.eq(reduce(or_, enabled))


def expansion_cells(timing: SolverTiming, fabric: Fabric) -> Cells:
    """Return the cells of an expansion: rows of trajectories, errors, what waits for results, and scalers."""
    shape = timing.shape
    row = sum(word.format.width for word in shape.trajectory)
    factors = sum(each.format.width for each in shape.number_factors if each.constant is None)
    errors = sum(term.bits for term in shape.terms)
    others = sum(each.width for each in shape.errors) + sum(each.word.format.width for each in shape.copies)
    others += sum(each.bits for each in shape.changes_of_state)
    results = sum(word.format.width for word in shape.dstep.outputs)
    cells = sum((scaler_cells(lane.numbers, fabric) for lane in timing.lanes), Cells())
    cells += fabric.delay(factors + others, timing.in_progress, MEMORY_STAGES)
    place = (timing.sweep.rows - 1).bit_length()
    kept = timing.read_in // 2 * row + errors + 2 * factors + others + results
    return cells + Cells(2 * errors + 3 * place * len(timing.lanes), kept)
