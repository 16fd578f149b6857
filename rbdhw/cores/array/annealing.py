"""Annealing: move jobs of a placed array to other places where they need fewer connections.

A job takes the place of another job with as many terms, or an empty place, on a unit that is already
connected to what the job needs or serves. Its operands must be there in time, and its results must be ready
when they are read. Exchanges that lower the cost are accepted, and at first also some that raise it, fewer
with time (simulated annealing: Kirkpatrick, Gelatt and Vecchi, 1983). The units and the cycle of each
function's last result do not change.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice

from rbdhw.cores.array.model import (
    HOLD,
    ArrayResource,
    ArraySchedule,
    Constant,
    Factor,
    Handover,
    Output,
    Port,
    Term,
    Write,
    equivalent_terms,
    kept_window,
    slots_of,
)

INPUT, SHIFT = 1.0, 1.4
"""The cost of an input of a memory, and of a shift of an accumulator's products."""

TRIALS = 60
"""The number of exchanges tried for each job."""

MOST_TRIALS = 2_000_000
"""The most exchanges tried, so that the time does not grow with the number of jobs beyond some 30,000."""

TEMPERATURE = 0.6
"""The initial temperature: the loss at which one exchange in three is accepted."""

Move = tuple[int, int, int]
"""A job, its new unit, and the slot in which it starts there."""


def anneal(
    array: ArraySchedule,
    outputs: Mapping[str, Sequence[int]],
    widths: tuple[int, int],
    handed: Mapping[int, int] | None = None,
    seed: int = 0,
) -> ArraySchedule:
    """Return an equivalent array with the same latency, no more units, and at most as many connections.

    What is ``handed`` on takes no more cycles than before.
    """
    last: dict[int, int] = {}
    for function, values in outputs.items():
        for value in values:
            last[value] = min(array.latency[function], last.get(value, array.latency[function]))
    cycles = Handover.cycles(array, handed or {})
    for word, result in (handed or {}).items():
        if word in array.producer:
            last[result] = min(last[result], array.producer[word].start + cycles - 1)
    state = _State(array)
    before = state.cost
    _Annealer(state, last, widths, random.Random(seed)).run()
    return state.array().remove_idle_units() if state.cost < before else array


@dataclass
class _Place:
    """The place of a job: its terms as the unit reads them, and the writes that are needed only for it."""

    unit: int
    start: int
    terms: Sequence[Term]
    writes: list[tuple[Port, Write]] = field(default_factory=list)


class _State:
    """The places of all jobs, the state of units and memories that follows from them, and the cost."""

    def __init__(self, array: ArraySchedule) -> None:
        self.start = array
        self.ii = array.ii
        self.cost = 0.0
        self.jobs = [step.job for step in array.steps]
        self.producer = {value: k for k, job in enumerate(self.jobs) for value in job.values}
        self.places: dict[int, _Place] = {}
        self.ready: dict[int, int] = {}
        self.reads: dict[int, dict[Port, list[int]]] = defaultdict(dict)
        self.writes: dict[Port, dict[int, Write]] = {port: {} for port in array.ports()}
        self.slots: dict[Port, set[int]] = defaultdict(set)
        self.outputs: dict[Port, Counter[Output]] = defaultdict(Counter)
        self.shifts: dict[int, Counter[int]] = defaultdict(Counter)
        self.busy: dict[int, int] = defaultdict(int)
        self.on: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        """The jobs on a unit that take as many cycles, with the times at which they came."""
        self.readers: dict[int, list[int]] = defaultdict(list)
        for k, job in enumerate(self.jobs):
            for value in dict.fromkeys(job.operands):
                self.readers[value].append(k)
        self._times = count()
        for k, step in enumerate(array.steps):
            self.take(k, _Place(step.unit, step.start, step.job.terms))
        for port, row in array.writes.items():
            for write in row.values():
                self._write(port, write)

    def array(self) -> ArraySchedule:
        steps = []
        for k, step in enumerate(self.start.steps):
            place = self.places[k]
            job = replace(step.job, terms=tuple(place.terms))
            ready = self.start.timing.ready(job, place.start)
            steps.append(replace(step, job=job, unit=place.unit, start=place.start, ready=ready))
        writes = {
            port: {write.cycle % self.ii: write for write in sorted(row.values(), key=self._slot)}
            for port, row in self.writes.items()
            if row
        }
        return replace(self.start, steps=tuple(steps), writes=writes)

    def _slot(self, write: Write) -> int:
        return write.cycle % self.ii

    def free_slots(self, unit: int, cycles: int) -> int:
        """Return the slots of a unit in which successive cycles begin that are all free, as bits."""
        every = (1 << self.ii) - 1
        free = starts = every & ~self.busy[unit]
        for _ in range(min(cycles, self.ii) - 1):
            free = free >> 1 | (free & 1) << (self.ii - 1)
            starts &= free
        return starts

    def came(self, k: int) -> int:
        """Return when a job came to its unit."""
        return self.on[self.places[k].unit, self.jobs[k].cycles][k]

    def take(self, k: int, place: _Place) -> None:
        """Put a job in a place, and add the writes for it."""
        job = self.jobs[k]
        self.places[k] = place
        self.on[place.unit, job.cycles][k] = next(self._times)
        self.busy[place.unit] |= slots_of(place.start, job.cycles, self.ii)
        for term in place.terms:
            self.cost += SHIFT * (self.shifts[place.unit][term.shift] == 0)
            self.shifts[place.unit][term.shift] += 1
        for value, port, cycle in self._list_reads(k):
            self.reads[value].setdefault(port, []).append(cycle)
        for value in job.values:
            self.ready[value] = self.start.timing.ready(job, place.start)
        for port, write in place.writes:
            self._write(port, write)

    def leave(self, k: int) -> _Place:
        """Remove a job and the writes that are needed only for it, and return its place."""
        job, place = self.jobs[k], self.places[k]
        del self.on[place.unit, job.cycles][k]
        self.busy[place.unit] &= ~slots_of(place.start, job.cycles, self.ii)
        for term in place.terms:
            self.shifts[place.unit][term.shift] -= 1
            self.cost -= SHIFT * (self.shifts[place.unit][term.shift] == 0)
        unread = [(port, value) for value in job.values for port in self.reads[value]]
        for value, port, cycle in self._list_reads(k):
            self.reads[value][port].remove(cycle)
            if not self.reads[value][port]:
                del self.reads[value][port]
                unread.append((port, value))
        writes = [(port, self.writes[port][value]) for port, value in unread if value in self.writes[port]]
        for port, write in writes:
            self._remove_write(port, write)
        return _Place(place.unit, place.start, place.terms, writes)

    def _list_reads(self, k: int) -> Iterator[tuple[int, Port, int]]:
        job, place = self.jobs[k], self.places[k]
        if job.operand is not None:
            yield job.operand, Port(place.unit, 0), place.start
        for j, term in enumerate(place.terms):
            for index, factor in enumerate(term.factors):
                if not isinstance(factor, Constant):
                    yield factor, Port(place.unit, index), place.start + j

    def _write(self, port: Port, write: Write) -> None:
        self.writes[port][write.value] = write
        self.slots[port].add(self._slot(write))
        self.cost += INPUT * (self.outputs[port][write.output] == 0)
        self.outputs[port][write.output] += 1

    def _remove_write(self, port: Port, write: Write) -> None:
        del self.writes[port][write.value]
        self.slots[port].remove(self._slot(write))
        self.outputs[port][write.output] -= 1
        self.cost -= INPUT * (self.outputs[port][write.output] == 0)


