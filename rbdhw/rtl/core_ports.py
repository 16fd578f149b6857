"""The interface of cores that take all words of a task in one cycle."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.program import Flag, Program, Word
from rbdhw.header import EXTENDED, HEADER

LATE_ENABLE, LATE_PAYLOAD = "late_enable", "late_payload"
"""The ports of words that can be given after the others of their task."""


class CorePorts(wiring.Component):
    """Accepts a task's words and gives its results after a fixed number of cycles; never stalls.

    For each function F, ``result_F`` are the packed output words, those of optional arrays last, of the task
    that started ``latency(F)`` cycles ago, until the earliest cycle in which the next results can follow. In
    the first of these cycles ``overflow_F`` states whether a value overflowed. Results are registers, and the
    overflow is a combination of registers.
    """

    def __init__(
        self,
        program: Program,  # the computation
        ii: int,  # cycles between tasks
        # By function, cycles from a task's start to the cycle in which its last result is computed.
        latency: Mapping[str, int],
        more: Mapping[str, Any] | None = None,  # ports beside those of all cores
        inside: Collection[str] = (),  # the functions whose results stay in the core
        # Words that can be given after the others, by value, and the cycle of their task in which they are.
        late: Mapping[int, int] | None = None,
    ) -> None:
        self.program = program
        self._ii = ii
        self._latency = latency
        self._late = dict(late or {})
        members: dict[str, Any] = {
            **(more or {}),
            "phase_zero": Out(1),  # whether a task may start in this cycle
            # The words of the task that starts in this cycle, slot by slot.
            "payload": In(sum(program.slots)),
            # One-hot: the function of that task, in the program's order.
            "functions": In(len(program.outputs)),
            "options": In(HEADER["options"][1]),  # the options of that task's header
        }
        # The packed late words of the task that started `late` cycles ago, and whether they take the place of
        # those that came with it.
        widths = {LATE_ENABLE: 1, LATE_PAYLOAD: sum(word.format.width for word in self.late_words)}
        members |= {name: In(widths[name]) for name in self.late_ports}
        for function in program.outputs:
            if function not in inside:
                members[f"result_{function}"] = Out(self.result_bits(function))
            members[f"overflow_{function}"] = Out(1)
        super().__init__(members)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.program.outputs)

    @property
    def slots(self) -> tuple[int, ...]:
        return tuple(self.program.slots)

    @property
    def ii(self) -> int:
        return self._ii

    def latency(self, function: str) -> int:
        """Return the cycles from a task's start to its results."""
        return self._latency[function] + 1

    @property
    def late(self) -> int:
        """The cycles from a task's start until its late words may be given; 0 if it has none."""
        return max(self._late.values(), default=0)

    @property
    def late_ports(self) -> tuple[str, ...]:
        """The ports of late words; none without them."""
        return (LATE_ENABLE, LATE_PAYLOAD) if self._late else ()

    @property
    def late_words(self) -> tuple[Word, ...]:
        return tuple(word for word in self.program.inputs if word.value in self._late)

    def result_bits(self, function: str) -> int:
        return sum(word.format.width for word in self.program.outputs[function])

    def flag_raised(self, flag: Flag, functions: Any, options: Any) -> Any:
        """Return whether a task of one of these ``functions`` (one-hot) and ``options`` raises a flag."""
        order = list(self.program.outputs)
        raised = Cat(functions[order.index(function)] for function in flag.functions).any()
        return raised & options[EXTENDED] if flag.optional else raised


def gather_overflows(
    m: Module,
    function: str,
    flags: Mapping[int, Sequence[Any]],  # the flags by the cycle of the task in which they are valid
    last: int,  # the first cycle in which the task's results are at the port, and the last one of a flag
) -> Any:
    """Return whether any flag of a task was raised, in the first cycle of its results."""
    if not flags:
        return Const(0)
    first = min(flags)
    seen: Any = Cat(*flags[first]).any()
    # Constant registers before the first flag would each cost synthesis another optimisation round.
    for cycle in range(first + 1, last + 1):
        earlier = Signal(name=f"{function}_overflow_before_{cycle}", reset_less=True)
        m.d.sync += earlier.eq(seen)
        seen = Cat(earlier, *flags.get(cycle, ())).any()
    return seen
