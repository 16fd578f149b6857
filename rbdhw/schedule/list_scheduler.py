"""Modulo list scheduling: the step with the longest remaining path is placed first, as early as possible.

The graph is acyclic, so with enough units for the operations of one task a slot is always found. The result
is shortened by :mod:`rbdhw.schedule.shortening`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from graphlib import TopologicalSorter

from rbdhw.graph.twins import Group, delays
from rbdhw.schedule.model import Problem, Resource, Schedule, Step, Time
from rbdhw.schedule.shortening import shorten

EARLIEST = Time(0, 0.0)


def schedule(problem: Problem) -> Schedule:
    """Return a short schedule of every step; it satisfies :func:`rbdhw.schedule.verify.verify`."""
    return shorten(problem, list_schedule(problem))


def list_schedule(problem: Problem) -> Schedule:
    """Return the schedule of one pass over the steps, the most urgent first."""
    groups = problem.groups
    group_of = {i: g for g, group in enumerate(groups) for i in group}
    producer = problem.producer
    users: list[list[int]] = [[] for _ in groups]
    waiting = [0] * len(groups)
    for i, step in enumerate(problem.steps):
        for value in step.operands:
            if value in producer:
                users[group_of[producer[value]]].append(group_of[i])
                waiting[group_of[i]] += 1
    urgency = _urgency(problem, users)
    queue = [(-urgency[g], g) for g, count in enumerate(waiting) if count == 0]
    heapq.heapify(queue)
    placer = _Placer(problem)
    while queue:
        _, g = heapq.heappop(queue)
        placer.place(groups[g])
        for user in users[g]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(queue, (-urgency[user], user))
    return Schedule(tuple(placer.starts[i] for i in range(len(problem.steps))))


def _urgency(problem: Problem, users: list[list[int]]) -> list[float]:
    """Return the time (ns) from each group's start to the end of the longest path through it."""
    urgency = [0.0] * len(problem.groups)
    for g in TopologicalSorter(dict(enumerate(users))).static_order():  # users first
        step = problem.steps[problem.groups[g][0]]
        duration = step.delay + step.latency * problem.period
        urgency[g] = duration + max((urgency[user] for user in users[g]), default=0.0)
    return urgency


class _Placer:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._used: Counter[tuple[Resource, int, int]] = Counter()
        self._ready = {value: Time(cycle, 0.0) for value, cycle in problem.available.items()}
        self.starts: dict[int, Time] = {}

    def place(self, group: Group) -> None:
        """Start the steps of a group as early as operands, the rest of the cycle, and units allow."""
        steps, later_by = [self._problem.steps[i] for i in group], delays(len(group), self._problem.ii)
        start = EARLIEST
        for step, later in zip(steps, later_by, strict=True):
            for value in step.operands:
                ready = self._ready[value]
                start = max(start, Time(ready.cycle - later, ready.offset))
        start = max(self._in_cycle(step, start) for step in steps)
        if steps[0].resource is not None:
            limit = self._problem.limit(steps[0])
            while self._used[self._slot(steps[0], start.cycle)] >= limit:
                start = Time(start.cycle + 1, 0.0)
            self._used[self._slot(steps[0], start.cycle)] += 1
        for i, step, later in zip(group, steps, later_by, strict=True):
            self._put(i, step, Time(start.cycle + later, start.offset))

    def _slot(self, step: Step, cycle: int) -> tuple[Resource, int, int]:
        """Return the first slot of units that a step and its twins take if the first starts in a cycle."""
        assert step.resource is not None
        return step.resource, step.limbs, cycle % (self._problem.ii // step.limbs)

    def _put(self, i: int, step: Step, start: Time) -> None:
        self.starts[i] = start
        result = Time(start.cycle + step.latency, step.delay + (0.0 if step.latency else start.offset))
        for value in step.results:
            self._ready[value] = result

    def _in_cycle(self, step: Step, start: Time) -> Time:
        late = start.offset + step.setup > self._problem.period
        return Time(start.cycle + 1, 0.0) if late or (step.registered and start.offset > 0.0) else start
