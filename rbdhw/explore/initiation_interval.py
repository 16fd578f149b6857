"""The choice of the initiation interval: the shortest that the link allows and that fits the device."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from rbdhw.cores import KINDS
from rbdhw.errors import InputError
from rbdhw.estimate.model import percent, shares, short_of
from rbdhw.estimate.resources import Resources
from rbdhw.model.traffic import Traffic, slowest
from rbdhw.options.build import CHEAPER_CORE, BuildOptions, reason
from rbdhw.runtime.number_bounds import MOST_II
from rbdhw.target import Target

INTERVALS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Intervals at which designs are compared. Between two of them, a search assumes that a shorter interval
takes more resources."""

SMALLER = next(kind for kind in KINDS.values() if kind.is_smaller)
"""The kind of core that messages suggest for builds that do not fit."""


@dataclass(frozen=True)
class Interval:
    """The initiation interval in cycles, and the constraint that set it."""

    ii: int
    why: str


class Candidates(Protocol):
    """A build at any initiation interval: the interface that the choice of the interval needs."""

    @property
    def unit(self) -> int:
        """The number of which all intervals are multiples."""

    def serves(self, ii: int) -> bool:
        """Return whether a design can be built at an interval."""

    def link(self, ii: int) -> tuple[dict[str, Traffic], float]:
        """Return the packets of each function, and the clock in MHz."""

    def products(self, ii: int) -> int:
        """Return the products of one task that take multipliers at this interval and any longer one."""

    def estimate(self, ii: int) -> Resources:
        """Return the resources of the scheduled design; InputError if none can be built at this interval."""


def intervals(unit: int = 1) -> list[int]:
    """Return the intervals at which builds are compared, which are multiples of ``unit``."""
    return [unit * ii for ii in INTERVALS if unit * ii <= MOST_II]


def interval(
    options: BuildOptions,
    least: int,
    device: Target,
    candidates: Candidates,
    smaller: Candidates | None = None,
) -> Interval:
    """Return the initiation interval that the options give, or the shortest that link and device allow.

    A chosen interval fits the requested share of the device, or the whole device if none is requested.
    ``least`` is the shortest that the options and the cores allow. If the array core is possible but not
    among ``candidates``, ``smaller`` is the same build on it, and the InputError for a design that does not
    fit states whether it would.
    """
    start = Interval(least, reason(options.ii))
    if options.pacing is None:
        if options.fit is not None:
            _check_fit(least, options, options.fit, device, candidates, smaller)
        return start
    if options.pacing.link:
        start = link_interval(least, options.pacing.bandwidth, candidates)
    return find_fitting(start, options, device, candidates, smaller)


def link_interval(least: int, bandwidth: float | None, candidates: Candidates) -> Interval:
    """Return the shortest interval from ``least`` on at which the link carries the packets of every function.

    InputError if it exceeds :data:`rbdhw.runtime.number_bounds.MOST_II`.
    """
    ii = least
    while True:
        packets, clock_mhz = candidates.link(ii)
        function = slowest(packets, clock_mhz, bandwidth)
        needed = packets[function].interval(clock_mhz, bandwidth)
        if needed <= ii:
            return Interval(ii, _link_reason(function, packets[function], bandwidth))
        ii = next((k for k in range(needed, MOST_II + 1) if candidates.serves(k)), 0)
        if not ii:
            raise _link_refusal(function, packets[function], clock_mhz, bandwidth)


def _link_reason(function: str, packets: Traffic, bandwidth: float | None) -> str:
    if bandwidth is None:
        return (
            f"the streams: a task of {function} takes {packets.beats_in} beats in and {packets.beats_out} out"
        )
    size = f"{packets.bytes_in} bytes in and {packets.bytes_out} out"
    return f"{bandwidth:g} GB/s: a task of {function} takes {size}"


def _link_refusal(function: str, packets: Traffic, clock_mhz: float, bandwidth: float | None) -> InputError:
    needed = packets.interval(clock_mhz, bandwidth)
    option, remedy = "ii", "use fewer --functions or a wider --tdata"
    if bandwidth is not None:
        least = 1.01 * bandwidth * needed / MOST_II  # so that three digits of it suffice
        option, remedy = "bandwidth", f"use --bandwidth {least:.3g} or more"
    transfer = f"a task of {function} takes {needed:,} cycles of the link"
    return InputError(option, transfer, f"at most {MOST_II:,}", remedy)


def find_fitting(
    start: Interval,
    options: BuildOptions,
    device: Target,
    candidates: Candidates,
    smaller: Candidates | None = None,
) -> Interval:
    """Return the shortest interval from ``start`` on at which the design fits the share ``options.fit``.

    InputError if it fits at no interval up to the last of :data:`INTERVALS`.
    """
    share = options.fit or 1.0
    ii, fits = find_smallest_fitting(start.ii, share, device, candidates)
    if fits and ii == start.ii:
        return start
    if fits:
        return Interval(ii, f"the fewest that fit {percent(share)} of {device.name}")
    short = f"{_largest_shares(ii, share, device, candidates)}, and no other ii fits better"
    remedies = _smaller_builds(options)
    if smaller is not None:
        fitting = _find_fitting_smaller(options, share, device, smaller)
        if fitting is None:
            short += f", nor does any with --core {SMALLER.name}"
        else:
            remedies.insert(0, f"--core {SMALLER.name} (which fits at --ii {fitting})")
    elif SMALLER.needs(options) and not SMALLER.is_asked(options):
        remedies.append(f"{_smaller_options(options)}, which was not tried")
    option = "ii" if options.fit is None else "fit"
    raise InputError(option, short, remedy=_use(remedies))


