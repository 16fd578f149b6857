"""Cases of a parametrised test that take long."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def long(*values: Any) -> Any:
    """Return the values of a case that `make verify` runs and `make test` leaves out."""
    return pytest.param(*values, marks=pytest.mark.verify)


def some(cases: Iterable[Sequence[Any]], step: int) -> list[Any]:
    """Return cases of which `make test` runs the first of every ``step``, and `make verify` all."""
    return [tuple(case) if k % step == 0 else long(*case) for k, case in enumerate(cases)]
