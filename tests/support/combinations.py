"""Few combinations of parameters that have every combination of any two."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any


def pairwise(
    fewest: Sequence[Any], some: Sequence[Any], many: Sequence[Any]
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield every combination of any two of three parameters, the first of which has the fewest values."""
    for (i, a), (j, b), (k, c) in product(enumerate(fewest), enumerate(some), enumerate(many)):
        if i == (j + k) % len(fewest):
            yield a, b, c


def covering(choices: Sequence[Sequence[Any]]) -> list[int]:
    """Return places of choices that have every combination of any two values that is among the choices.

    Each time, the choice with the most combinations that are still missing is taken.
    """
    pairs = [set(combinations(enumerate(choice), 2)) for choice in choices]
    missing = set().union(*pairs)
    taken = set()
    while missing:
        best = max(range(len(choices)), key=lambda i: len(pairs[i] & missing))
        missing -= pairs[best]
        taken.add(best)
    return sorted(taken)