def place_of(bits: int, n: int) -> int:
    """Return the place of the one of index ``n`` among the ones of a number, counted from the lowest."""
    position, width = 0, 1 << (bits.bit_length() - 1).bit_length()
    while width > 1:
        width >>= 1
        low = bits & ((1 << width) - 1)
        if n < low.bit_count():
            bits = low
        else:
            n -= low.bit_count()
            bits, position = bits >> width, position + width
    return position


class _PlaceSearch:
    """Checks a place for a job that has none, and finds the writes for its operands and its results."""

    def __init__(self, state: _State, k: int, unit: int, start: int) -> None:
        self._state, self._k = state, k
        self._age = kept_window(state.ii)
        self.place = _Place(unit, start, [])
        self._ready = state.start.timing.ready(state.jobs[k], start)

    def fits(self, terms: Sequence[Sequence[Term]]) -> bool:
        """Return whether the job fits the place; ``terms`` holds the equivalent forms of each term."""
        placed = []
        shifts = self._state.shifts[self.place.unit]
        for j, possible in enumerate(terms):
            term = next((way for way in possible if shifts[way.shift]), possible[0])
            factors = self._bring_factors(term, self.place.start + j)
            if factors is None:
                return False
            placed.append(replace(term, factors=factors))
        self.place.terms = placed
        for value in self._state.jobs[self._k].values:
            for port, cycles in self._state.reads[value].items():
                needed = self._bring(port, value, min(cycles), max(cycles))
                if needed is None:
                    return False
                self.place.writes += needed
        return True

    def _bring_factors(self, term: Term, read: int) -> tuple[Factor, Factor] | None:
        """Return factors in an order in which both can be in the unit's memories when they are read."""
        best: tuple[int, tuple[Factor, Factor], list[tuple[Port, Write]]] | None = None
        for turned in term.orders:
            writes: list[tuple[Port, Write]] = []
            for index, factor in enumerate(turned):
                if not isinstance(factor, Constant):
                    needed = self._bring(Port(self.place.unit, index), factor, read, read)
                    if needed is None:
                        break
                    writes += needed
            else:
                fresh = sum(self._state.outputs[port][write.output] == 0 for port, write in writes)
                if best is None or fresh < best[0]:
                    best = fresh, turned, writes
        if best is None:
            return None
        self.place.writes += best[2]
        return best[1]

    def _bring(self, port: Port, value: int, first: int, last: int) -> list[tuple[Port, Write]] | None:
        """Return the writes with which a memory holds a value from one cycle to another, or None."""
        state, planned = self._state, [write for other, write in self.place.writes if other == port]
        written = state.start.timing.write
        known = state.writes[port].get(value) or next((w for w in planned if w.value == value), None)
        if known is not None:
            return [] if known.cycle + written <= first and last < known.cycle + self._age else None
        k = state.producer[value]
        unit = self.place.unit if k == self._k else state.places[k].unit
        ready = self._ready if k == self._k else state.ready[value]
        result = state.jobs[k].results.index(value)
        best: Write | None = None
        for delay in range(HOLD):
            cycle = ready + delay
            slot = cycle % state.ii
            if cycle + written > first:
                break
            if last < cycle + self._age and slot not in state.slots[port]:
                if any(write.cycle % state.ii == slot for write in planned):
                    continue
                write = Write(value, Output(unit, result, delay), cycle)
                if state.outputs[port][write.output] or any(w.output == write.output for w in planned):
                    return [(port, write)]
                best = best or write
        return None if best is None else [(port, best)]


