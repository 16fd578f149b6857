"""The choice of several cores for a mix of tasks: their functions, their intervals and their copies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rbdhw.design.entries import MixEntry
from rbdhw.options.build import CoreRequest
from rbdhw.runtime.number_bounds import MOST_II

STEPS = 60
"""The halvings of the search for the largest rate."""

MOST_SHARED = 8
"""The longest interval at which several copies of a core are compared with one."""

COPY = 0.1
"""The cost of a further copy, relative to the products of its functions: adders, registers and queues."""


@dataclass(frozen=True)
class Group:
    """Functions that may have a core of their own, and the products of a task of all of them."""

    functions: tuple[str, ...]
    products: int


@dataclass(frozen=True)
class Mix:
    """Tasks that are wanted in proportion."""

    tasks: Mapping[str, float]
    """The tasks of each function in one mix."""
    beats: Mapping[str, float]
    """The cycles in which the link carries a task of each function."""

    @property
    def link_rate(self) -> float:
        """The most mixes in a cycle that the link carries."""
        return 1.0 / sum(count * self.beats[name] for name, count in self.tasks.items())

    def load(self, functions: tuple[str, ...]) -> float:
        """Return the tasks of these functions in one mix."""
        return sum(self.tasks.get(name, 0.0) for name in functions)

    def core_rate(self, core: CoreRequest) -> float:
        """Return the most mixes in a cycle that a core serves."""
        return core.copies / core.ii / self.load(core.functions)

    def rate(self, cores: tuple[CoreRequest, ...]) -> float:
        """Return the most mixes in a cycle that these cores and the link serve."""
        return min(self.link_rate, *map(self.core_rate, cores))

    def limited_by_link(self, cores: tuple[CoreRequest, ...]) -> bool:
        """Return whether the link is slower than every core."""
        return self.rate(cores) == self.link_rate

    def entry(self, cores: tuple[CoreRequest, ...], clock_mhz: float) -> MixEntry:
        """Return the manifest's entry: the mix, its rate, and what limits it."""
        slowest = min(cores, key=self.core_rate)
        limit = "the streams" if self.limited_by_link(cores) else f"the core of {','.join(slowest.functions)}"
        return MixEntry(
            tasks=dict(self.tasks),
            mixes_per_second=round(self.rate(cores) * clock_mhz * 1e6),
            limited_by=limit,
        )


def choose_cores(groups: Mapping[tuple[str, ...], Group], mix: Mix, blocks: float) -> tuple[CoreRequest, ...]:
    """Return the cores that serve the most mixes with a number of multipliers.

    Each function is in one core. All ways are compared in which groups, of functions that may have a core,
    cover the functions. If even the slowest cores take more multipliers than ``blocks``, these are returned.
    """
    every = covers(list(groups.values()), set().union(*groups))
    candidates = (_fastest(cover, mix, blocks) for cover in every)
    return max(candidates, key=lambda cores: (mix.rate(cores), -len(cores)))


def covers(groups: list[Group], functions: set[str]) -> Iterator[list[Group]]:
    """Yield every choice of groups in which each function is exactly once."""
    if not functions:
        yield []
        return
    first = min(functions)
    for group in groups:
        if first in group.functions and functions.issuperset(group.functions):
            for others in covers(groups, functions.difference(group.functions)):
                yield [group, *others]


def _fastest(cover: list[Group], mix: Mix, blocks: float) -> tuple[CoreRequest, ...]:
    """Return the cores of these groups that serve the most mixes with a number of multipliers."""
    slow, fast = 0.0, mix.link_rate
    cores = tuple(_core(group, mix, fast) for group in cover)
    if _cost(cover, cores) <= blocks:
        return cores
    for _ in range(STEPS):
        middle = 0.5 * (slow + fast)
        cores = tuple(_core(group, mix, middle) for group in cover)
        slow, fast = (middle, fast) if _cost(cover, cores) <= blocks else (slow, middle)
    return tuple(_core(group, mix, slow) for group in cover)


def _core(group: Group, mix: Mix, rate: float) -> CoreRequest:
    """Return the cheapest core that serves a number of mixes in a cycle."""
    pace = rate * mix.load(group.functions)
    longest = min(MOST_II, math.floor(1.0 / pace + 1e-9)) if pace > 1.0 / MOST_II else MOST_II
    possible = [CoreRequest(group.functions, longest)] if longest else []
    possible += [
        CoreRequest(group.functions, ii, copies=math.ceil(pace * ii - 1e-9))
        for ii in range(max(1, longest), MOST_SHARED + 1)
        if math.ceil(pace * ii - 1e-9) > 1 or not longest
    ]
    return min(possible, key=lambda core: _core_cost(group, core))


def _core_cost(group: Group, core: CoreRequest) -> float:
    return core.copies * math.ceil(group.products / core.ii) + COPY * group.products * (core.copies - 1)


def _cost(cover: list[Group], cores: tuple[CoreRequest, ...]) -> float:
    return sum(_core_cost(group, core) for group, core in zip(cover, cores, strict=True))
