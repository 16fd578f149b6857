"""The table of paces: the builds that are compared, and how they are named."""

import numpy as np
import pytest

from benchmarks import paces
from benchmarks.paces import Pacing, pace_layout, pace_rows, planner
from rbdhw.protocol import DEFAULT_FUNCTIONS


def test_a_run_is_paced_by_its_middle():
    """Queues fill at the beginning, and pairs of streams end one after the other."""
    cycles = np.array([40, 41, 42, 44, 46, 48, 50, 52, 54, 56, 70, 80])
    assert paces._pace(cycles) == 2.0


@pytest.mark.verify
def test_builds_of_a_group_have_equal_streams_and_are_compared_with_one_core(monkeypatch):
    monkeypatch.setattr(
        paces,
        "_rates",
        lambda plan, options: (
            {
                name: plan.clock_mhz * next(c.copies / c.ii for c in options.cores if name in c.functions)
                for name in DEFAULT_FUNCTIONS
            }
            | {"mix": 1.0}
        ),
    )
    share = 0.02
    rows = pace_rows("toy", [Pacing(share, 2, 256, [(("id",), 3)])])
    single, fast = rows
    device = planner("toy").plan_cores(planner("toy").options).device
    assert [row["cores"].partition(":")[0] for row in rows] == ["all", "id"]
    assert fast["cores"].startswith("id:1*3 others:")
    assert all(row["dsp_blocks"] <= share * device.dsp_blocks for row in rows)
    assert single["times"] == dict.fromkeys((*DEFAULT_FUNCTIONS, "mix"), 1.0)
    assert fast["times"]["id"] == pytest.approx(fast["id"] / single["id"])
    lines = pace_layout(rows)
    assert [line["streams"] for line in lines] == ["2 × 256"] * 2
    assert lines[0]["dfd, times"] == "1.00"


@pytest.mark.verify
def test_copies_are_as_fast_as_their_number():
    single, fast = pace_rows("toy", [Pacing(0.1, 4, 512, [(("id",), 4)])])
    assert single["id"] == single["dfd"] == fast["dfd"]
    assert fast["times"]["id"] == pytest.approx(4.0, rel=0.01)
