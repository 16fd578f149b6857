"""An engine of Amaranth's simulator that computes each combinational signal after those it depends on.

Amaranth's own computes all signals of a module whenever one of its inputs has changed, until none changes.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial

import pytest
from amaranth.hdl import Fragment
from amaranth.hdl._ast import SignalDict, _StatementList
from amaranth.sim import _pyrtl, pysim
from amaranth.sim._pyrtl import _FragmentCompiler

DEEP = 20_000
"""The depth of expressions that are compiled: a write to a memory has an operand for each bit of a row."""


@contextmanager
def deep_expressions():
    """Compile expressions of this depth."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def independent(statements):
    """Return statements in groups that drive no signal together, and those that drive none."""
    group_of, without = SignalDict(), _StatementList()
    for statement in statements:
        signals = statement._lhs_signals()
        if not signals:
            without.append(statement)
            continue
        joined = {id(group_of[signal]): group_of[signal] for signal in signals if signal in group_of}
        group = [each for earlier in joined.values() for each in earlier]
        group.append((statement, signals))
        for signal in (signal for _, driven in group for signal in driven):
            group_of[signal] = group
    groups = {id(group): group for group in group_of.values()}
    return [_StatementList(statement for statement, _ in group) for group in groups.values()], without


class _Signal(pysim._PySignalState):
    """The state of a signal, which knows the groups that read it and marks them as due when it changes."""

    __slots__ = ("is_due", "readers")

    def update(self, value, mask=~0):
        if value != self.next:
            super().update(value, mask)

    def commit(self):
        """Take the next value; return whether it is another one."""
        if self.curr == self.next:
            return False
        if self.wakers:
            pysim._run_wakers(self.wakers, self.curr, self.next)
        self.curr = self.next
        for index in self.readers:
            self.is_due[index] = 1
        return True


class _Wire(_Signal):
    """The state of a signal that a group drives: it changes at once, since its readers run later."""

    __slots__ = ()

    def update(self, value, mask=~0):
        if value != self.curr:
            self.next = (self.curr & ~mask) | (value & mask)
            self.commit()


class _State(pysim._PyEngineState):
    """The state of a simulation, which may note the inputs of a process instead of letting them wake it."""

    inputs: set[int] | None = None

    def __init__(self):
        super().__init__()
        self.is_due = bytearray()
        self.places: dict[int, int] = {}

    def get_signal(self, signal):
        place = self.places.get(id(signal))
        if place is None:
            place = self.signals[signal] = self.places[id(signal)] = len(self.slots)
            self.slots.append(_Signal(signal, self.pending))
            self.slots[-1].readers, self.slots[-1].is_due = [], self.is_due
        return place

    def add_signal_waker(self, signal, waker):
        if self.inputs is None:
            super().add_signal_waker(signal, waker)
        else:
            self.inputs.add(self.get_signal(signal))


class _Emitter(_pyrtl._PythonEmitter):
    """Leaves out the masks of whole signals, whose values have no other bits."""

    MASKED = re.compile(r"(sign\()?\((0x[0-9a-f]+) & slots\[(\d+)\]\.curr\)(?(1), -0x[0-9a-f]+\))")

    def __init__(self, slots):
        super().__init__()
        self.slots = slots

    def _unmasked(self, match):
        signed, mask, slot = match[1], match[2], match[3]
        shape = self.slots[int(slot)].signal.shape()
        whole = int(mask, 16) == (1 << shape.width) - 1 and shape.signed == bool(signed)
        return f"slots[{slot}].curr" if whole else match[0]

    def flush(self, indent=""):
        return self.MASKED.sub(self._unmasked, super().flush(indent))


class _Compiler(_FragmentCompiler):
    """Compiles each group of combinational statements as a process of its own, and keeps these apart."""

    def __init__(self, state):
        super().__init__(state)
        self.groups: list[tuple[Callable[[], None], set[int], set[int]]] = []

    def __call__(self, fragment):
        with deep_expressions(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(_pyrtl, "_PythonEmitter", partial(_Emitter, self.state.slots))
            return self._compiled(fragment)

    def _compiled(self, fragment):
        groups, without = independent(fragment.statements.get("comb", ()))
        for statements in groups:
            part = Fragment()
            part.statements["comb"] = statements
            self.state.inputs = set()
            (process,) = super().__call__(part)
            outputs = {self.state.get_signal(signal) for signal in statements._lhs_signals()}
            self.groups.append((process.run, self.state.inputs, outputs))
            self.state.inputs = None
        rest = copy(fragment)
        rest.statements = {**fragment.statements, "comb": without}
        if not without:
            del rest.statements["comb"]
        return super().__call__(rest)


def in_order(groups) -> Iterator[int]:
    """Yield the numbers of groups, those that drive the inputs of another before it, except in a loop."""
    drivers, reached = defaultdict(list), set()
    for number, (_, _, outputs) in enumerate(groups):
        for signal in outputs:
            drivers[signal].append(number)

    def before(number):
        return iter([driver for signal in groups[number][1] for driver in drivers[signal]])

    for root in range(len(groups)):
        stack = [] if root in reached else [(root, before(root))]
        reached.add(root)
        while stack:
            number, rest = stack[-1]
            driver = next((each for each in rest if each not in reached), None)
            if driver is None:
                yield number
                stack.pop()
            else:
                reached.add(driver)
                stack.append((driver, before(driver)))


class OrderedEngine(pysim.PySimEngine):
    """Amaranth's engine but for the order in which combinational statements run."""

    def __init__(self, design):
        self._design, self._state = design, _State()
        self._testbenches, self._vcd_writers = [], []
        self._active_triggers, self._delta_cycles = set(), 0
        compiler = _Compiler(self._state)
        self._processes = compiler(design.fragment)
        groups = [compiler.groups[number] for number in in_order(compiler.groups)]
        self._runs = [run for run, _, _ in groups]
        self._state.is_due.extend(bytes(len(groups)))
        for index, (_, inputs, outputs) in enumerate(groups):
            for signal in inputs:
                self._state.slots[signal].readers.append(index)
            for signal in outputs:
                self._state.slots[signal].__class__ = _Wire
        self._run_all()

    def reset(self):
        super().reset()
        self._run_all()

    def _run_all(self):
        """Mark all groups as due."""
        self._state.is_due[:] = bytes([1]) * len(self._runs)

    def step_design(self):
        while True:
            super().step_design()
            if not self._settle():
                return

    def _settle(self):
        """Run the groups that are due, in order; return whether there were any."""
        is_due, runs = self._state.is_due, self._runs
        first = index = is_due.find(1)
        while index >= 0:
            is_due[index] = 0
            runs[index]()
            index = is_due.find(1, index)
            if index < 0:
                index = is_due.find(1)
        return first >= 0
