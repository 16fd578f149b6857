"""The precedence of jobs, and what follows from it before any is placed: urgency, and the least copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from graphlib import TopologicalSorter

from rbdhw.cores.array.model import Job, Timing

Needs = Sequence[set[int]]
"""For each job, the jobs whose results it reads."""


def needs_of(jobs: Sequence[Job]) -> Needs:
    """Return for each job the jobs whose results it reads."""
    producer = {value: k for k, job in enumerate(jobs) for value in job.values}
    return [{producer[value] for value in job.operands} for job in jobs]


def users_of(needs: Needs) -> list[list[int]]:
    """Return for each job the jobs that read its results."""
    users: list[list[int]] = [[] for _ in needs]
    for k, needed in enumerate(needs):
        for other in needed:
            users[other].append(k)
    return users


def urgencies(jobs: Sequence[Job], needs: Needs, users: Sequence[Sequence[int]], timing: Timing) -> list[int]:
    """Return the cycles from each job's start to the end of the longest path through it."""
    urgency = [0] * len(users)
    left = [len(own) for own in users]
    waiting = [k for k, count in enumerate(left) if count == 0]
    while waiting:
        k = waiting.pop()
        own = timing.ready(jobs[k], 0) + 1
        urgency[k] = own + max((urgency[user] for user in users[k]), default=0)
        for other in needs[k]:
            left[other] -= 1
            if left[other] == 0:
                waiting.append(other)
    return urgency


def least_copies(jobs: Sequence[Job], needs: Needs, timing: Timing, lasting: int) -> int:
    """Return the copies of values that some jobs read late even if each job starts as early as it can.

    ``lasting`` are the cycles by which a copy extends the life of a value.
    """
    ready: dict[int, int] = {}
    last: Counter[int] = Counter()
    for k in TopologicalSorter(dict(enumerate(needs))).static_order():
        job = jobs[k]
        start = max((ready[value] + 1 for value in job.operands), default=0)
        for value in job.operands:
            last[value] = max(last[value], start)
        ready |= dict.fromkeys(job.values, timing.ready(job, start))
    return sum((start - ready[value]) // lasting for value, start in last.items())
