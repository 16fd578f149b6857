"""The interface of cores that take the numbers of one link, and give one result, in each window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.column_reader import numbers_layout
from rbdhw.rtl.serial_layout import Reader


class SerialCore(wiring.Component):
    """Accepts a task in any cycle in which ``phase_zero`` is high, and never stalls.

    From that cycle on the edge reads the numbers of one link in each window, and the core takes them when
    they are there. Tasks may follow each other without a gap.
    """

    def __init__(
        self,
        *,
        function: str,  # the function of the core
        readers: Sequence[Reader],  # the numbers of each link
        slots: Sequence[int],  # the width of each slot of a task
        width: int,  # the bits of a result, of which each link has one
        window: int,  # the cycles of a window
        cycles: int,  # the cycles from a task's start to its last result
    ) -> None:
        self.readers = tuple(readers)
        self.names = (function,)
        self.slots = tuple(slots)
        self.width = width
        self.links = len(readers[0].links)
        self.ii = self.links * window
        self.cycles = cycles
        super().__init__(
            {
                "phase_zero": Out(1),  # whether a task may start in this cycle
                "first": Out(1),  # whether this is the first cycle of a window
                # The numbers of a link, in the first cycle of the window that begins `NUMBER_LATENCY` cycles
                # or more after the first one of the window in which it is read.
                "numbers": In(numbers_layout(self.readers)),
                # Whether this is the first cycle of the window in which the first result of a task arrives.
                # The other results follow, one in each window.
                "begins": Out(1),
                # In the first cycle of a window the result of a link, and with the last one whether a value
                # of the task overflowed.
                "result": Out(width),
                "overflow": Out(1),
            }
        )

    def latency(self, _function: str) -> int:
        """Return the cycles from a task's start to its last result."""
        return self.cycles

    @property
    def rounds(self) -> int:
        """The times at which a task could start, from that of a task's start until its first result."""
        return self.cycles // self.ii

    def result_bits(self, _function: str) -> int:
        return self.links * self.width


def serial(cores: Sequence[Any]) -> list[SerialCore]:
    """Return the cores, if they take the numbers of one link after the other; otherwise none."""
    serial_cores = [core for core in cores if isinstance(core, SerialCore)]
    return serial_cores if len(serial_cores) == len(cores) else []
