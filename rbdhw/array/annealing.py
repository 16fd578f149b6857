"""Exchanging: jobs of a placed array change places where that takes fewer connections.

A job takes the place of another with as many terms, or an empty one, on a unit that is connected already to
what it needs or serves, if its operands can be there in time and its results where they are read. Exchanges
that save something are made, and at first some that do not, fewer with time (simulated annealing:
Kirkpatrick, Gelatt and Vecchi, 1983). Units, and the cycle of each function's last result, stay as they are.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rbdhw.array.model import (
    HOLD,
    ArrayResource,
    ArraySchedule,
    Constant,
    Factor,
    Output,
    Port,
    Term,
    Write,
    kept_window,
    ways,
)

INPUT, SHIFT = 1.0, 1.4
"""What one more input of a memory costs, and one more shift of an accumulator's products."""

TRIALS = 60
"""Exchanges tried for each job."""

WARMTH = 0.6
"""The loss at which at first one exchange in three is made."""

Move = tuple[int, int, int]
"""A job, the unit on which it is to be, and the slot in which it is to begin there."""


def anneal(
    array: ArraySchedule, outputs: Mapping[str, Sequence[int]], width: int, seed: int = 0
) -> ArraySchedule:
    """An array that does the same in the same time on no more units, with fewer connections, or as many.

    Parameters
    ----------
    outputs
        The values that leave the array, by function.
    width
        Of an accumulator's operands.
    """
    last: dict[int, int] = {}
    for function, values in outputs.items():
        for value in values:
            last[value] = min(array.latency[function], last.get(value, array.latency[function]))
    state = _State(array)
    before = state.cost
    _Exchange(state, last, width, random.Random(seed)).run()
    return state.array().without_idle_units() if state.cost < before else array


@dataclass
class _Place:
    """Where a job is: its terms as the unit reads them, and words that are written for nothing else."""

    unit: int
    start: int
    terms: Sequence[Term]
    writes: list[tuple[Port, Write]] = field(default_factory=list)


class _State:
    """The places of all jobs, what follows from them, and what that costs."""

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
        self.on: dict[int, dict[int, None]] = defaultdict(dict)
        for k, step in enumerate(array.steps):
            self.take(k, _Place(step.unit, step.start, step.job.terms))
        for port, row in array.writes.items():
            for write in row.values():
                self._write(port, write)

    def array(self) -> ArraySchedule:
        """The array as it is now."""
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

    def mask(self, start: int, cycles: int) -> int:
        """The slots of successive cycles as bits."""
        bits = ((1 << cycles) - 1) << (start % self.ii)
        return (bits | bits >> self.ii) & ((1 << self.ii) - 1)

    def take(self, k: int, place: _Place) -> None:
        """Let a job be at a place, and write what is written for it."""
        job = self.jobs[k]
        self.places[k] = place
        self.on[place.unit][k] = None
        self.busy[place.unit] |= self.mask(place.start, job.cycles)
        for term in place.terms:
            self.cost += SHIFT * (self.shifts[place.unit][term.shift] == 0)
            self.shifts[place.unit][term.shift] += 1
        for value, port, cycle in self._reading(k):
            self.reads[value].setdefault(port, []).append(cycle)
        for value in job.values:
            self.ready[value] = self.start.timing.ready(job, place.start)
        for port, write in place.writes:
            self._write(port, write)

    def leave(self, k: int) -> _Place:
        """Take a job away, with the words that were written for nothing else: the place as it was."""
        job, place = self.jobs[k], self.places[k]
        del self.on[place.unit][k]
        self.busy[place.unit] &= ~self.mask(place.start, job.cycles)
        for term in place.terms:
            self.shifts[place.unit][term.shift] -= 1
            self.cost -= SHIFT * (self.shifts[place.unit][term.shift] == 0)
        unread = [(port, value) for value in job.values for port in self.reads[value]]
        for value, port, cycle in self._reading(k):
            self.reads[value][port].remove(cycle)
            if not self.reads[value][port]:
                del self.reads[value][port]
                unread.append((port, value))
        writes = [(port, self.writes[port][value]) for port, value in unread if value in self.writes[port]]
        for port, write in writes:
            self._unwrite(port, write)
        return _Place(place.unit, place.start, place.terms, writes)

    def _reading(self, k: int) -> Iterator[tuple[int, Port, int]]:
        """What a job reads: value, memory and cycle."""
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

    def _unwrite(self, port: Port, write: Write) -> None:
        del self.writes[port][write.value]
        self.slots[port].remove(self._slot(write))
        self.outputs[port][write.output] -= 1
        self.cost -= INPUT * (self.outputs[port][write.output] == 0)


