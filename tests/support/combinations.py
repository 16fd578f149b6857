"""Combinations of parameters for the short run and for all tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest


def pairwise(fewest: Sequence[Any], some: Sequence[Any], many: Sequence[Any]) -> Iterator[Any]:
    """Yield all combinations of three parameters, the first of which has the fewest values.

    The short run has every combination of any two parameters; the other combinations are marked ``verify``.
    """
    for (i, a), (j, b), (k, c) in product(enumerate(fewest), enumerate(some), enumerate(many)):
        quick = i == (j + k) % len(fewest)
        yield pytest.param(a, b, c, marks=() if quick else pytest.mark.verify)
