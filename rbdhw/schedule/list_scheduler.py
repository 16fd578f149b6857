"""Modulo list scheduling: the step with the longest way to go is placed first, as early as it can be.

The graph is acyclic, so with enough units for the operations of one task a slot is always found.
"""

from __future__ import annotations

import heapq
from collections import Counter

from rbdhw.schedule.model import Problem, Resource, Schedule, Step, Time

EARLIEST = Time(0, 0.0)


def schedule(problem: Problem) -> Schedule:
    """A schedule of every step; :func:`rbdhw.schedule.verify.verify` holds for it."""
    producer = {value: i for i, step in enumerate(problem.steps) for value in step.results}
    users: list[list[int]] = [[] for _ in problem.steps]
    waiting = [0] * len(problem.steps)
    for i, step in enumerate(problem.steps):
        for value in step.operands:
            if value in producer:
                users[producer[value]].append(i)
                waiting[i] += 1
    urgency = _urgency(problem, users)
    queue = [(-urgency[i], i) for i, count in enumerate(waiting) if count == 0]
    heapq.heapify(queue)
    placer = _Placer(problem)
    while queue:
        _, i = heapq.heappop(queue)
        placer.place(i)
        for user in users[i]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(queue, (-urgency[user], user))
    return Schedule(tuple(placer.starts[i] for i in range(len(problem.steps))))


def _urgency(problem: Problem, users: list[list[int]]) -> list[float]:
    """Nanoseconds from a step's start to the end of the longest path through it."""
    urgency = [0.0] * len(problem.steps)
    for i in reversed(_topological(users)):
        step = problem.steps[i]
        own = step.delay + step.latency * problem.period
        urgency[i] = own + max((urgency[user] for user in users[i]), default=0.0)
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
        self._used: Counter[tuple[Resource, int]] = Counter()
        self._ready = dict.fromkeys(problem.available, EARLIEST)
        self.starts: dict[int, Time] = {}

    def place(self, i: int) -> None:
        """Start a step as early as operands, cycle and units allow."""
        step = self._problem.steps[i]
        start = max((self._ready[value] for value in step.operands), default=EARLIEST)
        start = self._in_cycle(step, start)
        while not self._free(step, start.cycle):
            start = Time(start.cycle + 1, 0.0)
        if step.resource is not None:
            self._used[step.resource, start.cycle % self._problem.ii] += 1
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
        return self._used[step.resource, cycle % self._problem.ii] < self._problem.limits[step.resource]
