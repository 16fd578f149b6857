"""The choice of a clock: that of the soonest answer, or the fastest one."""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import pairwise

from rbdhw.options.build import BEST_LATENCY

RATIO = 1.25
"""The ratio from a clock to the next that is tried first."""

MOST_TRIED = 36
"""The most clocks of which that of the soonest answer is chosen."""

Answer = Callable[[float], float | None]
"""Returns the time until a task is answered at a clock; None if no schedule meets the clock."""


def best_clock(goal: str, slow_mhz: float, answer: Answer) -> float:
    """Return the clock in whole MHz that serves a goal of :data:`rbdhw.options.build.CLOCK_GOALS` best.

    ``slow_mhz`` is a clock that is possible.
    """
    soonest = goal == BEST_LATENCY
    clock = max(math.floor(slow_mhz / (2.0 if soonest else 1.0)), 1)
    times: dict[int, float] = {}
    while (time := answer(clock)) is not None:
        times[clock] = time
        clock = math.ceil(clock * RATIO)
    if not times:
        return slow_mhz
    return float(_soonest(times, clock, answer) if soonest else _fastest(max(times), clock, answer))


def _fastest(possible: int, too_fast: int, answer: Answer) -> int:
    """Return the fastest clock that is possible."""
    while too_fast - possible > 1:
        clock = (possible + too_fast) // 2
        if answer(clock) is None:
            too_fast = clock
        else:
            possible = clock
    return possible


def _soonest(times: dict[int, float], too_fast: int, answer: Answer) -> int:
    """Return the clock of the least time that this search finds, given the times at some clocks.

    An answer takes no fewer cycles at a faster clock. So between two clocks it takes at least the cycles of
    the slower at almost the faster; where this is no sooner than another answer, no clock is tried. Of the
    other ranges the most promising is halved first.
    """
    times = dict(times)

    def between(slow: int, fast: int) -> tuple[float, int, int]:
        """Return the least time possible between two clocks, and both."""
        return times[slow] * slow / max(fast - 1, slow), slow, fast

    ranges = [between(slow, fast) for slow, fast in pairwise([*sorted(times), too_fast])]
    heapify(ranges)
    for _ in range(len(times), MOST_TRIED):
        least, slow, fast = heappop(ranges)
        if least >= min(times.values()):
            break
        clock = (slow + fast) // 2
        time = answer(clock)
        if time is not None:
            times[clock] = time
            heappush(ranges, between(clock, fast))
        heappush(ranges, between(slow, clock))
    return min(times, key=times.__getitem__)
