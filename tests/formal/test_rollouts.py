"""Rollouts: each has its steps in order, its own answers, and in time, in any number of cycles.

Any rollouts and rows come, the core is free when it likes, and so are places for answers. The core keeps
the first number of the state and counts in the second. Queues are as short as in any build.
"""

from unittest import mock

import pytest
from amaranth.hdl import Assert, Cat, Elaboratable, Module, Mux, Signal

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Program, Word
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.model.interface import FunctionWords
from rbdhw.model.program_interface import program_interface
from rbdhw.protocol import LOAD, ROLLOUT
from rbdhw.rtl.delay import delayed
from rbdhw.rtl.domain_check import CHECKED
from rbdhw.rtl.layouts import split_words, task_numbers
from rbdhw.rtl.rollout import Rollout
from tests.support.formal import mutant, reach
from tests.support.ledger import Ledger, assert_moves
from tests.support.marks import long

HORIZON = 2
FLIGHTS = 3
"""The fewest that a build has."""

LATENCY = CHECKED + 1
SLOWEST = LATENCY + 5
"""More cycles than nothing starts or ends with a free core and places for answers, whatever else waits."""

COUNT = 3


def word(name, slot):
    number = Format(COUNT, 0)
    return Word(name, "1", slot, number, number.lowest, number.highest, slot)


INPUTS = word("q[0]", 0), word("v[0]", 1), word("tau[0]", 2)
STEP = FunctionWords(
    "step", INPUTS, tuple(Word(f"step.x_next[{k}]", "1", k, Format(COUNT, 0)) for k in range(2))
)
PROGRAM = Program((), INPUTS, (), {"step": STEP.outputs}, None, None, (COUNT, COUNT))
INTERFACE = program_interface([PROGRAM], 64, rollout=RolloutShape(HORIZON, 1, "step"))


