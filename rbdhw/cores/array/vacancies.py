"""Vacancies: which units of an array may take a job, and what they would at least have to add for it.

Sets of units are the bits of integers, so that an answer for all units takes a few operations. A unit may
still have no place for a job, or at a higher cost, because the writes of the job's own operands are in each
other's way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, reduce
from operator import or_

from rbdhw.cores.array.model import HOLD, ArrayResource, Constant, Job, Output, Port, Term, Write, kept_window

ALL = -1
"""The set of all units."""

MOST_COUNTED = 4
"""The most new inputs of memories that are counted for a job."""

Origin = tuple[int, int]
"""A unit, and the index of one of its outputs."""


class Vacancies:
    """What is busy, held and connected in an array that is being filled, as sets of units.

    ``written`` are the cycles from a write to the first read. ``ready`` and ``origin`` are the cycle in which
    each value is at an output first, and that output.
    """

    def __init__(self, ii: int, written: int, ready: Mapping[int, int], origin: Mapping[int, Origin]) -> None:
        self._ii, self._age, self._ready, self._origin = ii, kept_window(ii), ready, origin
        self._wait = written
        self._kinds: dict[ArrayResource, int] = defaultdict(int)
        self._used, self._busy = 0, [0] * ii
        self._shifted: dict[int, int] = defaultdict(int)
        self._written = [0] * ii, [0] * ii
        self._holding: tuple[dict[int, int], dict[int, int]] = defaultdict(int), defaultdict(int)
        self._connected: tuple[dict[Origin, int], dict[Origin, int]] = defaultdict(int), defaultdict(int)

    # Changes

    def add_unit(self, number: int, resource: ArrayResource) -> None:
        self._kinds[resource] |= 1 << number

    def set_busy(self, number: int, start: int, cycles: int, there: bool) -> None:
        """Note whether a unit is busy in successive cycles."""
        for slot in self._slots(start, cycles):
            self._busy[slot] = _with(self._busy[slot], number, there)
        self._used = _with(self._used, number, any(units >> number & 1 for units in self._busy))

    def set_shifts(self, number: int, shifts: Iterable[int], there: bool) -> None:
        """Note whether a unit has some shifts of products."""
        for shift in shifts:
            self._shifted[shift] = _with(self._shifted[shift], number, there)

    def set_write(self, port: Port, write: Write, there: bool) -> None:
        """Note whether a memory takes a value in the slot of a cycle, and holds it."""
        written, holding = self._written[port.operand], self._holding[port.operand]
        slot = write.cycle % self._ii
        written[slot] = _with(written[slot], port.unit, there)
        holding[write.value] = _with(holding[write.value], port.unit, there)

    def set_connected(self, port: Port, output: Output, there: bool) -> None:
        """Note whether a memory has inputs from an output of a unit, whatever their delay."""
        connected, origin = self._connected[port.operand], (output.unit, output.result)
        connected[origin] = _with(connected[origin], port.unit, there)

    def _slots(self, start: int, cycles: int) -> Iterator[int]:
        return ((start + k) % self._ii for k in range(min(cycles, self._ii)))

    # Answers

    def units(self, job: Job, start: int) -> int:
        """Return the units that may do a job from a cycle on; of unused units only the first."""
        units = self._kinds[job.resource]
        unused = units & ~self._used
        units = units & self._used | unused & -unused
        for slot in self._slots(start, job.cycles):
            units &= ~self._busy[slot]
        if job.operand is not None:
            units &= self._reached(start, 0, job.operand)
        for k, term in enumerate(job.terms):
            if units:
                units &= _both(term, partial(self._reached, start + k))
        return units

    def inputs(self, job: Job) -> list[int]:
        """Return the units that need a new input of a memory for a job's terms, two or more, and so on."""
        least, others, counted = [0] * MOST_COUNTED, 0, set[Origin]()
        for term in job.terms:
            lacking = ~_both(term, self._served)
            origins = {self._origin[value] for value in term.values}
            if counted.isdisjoint(origins):  # else one new input may serve both this term and another
                for n in range(MOST_COUNTED - 1, 0, -1):
                    least[n] |= least[n - 1] & lacking
                least[0] |= lacking
                counted |= origins
            others |= lacking
        least[0] |= others
        return least

    def unshifted(self, shifts: Iterable[int]) -> int:
        """Return the units that have none of some shifts."""
        return ~reduce(or_, (self._shifted[shift] for shift in shifts))

    def _reached(self, read: int, index: int, value: int) -> int:
        """Return the units whose memory holds a value, or can take it before a cycle in which it is read."""
        ready, full = self._ready[value], ALL
        for cycle in range(max(ready, read - self._age + 1), min(ready + HOLD, read + 1 - self._wait)):
            full &= self._written[index][cycle % self._ii]
        return self._holding[index][value] | ~full

    def _served(self, index: int, value: int) -> int:
        """Return the units whose memory holds a value, or has an input from its output."""
        return self._holding[index][value] | self._connected[index][self._origin[value]]


def _with(units: int, number: int, there: bool) -> int:
    return units | 1 << number if there else units & ~(1 << number)


def _both(term: Term, units: Callable[[int, int], int]) -> int:
    """Return the units in the sets of both factors of a term, by memory and value, in either order."""
    common = 0
    for order in term.orders:
        first, second = (
            ALL if isinstance(factor, Constant) else units(index, factor)
            for index, factor in enumerate(order)
        )
        common |= first & second
    return common
