"""Placement: assign a unit and a start cycle to each job.

Jobs are placed one after the other; jobs with the longest remaining path come first. A job may start if its
unit is free, its operands are in the unit's memories or can be written there before, and no memory takes two
words in a slot. Among the places in the first possible cycles, the cheapest is chosen: one that connects few
new outputs to memories, shifts products by amounts that the unit already has, and leaves no short gaps.

If there is no place for a job, copies of its operands are made, which a unit computes at another time and
other jobs may read as well. Words that are too wide to be copied are supplied one per cycle if they find no
place otherwise.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import or_
from typing import NamedTuple

from rbdhw.cores.array.fits import CONNECTION, SHIFT, Fit, Fits, Forms, Unit
from rbdhw.cores.array.jobs import least_copies, needs_of, urgencies, users_of
from rbdhw.cores.array.model import (
    HOLD,
    SUPPLIES,
    ArrayResource,
    ArraySchedule,
    ArrayStep,
    Constant,
    Job,
    Port,
    Term,
    Timing,
    Write,
    kept_window,
    slots_of,
)
from rbdhw.cores.array.vacancies import ALL, Vacancies
from rbdhw.errors import InputError
from rbdhw.fixed.fusion import GUARD_BITS

SPARE, MOST_SPARE = 0.02, 0.4
"""The accumulators beyond the least number, as shares of it: at first, and at most. A job that finds no place
gets one more. If any did, all jobs are placed once more, with half of these from the start."""

WINDOW = 12
"""The number of cycles after the first possible one in which a cheaper place is sought."""

COPY_AFTER = 2
"""The number of intervals after which a job without a place gets copies of its operands."""

GAP, WAIT = 4.0, 0.5
"""Approximate costs in look-up tables: a gap between jobs that is too short for most; a cycle of waiting."""

CLASH = 2.0
"""The cost, by those above, of two words of one job that are handed on in the same cycle: a memory takes one
word in a cycle."""

SOON = 1 << 12
"""The cycles of what follows a result that is handed on: more than any path to other results takes."""

SUPPLIED = 0.4
"""The share of an interval in which words of a task are supplied where results are handed on: what waits for
them is on the way to these results."""

LONG_GAP = 7
"""The number of slots of a gap that is long enough for most jobs."""


class Haste(NamedTuple):
    """How words come to be handed on: ``lead`` is the share of an interval before they are supplied.

    They are supplied in ``share`` of an interval: more words in a cycle find no place in the memories that
    they are for. If it is ``hurried``, words of one job are supplied in different cycles, and jobs on the way
    from them to results that are handed on take the first place that is free, whatever it costs.
    """

    lead: float = 0.2
    share: float = 0.125
    hurried: bool = False


UNHURRIED = Haste()


def place_jobs(
    jobs: Sequence[Job],
    outputs: dict[str, tuple[int, ...]],  # the values that leave the array, by function
    ii: int,
    clock_mhz: float,
    timing: Timing,
    registers: int,  # the number of pipeline registers of each product
    widths: tuple[int, int],  # the bits of an accumulator's operands, the wider first
    handed: Mapping[int, int] | None = None,  # words that a task takes from results of an earlier one
    extra: Mapping[ArrayResource, int] | None = None,  # units beyond the least number, and those of SPARE
    haste: Haste = UNHURRIED,
) -> ArraySchedule:
    """Return an array that does the jobs of one task every ``ii`` cycles.

    Raises InputError if there is no place for a job.
    """
    choices = (False, True) if any(job.wide for job in jobs) else (False,)
    for apart in choices:
        make = partial(_Placement, jobs, ii, timing, widths, handed or {}, haste, apart)
        more = Counter(extra or {})
        placement = make(more)
        if placement.place_all():
            if placement.added:
                half = max(placement.added // 2, 1)
                again = make(more + Counter({ArrayResource.ACCUMULATOR: half}))
                if again.place_all() and again.size < placement.size:
                    placement = again
            cycle = {value: step.ready for step in placement.steps for value in step.job.values}
            latency = {f: max((cycle.get(v, 0) for v in values), default=0) for f, values in outputs.items()}
            units = tuple(unit.resource for unit in placement.units)
            writes = {
                Port(number, index): dict(sorted(memory.slots.items()))
                for number, unit in enumerate(placement.units)
                for index, memory in enumerate(unit.memories)
                if memory.slots
            }
            steps = tuple(placement.steps)
            array = ArraySchedule(ii, clock_mhz, timing, units, steps, writes, latency, registers)
            return array.remove_idle_units()
    raise InputError("ii", f"the array found no place for all operations in {ii} cycles", "a larger ii")


class _Placement:
    """One attempt to place all jobs; if ``apart``, wide words are supplied one per cycle.

    The results of words that are ``handed`` on come before all others, in the order in which the next task
    takes them.
    ``extra`` are units beyond the least number; accumulators have those of :data:`SPARE`, too. ``added``
    counts those that the attempt added.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        ii: int,
        timing: Timing,
        widths: tuple[int, int],
        handed: Mapping[int, int],
        haste: Haste,
        apart: bool,
        extra: Mapping[ArrayResource, int],
    ) -> None:
        self.added = 0
        self._window, self._haste = WINDOW, haste
        self.steps: list[ArrayStep] = []
        self.units: list[Unit] = []
        self._jobs, self._ii, self._timing = jobs, ii, timing
        self._age = kept_window(ii)
        self._lasting = self._age - ii
        self._ready: dict[int, int] = {}
        self._origin: dict[int, tuple[int, int]] = {}
        self._fits = Fits(jobs, ii, timing.write, widths, self._ready, self._origin)
        wide = [value for job in jobs if job.wide for value in job.values]
        self._wide = frozenset(wide)
        self._ordered = {term.factors[0] for job in jobs for term in job.terms if term.ordered}
        self._turn = {value: k for k, value in enumerate(wide)} if apart else {}
        self._next = 1 + max((value for job in jobs for value in job.values), default=0)
        self._copies: dict[int, list[int]] = defaultdict(list)
        self._original: dict[int, int] = {}
        self._copied = 0  # the copies made for the last job that found no place with them
        # What each placed job added to memories and to the shifts of its unit.
        self._added: list[tuple[Sequence[tuple[int, Write]], set[int]]] = []
        self._needs, self._handed = needs_of(jobs), handed
        self._readers = self._readers_of_words() if haste.hurried else {}
        # How many words of a job are supplied in a cycle.
        self._supplied: dict[int, Counter[int]] = defaultdict(Counter)
        # The cycles in which words of the task are supplied before those that are handed on.
        self._lead = int(haste.lead * ii) if handed else 0
        least = self._least_units()
        accumulators = least[ArrayResource.ACCUMULATOR]
        least[ArrayResource.ACCUMULATOR] = math.ceil(accumulators * (1.0 + SPARE))
        units = {resource: count + extra.get(resource, 0) for resource, count in least.items()}
        self._most_added = math.ceil(accumulators * (1.0 + MOST_SPARE)) - units[ArrayResource.ACCUMULATOR]
        self._vacancies = Vacancies(ii, timing.write, self._ready, self._origin)
        for resource, count in units.items():
            for _ in range(count):
                self._add_unit(resource)

    def _readers_of_words(self) -> dict[int, list[int]]:
        """Return the jobs that read each word that is handed on."""
        return {
            job.values[0]: readers
            for job, readers in zip(self._jobs, users_of(self._needs), strict=True)
            if job.resource is ArrayResource.HANDOVER
        }

    def _least_units(self) -> dict[ArrayResource, int]:
        """Return how many units of each resource have cycles for all jobs."""
        least = least_copies(self._jobs, self._needs, self._timing, self._lasting)
        cycles = Counter({ArrayResource.ACCUMULATOR: least})
        for job in self._jobs:
            cycles[job.resource] += job.cycles
        share = dict.fromkeys(cycles, 1.0)
        if self._handed:
            share |= {ArrayResource.SOURCE: SUPPLIED, ArrayResource.HANDOVER: self._haste.share}
        return {
            resource: math.ceil(cycles[resource] / (share[resource] * self._ii)) for resource in sorted(share)
        }

    @property
    def size(self) -> tuple[int, int]:
        """The number of units, and the cycle of the last result: smaller is better."""
        return len(self.units), max((step.ready for step in self.steps), default=0)

    def place_all(self) -> bool:
        """Place every job, and return whether all found a place."""
        needs, users = self._needs, users_of(self._needs)
        urgency = urgencies(self._jobs, users, self._timing, {})
        if self._handed:
            first_use = {value: urgency[k] for k, job in enumerate(self._jobs) for value in job.values}
            results = {result: SOON + first_use.get(word, 0) for word, result in self._handed.items()}
            urgency = urgencies(self._jobs, users, self._timing, results)
        first = max(urgency, default=0) + 1
        for k, job in enumerate(self._jobs):
            if self._turn.keys() & set(job.values):  # its cycle is its own: a later one is another word's
                urgency[k] = first
        waiting = [len(needed) for needed in needs]
        queue = [(-urgency[k], k) for k, count in enumerate(waiting) if count == 0]
        heapq.heapify(queue)
        while queue:
            urgent, k = heapq.heappop(queue)
            self._window = 1 if self._haste.hurried and -urgent >= SOON else WINDOW
            while not self._place(self._jobs[k]) and not self._place_with_copies(self._jobs[k]):
                if self.added >= self._most_added or self._copied < self._unused():
                    return False
                self.added += 1
                self._add_unit(ArrayResource.ACCUMULATOR)
            for user in users[k]:
                waiting[user] -= 1
                if waiting[user] == 0:
                    heapq.heappush(queue, (-urgency[user], user))
        return True

    def _unused(self) -> int:
        """Return the accumulators without a job.

        Only the first is looked at for each job, so one more does not help a job and its copies if there were
        enough for all of them.
        """
        kind = ArrayResource.ACCUMULATOR
        return sum(not unit.busy for unit in self.units if unit.resource is kind)

    def _add_unit(self, resource: ArrayResource) -> None:
        self._vacancies.add_unit(len(self.units), resource)
        self.units.append(Unit(resource))

    def _place(self, job: Job, since: int = 0) -> bool:
        """Place a job at cycle ``since`` or later; return whether there is a place."""
        job = replace(job, terms=tuple(sorted(job.terms, key=self._available)))
        forms = self._fits.forms(job)
        bounds = self._bounds(job, forms)
        steady = self._steady(job)
        fits: dict[tuple[int, int], Fit | None] = {}
        best: tuple[float, int, int, Fit] | None = None
        earliest = max(self._earliest(job), since)
        last = self._ii if job.resource in SUPPLIES else earliest + COPY_AFTER * self._ii
        readers = self._readers.get(job.values[0], [])
        window = math.ceil(self._haste.share * self._ii) if readers else self._window
        start = earliest
        while start <= last:
            waited = WAIT * (start - earliest)
            alike = steady.start if start in steady else start
            units = self._vacancies.units(job, start)
            while units := units & ~(self._dear(bounds, best[0] - waited) if best else 0):
                unit = (units & -units).bit_length() - 1
                units &= units - 1
                if (unit, alike) not in fits:
                    fits[unit, alike] = self._fits.fit(job, forms, self.units[unit], alike)
                fit = fits[unit, alike]
                if fit is None:
                    continue
                cost = fit.cost + waited + self._gap_cost(unit, job, start)
                cost += CLASH * sum(self._supplied[start][reader] for reader in readers)
                if best is None:
                    last = min(last, start + window)
                if best is None or cost < best[0]:
                    best = cost, unit, start, fit
            start += 1
        if best is None:
            return False
        _, unit, start, fit = best
        self._take(job, unit, start, fit)
        return True

    def _available(self, term: Term) -> int:
        """Return the first cycle in which all values of a term can be read."""
        return max((self._ready[value] + self._timing.write for value in term.values), default=0)

    def _earliest(self, job: Job) -> int:
        """Return the first possible start of a job; the words of a task are supplied from cycle 1."""
        if job.resource is ArrayResource.HANDOVER:
            return 1 + self._lead
        if job.resource in SUPPLIES:
            return 1 + self._turn.get(job.values[0], 0) % self._ii
        if job.operand is not None:
            return self._ready[job.operand] + self._timing.write
        return max(0, *(self._available(term) - k for k, term in enumerate(job.terms)))

    def _steady(self, job: Job) -> range:
        """Return the starts of a job at which memories can hold the same operands in the same ways."""
        reads = [(job.operand, 0)] if job.operand is not None else []
        reads += [(value, k) for k, term in enumerate(job.terms) for value in term.values]
        ready = [self._ready[value] - k for value, k in reads]
        return range(max(ready) + HOLD, min(ready) + self._age) if ready else range(0)

    def _bounds(self, job: Job, forms: Sequence[Forms]) -> list[tuple[float, int]]:
        """Return costs of a job, each with the units on which it has at least this cost.

        Of shifts only the first term's counts, since the search for an order may lose the cost of another's.
        """
        first = [orders[0].shift for orders in forms[0]] if forms else []
        unshifted = self._vacancies.unshifted(first) if forms else 0
        bounds = [(0.0, ALL), (SHIFT, unshifted)]
        for n, units in enumerate(self._vacancies.inputs(job), 1):
            bounds += [(n * CONNECTION, units), (n * CONNECTION + SHIFT, units & unshifted)]
        return bounds

    @staticmethod
    def _dear(bounds: Sequence[tuple[float, int]], cost: float) -> int:
        """Return the units on which a job costs as much or more."""
        return reduce(or_, (units for least, units in bounds if least >= cost), 0)

    def _gap_cost(self, number: int, job: Job, start: int) -> float:
        """Return the cost of the gaps before and after a job."""
        busy = self.units[number].busy
        if job.resource is not ArrayResource.ACCUMULATOR or not busy:
            return 0.0

        def gap(cycle: int, step: int) -> float:
            free = 0
            while free < LONG_GAP and not busy >> ((cycle + step * free) % self._ii) & 1:
                free += 1
            return 0.0 if free == 0 else 0.5 if free < LONG_GAP else 0.15

        return GAP * (gap(start - 1, -1) + gap(start + job.cycles, 1))

    def _take(self, job: Job, number: int, start: int, fit: Fit) -> None:
        unit = self.units[number]
        unit.busy |= slots_of(start, job.cycles, self._ii)
        self._vacancies.set_busy(number, start, job.cycles, True)
        shifts = fit.shifts - unit.shifts
        self._added.append((fit.writes, shifts))
        unit.shifts |= shifts
        self._vacancies.set_shifts(number, shifts, True)
        for index, write in fit.writes:
            memory = unit.memories[index]
            memory.slots[write.cycle % self._ii] = write
            memory.values[write.value] = write.cycle
            memory.outputs.add(write.output)
            self._vacancies.set_write(Port(number, index), write, True)
            self._vacancies.set_connected(Port(number, index), write.output, True)
        if job.terms:
            job = replace(job, terms=tuple(fit.terms))
        self._supplied[start].update(self._readers.get(job.values[0], ()))
        ready = self._timing.ready(job, start)
        for result, value in enumerate(job.results):
            if value is not None:
                self._ready[value] = ready
                self._origin[value] = number, result
        self.steps.append(ArrayStep(job, number, start, ready))

    def _undo(self, count: int) -> None:
        while len(self.steps) > count:
            step, (writes, shifts) = self.steps.pop(), self._added.pop()
            unit = self.units[step.unit]
            unit.busy &= ~slots_of(step.start, step.job.cycles, self._ii)
            self._vacancies.set_busy(step.unit, step.start, step.job.cycles, False)
            unit.shifts -= shifts
            self._vacancies.set_shifts(step.unit, shifts, False)
            for index, write in writes:
                memory, port = unit.memories[index], Port(step.unit, index)
                del memory.slots[write.cycle % self._ii], memory.values[write.value]
                memory.outputs = {write.output for write in memory.slots.values()}
                self._vacancies.set_write(port, write, False)
                origin = write.output.unit, write.output.result
                left = any((output.unit, output.result) == origin for output in memory.outputs)
                self._vacancies.set_connected(port, write.output, left)
            for value in step.job.values:
                del self._ready[value], self._origin[value]
                if value in self._original:
                    self._copies[self._original.pop(value)].remove(value)

    def _place_with_copies(self, job: Job) -> bool:
        """Place a job after copying its values, one after the other, until it fits.

        The oldest values come first, because memories may not keep them until the job starts. If it does not
        fit, no copies stay.
        """
        placed = len(self.steps)
        since = self._earliest(job) - self._lasting
        narrow = (value for value in dict.fromkeys(job.operands) if value not in self._wide)
        for value in sorted(narrow, key=self._ready.__getitem__):
            copy = self._copy(value, since)
            if copy is None:
                continue
            job = _substitute_copy(job, value, copy)
            if self._place(job):
                return True
        self._copied = len(self.steps) - placed
        self._undo(placed)
        return False

    def _copy(self, value: int, since: int) -> int | None:
        """Return a copy of a value that is ready in a cycle or later, made from other copies if necessary."""
        original = self._original.get(value, value)
        for known in sorted(self._copies[original], key=self._ready.__getitem__):
            value = known
            if self._ready[known] >= since:
                return known
        while True:
            copy, self._next = self._next, self._next + 1
            moved = Term((value, Constant(1)), shift=GUARD_BITS, ordered=original in self._ordered)
            start = min(since, self._ready[value] + self._lasting)
            if not self._place(Job((copy,), ArrayResource.ACCUMULATOR, (moved,)), start):
                return None
            self._copies[original].append(copy)
            self._original[copy] = original
            value = copy
            if self._ready[value] >= since:
                return value


def _substitute_copy(job: Job, value: int, copy: int) -> Job:
    if job.operand is not None:
        return replace(job, operand=copy)
    terms = []
    for term in job.terms:
        first, second = (copy if factor == value else factor for factor in term.factors)
        terms.append(replace(term, factors=(first, second)))
    return replace(job, terms=tuple(terms))
