"""The table of steps in time."""

import pytest

from benchmarks.integrators import (
    trajectories,
    trajectories_layout,
)


@pytest.mark.verify
def test_many_steps():
    """The error grows with time and falls with the width."""
    rows = trajectories("toy", widths=(18, 27), lengths=(2, 20))
    found = {(row["function"], row["h"], row["bits"], row["steps"]): row["q"] for row in rows}
    assert len(found) == 2 * 2 * 2 * 2
    for function in ("step", "rk4"):
        assert found[function, 0.001, 27, 20] < 0.5 * found[function, 0.001, 18, 20] < 1e-3
        assert found[function, 0.001, 27, 2] < found[function, 0.001, 27, 20]
    assert len(trajectories_layout(rows)) == 8
