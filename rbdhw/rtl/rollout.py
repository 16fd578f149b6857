"""Rollouts: steps in time whose results go back into the core, without the link between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import (
    RolloutShape,
    constant_words,
    next_words,
    row_inputs,
    state_words,
    tracked_words,
)
from rbdhw.header import EXTENDED, HEADER, LOADED
from rbdhw.model.interface import Interface
from rbdhw.protocol import CODES, COST, LOAD, MEAN_COMMANDS, ROLLOUT, STEP_ROWS
from rbdhw.rtl.admission import ADMITTED
from rbdhw.rtl.completion import QUEUE, places
from rbdhw.rtl.delay import delay_line, delayed
from rbdhw.rtl.domain_check import CHECKED, DomainCheck, checks
from rbdhw.rtl.layouts import split_words, task_numbers
from rbdhw.rtl.mppi import mppi_cells
from rbdhw.rtl.preparation import (
    MEMORY_STAGES,
    Preparation,
    preparation_cells,
    preparation_latency,
)
from rbdhw.rtl.rollout_entry import entry_layout, exceeds, go_back
from rbdhw.rtl.rollout_parts import hardware_of
from rbdhw.rtl.rows import Rows, Write, add_rows, coordinates, hold_rows, loaded_words, row_bits
from rbdhw.rtl.stream import serialiser_cells

RETURN = QUEUE + 1
"""The most cycles from a step's result to the next step of the same rollout, if the core is free: a queue and
a register. A rollout passes by the queue while it is empty."""

SPARE_FLIGHTS = 2
"""Rollouts in progress beyond those that fill the core, so that one can enter when another ends."""


def flights(latency: int, initiation_interval: int) -> int:
    """Return the most rollouts in progress: enough to start a step every ``initiation_interval`` cycles."""
    return -(-(latency + RETURN) // initiation_interval) + SPARE_FLIGHTS


class Rollout(wiring.Component):
    """Starts the steps of rollouts in a core, and takes their results back.

    A rollout circulates: it waits in a queue, starts a step in the core, and returns with the new state after
    the core's latency. It passes by the queue while that is empty. All steps take the same time, so what
    belongs to a rollout waits in a second queue beside the core. The forces and contacts of a step are a row
    of a memory, which tasks of ``load`` fill. A row is written only while no rollout is in progress.

    A step and a task of the link that both wait for the core alternate. A step whose state is to be sent
    starts when there is a place for its answer, and a rollout enters when there is a place in the queue. So
    nothing that has started ever waits for the output.

    Raises ValueError if the interface has no rollouts, or the latency is below that of the queues.
    """

    def __init__(
        self,
        *,
        interface: Interface,
        slots: tuple[int, ...],  # the widths of the core's slots
        # The latency of a step in the core, and the core's initiation interval.
        latency: int,
        ii: int,
    ) -> None:
        if interface.rollout is None:
            raise ValueError("interface: has no rollouts; expected their shape")
        if latency < max(QUEUE, CHECKED) + 1:
            raise ValueError(f"latency: is {latency}; expected at least {max(QUEUE, CHECKED) + 1}")
        self.interface = interface
        self.shape = interface.rollout
        self.slots = slots
        self.latency = latency
        self.step, self.words_of_rollout = interface.step, interface.words(ROLLOUT)
        self.next_bits = sum(word.format.width for word in next_words(self.step))
        self.flights = flights(latency + preparation_latency(interface), ii)
        self.layout = entry_layout(self.step, self.shape)
        super().__init__(self._ports())

    def _ports(self) -> dict[str, Any]:
        rows = len(self.interface.row_commands)
        return {
            # The task at the input.
            "tag": In(HEADER["tag"][1]),
            "words": In(self.interface.places[-1]),
            "result": In(self.step.result_bits),  # the packed result of a step at the core's port
            # Whether the task at the input is malformed, or has a number that is not finite.
            "malformed": In(1),
            "not_finite": In(1),
            "enters": In(1),  # that task is a rollout, and is admitted
            "phase_zero": In(1),  # whether the core accepts a task in this cycle
            "others": In(1),  # whether another task waits for the core
            # Whether the task at the input asks for optional results, where there are some, and what its
            # answers have as the option LOADED, where parameters are loaded. They are in `words`.
            **({"extended": In(1)} if self.words_of_rollout.extensible else {}),
            **({"loaded": In(1)} if self.step.held else {}),
            "overflow": In(1),  # whether a value of a step overflowed, valid with `result`
            "available": In(1),  # whether there is a place for an answer
            "loads": In(rows),  # one-hot: the task at the input is a row of this kind, and is admitted
            # Whether a rollout, or a row, may be admitted.
            "accepts_rollout": Out(1),
            "accepts_row": Out(1),
            "starts": Out(1),  # a step starts in this cycle, with the words of `payload`
            # Whether a row of each kind at the input is beyond the end, or leaves a gap.
            "refuses_row": Out(rows),
            "payload": Out(sum(self.slots)),
            "reserves": Out(1),  # a place for an answer is taken
            # An answer for that place: its packed words, its record, and whether a value overflowed.
            "answers": Out(1),
            "answer": Out(self.words_of_rollout.result_bits),
            "record": Out(ADMITTED),
            "answer_overflow": Out(1),
        }

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        size = self.layout.size
        m.submodules.waiting = waiting = SyncFIFOBuffered(width=size, depth=self.flights)
        m.submodules.inside = inside = SyncFIFOBuffered(width=size, depth=self.flights)
        ready, valid = Signal(self.layout), Signal()
        returned = data.View(self.layout, inside.r_data)
        passes, following = Signal(), Signal(self.layout)
        row = self._next_forces(m, following.done, ready, valid)
        ends = returned.left == 1
        done = delayed(m, self.starts, self.latency)
        comes_back = self._passed(m, done & self._is_due(returned))
        release = self._arbitrate(m, ready, valid, comes_back)
        m.d.comb += [
            waiting.r_en.eq(~valid | self.starts | release),
            inside.w_en.eq(self.starts),
            inside.w_data.eq(ready),
            inside.r_en.eq(done),
        ]
        with m.If(waiting.r_en):
            m.d.sync += [ready.eq(following), valid.eq(waiting.r_rdy | passes)]
        outside = self._check(m, self._payload(m, ready, row))
        after = self._return(m, returned, outside)
        leaves = self._passed(m, done & ends)
        enters = self._enters()
        if self.shape.parts:
            goes_on, going = self._passed(m, enters | done & ~ends), self.preparation.o.as_value()
            m.d.comb += self.preparation.i.eq(Mux(done, after, self._entry(m)))
            result = delay_line(
                m,
                self.next_result,
                1,
                (self.preparation.latency,),
                name="result",
                memory_stages=MEMORY_STAGES,
            )[self.preparation.latency]
            straight, occupied, answered = goes_on, done, going
        else:
            straight = done & ~ends
            goes_on, going = enters | straight, Mux(straight, after, self._entry(m))
            occupied, answered, result = straight, after, self.next_result
        m.d.comb += [
            passes.eq(straight & waiting.r_en & (waiting.level == 0)),
            following.eq(Mux(waiting.r_rdy, waiting.r_data, going)),
            waiting.w_en.eq(goes_on & ~passes),
            waiting.w_data.eq(going),
        ]
        self._count(m, enters, leaves | release, occupied)
        self._answer(m, Mux(release, ready, answered), release, comes_back, result)
        return m

    def _arbitrate(self, m: Module, ready: Any, valid: Any, comes_back: Any) -> Any:
        """Start the step that is ready, or return that a refused rollout is answered instead.

        A step and a task of the link that both wait for the core alternate. An answer to a rollout that comes
        back goes first.
        """
        others_first, release = Signal(name="others_first"), Signal(name="release")
        with m.If(self.phase_zero):
            m.d.sync += others_first.eq(self.starts)
        refused, sends = ready.malformed | ready.not_finite, self._for_the_link(self._is_due(ready))
        core_is_free = self.phase_zero & ~(self.others & others_first)
        has_place = ~sends | self.available
        m.d.comb += [
            self.starts.eq(valid & ~refused & core_is_free & has_place),
            release.eq(valid & refused & self.available & ~comes_back),
            self.reserves.eq(self.starts & sends | release),
        ]
        return release

    def _passed(self, m: Module, bit: Any) -> Any:
        """Return a bit of a rollout behind the preparation, if there is one."""
        return delayed(m, bit, self.preparation.latency) if self.shape.parts else bit

    def _is_due(self, entry: Any) -> Any:
        """Return whether the state after the next step is sent, or is the last one of a sample."""
        return (entry.left == 1) | (entry.due == 1)

    def _enters(self) -> Any:
        """Return whether a rollout enters."""
        return self.enters

    def _for_the_link(self, bit: Any) -> Any:
        """Return a bit of a rollout that the link asked for."""
        return bit

    @property
    def next_result(self) -> Any:
        """The packed state behind a step, without other results."""
        return self.result[: self.next_bits]

    # Rows

    def _next_forces(self, m: Module, number: Any, ready: Any, valid: Any) -> Any:
        """Return the forces of the next step, together with ``ready``."""
        self.rows: list[Rows] = []
        if not self.shape.parts:
            unused = ~valid | self.starts | (ready.malformed | ready.not_finite)
            return self._rows(m, LOAD, number, unused)
        preparation = Preparation(interface=self.interface, layout=self.layout)
        m.submodules.preparation = self.preparation = preparation
        for name in self.interface.row_commands:
            address = getattr(preparation, f"address_{name}") if name in STEP_ROWS else None
            row = self._rows(m, name, address, Const(1, 1))
            m.d.comb += getattr(preparation, f"row_{name}").eq(row)
        return ready.forces

    def _rows(self, m: Module, command: str, address: Any, enable: Any) -> Any:
        """Add the rows that a command loads; return the one of an address, one enabled cycle later.

        Without an address they are the same for all steps.
        """
        kind, numbers = self.interface.row_commands.index(command), self._numbers(command)
        name = "rows" if command == LOAD else f"rows_{command}"
        memories = {f"{name}_{k}": numbers["coordinate"] == k for k in coordinates(self.interface, command)}
        memories = memories or {name: Const(1, 1)}
        words, shape = loaded_words(self.interface, command), self.shape
        usable = ~self.malformed & ~self.not_finite
        loads = self.loads[kind] & usable
        if address is None:
            rows = [hold_rows(m, name, words, numbers, shape.cost_rows, shape.horizon, loads=loads)]
        else:
            rows = [
                add_rows(
                    m,
                    name,
                    words,
                    numbers,
                    shape.horizon,
                    loads=loads & chosen,
                    address=address,
                    enable=enable,
                    replaced=self._other_writes().get(command),
                )
                for name, chosen in memories.items()
            ]
        good = Cat(chosen & each.good for chosen, each in zip(memories.values(), rows, strict=True)).any()
        m.d.comb += self.refuses_row[kind].eq(~good & ~self.not_finite)
        self.rows += rows
        return Cat(each.data for each in rows)

    def _other_writes(self) -> dict[str, Write]:
        """Return what else writes the rows of some commands."""
        return {}

    @property
    def _state(self) -> list[Word]:
        return [state.word for state in state_words(self.step, self.shape.nq)]

    def _numbers(self, command: str) -> dict[str, Any]:
        return task_numbers(self.interface, command, self.words)

    # Entering

    def _entry(self, m: Module) -> Any:
        """Return the rollout that enters."""
        return self._asked(m).as_value()

    def _asked(self, m: Module) -> Any:
        """Return the rollout that the task at the input asks for."""
        entry = Signal(self.layout, name="entering")
        numbers = self._numbers(ROLLOUT)
        steps, every = numbers["steps"], numbers["every"]
        bad = steps < 1
        for rows in self.rows:
            bad |= steps > rows.loaded
        bad = bad | (every < 0) | (every > self.shape.horizon)
        for part in hardware_of(self.shape):
            for refused in part.refusals(numbers):
                bad |= refused
            m.d.comb += [entry[field].eq(value) for field, value in part.entering(numbers).items()]
        if self.words_of_rollout.extensible:
            m.d.comb += entry.extended.eq(self.extended)
        if self.step.held:
            m.d.comb += entry.loaded.eq(self.loaded)
        state = self._state
        held = constant_words(self.step)
        m.d.comb += [
            entry.tag.eq(self.tag),
            entry.malformed.eq(self.malformed | bad & ~self.not_finite),
            entry.not_finite.eq(self.not_finite),
            entry.left.eq(steps),
            entry.due.eq(every),
            entry.every.eq(every),
            entry.exceeds.eq(Cat(exceeds(numbers[word.name], word) for word in (*state, *held)).any()),
            entry.constant.eq(Cat(numbers[word.name][: word.format.width] for word in held)),
            entry.state.eq(Cat(numbers[word.name][: word.format.width] for word in state)),
        ]
        return entry

    def _count(self, m: Module, enters: Any, leaves: Any, comes_back: Any) -> Any:
        """Count the rollouts in progress; return whether one may enter, as none comes back in this cycle."""
        count = Signal(range(self.flights + 1))
        m.d.sync += count.eq(count + enters - leaves)
        room = (count != self.flights) & ~comes_back
        m.d.comb += [
            self.accepts_rollout.eq(self._for_the_link(room)),
            self.accepts_row.eq(self._for_the_link(count == 0)),
        ]
        return room

    # Steps

    def _payload(self, m: Module, entry: Any, row: Any) -> Any:
        """Give the core the words of a step; return them slot by slot as if it computed steps alone."""
        values: dict[int, Any] = {}
        parts: tuple[tuple[Sequence[Word], Any], ...] = (
            (self._state, entry.state),
            (constant_words(self.step), entry.constant),
            (row_inputs(self.step), row),
        )
        for words, bits in parts:
            named = split_words(words, bits)
            values |= {word.slot: named[word.name].as_unsigned() for word in words}
        fields = [values.get(slot, Const(0, 0)) for slot in range(len(self.slots))]
        padded = [
            Cat(field, Const(0, width - len(field))) for field, width in zip(fields, self.slots, strict=True)
        ]
        m.d.comb += self.payload.eq(Cat(padded))
        return Cat(fields)

    def _check(self, m: Module, words: Any) -> Any:
        """Return whether a word of the step that ends in this cycle was outside its domain."""
        m.submodules.domain_check = check = DomainCheck(
            interface=Interface((self.step,), self.interface.data_width)
        )
        m.d.comb += [check.select.eq(1), check.words.eq(words)]
        return delayed(m, check.outside, self.latency - CHECKED)

    def _return(self, m: Module, before: Any, outside: Any) -> Any:
        """Return the rollout after the step that ends in this cycle."""
        after = Signal(self.layout, name="returning")
        named = split_words(self.step.outputs, self.result)
        results = [(word, named[word.name]) for word in self.step.outputs]
        back = [go_back(word, results) for word in state_words(self.step, self.shape.nq)]
        followed = [go_back(word, results) for word in tracked_words(self.step, self.shape)]
        state, too_large = zip(*back, *followed, strict=True)
        exceeding = Cat(too_large).any()
        beyond = outside | before.exceeds
        if COST in self.shape.parts:  # the cost counts the words of the state behind the step
            beyond |= exceeding
        first = (beyond | self.overflow) & (before.first_flagged == 0)
        m.d.comb += [
            after.eq(before),
            after.outside.eq(before.outside | beyond),
            after.overflow.eq(before.overflow | self.overflow),
            after.done.eq(before.done + 1),
            after.left.eq(before.left - 1),
            after.due.eq(Mux(before.due == 1, before.every, Mux(before.due == 0, 0, before.due - 1))),
            after.exceeds.eq(exceeding),
            after.state.eq(Cat(state[: len(back)])),
            *([after.positions.eq(Cat(state[len(back) :]))] if followed else []),
        ]
        with m.If(first):
            m.d.comb += after.first_flagged.eq(before.done + 1)
        return after

    def _answer(self, m: Module, bits: Any, release: Any, comes_back: Any, result: Any) -> Any:
        """Answer a refused rollout, or with the state after a step; return the rollout that is answered."""
        entry = Signal(self.layout, name="answered")
        m.d.comb += [
            entry.eq(bits),
            self.answers.eq(release | self._for_the_link(comes_back)),
            self.record.tag.eq(entry.tag),
            self.record.function.eq(CODES[ROLLOUT]),
            self.record.outside.eq(entry.outside),
            self.record.malformed.eq(entry.malformed),
            self.record.not_finite.eq(entry.not_finite),
            self.answer_overflow.eq(entry.overflow),
        ]
        if self.step.held:
            m.d.comb += self.record.options[LOADED].eq(entry.loaded)
        if self.words_of_rollout.extensible:
            m.d.comb += self.record.options[EXTENDED].eq(entry.extended)
        m.d.comb += self.answer.eq(Cat(self._answer_words(entry, result)))
        return entry

    def _answer_words(self, entry: Any, result: Any) -> Iterator[Any]:
        """Yield the words of an answer: numbers of the rollout, with zeros above, and the state."""
        fields = {"step": entry.done} | {name: entry[name] for name in self.layout.members if name != "state"}
        words = self.words_of_rollout.returned(extended=True)
        for is_state, group in groupby(words, key=lambda word: word.array not in fields):
            if is_state:
                yield result
            else:
                numbers = [(fields[word.array], word.format.width) for word in group]
                yield from (Cat(number, Const(0, width - len(number))) for number, width in numbers)


def rollout_cells(
    interface: Interface,
    shape: RolloutShape,
    # Cycles from the words of a step in the core to its results, and between tasks of the core.
    latency: int,
    ii: int,
    bits: int,  # the bits of a task's words in the core
    fabric: Fabric,
) -> tuple[Cells, Cells]:
    """Return the cells that give steps back to the core, and those of their queues and rows.

    The cells choose between a step and a task of the link, convert a state, limit forces, and check the
    domain.
    """
    step = interface.step
    size = entry_layout(step, shape).size
    most = flights(latency + preparation_latency(interface), ii)
    row = sum(word.format.width for word in row_inputs(step))
    checked = sum(width for _, width, _, _ in checks(interface, step.inputs))
    luts = bits + step.result_bits + size + 2.0 * (row + checked) * fabric.compare
    cells = Cells(luts=luts, flip_flops=size + row + 2 * latency)
    cells += preparation_cells(interface, shape, fabric)
    if shape.means:
        of_mean, memories = mppi_cells(interface, most, fabric)
        cells += of_mean
    state = sum(state.word.format.width for state in state_words(step, shape.nq))
    buffers = fabric.queue(size, most) + fabric.queue(size - state, most)
    for name in interface.row_commands:
        width = row_bits(interface, name)
        buffers += fabric.table(width, shape.horizon) if name in STEP_ROWS else Cells(flip_flops=width)
    if shape.means:
        buffers += memories
    for name in (ROLLOUT, *interface.row_commands, *(MEAN_COMMANDS if shape.means else ())):
        words = interface.words(name)
        depth = places(interface, words, latency, 1)
        cells += serialiser_cells(interface, words, fabric)
        buffers += fabric.queue(words.result_bits + 1, depth) + fabric.queue(ADMITTED.size, depth)
    return cells, buffers
