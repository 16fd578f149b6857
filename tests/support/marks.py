"""Cases of a parametrised test that take long."""

from collections.abc import Iterable
from typing import Any

import pytest


def long(*values: Any, minutes: float | None = None) -> Any:
    """Return the values of a case that `make verify` runs and `make test` leaves out.

    Parts of `make verify` are balanced by ``minutes``, of one core, where they are stated.
    """
    return pytest.param(*values, marks=pytest.mark.verify(minutes=minutes) if minutes else pytest.mark.verify)


def quick_among(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """Return cases, each a tuple of values, of which `make test` runs the ``quick`` ones alone."""
    return [case if case in quick else long(*case) for case in cases]


def some(cases: Iterable[Any], step: int) -> list[Any]:
    """Return cases: of every ``step`` that `make test` would run it runs the first, and `make verify` all."""
    chosen, quick = [], 0
    for case in cases:
        values, marks = getattr(case, "values", case), getattr(case, "marks", ())
        chosen.append(long(*values) if marks or quick % step else pytest.param(*values))
        quick += not marks
    return chosen
