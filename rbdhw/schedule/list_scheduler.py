"""Modulo list scheduling: the step with the longest remaining path is placed first, as early as possible.

The graph is acyclic, so with enough units for the operations of one task a slot is always found. The result
is shortened by :mod:`rbdhw.schedule.shortening`.
"""

from __future__ import annotations

import heapq
from collections import Counter

from rbdhw.schedule.model import Problem, Resource, Schedule, Step, Time
from rbdhw.schedule.shortening import shorten
from rbdhw.schedule.stages import find_frames, separate, within_frames

EARLIEST = Time(0, 0.0)


def schedule(problem: Problem) -> Schedule:
    """Return a short schedule of every step; it satisfies :func:`rbdhw.schedule.verify.verify`."""
    frames = find_frames(problem)
    if not any(frames):
        return shorten(problem, list_schedule(problem))
    inside = within_frames(problem, frames)
    return separate(problem, frames, shorten(inside, list_schedule(inside)))


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
    for g in reversed(_topological(users)):
        step = problem.steps[problem.groups[g][0]]
        own = step.delay + step.latency * problem.period
        urgency[g] = own + max((urgency[user] for user in users[g]), default=0.0)
    return urgency


def _topological(users: list[list[int]]) -> list[int]:
    waiting = Counter(user for line in users for user in line)
    ready = [i for i in range(len(users)) if waiting[i] == 0]
    order: list[int] = []
    while ready:
        i = ready.pop()
        order.append(i)
        for user in users[i]:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    return order


class _Placer:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._used: Counter[tuple[Resource, int, int]] = Counter()
        self._ready = dict.fromkeys(problem.available, EARLIEST)
        self.starts: dict[int, Time] = {}

    def place(self, group: tuple[int, ...]) -> None:
        """Start the steps of a group as early as operands, the rest of the cycle, and units allow."""
        steps = [self._problem.steps[i] for i in group]
        apart = self._problem.ii // len(group)
        start = EARLIEST
        for k, step in enumerate(steps):
            for value in step.operands:
                ready = self._ready[value]
                start = max(start, Time(ready.cycle - k * apart, ready.offset))
        start = max(self._in_cycle(step, start) for step in steps)
        while not all(self._free(step, start.cycle + k * apart) for k, step in enumerate(steps)):
            start = Time(start.cycle + 1, 0.0)
        for k, (i, step) in enumerate(zip(group, steps, strict=True)):
            self._put(i, step, Time(start.cycle + k * apart, start.offset))

    def _put(self, i: int, step: Step, start: Time) -> None:
        if step.resource is not None:
            self._used[step.resource, step.limbs, start.cycle % self._problem.ii] += 1
        self.starts[i] = start
        result = Time(start.cycle + step.latency, step.delay + (0.0 if step.latency else start.offset))
        for value in step.results:
            self._ready[value] = result

    def _in_cycle(self, step: Step, start: Time) -> Time:
        late = start.offset + step.setup > self._problem.period
        return Time(start.cycle + 1, 0.0) if late or (step.registered and start.offset > 0.0) else start

    def _free(self, step: Step, cycle: int) -> bool:
        if step.resource is None:
            return True
        used = self._used[step.resource, step.limbs, cycle % self._problem.ii]
        return used < self._problem.limit(step)
