"""An independent check of the schedule of sweeps: it lists what happens to every link of a task."""

from __future__ import annotations

from collections.abc import Iterator

from rbdhw.cores.steps.schedule import SweepSchedule
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.graph.sweeps import Carried, Given, Kept, Shared, Source

Event = tuple[str, int]
"""A sweep by its name, and a link."""


class SweepError(Exception):
    """A schedule of sweeps breaks a rule."""


def verify_sweeps(program: UnrolledProgram, schedule: SweepSchedule) -> None:
    """Check that each link has the hardware to itself, and that everything that it reads is there.

    1. In each window at most one link enters a sweep, also with a task in every interval.
    2. A link enters when the results of the one before it in the sweep are ready, or later.
    3. A number that waits in a memory is read two windows after it was written, or later. It waits for a
       later sweep, or where the robot branches.
    4. The results leave in the order of the links, two windows after they were written or later. Those of
       the last step leave when they are ready, or later.

    Raises SweepError if a rule is broken.
    """
    sweeps, links = program.steps.sweeps, schedule.links
    entry, ready = _events(program, schedule)
    for sweep in sweeps.sweeps:
        windows = {entry[sweep.name, link] % links for link in range(links)}
        if len(windows) != links:
            raise SweepError(f"{sweep.name}: two links enter in one window")
        for name in sweep.step.inputs:
            for link in range(links):
                before = sweep.name, link + 1 if sweep.inward else link - 1
                needed = _needed(sweeps.sources[name], link, before, ready)
                if entry[sweep.name, link] < needed:
                    raise SweepError(f"{name}: link {link} enters before window {needed}")
    last = sweeps.sweeps[-1].name
    if not sweeps.each_link and schedule.output + links < ready[last, links - 1]:
        raise SweepError("the results leave before they are ready")
    for link in range(links if sweeps.each_link else 0):
        if schedule.output + link < ready[last, link] + 2:
            raise SweepError(f"the result of link {link} leaves before it is written")


def _events(program: UnrolledProgram, schedule: SweepSchedule) -> tuple[dict[Event, int], dict[Event, int]]:
    """Return the windows in which each link enters each sweep, and in which its results are ready."""
    entry: dict[Event, int] = {}
    ready: dict[Event, int] = {}
    for sweep, time in zip(program.steps.sweeps.sweeps, schedule.sweeps, strict=True):
        cycles = schedule.step.latency[sweep.name] + 1
        window = time.start
        for link in _order(schedule.links, sweep.inward):
            entry[sweep.name, link] = window
            ready[sweep.name, link] = -(-(window * schedule.step.ii + cycles) // schedule.step.ii)
            window += time.step
    return entry, ready


def _order(links: int, inward: bool) -> Iterator[int]:
    yield from reversed(range(links)) if inward else range(links)


def _needed(source: Source, link: int, before: Event, ready: dict[Event, int]) -> int:
    """Return the first window in which a link can read an input; ``before`` is the step before it."""
    match source:
        case Given():
            return link + 3  # the number of link k is written in window k + 1
        case Shared():
            return 2  # the task's numbers are written in window 0
        case Kept(output):
            return ready[output.partition(".")[0], link] + 2
        case Carried(_, _, ()):
            return ready.get(before, 0)
        case Carried(_, _, givers):
            giver = givers[link]
            return 0 if giver is None else ready[before[0], giver] + 2
        case _:
            return 0
