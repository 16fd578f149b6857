"""The choice of a clock: that of the soonest answer, or the fastest one."""

from __future__ import annotations

import math
from collections.abc import Callable

from rbdhw.options.build import BEST_LATENCY

FINER, COARSER = 1.06, 1.25
"""The ratio from a clock to the next that is tried, for the soonest answer and for the fastest clock."""


def best_clock(goal: str, slow_mhz: float, answer: Callable[[float], float | None]) -> float:
    """Return the clock in whole MHz that serves a goal of :data:`rbdhw.options.build.CLOCK_GOALS` best.

    Parameters
    ----------
    slow_mhz
        A clock that is possible.
    answer
        Returns the time until a task is answered at a clock; None if no schedule meets the clock.
    """
    ratio = FINER if goal == BEST_LATENCY else COARSER
    clock = max(math.floor(slow_mhz / (2.0 if goal == BEST_LATENCY else 1.0)), 1)
    times: dict[int, float] = {}
    while (time := answer(clock)) is not None:
        times[clock] = time
        clock = math.ceil(clock * ratio)
    too_fast = clock
    while times and too_fast - max(times) > 1:
        clock = (max(times) + too_fast) // 2
        time = answer(clock)
        if time is None:
            too_fast = clock
        else:
            times[clock] = time
    if not times:
        return slow_mhz
    return float(min(times, key=times.__getitem__) if goal == BEST_LATENCY else max(times))
