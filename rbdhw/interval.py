"""The initiation interval: what the link allows, and what fits a device."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from rbdhw.config import BuildOptions
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import Estimate
from rbdhw.estimate.model import shares, short_of
from rbdhw.link import Traffic, slowest
from rbdhw.target import Target

INTERVALS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Intervals at which designs are compared; between two of them a search assumes that less II takes more."""


@dataclass(frozen=True)
class Interval:
    """Cycles between tasks, and why they are so many."""

    ii: int
    why: str


@dataclass(frozen=True)
class Candidates:
    """What is known of a build at each initiation interval.

    Parameters
    ----------
    serves
        Whether a design can be built.
    link
        The packets of each function, and the clock in MHz.
    products
        Products of one task that take multipliers at this interval and any longer one.
    estimate
        What the scheduled design takes, on the core that takes less where there are several.
    """

    serves: Callable[[int], bool]
    link: Callable[[int], tuple[dict[str, Traffic], float]]
    products: Callable[[int], int]
    estimate: Callable[[int], Estimate]


def interval(options: BuildOptions, device: Target, candidates: Candidates) -> Interval:
    """The cycles between tasks: those asked for, or the fewest that the link allows and the device holds.

    Raises
    ------
    InputError
        Where the share of the device asked for does not hold the design.
    """
    found = Interval(options.ii, "asked for")
    if options.pacing is None:
        if options.fit is not None:
            _check_fit(options.ii, options.fit, device, candidates)
        return found
    if options.pacing.link:
        found = link_interval(options.ii, options.pacing.bandwidth, candidates)
    return found if options.fit is None else fitting(found, options.fit, device, candidates)


def link_interval(least: int, bandwidth: float | None, candidates: Candidates) -> Interval:
    """The fewest cycles, ``least`` or more, at which the packets of every function can come and go."""
    ii = least
    while True:
        packets, clock_mhz = candidates.link(ii)
        function = slowest(packets, clock_mhz, bandwidth)
        needed = packets[function].interval(clock_mhz, bandwidth)
        if needed <= ii:
            return Interval(ii, _link_reason(function, packets[function], bandwidth))
        ii = next(k for k in count(needed) if candidates.serves(k))


def _link_reason(function: str, packets: Traffic, bandwidth: float | None) -> str:
    ways = (packets.bytes_in, packets.bytes_out), (packets.beats_in, packets.beats_out)
    if bandwidth is None:
        return f"the streams: a task of {function} takes {ways[1][0]} beats in and {ways[1][1]} out"
    return f"{bandwidth:g} GB/s: a task of {function} takes {ways[0][0]} bytes in and {ways[0][1]} out"


def fitting(start: Interval, share: float, device: Target, candidates: Candidates) -> Interval:
    """The fewest cycles, those of ``start`` or more, at which the design takes no more than a share.

    Raises
    ------
    InputError
        Where none of up to the last of :data:`INTERVALS` do.
    """
    ii, fits = smallest_fitting(start.ii, share, device, candidates)
    if not fits:
        taken = _taken(ii, share, device, candidates)
        raise InputError(
            f"fit: {taken}, and no other ii fits better; "
            "expected fewer functions, a narrower width or a larger share"
        )
    return start if ii == start.ii else Interval(ii, f"the fewest that fit {share:.0%} of {device.name}")


def smallest_fitting(least: int, share: float, device: Target, candidates: Candidates) -> tuple[int, bool]:
    """The fewest cycles, ``least`` or more, at which a design takes no more than a share of a device.

    Intervals at which products alone take too many DSP blocks are not scheduled. Of :data:`INTERVALS`
    the first that fits is found, and between it and the one before the fewest by bisection. Where none fits,
    False and the interval that comes closest.
    """

    def fits(ii: int) -> bool:
        return not short_of(candidates.estimate(ii), device, share)

    allowed = max(1, math.floor(share * device.dsp_blocks))
    least = next(ii for ii in count(least) if candidates.serves(ii))
    least = max(least, math.ceil(candidates.products(least) / allowed))
    least = next(ii for ii in count(least) if candidates.serves(ii))
    tried = [least, *(ii for ii in INTERVALS if ii > least and candidates.serves(ii))]
    below = least
    for ii in tried:
        if fits(ii):
            between = [k for k in range(below + 1, ii + 1) if candidates.serves(k)] or [ii]
            return between[bisect_left(between[:-1], True, key=fits)], True
        below = ii
    return min(tried, key=lambda ii: max(shares(candidates.estimate(ii), device).values())), False


def _check_fit(ii: int, share: float, device: Target, candidates: Candidates) -> None:
    if short_of(candidates.estimate(ii), device, share):
        larger, fits = smallest_fitting(ii + 1, share, device, candidates)
        expected = f"an ii of {larger} would fit" if fits else f"none up to {INTERVALS[-1]} would fit"
        raise InputError(f"fit: {_taken(ii, share, device, candidates)}; {expected}")


def _taken(ii: int, share: float, device: Target, candidates: Candidates) -> str:
    short = " and ".join(map(str, short_of(candidates.estimate(ii), device, share)))
    return f"at an ii of {ii} the design takes {short} of {device.name}"
