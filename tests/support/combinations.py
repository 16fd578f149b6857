"""Combinations of parameters for the short run and for all tests."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import pytest


def pairwise(fewest: Sequence[Any], some: Sequence[Any], many: Sequence[Any]) -> Iterator[Any]:
    """Yield all combinations of three parameters, the first of which has the fewest values.

    The short run has every combination of any two parameters; the other combinations are marked ``verify``.
    """
    for (i, a), (j, b), (k, c) in product(enumerate(fewest), enumerate(some), enumerate(many)):
        quick = i == (j + k) % len(fewest)
        yield pytest.param(a, b, c, marks=() if quick else pytest.mark.verify)


def covering(choices: Sequence[Sequence[Any]]) -> Iterator[bool]:
    """Yield for each choice of parameters whether it belongs to the short run.

    The short run has every combination of any two values that is among the choices. Each time, the choice
    with the most combinations that are still missing is taken.
    """
    pairs = [set(combinations(enumerate(choice), 2)) for choice in choices]
    missing = set().union(*pairs)
    taken = set()
    while missing:
        best = max(range(len(choices)), key=lambda i: len(pairs[i] & missing))
        missing -= pairs[best]
        taken.add(best)
    for i in range(len(choices)):
        yield i in taken
