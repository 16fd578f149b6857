"""The interface of cores that take all words of a task in one cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.program import Flag, Program
from rbdhw.protocol import EXTENDED, HEADER


class CorePorts(wiring.Component):
    """Accepts a task's words and gives its results after a fixed number of cycles; never stalls.

    Members
    -------
    result_F, overflow_F : Out
        For each function F the packed output words, those of optional arrays last, of the task that started
        ``latency(F)`` cycles ago, until the earliest cycle in which the next results can follow; and, in the
        first of these cycles, whether a value overflowed. Both are registers.
    """

    def __init__(
        self,
        program: Program,  # the computation
        ii: int,  # cycles between tasks
        # By function, cycles from a task's start to the cycle in which its last result is computed.
        latency: Mapping[str, int],
    ) -> None:
        self.program = program
        self._ii = ii
        self._latency = latency
        members: dict[str, Any] = {
            "phase_zero": Out(1),  # whether a task may start in this cycle
            # The words of the task that starts in this cycle, slot by slot.
            "payload": In(sum(program.slots)),
            # One-hot: the function of that task, in the program's order.
            "functions": In(len(program.outputs)),
            "options": In(HEADER["options"][1]),  # the options of that task's header
        }
        for function in program.outputs:
            members[f"result_{function}"] = Out(self.result_bits(function))
            members[f"overflow_{function}"] = Out(1)
        super().__init__(members)

    @property
    def names(self) -> tuple[str, ...]:
        """The functions of the core."""
        return tuple(self.program.outputs)

    @property
    def slots(self) -> tuple[int, ...]:
        """The width of each slot of ``payload``."""
        return tuple(self.program.slots)

    @property
    def ii(self) -> int:
        """Cycles between tasks."""
        return self._ii

    def latency(self, function: str) -> int:
        """Return the cycles from a task's start to its results."""
        return self._latency[function] + 1

    def result_bits(self, function: str) -> int:
        """Return the width of a function's packed output words."""
        return sum(word.format.width for word in self.program.outputs[function])

    def flag_raised(self, flag: Flag) -> Any:
        """Return whether the task that starts in this cycle raises a flag."""
        order = list(self.program.outputs)
        raised = Cat(self.functions[order.index(function)] for function in flag.functions).any()
        return raised & self.options[EXTENDED] if flag.optional else raised
