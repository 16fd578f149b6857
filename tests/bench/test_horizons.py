"""The table of horizons: answers come at the pace of the core, other tasks or none between them."""

import pytest

from rbdhw.bench.horizons import horizon_layout, horizon_rows
from rbdhw.config import CoreRequest


@pytest.mark.verify
def test_other_tasks_with_a_core_of_their_own_cost_nothing():
    rows = horizon_rows(
        "toy", (CoreRequest(("drk4",), 4), CoreRequest(("id", "dfd"), 4)), (1, 100), (0.0, 1.0)
    )
    cycles = {(row["points"], row["others"]): row["cycles"] for row in rows}
    assert cycles[100, 0.0] == cycles[1, 0.0] + 99 * 4 - 1
    assert cycles[100, 1.0] == cycles[100, 0.0]
    assert all(row["bytes"] < row["round trips"] for row in rows)
    assert len(horizon_layout(rows)) == 4