class _Annealer:
    def __init__(
        self, state: _State, last: Mapping[int, int], widths: tuple[int, int], rng: random.Random
    ) -> None:
        self.state, self._last, self._rng = state, last, rng
        self._ports = list(state.writes)
        self._terms = {
            k: [list(equivalent_terms(term, widths)) for term in job.terms]
            for k, job in enumerate(state.jobs)
            if job.resource is ArrayResource.ACCUMULATOR
        }

    def run(self) -> None:
        trials = min(TRIALS * len(self._terms), MOST_TRIALS)
        for n in range(trials):
            self._try(self._propose(), TEMPERATURE * (1.0 - n / trials) ** 2)

    def _try(self, moves: Sequence[Move], temperature: float) -> None:
        before = self.state.cost
        places = [(k, self.state.leave(k)) for k, _, _ in moves]
        made = []
        for move in moves:
            place = self._place(*move)
            if place is None:
                break
            self.state.take(move[0], place)
            made.append(move[0])
        loss = self.state.cost - before
        if len(made) == len(moves) and self._rng.random() < math.exp(-max(loss, 0.0) / temperature):
            return
        for k in reversed(made):
            self.state.leave(k)
        for k, place in reversed(places):
            self.state.take(k, place)

    def _place(self, k: int, unit: int, slot: int) -> _Place | None:
        """Return a place for a job on a unit and in a slot, or None."""
        start = self._start(k, slot)
        if start is None:
            return None
        search = _PlaceSearch(self.state, k, unit, start)
        return search.place if search.fits(self._terms[k]) else None

    def _start(self, k: int, slot: int) -> int | None:
        """Return a cycle in a slot, near the job's last one, that is neither too early nor too late."""
        state, job, place = self.state, self.state.jobs[k], self.state.places[k]
        timing = state.start.timing
        needed = [
            state.ready[v] + timing.write - j for j, term in enumerate(place.terms) for v in term.values
        ]
        earliest = max(0, *needed) if needed else 0
        reads = [min(cycles) - timing.write for value in job.values for cycles in state.reads[value].values()]
        leaves = [self._last[value] for value in job.values if value in self._last]
        latest = min(reads + leaves) - timing.ready(job, 0)
        half = state.ii // 2
        start = place.start + (slot - place.start + half) % state.ii - half
        start += state.ii * ((start < earliest) - (start > latest))
        return start if earliest <= start <= latest else None

    def _propose(self) -> list[Move]:
        """Return an exchange that may remove an input of a memory."""
        state, rng = self.state, self._rng
        port = rng.choice(self._ports)
        if not state.writes[port]:
            return []
        chosen = rng.choice(range(len(state.writes[port])))
        value, write = next(islice(state.writes[port].items(), chosen, None))
        if state.outputs[port][write.output] > rng.choice((1, 1, 2)):
            return []
        k = state.producer[value]
        if k in self._terms and rng.random() < 0.5:
            near = rng.choice([output.unit for output, uses in state.outputs[port].items() if uses])
        else:
            readers = [
                c for c in state.readers[value] if c in self._terms and state.places[c].unit == port.unit
            ]
            readers.sort(key=state.came)
            others = [other.unit for other in state.reads[value] if other.unit != port.unit]
            if not readers or not others:
                return []
            k, near = rng.choice(readers), rng.choice(others)
        if near == state.places[k].unit or state.start.units[near] is not ArrayResource.ACCUMULATOR:
            return []
        return self._move_to(k, near)

    def _move_to(self, k: int, unit: int) -> list[Move]:
        """Return moves of a job to a unit: to an empty place, or in exchange with another job."""
        state, rng = self.state, self._rng
        job, place = state.jobs[k], state.places[k]
        alike = state.on[unit, job.cycles]
        if not alike or rng.random() < 0.3:
            free = state.free_slots(unit, job.cycles)
            return [(k, unit, place_of(free, rng.choice(range(free.bit_count()))))] if free else []
        other = next(islice(alike, rng.choice(range(len(alike))), None))
        apart = not set(job.values) & set(state.jobs[other].operands)
        if not apart or set(state.jobs[other].values) & set(job.operands):
            return []
        return [(k, unit, state.places[other].start % state.ii), (other, place.unit, place.start % state.ii)]