class _Planning:
    """A place for a job that has none: the words that it needs, and that need it."""

    def __init__(self, state: _State, k: int, unit: int, start: int) -> None:
        self._state, self._k = state, k
        self._age = kept_window(state.ii)
        self.place = _Place(unit, start, [])
        self._ready = state.start.timing.ready(state.jobs[k], start)

    def fits(self, terms: Sequence[Sequence[Term]]) -> bool:
        """Whether the job can be there; ``terms`` are those of it, each as it may be moved."""
        placed = []
        shifts = self._state.shifts[self.place.unit]
        for j, possible in enumerate(terms):
            term = next((way for way in possible if shifts[way.shift]), possible[0])
            factors = self._brought(term.factors, self.place.start + j)
            if factors is None:
                return False
            placed.append(replace(term, factors=factors))
        self.place.terms = placed
        for value in self._state.jobs[self._k].values:
            for port, cycles in self._state.reads[value].items():
                found = self._bring(port, value, min(cycles), max(cycles))
                if found is None:
                    return False
                self.place.writes += found
        return True

    def _brought(self, factors: tuple[Factor, Factor], read: int) -> tuple[Factor, Factor] | None:
        """Factors, either way round, that can stand in the unit's memories when they are read."""
        best: tuple[int, tuple[Factor, Factor], list[tuple[Port, Write]]] | None = None
        for turned in (factors, (factors[1], factors[0])):
            writes: list[tuple[Port, Write]] = []
            for index, factor in enumerate(turned):
                if not isinstance(factor, Constant):
                    found = self._bring(Port(self.place.unit, index), factor, read, read)
                    if found is None:
                        break
                    writes += found
            else:
                fresh = sum(self._state.outputs[port][write.output] == 0 for port, write in writes)
                if best is None or fresh < best[0]:
                    best = fresh, turned, writes
        if best is None:
            return None
        self.place.writes += best[2]
        return best[1]

    def _bring(self, port: Port, value: int, first: int, last: int) -> list[tuple[Port, Write]] | None:
        """What must be written so that a value is in a memory from one cycle to another, if it can be."""
        state, own = self._state, [write for other, write in self.place.writes if other == port]
        known = state.writes[port].get(value) or next((w for w in own if w.value == value), None)
        if known is not None:
            return [] if known.cycle < first and last < known.cycle + self._age else None
        k = state.producer[value]
        unit = self.place.unit if k == self._k else state.places[k].unit
        ready = self._ready if k == self._k else state.ready[value]
        result = state.jobs[k].results.index(value)
        best: Write | None = None
        for delay in range(HOLD):
            cycle = ready + delay
            slot = cycle % state.ii
            if cycle >= first:
                break
            if last < cycle + self._age and slot not in state.slots[port]:
                if any(write.cycle % state.ii == slot for write in own):
                    continue
                write = Write(value, Output(unit, result, delay), cycle)
                if state.outputs[port][write.output] or any(w.output == write.output for w in own):
                    return [(port, write)]
                best = best or write
        return None if best is None else [(port, best)]


class _Exchange:
    def __init__(self, state: _State, last: Mapping[int, int], width: int, rng: random.Random) -> None:
        self.state, self._last, self._rng = state, last, rng
        self._ports = list(state.writes)
        self._terms = {
            k: [list(ways(term, width)) for term in job.terms]
            for k, job in enumerate(state.jobs)
            if job.resource is ArrayResource.ACCUMULATOR
        }

    def run(self) -> None:
        """Try exchanges, from warm to cold."""
        trials = TRIALS * len(self._terms)
        for n in range(trials):
            self._try(self._proposed(), WARMTH * (1.0 - n / trials) ** 2)

    def _try(self, moves: Sequence[Move], warmth: float) -> None:
        """Make moves at once if they are possible, and the loss is one that this warmth allows."""
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
        if len(made) == len(moves) and self._rng.random() < math.exp(-max(loss, 0.0) / warmth):
            return
        for k in reversed(made):
            self.state.leave(k)
        for k, place in reversed(places):
            self.state.take(k, place)

    def _place(self, k: int, unit: int, slot: int) -> _Place | None:
        """A place for a job on a unit, in a slot."""
        start = self._start(k, slot)
        if start is None:
            return None
        planning = _Planning(self.state, k, unit, start)
        return planning.place if planning.fits(self._terms[k]) else None

    def _start(self, k: int, slot: int) -> int | None:
        """A cycle in a slot, near the job's last one, that is neither too early nor too late for it."""
        state, job, place = self.state, self.state.jobs[k], self.state.places[k]
        needed = [state.ready[v] + 1 - j for j, term in enumerate(place.terms) for v in term.values]
        earliest = max(0, *needed) if needed else 0
        reads = [min(cycles) - 1 for value in job.values for cycles in state.reads[value].values()]
        leaves = [self._last[value] for value in job.values if value in self._last]
        latest = min(reads + leaves) - state.start.timing.ready(job, 0)
        half = state.ii // 2
        start = place.start + (slot - place.start + half) % state.ii - half
        start += state.ii * ((start < earliest) - (start > latest))
        return start if earliest <= start <= latest else None

    def _proposed(self) -> list[Move]:
        """An exchange that may make an input of a memory needless."""
        state, rng = self.state, self._rng
        port = rng.choice(self._ports)
        if not state.writes[port]:
            return []
        value, write = rng.choice(list(state.writes[port].items()))
        if state.outputs[port][write.output] > rng.choice((1, 1, 2)):
            return []
        k = state.producer[value]
        if k in self._terms and rng.random() < 0.5:
            near = rng.choice([output.unit for output, count in state.outputs[port].items() if count])
        else:
            readers = [c for c in state.on[port.unit] if c in self._terms and value in state.jobs[c].operands]
            others = [other.unit for other in state.reads[value] if other.unit != port.unit]
            if not readers or not others:
                return []
            k, near = rng.choice(readers), rng.choice(others)
        if near == state.places[k].unit or state.start.units[near] is not ArrayResource.ACCUMULATOR:
            return []
        return self._onto(k, near)

    def _onto(self, k: int, unit: int) -> list[Move]:
        """A job to a unit: to an empty place there, or to that of another job, which takes its own."""
        state, rng = self.state, self._rng
        job, place = state.jobs[k], state.places[k]
        alike = [other for other in state.on[unit] if state.jobs[other].cycles == job.cycles]
        if not alike or rng.random() < 0.3:
            busy = state.busy[unit]
            free = [slot for slot in range(state.ii) if not busy & state.mask(slot, job.cycles)]
            return [(k, unit, rng.choice(free))] if free else []
        other = rng.choice(alike)
        apart = not set(job.values) & set(state.jobs[other].operands)
        if not apart or set(state.jobs[other].values) & set(job.operands):
            return []
        return [(k, unit, state.places[other].start % state.ii), (other, place.unit, place.start % state.ii)]
