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

    def tabled(self, ii: int) -> int:
        """Return the most of these products that look-up tables within the share can compute instead."""

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
    start, choice = Interval(least, reason(options.ii)), _Choice(options, device, candidates, smaller)
    if options.pacing is None:
        if options.fit is not None:
            choice.check_fit(least)
        return start
    if options.pacing.link:
        start = _link_interval(least, options.pacing.bandwidth, candidates)
    return choice.find_fitting(start)


@dataclass(frozen=True)
class _Choice:
    """The choice among the candidates of a build, or on the array core, by the share of the device."""

    options: BuildOptions
    device: Target
    candidates: Candidates
    smaller: Candidates | None

    @property
    def share(self) -> float:
        """The share of the device that the design may use."""
        return self.options.fit or 1.0

    def find_fitting(self, start: Interval) -> Interval:
        """Return the shortest interval from ``start`` on at which the design fits.

        Raises InputError if it fits at no interval up to the last of :data:`INTERVALS`.
        """
        ii, fits = self._find_smallest(start.ii, self.candidates)
        if fits and ii == start.ii:
            return start
        if fits:
            return Interval(ii, f"the fewest that fit {percent(self.share)} of {self.device.name}")
        short, remedies = f"{self._largest_shares(ii)}, and no other ii fits better", self._smaller_builds()
        if self.smaller is not None:
            fitting = self._find_on_array(self.smaller, INTERVALS[-1])
            if fitting is None:
                short += f", nor does any with --core {SMALLER.name}"
            else:
                remedies.insert(0, f"--core {SMALLER.name} (which fits at --ii {fitting})")
        elif SMALLER.needs(self.options) and not SMALLER.is_asked(self.options):
            remedies.append(f"{self._array_options()}, which was not tried")
        option = "ii" if self.options.fit is None else "fit"
        raise InputError(option, short, remedy=_use(remedies))

    def check_fit(self, ii: int) -> None:
        """Refuse a design that does not fit at the given interval, with the intervals at which it would."""
        if not self._short(ii):
            return
        last = intervals(self.candidates.unit)[-1]
        larger, fits = self._find_smallest(ii + 1, self.candidates)
        short = self._largest_shares(ii)
        if not fits:
            short += f", and no ii up to {last} fits"
        remedies = [f"--ii {larger}"] if fits else self._smaller_builds()
        most = larger - 1 if fits else last
        if self.smaller is not None and most >= SMALLER.least_ii:
            fitting = self._find_on_array(self.smaller, most)
            if fitting is not None:
                remedies.insert(0, f"--core {SMALLER.name} --ii {fitting}")
            elif not fits:
                short += f", nor does any with --core {SMALLER.name}"
        elif SMALLER.needs(self.options) and not SMALLER.is_asked(self.options) and most >= SMALLER.least_ii:
            option = f" --ii {SMALLER.least_ii} or more" if ii < SMALLER.least_ii else ""
            remedies.append(f"{self._array_options()}{option}, which was not tried")
        raise InputError("fit", short, remedy=_use(remedies))

    def _find_smallest(self, least: int, candidates: Candidates, most: int = MOST_II) -> tuple[int, bool]:
        """Return the shortest interval from ``least`` on at which a design fits the share, and True.

        If none fits, the interval that comes closest and False are returned. Intervals at which the products
        alone need too many DSP blocks are skipped, except for the first if look-up tables can compute the
        others. The search finds the first of :func:`intervals`, up to ``most``, at which the design fits, and
        then bisects between it and the one before. Raises InputError if the design can be built at no
        interval.
        """
        refused: dict[int, InputError] = {}

        def fits(ii: int) -> bool:
            try:
                return not short_of(candidates.estimate(ii), self.device, self.share)
            except InputError as error:
                refused[ii] = error
                return False

        allowed = max(1, math.floor(self.share * self.device.dsp_blocks))
        least = next(ii for ii in count(least) if candidates.serves(ii))
        products, served = candidates.products(least), least * allowed
        if (
            self.options.fit is not None
            and served < products <= served + candidates.tabled(least)
            and fits(least)
        ):
            return least, True
        least = min(max(least, math.ceil(products / allowed)), MOST_II)
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
        return min(built, key=lambda ii: max(shares(candidates.estimate(ii), self.device).values())), False

    def _find_on_array(self, array: Candidates, most: int) -> int | None:
        """Return the shortest interval up to ``most`` at which the array core fits, or None."""
        least = max(self.options.least_ii, SMALLER.least_ii)
        try:
            if self.options.pacing is not None and self.options.pacing.link:
                least = _link_interval(least, self.options.pacing.bandwidth, array).ii
            ii, fits = self._find_smallest(least, array, most)
        except InputError:
            return None
        return ii if fits and ii <= most else None

    def _short(self, ii: int) -> Sequence[object]:
        """Return the resources of which the design takes more than the share."""
        return short_of(self.candidates.estimate(ii), self.device, self.share)

    def _largest_shares(self, ii: int) -> str:
        short = " and ".join(map(str, self._short(ii)))
        return f"at an ii of {ii} the design takes {short} of {self.device.name}"

    def _smaller_builds(self) -> list[str]:
        """Return the ways to make a design fit at any interval."""
        larger = "a larger --target" if self.options.fit is None else "a larger --fit"
        return ["fewer --functions", "a smaller --width", larger]

    def _array_options(self) -> str:
        """Return the options with which the array core would be tried."""
        core = CHEAPER_CORE if self.options.core == CHEAPER_CORE else SMALLER.name
        return " ".join(["--core", core, *SMALLER.needs(self.options)])


def _use(remedies: Sequence[str]) -> str:
    return f"use {' or '.join(filter(None, (', '.join(remedies[:-1]), remedies[-1])))}"


def _link_interval(least: int, bandwidth: float | None, candidates: Candidates) -> Interval:
    """Return the shortest interval from ``least`` on at which the link carries the packets of every function.

    Raises InputError if it exceeds :data:`rbdhw.runtime.number_bounds.MOST_II`.
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
        size = f"{packets.beats_in} beats in and {packets.beats_out} out"
        return f"the streams: a task of {function} takes {size}"
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
