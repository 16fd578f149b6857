"""The schedule of sweeps along a chain: when the step of each link starts, for one task after the other.

The stages of a method in time are steps of one sweep. They read the task's numbers from a memory.

The step of a link is scheduled like a task of its own, every ``window`` cycles. Time is counted in such
windows: in each, one link of some task enters each sweep. The links of a task enter a sweep a fixed number of
windows apart, at least as many as a step takes to hand on its results. In between, links of other tasks
enter. A task starts every ``links`` windows, so each window belongs to one link only if that number of
windows has no divisor in common with the number of links. Where a robot branches, what a link hands on waits
in a memory, which takes :data:`STORE` windows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rbdhw.graph.sweeps import Sweeps
from rbdhw.schedule.model import Bound

STORE = 2
"""The windows from the one in which a number is written to a memory to the first in which it can be read."""

FIRST_WORDS = 1
"""The window, after that of a task's start, in which the numbers of its first link are written."""


@dataclass(frozen=True)
class SweepTime:
    """When links enter a sweep."""

    start: int  # the window in which the first link of the sweep enters, counted from the task's start
    step: int  # the windows from one link to the next
    delay: int  # the windows from a link's entry until its results are ready
    inward: bool  # whether the last link comes first

    def enters(self, link: int, links: int) -> int:
        return self.start + self.step * (links - 1 - link if self.inward else link)

    def ready(self, link: int, links: int) -> int:
        """Return the window in which a link's results are ready."""
        return self.enters(link, links) + self.delay

    def last(self, links: int) -> int:
        """Return the window in which the results of the sweep's last link are ready."""
        return self.ready(0 if self.inward else links - 1, links)


@dataclass(frozen=True)
class SweepSchedule:
    """When the links of a task enter each sweep."""

    step: Bound  # the schedule of a link's step, at the interval of a window
    links: int  # the number of links, or of stages
    sweeps: tuple[SweepTime, ...]  # the times of each sweep, in order
    # The window in which the result of the first link is put out; the others follow, one in each window.
    # Results that the last step has leave together, where that of a last link would follow.
    output: int
    function: str  # the function that the core computes

    @property
    def window(self) -> int:
        return self.step.ii

    @property
    def ii(self) -> int:
        return self.links * self.window

    @property
    def clock_mhz(self) -> float:
        return self.step.clock_mhz

    @property
    def latency(self) -> dict[str, int]:
        return {self.function: (self.output + self.links) * self.window}


def schedule_sweeps(
    step: Bound,  # the schedule of a link's step
    # The sweeps. If each link has a result, it has a number of the task, too, which is written in a window of
    # its own. Otherwise all steps read the same numbers, and the last one has the results.
    sweeps: Sweeps,
) -> SweepSchedule:
    """Return the schedule of the sweeps, each as early as the one before it allows."""
    times: list[SweepTime] = []
    links = sweeps.links
    start = FIRST_WORDS + STORE if sweeps.each_link else STORE
    for sweep in sweeps.sweeps:
        delay = math.ceil((step.latency[sweep.name] + 1) / step.ii)
        least = delay + STORE if sweeps.branches(sweep) else delay
        apart = next(k for k in range(least, least + links + 1) if math.gcd(k, links) == 1)
        times.append(SweepTime(start, apart, delay, sweep.inward))
        start = times[-1].last(links) + STORE
    last = times[-1]
    output = last.last(links) - links
    if sweeps.each_link:
        output = max(last.ready(link, links) + STORE - link for link in range(links))
    return SweepSchedule(step, links, tuple(times), output, sweeps.function)
