"""Cases of a parametrised test that take long."""

from typing import Any

import pytest


def long(*values: Any) -> Any:
    """Return the values of a case that `make verify` runs and `make test` leaves out."""
    return pytest.param(*values, marks=pytest.mark.verify)
