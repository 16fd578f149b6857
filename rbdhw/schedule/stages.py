"""Stages in the schedule: twins that depend on each other, because a stage starts from the one before it.

Limbs run side by side, so all of their twins fit into one time frame. Stages follow each other. Each has a
*frame* of its own, which starts a fixed number of cycles after the frame before it. The scheduler places all
steps as if their frames started together, and ignores dependences between frames; then the frames are moved
apart until these dependences hold. A move by a multiple of the interval changes no slot, so the units stay
free where they were.

The derivatives of a stage come late, and the next stage needs them late. A step that reads them as early as
possible within its frame would keep the frames further apart than need be. So the steps are placed once more,
and such steps are held back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from rbdhw.schedule.model import Problem, Schedule, Step, Time
from rbdhw.schedule.shortening import PICOSECONDS, Network


def find_frames(problem: Problem) -> list[int]:
    """Return the frame of each step; without twins that depend on each other all are in frame 0.

    The steps of a group are as many frames apart as their stages. No step is in a frame before its operands.
    """
    if not _depend_on_twins(problem):
        return [0] * len(problem.steps)
    producer = problem.producer
    group_of = {i: group for group in problem.groups for i in group}
    turn_of = {i: k for group in problem.groups for i, k in zip(group, group.places, strict=True)}
    frames = [turn_of[i] for i in range(len(problem.steps))]
    changed = True
    while changed:
        changed = False
        for i, step in enumerate(problem.steps):
            least = max((frames[producer[v]] for v in step.operands if v in producer), default=0)
            if least > frames[i]:
                changed = True
                for member in group_of[i]:
                    frames[member] = least + turn_of[member] - turn_of[i]
    return frames


def within_frames(problem: Problem, frames: Sequence[int]) -> Problem:
    """Return the problem without the dependences between frames."""
    producer = problem.producer
    steps = tuple(
        replace(
            step, operands=tuple(v for v in step.operands if v in producer and frames[producer[v]] == frame)
        )
        for step, frame in zip(problem.steps, frames, strict=True)
    )
    return replace(problem, steps=steps)


def separate(problem: Problem, frames: Sequence[int], known: Schedule) -> Schedule:
    """Return a schedule :func:`within_frames` with the frames as far apart as the problem requires."""
    apart = _distance(problem, frames, known.starts, known.starts)
    moved = (
        Time(start.cycle + frame * apart, start.offset)
        for start, frame in zip(known.starts, frames, strict=True)
    )
    return Schedule(tuple(moved))


def hold_back(problem: Problem, frames: Sequence[int], known: Schedule) -> tuple[Problem, int]:
    """Return the problem :func:`within_frames` with steps held back, and the number of steps added to it.

    The distance of frames is the least for which no step has to start later than ``known``, a schedule
    within frames, leaves time for; units are not considered. Each step that reads from an earlier frame
    waits for it: it gets one more operand, from a step without operands and units that is ready in time.
    These steps are the first ones.
    """
    inside = within_frames(problem, frames)
    apart = _distance(problem, frames, known.starts, _latest(inside, known))
    waiting: dict[int, Time] = {}
    for i, j in _between_frames(problem, frames):
        ready = _ready(problem, known.starts, j)
        moment = Time(ready.cycle - (frames[i] - frames[j]) * apart, ready.offset)
        if moment.cycle >= 0:
            waiting[i] = max(moment, waiting.get(i, moment))
    unused = 1 + max(value for step in problem.steps for value in (*step.results, *step.operands))
    steps, added = list(inside.steps), []
    for value, (i, moment) in enumerate(waiting.items(), unused):
        held = steps[i]
        added.append(Step((value,), (), held.region, None, 0.0, moment.cycle, moment.offset))
        steps[i] = replace(held, operands=(*held.operands, value))
    return replace(inside, steps=(*added, *steps)), len(added)


def last_cycle(problem: Problem, known: Schedule) -> int:
    """Return the cycle of the last result."""
    return max(start.cycle + step.latency for step, start in zip(problem.steps, known.starts, strict=True))


def _latest(inside: Problem, known: Schedule) -> list[Time]:
    """Return the latest start of each step with which no result is later than the last one of a schedule."""
    network = Network(inside)
    late, end = [0] * len(network.groups), max(network.ends(known))
    latest = [Time(0, 0.0)] * len(inside.steps)
    for g in reversed(range(len(late))):
        late[g] = network.latest(g, late, end)
        for i, later in zip(network.groups[g], network.delays[g], strict=True):
            latest[i] = Time(late[g] // network.cycle + later, late[g] % network.cycle / PICOSECONDS)
    return latest


def _distance(problem: Problem, frames: Sequence[int], made: Sequence[Time], read: Sequence[Time]) -> int:
    """Return the fewest cycles from a frame to the next, a multiple of the interval.

    Values are those of steps that start at ``made``, for steps that start at ``read``.
    """
    cycles = 0
    for i, j in _between_frames(problem, frames):
        ready, start = _ready(problem, made, j), read[i]
        missing = ready.cycle - start.cycle + (ready.offset > start.offset)
        cycles = max(cycles, math.ceil(missing / (frames[i] - frames[j])))
    return math.ceil(cycles / problem.ii) * problem.ii


def _between_frames(problem: Problem, frames: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the steps that read from an earlier frame, each with the step that computes the value."""
    producer = problem.producer
    for i, step in enumerate(problem.steps):
        for j in {producer[value] for value in step.operands if value in producer}:
            if frames[j] < frames[i]:
                yield i, j


def _ready(problem: Problem, starts: Sequence[Time], j: int) -> Time:
    """Return when the results of a step are ready."""
    made, start = problem.steps[j], starts[j]
    return Time(start.cycle + made.latency, made.delay + (0.0 if made.latency else start.offset))


def _depend_on_twins(problem: Problem) -> bool:
    """Return whether groups of steps depend on each other in a cycle."""
    producer = problem.producer
    group_of = {i: g for g, group in enumerate(problem.groups) for i in group}
    before: dict[int, set[int]] = {g: set() for g in range(len(problem.groups))}
    for i, step in enumerate(problem.steps):
        before[group_of[i]] |= {group_of[producer[value]] for value in step.operands if value in producer}
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return True
    return False