def find_smallest_fitting(
    least: int, share: float, device: Target, candidates: Candidates, most: int = MOST_II
) -> tuple[int, bool]:
    """Return the shortest interval from ``least`` on at which a design fits a share of a device, and True.

    If none fits, the interval that comes closest and False are returned. Intervals at which the products
    alone need too many DSP blocks are skipped. The search finds the first of :func:`intervals`, up to
    ``most``, at which the design fits, and then bisects between it and the one before. InputError if the
    design can be built at no interval.
    """
    refused: dict[int, InputError] = {}

    def fits(ii: int) -> bool:
        try:
            return not short_of(candidates.estimate(ii), device, share)
        except InputError as error:
            refused[ii] = error
            return False

    allowed = max(1, math.floor(share * device.dsp_blocks))
    least = next(ii for ii in count(least) if candidates.serves(ii))
    least = min(max(least, math.ceil(candidates.products(least) / allowed)), MOST_II)
    least = next(ii for ii in count(least) if candidates.serves(ii))
    among = [ii for ii in intervals(candidates.unit) if least < ii <= most]
    tried = [least, *(ii for ii in among if candidates.serves(ii))]
    below = least
    for ii in tried:
        if fits(ii):
            between = [k for k in range(below + 1, ii + 1) if candidates.serves(k)] or [ii]
            return between[bisect_left(between[:-1], True, key=fits)], True
        below = ii
    built = [ii for ii in tried if ii not in refused]
    if not built:
        raise refused[tried[-1]]
    return min(built, key=lambda ii: max(shares(candidates.estimate(ii), device).values())), False


def _check_fit(
    ii: int,
    options: BuildOptions,
    share: float,
    device: Target,
    candidates: Candidates,
    smaller: Candidates | None,
) -> None:
    """Refuse a design that does not fit at the given interval, with the intervals at which it would."""
    if not short_of(candidates.estimate(ii), device, share):
        return
    larger, fits = find_smallest_fitting(ii + 1, share, device, candidates)
    short = _largest_shares(ii, share, device, candidates)
    if not fits:
        short += f", and no ii up to {intervals(candidates.unit)[-1]} fits"
    remedies = [f"--ii {larger}"] if fits else _smaller_builds(options)
    most = larger - 1 if fits else intervals(candidates.unit)[-1]
    if smaller is not None and most >= SMALLER.least_ii:
        fitting = _find_fitting_smaller(options, share, device, smaller, most)
        if fitting is not None:
            remedies.insert(0, f"--core {SMALLER.name} --ii {fitting}")
        elif not fits:
            short += f", nor does any with --core {SMALLER.name}"
    elif SMALLER.needs(options) and not SMALLER.is_asked(options) and most >= SMALLER.least_ii:
        interval = f" --ii {SMALLER.least_ii} or more" if ii < SMALLER.least_ii else ""
        remedies.append(f"{_smaller_options(options)}{interval}, which was not tried")
    raise InputError("fit", short, remedy=_use(remedies))


def _find_fitting_smaller(
    options: BuildOptions, share: float, device: Target, smaller: Candidates, most: int = INTERVALS[-1]
) -> int | None:
    """Return the shortest interval up to ``most`` at which the array core fits, or None."""
    least = max(options.least_ii, SMALLER.least_ii)
    try:
        if options.pacing is not None and options.pacing.link:
            least = link_interval(least, options.pacing.bandwidth, smaller).ii
        ii, fits = find_smallest_fitting(least, share, device, smaller, most)
    except InputError:
        return None
    return ii if fits and ii <= most else None


def _smaller_builds(options: BuildOptions) -> list[str]:
    """Return the ways to make a design fit at any interval."""
    larger = "a larger --target" if options.fit is None else "a larger --fit"
    return ["fewer --functions", "a smaller --width", larger]


def _use(remedies: Sequence[str]) -> str:
    return f"use {' or '.join(filter(None, (', '.join(remedies[:-1]), remedies[-1])))}"


def _smaller_options(options: BuildOptions) -> str:
    """Return the options with which the array core would be tried."""
    core = CHEAPER_CORE if options.core == CHEAPER_CORE else SMALLER.name
    return " ".join(["--core", core, *SMALLER.needs(options)])


def _largest_shares(ii: int, share: float, device: Target, candidates: Candidates) -> str:
    short = " and ".join(map(str, short_of(candidates.estimate(ii), device, share)))
    return f"at an ii of {ii} the design takes {short} of {device.name}"
