"""The tables of steps in time."""

from __future__ import annotations

import pytest

from rbdhw.bench.integrators import (
    STEPS,
    drifts,
    drifts_layout,
    step_builds,
    step_operations,
    step_operations_layout,
    trajectories,
    trajectories_layout,
)


def test_operations():
    rows = step_operations([("toy", "fixed")])
    assert [row["function"] for row in rows] == list(STEPS)
    assert all(0 < row["multiplications"] < 1000 for row in rows)
    own, beyond = step_operations_layout(rows)
    assert own["step"].endswith("4 words")
    assert (own[""], beyond[""]) == ("toy", "toy, beyond what it contains")


def test_builds():
    (row,) = step_builds([("toy", "fixed", "dstep", 2)])
    assert (row["II"], row["beats of an answer"]) == (2, 1)
    cycles = int(row["core latency"].split()[0])
    assert row["100 tasks"] == f"{cycles + 99 * 2} cycles"


def test_many_steps():
    """The error grows with time and falls with the width."""
    rows = trajectories("toy", widths=(18, 27), lengths=(2, 20))
    found = {(row["function"], row["h"], row["bits"], row["steps"]): row["q"] for row in rows}
    assert len(found) == 2 * 2 * 2 * 2
    for function in ("step", "rk4"):
        assert found[function, 0.001, 27, 20] < 0.5 * found[function, 0.001, 18, 20] < 1e-3
        assert found[function, 0.001, 27, 2] < found[function, 0.001, 27, 20]
    assert len(trajectories_layout(rows)) == 8


def test_energy_and_length_are_kept():
    rows = drifts(widths=(24,), swings=100, turns=300)
    exact = {row["function"]: row["energy"] for row in rows if row["bits"] is None}
    for row in rows:
        if row["bits"] is not None:
            assert row["energy"] == pytest.approx(exact[row["function"]], abs=1e-4)
            assert row["length"] < 1e-4
    assert exact["rk4"] < 1e-9 < exact["step"]
    assert drifts_layout(rows)[1]["bits"] == "float64"
