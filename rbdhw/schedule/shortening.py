"""Iterative modulo scheduling: shorten a schedule by giving urgent steps the units of other steps.

A list schedule never moves a step that it placed. Hence a step on the longest path may find every unit of its
slot occupied by steps that could have waited. Here every step has a deadline. A step that finds no unit in
time evicts the step that can wait longest, which is placed again (B. R. Rau, Iterative Modulo Scheduling,
1994).

Times are integers here: a cycle times ``Network.cycle``, plus picoseconds within the cycle.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

from rbdhw.fixed.program import Program
from rbdhw.graph.twins import Group, delays
from rbdhw.schedule.model import Bound, Problem, Resource, Schedule, Step, Time

PICOSECONDS = 1000
"""Picoseconds in a nanosecond."""

ROUNDING = 1e-6
"""The tolerance (ps) for rounding in sums of delays."""

LATENESS_LIMIT = 1.1
"""The ratio to the earliest possible end up to which the last result may be late for the sake of others."""

EVICTIONS = 50, 2
"""A search gives up after the first number of evictions, plus the number of sharing steps over the second."""


class Dependence(NamedTuple):
    """A group of steps uses a result of another group, a time after its start.

    The time until a ``registered`` result counts from the start of the cycle, that of others from the step's
    start.
    """

    group: int
    after: int
    registered: bool


class SharedUnits(NamedTuple):
    """Units that serve groups of steps.

    Each group occupies one unit in one slot of ``interval``.
    """

    resource: Resource
    limbs: int
    interval: int
    units: int


def shorten(problem: Problem, known: Schedule) -> Schedule:
    """Return a schedule with the earliest last result that this search finds, or ``known``.

    No output step ends later than in ``known``. The exception is a last result that would otherwise be later
    than :data:`LATENESS_LIMIT` times the earliest end with unlimited units.
    """
    network = Network(problem)
    soonest = max(network.unlimited_ends(), default=0)
    best = _shortest(network, known, soonest, keep_ends=True)
    if max(network.ends(best), default=0) > LATENESS_LIMIT * soonest:
        best = _shortest(network, best, soonest, keep_ends=False)
    return best


def _shortest(network: Network, known: Schedule, soonest: int, *, keep_ends: bool) -> Schedule:
    """Return the shortest schedule from a binary search for the last result's cycle, or ``known``.

    Where ends may change, it begins with the soonest: deadlines that leave no choice are often met where
    later ones are not.
    """
    best, ends = known, network.ends(known)
    highest = max(ends, default=0)
    middle = (soonest + highest) // 2 if keep_ends else soonest
    while soonest < highest:
        shorter = StartSearch(network, [min(end, middle) if keep_ends else middle for end in ends]).run()
        if shorter is None:
            soonest = middle + 1
        else:
            best, ends = shorter, network.ends(shorter)
            highest = max(ends)
        middle = (soonest + highest) // 2
    return best


class Network:
    """Groups of steps (twins form one group) in topological order, and their dependences."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        period = math.floor(problem.period * PICOSECONDS + ROUNDING)
        self.cycle = period + 1
        self.groups = _topological(problem)
        self.before: list[list[Dependence]] = [[] for _ in self.groups]
        self.after: list[list[Dependence]] = [[] for _ in self.groups]
        steps = [[problem.steps[i] for i in group] for group in self.groups]
        self.delays = [delays(len(group), problem.ii) for group in self.groups]
        self.length = [
            members[0].latency + later[-1] for members, later in zip(steps, self.delays, strict=True)
        ]
        self.room = [
            0
            if any(s.registered for s in members)
            else max(0, period - max(picoseconds(s.setup) for s in members))
            for members in steps
        ]
        self.pools = [None if s.resource is None else _pool(problem, s) for s, *_ in steps]
        self.arrival = [0] * len(self.groups)  # the cycle in which the last word of a group arrives
        self._connect()

    def _connect(self) -> None:
        position_of = {
            i: (g, later)
            for g, group in enumerate(self.groups)
            for i, later in zip(group, self.delays[g], strict=True)
        }
        producer = self.problem.producer
        for i, step in enumerate(self.problem.steps):
            user, later = position_of[i]
            words = (self.problem.available.get(value, 0) - later for value in step.operands)
            self.arrival[user] = max([self.arrival[user], *words])
            for j in dict.fromkeys(producer[value] for value in step.operands if value in producer):
                maker, earlier = position_of[j]
                made = self.problem.steps[j]
                after = (made.latency + earlier - later) * self.cycle + picoseconds(made.delay)
                self.before[user].append(Dependence(maker, after, made.latency > 0))
                self.after[maker].append(Dependence(user, after, made.latency > 0))

    def retime(self, g: int, was: Step, step: Step) -> None:
        """Give a group, whose steps take the time of ``was``, the time of another step."""
        later = (step.latency - was.latency) * self.cycle + picoseconds(step.delay) - picoseconds(was.delay)
        self.length[g] += step.latency - was.latency
        self.room[g] = 0 if step.registered else max(0, self.cycle - 1 - picoseconds(step.setup))
        self.after[g] = [
            Dependence(user, after + later, step.latency > 0) for user, after, _ in self.after[g]
        ]
        for user in {dependence.group for dependence in self.after[g]}:
            others = (dependence for dependence in self.before[user] if dependence.group != g)
            waits = (after for maker, after, _ in self.before[user] if maker == g)
            self.before[user] = [
                *others,
                *(Dependence(g, after + later, step.latency > 0) for after in waits),
            ]

    def ends(self, schedule: Schedule) -> list[int]:
        """Return the cycle of each group's last result; a group that others use gets the overall last one."""
        ends = [schedule.starts[group[0]].cycle + self.length[g] for g, group in enumerate(self.groups)]
        last = max(ends, default=0)
        return [last if self.after[g] else end for g, end in enumerate(ends)]

    def unlimited_ends(self) -> list[int]:
        """Return the cycle of each group's last result with unlimited units."""
        starts: list[int] = []
        for g in range(len(self.groups)):
            starts.append(self.earliest(g, starts, 0))
        return [start // self.cycle + length for start, length in zip(starts, self.length, strict=True)]

    def earliest(self, g: int, starts: Sequence[int], not_before: int) -> int:
        """Return the earliest start of a group from a cycle on, given the ``starts`` of earlier groups."""
        moment = max(not_before, self.arrival[g]) * self.cycle
        for maker, after, registered in self.before[g]:
            start = starts[maker]
            if registered:
                start -= start % self.cycle
            moment = max(moment, start + after)
        return self.fitting(g, moment)

    def fitting(self, g: int, moment: int) -> int:
        """Return the first time from a moment on at which a group can start within a cycle."""
        return moment if moment % self.cycle <= self.room[g] else (moment // self.cycle + 1) * self.cycle

    def latest(self, g: int, starts: Sequence[int], end: int) -> int:
        """Return the latest start of a group that ends in a cycle, given the ``starts`` of later groups."""
        moment = (end - self.length[g]) * self.cycle + self.room[g]
        for user, after, registered in self.after[g]:
            stands = starts[user] - after
            if registered or stands % self.cycle > self.room[g]:
                stands = stands // self.cycle * self.cycle + self.room[g]
            moment = min(moment, stands)
        return moment

    def latest_starts(self, ends: Sequence[int]) -> list[int]:
        """Return the latest start of each group, if its last result must be ready by a cycle of its own."""
        starts = [0] * len(self.groups)
        for g in reversed(range(len(self.groups))):
            starts[g] = self.latest(g, starts, ends[g])
        return starts

    def latest_arrival(self, values: Collection[int], ends: Sequence[int]) -> int:
        """Return the last cycle in which words may arrive for results of all groups by these cycles.

        Units are not limited.
        """
        starts = self.latest_starts(ends)
        taken = frozenset(values)
        users = (
            g
            for g, group in enumerate(self.groups)
            if any(not taken.isdisjoint(self.problem.steps[i].operands) for i in group)
        )
        return min((starts[g] // self.cycle for g in users), default=0)


def latest_ends(program: Program, bound: Bound, later: int, network: Network) -> list[int]:
    """Return the cycle by which each group must end if functions may take some cycles longer."""
    last = max(bound.latency.values())
    needed: dict[int, int] = {}
    for function, words in program.outputs.items():
        for word in words:
            needed[word.value] = min(needed.get(word.value, last), bound.latency[function])
    return [
        later
        + min(
            needed.get(value, last) + delays[-1] - delay
            for i, delay in zip(group, delays, strict=True)
            for value in network.problem.steps[i].results
        )
        for group, delays in zip(network.groups, network.delays, strict=True)
    ]


class StartSearch:
    """One search for a schedule that meets deadlines."""

    def __init__(
        self,
        network: Network,  # the groups to schedule
        # For each group the cycle by which its last result must be ready; feasible with unlimited units.
        ends: Sequence[int],
    ) -> None:
        self._network = network
        count = len(network.groups)
        self._late = network.latest_starts(ends)
        self._early: list[int] = []
        for g in range(count):
            self._early.append(network.earliest(g, self._early, 0))
        self._stale: set[int] = set()  # groups that may start earlier than `_early` says
        self._placed: dict[int, int] = {}
        self._last_tried: dict[int, int] = {}
        self._slots: dict[tuple[SharedUnits, int], dict[int, None]] = defaultdict(dict)
        sharing = [g for g, pool in enumerate(network.pools) if pool is not None]
        self._queue = [(self._late[g], g) for g in sharing]
        heapq.heapify(self._queue)
        self._evictions = EVICTIONS[0] + len(sharing) // EVICTIONS[1]

    def run(self) -> Schedule | None:
        """Return the schedule, or None if the search gives up."""
        while self._queue and self._evictions >= 0:
            _, g = heapq.heappop(self._queue)
            self._renew([g])
            cycle = self._free_cycle(g)
            if cycle is None:
                cycle = self._free_unit(g)
            self._last_tried[g] = self._placed[g] = cycle
            self._occupants(g, cycle)[g] = None
            self._delay(g, cycle * self._network.cycle)
        if self._evictions < 0:
            return None
        self._renew(self._stale)
        return self._schedule()

    def _occupants(self, g: int, cycle: int) -> dict[int, None]:
        """Return the groups that occupy units in the slot of a group that would start in a cycle."""
        pool = self._network.pools[g]
        assert pool is not None
        return self._slots[pool, cycle % pool.interval]

    def _free_cycle(self, g: int) -> int | None:
        """Return the first cycle in time in which a group can start on a free unit, or None."""
        pool, cycle = self._network.pools[g], self._network.cycle
        assert pool is not None
        first = self._early[g] // cycle
        last = min(self._late[g] // cycle, first + pool.interval - 1)
        return next((c for c in range(first, last + 1) if not self._full(g, c)), None)

    def _full(self, g: int, cycle: int) -> bool:
        """Return whether other groups occupy all units in the slot of a group in a cycle."""
        pool = self._network.pools[g]
        assert pool is not None
        return len(self._occupants(g, cycle)) == pool.units

    def _free_unit(self, g: int) -> int:
        """Return a cycle in time for a group after evicting from it the groups that can wait longest.

        It is later than the last cycle tried, if possible.
        """
        first, last = self._early[g] // self._network.cycle, self._late[g] // self._network.cycle
        tried = self._last_tried.get(g, -1)
        cycle = tried + 1 if first <= tried < last else first
        if self._full(g, cycle):
            victim = max(self._occupants(g, cycle), key=self._leeway)
            self._evict(victim)
            self._release(victim)
        return cycle

    def _leeway(self, g: int) -> tuple[int, int]:
        """Return how much later a placed group could start; the index makes it unique."""
        return self._late[g] - self._placed[g] * self._network.cycle, g

    def _evict(self, g: int) -> None:
        del self._occupants(g, self._placed.pop(g))[g]
        heapq.heappush(self._queue, (self._late[g], g))
        self._evictions -= 1

    def _delay(self, changed: int, start: int) -> None:
        """Let a group start at a time, and all that use its results no earlier than they can.

        Groups that are placed too early then are evicted. Nothing starts earlier than before, so only results
        that come later are looked at.
        """
        network, early, placed, stale = self._network, self._early, self._placed, self._stale
        heap, stands = [changed], {changed: start}
        while heap:
            g = heapq.heappop(heap)
            moment = network.fitting(g, stands.pop(g))
            if moment <= early[g]:
                continue
            early[g] = moment
            stale.discard(g)  # what it waited for otherwise is earlier
            cycle_start = moment - moment % network.cycle
            if g in placed and cycle_start > placed[g] * network.cycle:
                self._evict(g)
            for user, after, registered in network.after[g]:
                ready = (cycle_start if registered else moment) + after
                if user in stands:
                    stands[user] = max(ready, stands[user])
                elif ready > early[user]:
                    stands[user] = ready
                    heapq.heappush(heap, user)

    def _release(self, changed: int) -> None:
        """Let a group that is no longer placed, and all that use its results, start as early as they can.

        When that is becomes known where it is asked for; until then they count as starting when they did.
        """
        network, early, stale = self._network, self._early, self._stale
        path = [changed]
        stale.add(changed)
        while path:
            g = path.pop()
            moment = early[g]
            cycle_start = moment - moment % network.cycle
            for user, after, registered in network.after[g]:
                if user not in stale:
                    ready = (cycle_start if registered else moment) + after
                    if network.fitting(user, ready) == early[user]:  # else it waits for another result
                        stale.add(user)
                        path.append(user)

    def _renew(self, wanted: Iterable[int]) -> None:
        """Find out when groups can start."""
        network, early, stale = self._network, self._early, self._stale
        path = [g for g in wanted if g in stale]
        needed = set(path)
        while path:
            for maker, _, _ in network.before[path.pop()]:
                if maker in stale and maker not in needed:
                    needed.add(maker)
                    path.append(maker)
        for g in sorted(needed):
            early[g] = network.earliest(g, early, self._placed.get(g, 0))
        stale -= needed

    def _schedule(self) -> Schedule:
        starts: dict[int, Time] = {}
        for g, group in enumerate(self._network.groups):
            cycle, offset = divmod(self._early[g], self._network.cycle)
            for i, later in zip(group, self._network.delays[g], strict=True):
                starts[i] = Time(cycle + later, offset / PICOSECONDS)
        return Schedule(tuple(starts[i] for i in range(len(starts))))


def _pool(problem: Problem, step: Step) -> SharedUnits:
    assert step.resource is not None
    return SharedUnits(step.resource, step.limbs, problem.ii // step.limbs, problem.limit(step))


def picoseconds(nanoseconds: float) -> int:
    """Return a delay in picoseconds, rounded up."""
    return math.ceil(nanoseconds * PICOSECONDS - ROUNDING)


def _topological(problem: Problem) -> list[Group]:
    group_of = {i: g for g, group in enumerate(problem.groups) for i in group}
    maker = {value: group_of[i] for i, step in enumerate(problem.steps) for value in step.results}
    used = [
        {maker[value] for i in group for value in problem.steps[i].operands if value in maker}
        for group in problem.groups
    ]
    order = TopologicalSorter(dict(enumerate(used))).static_order()
    return [problem.groups[g] for g in order]
