"""Stages in the schedule: twins that depend on each other, because a stage starts from the one before it.

Limbs run side by side, so all of their twins fit into one time frame. Stages follow each other. Each has a
*frame* of its own, which starts a fixed number of cycles after the frame before it. The scheduler places all
steps as if their frames started together, and ignores dependences between frames; then the frames are moved
apart until these dependences hold. A move by a multiple of the interval changes no slot, so the units stay
free where they were.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from rbdhw.schedule.model import Problem, Schedule, Time


def find_frames(problem: Problem) -> list[int]:
    """Return the frame of each step; without twins that depend on each other all are in frame 0.

    The k-th member of a group is k frames after the first, and no step is in a frame before its operands.
    """
    if not _depend_on_twins(problem):
        return [0] * len(problem.steps)
    producer = problem.producer
    group_of = {i: group for group in problem.groups for i in group}
    frames = [group_of[i].index(i) for i in range(len(problem.steps))]
    changed = True
    while changed:
        changed = False
        for i, step in enumerate(problem.steps):
            least = max((frames[producer[v]] for v in step.operands if v in producer), default=0)
            if least > frames[i]:
                changed = True
                group = group_of[i]
                first = least - group.index(i)
                for k, member in enumerate(group):
                    frames[member] = first + k
    return frames


def within_frames(problem: Problem, frames: Sequence[int]) -> Problem:
    """Return the problem without the dependences between frames."""
    producer = problem.producer
    steps = tuple(
        replace(
            step, operands=tuple(v for v in step.operands if v in producer and frames[producer[v]] == own)
        )
        for step, own in zip(problem.steps, frames, strict=True)
    )
    return replace(problem, steps=steps)


def separate(problem: Problem, frames: Sequence[int], known: Schedule) -> Schedule:
    """Return a schedule :func:`within_frames` with the frames as far apart as the problem requires."""
    apart = _least_distance(problem, frames, known.starts)
    moved = (
        Time(start.cycle + frame * apart, start.offset)
        for start, frame in zip(known.starts, frames, strict=True)
    )
    return Schedule(tuple(moved))


def _least_distance(problem: Problem, frames: Sequence[int], starts: Sequence[Time]) -> int:
    """Return the fewest cycles from a frame to the next, a multiple of the interval."""
    producer, cycles = problem.producer, 0
    for step, start, frame in zip(problem.steps, starts, frames, strict=True):
        for j in {producer[value] for value in step.operands if value in producer}:
            if frames[j] < frame:
                made = problem.steps[j]
                ready = starts[j].cycle + made.latency
                offset = made.delay + (0.0 if made.latency else starts[j].offset)
                missing = ready - start.cycle + (offset > start.offset)
                cycles = max(cycles, math.ceil(missing / (frame - frames[j])))
    return math.ceil(cycles / problem.ii) * problem.ii


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
