"""The table of paces: the builds that are compared, and how they are named."""

import numpy as np
import pytest

from benchmarks import paces
from benchmarks.paces import Pacing, pace_rows


def test_a_run_is_paced_by_its_middle():
    """Queues fill at the beginning, and pairs of streams end one after the other."""
    cycles = np.array([40, 41, 42, 44, 46, 48, 50, 52, 54, 56, 70, 80])
    assert paces._pace(cycles) == 2.0


@pytest.mark.verify
def test_copies_are_as_fast_as_their_number():
    single, fast = pace_rows("toy", [Pacing(0.1, 4, 512, [(("id",), 4)])])
    assert single["id"] == single["dfd"] == fast["dfd"]
    assert fast["times"]["id"] == pytest.approx(4.0, rel=0.01)