class RolloutHarness(Elaboratable):
    """Rollouts enter where one may, and so do rows. One rollout is marked in its tag and in its state.

    A tag has the mark, the steps, and those between answers. The row of a step has its number.
    """

    def __init__(self, block=Rollout):
        with mock.patch.dict(block.__init__.__globals__, flights=lambda *_: FLIGHTS):
            self.block = block(interface=INTERFACE, slots=(COUNT,) * 3, latency=LATENCY, ii=1)
        names = "enters", "loads", "malformed", "free", "others", "available", "pick"
        self.ports = [Signal(name=f"any_{name}") for name in names]
        self.enters, self.loads, self.malformed, self.free, *others = self.ports
        self.others, self.available, self.pick = others
        numbers = [Signal(2, name=f"any_{name}") for name in ("steps", "every", "row")]
        self.steps, self.every, self.row = numbers
        self.ports += numbers

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block
        mark, enters, last = Signal(), Signal(), Signal()
        ledger = Ledger(m, "rollouts", FLIGHTS, mark, enters, last)
        asked = Cat(mark, self.steps, self.every)
        m.d.comb += [mark.eq(self.pick & ~ledger.used), enters.eq(self.enters & dut.accepts_rollout)]
        m.d.comb += [
            dut.enters.eq(enters),
            dut.loads.eq(self.loads & ~enters & dut.accepts_row),
            dut.malformed.eq(self.malformed),
            dut.phase_zero.eq(self.free),
            dut.others.eq(self.others),
            dut.available.eq(self.available),
            dut.tag.eq(asked),
        ]
        self._bring(m, dut, mark, enters)
        self._compute(m, dut)
        m.d.comb += last.eq(self._check_answers(m, dut, mark, enters))
        m.d.comb += Assert(dut.accepts_row == (ledger.inside == 0))
        moves = dut.starts | dut.answers | dut.reserves
        assert_moves(m, self.free & self.available & ~moves & (ledger.inside != 0), SLOWEST)
        return m

    def _bring(self, m, dut, mark, enters):
        """Give the numbers of a rollout, or of a row."""
        entry, row = (task_numbers(INTERFACE, command, dut.words) for command in (ROLLOUT, LOAD))
        given = {"q[0]": mark, "steps": self.steps, "every": self.every}
        with m.If(enters):
            m.d.comb += [entry[name].eq(value) for name, value in given.items()]
        with m.Else():
            m.d.comb += [row[name].eq(self.row) for name in ("row", "tau[0]")]

    def _compute(self, m, dut):
        """Compute steps; check that the marked rollout has one at a time, with the row of its number."""
        state, count, row = (dut.payload[COUNT * k : COUNT * (k + 1)] for k in range(3))
        m.d.comb += dut.result.eq(Cat(*(delayed(m, bit, LATENCY) for bit in Cat(state, (count + 1)[:COUNT]))))
        marked, done, inside = dut.starts & state[0], Signal(2, name="steps_done"), Signal(name="in_core")
        ends = delayed(m, marked, LATENCY)
        m.d.comb += Assert(~dut.starts | (self.free & (count == row)))
        with m.If(marked):
            m.d.comb += [Assert(~inside), Assert(count == done)]
            m.d.sync += done.eq(done + 1)
        m.d.sync += inside.eq(marked | inside & ~ends)

    def _check_answers(self, m, dut, mark, enters):
        """Check places and answers; return whether this is a rollout's last answer."""
        taken = Signal(range(FLIGHTS + 1), name="places_taken")
        m.d.sync += taken.eq(taken + dut.reserves - dut.answers)
        m.d.comb += [
            Assert(~dut.reserves | self.available),
            Assert(~dut.answers | (taken != 0) | dut.reserves),
        ]
        numbers = split_words(INTERFACE.words(ROLLOUT).outputs, dut.answer)
        refused, marked = dut.record.malformed, dut.record.tag[0]
        steps, every = dut.record.tag[1:3], dut.record.tag[3:5]
        step = numbers["rollout.step"]
        last = dut.answers & (refused | (step == steps))
        waits, was_refused = Signal(name="marked_waits"), Signal()
        due = Signal(3, name="due")
        loaded = self._loaded(m, dut)
        bad = self.malformed | (self.steps == 0) | (self.steps > loaded) | (self.every > HORIZON)
        with m.If(enters & mark):
            m.d.sync += [waits.eq(1), was_refused.eq(bad)]
            m.d.sync += due.eq(_earlier(self.steps, self.every, self.every))
        with m.If(dut.answers & ~refused):
            m.d.comb += [
                Assert(numbers["rollout.x_next[0]"] == marked),
                Assert(numbers["rollout.x_next[1]"] == step),
            ]
        with m.If(dut.answers & marked):
            m.d.comb += [Assert(waits), Assert(refused == was_refused), Assert(refused | (step == due))]
            m.d.sync += [waits.eq(~last), due.eq(_earlier(steps, every, due + every))]
        return last

    def _loaded(self, m, dut):
        """Return the number of rows that have come, one after the other."""
        loaded = Signal(range(HORIZON + 1), name="rows_loaded")
        with m.If(dut.loads[0] & ~self.malformed & (self.row == loaded) & (loaded != HORIZON)):
            m.d.sync += loaded.eq(loaded + 1)
        return loaded


def _earlier(steps, every, due):
    """Return the step of the next answer: the last one if there are none between."""
    return Mux((every == 0) | (due > steps), steps, due)


@pytest.mark.verify
def test_every_rollout_has_its_steps_and_answers(tmp_path):
    reach(RolloutHarness(), tmp_path).assert_proven()


MUTANTS = [
    ("has_place = ~sends | self.available", "has_place = Const(1, 1)"),
    long("(count != self.flights) & ~comes_back", "count != self.flights"),
    long("waiting.w_en.eq(goes_on & ~passes)", "waiting.w_en.eq(goes_on)"),
    long("inside.w_data.eq(ready)", "inside.w_data.eq(following)"),
    long("others_first.eq(self.starts)", "others_first.eq(1)"),
]


@pytest.mark.parametrize(("right", "wrong"), MUTANTS)
def test_a_mutation_is_refuted_with_a_trace(tmp_path, right, wrong):
    reach(RolloutHarness(mutant(Rollout, right, wrong)), tmp_path).assert_refuted()
