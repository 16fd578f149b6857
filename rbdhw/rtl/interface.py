"""What every core looks like from outside: see :class:`rbdhw.rtl.shell.Core`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.program import Flag, Program
from rbdhw.protocol import EXTENDED, HEADER


class CoreInterface(wiring.Component):
    """Takes a task's words, answers with its results a fixed number of cycles later; never stalls.

    Parameters
    ----------
    program
        What to compute.
    ii
        Cycles between tasks.
    latency
        Cycles from a task's start to the cycle in which its last result is computed, by function.

    Members
    -------
    phase_zero : Out
        Whether a task may start in this cycle.
    payload : In
        The words of the task that starts in this cycle, slot by slot.
    functions : In
        One-hot: its function, in the order of the program's.
    options : In
        The options of its header.
    result_F, overflow_F : Out
        For each function F the packed output words, and whether a value overflowed, of the task that
        started ``latency(F)`` cycles ago; registered. The words stay until those of a next task may come.
    """

    def __init__(self, program: Program, ii: int, latency: Mapping[str, int]) -> None:
        self.program = program
        self._ii = ii
        self._latency = latency
        members: dict[str, Any] = {
            "phase_zero": Out(1),
            "payload": In(sum(program.slots)),
            "functions": In(len(program.outputs)),
            "options": In(HEADER["options"][1]),
        }
        for function in program.outputs:
            members[f"result_{function}"] = Out(self.result_bits(function))
            members[f"overflow_{function}"] = Out(1)
        super().__init__(members)

    @property
    def ii(self) -> int:
        """Cycles between tasks."""
        return self._ii

    def latency(self, function: str) -> int:
        """Cycles from a task's start to its results."""
        return self._latency[function] + 1

    def result_bits(self, function: str) -> int:
        """The width of a function's packed output words."""
        return sum(word.format.width for word in self.program.outputs[function])

    def raised(self, flag: Flag) -> Any:
        """Whether the task that starts in this cycle raises a flag."""
        order = list(self.program.outputs)
        raised = Cat(self.functions[order.index(function)] for function in flag.functions).any()
        return raised & self.options[EXTENDED] if flag.optional else raised
