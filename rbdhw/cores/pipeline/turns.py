"""Which limbs of a group take turns in one piece of hardware at an initiation interval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TypeVar

Member = TypeVar("Member")


def can_take_turns(size: int, ii: int) -> bool:
    """Return whether some members of a group can take turns: their number divides the interval."""
    return any(ii % k == 0 for k in range(2, size + 1))


def take_turns(group: Sequence[Member], ii: int) -> list[Sequence[Member]]:
    """Return the parts of a group whose members take turns; what then remains is least."""
    sizes = [size for size in range(2, len(group) + 1) if ii % size == 0]
    if not sizes:
        return []
    size = min(sizes, key=lambda size: len(group) // size + len(group) % size)
    return [group[k : k + size] for k in range(0, len(group) - size + 1, size)]


def expected_intervals(size: int) -> str:
    """Return in words which intervals let members of a group of this size take turns."""
    primes = [k for k in range(2, size + 1) if all(k % j for j in range(2, k))]
    return f"a multiple of {' or '.join(map(str, primes))}"


def next_interval(sizes: Sequence[int], ii: int) -> int:
    """Return the first interval, from ``ii`` on, at which members of groups of these sizes can take turns."""
    return next(k for k in count(ii) if all(can_take_turns(size, k) for size in sizes))
