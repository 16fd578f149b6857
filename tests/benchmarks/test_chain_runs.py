"""Forward dynamics of chains in floating and in fixed point: errors, times, and their tables."""

import numpy as np
import pytest

from benchmarks import chain_runs, timing
from benchmarks.chain_runs import (
    CALLS,
    chain_errors,
    chain_times,
    errors_layout,
    fixed_errors,
    motions,
    reference,
    times_layout,
)
from benchmarks.forward_dynamics import snake
from rbdhw import golden
from tests.support.marks import long


@pytest.mark.parametrize("links", [5, long(64)])
def test_the_reference_is_golden_with_more_digits(links: int) -> None:
    tasks = motions(links)
    accelerations = reference(links, tasks)
    expected = golden.evaluate(snake(links), "fd", tasks)["a"]
    assert accelerations.dtype == np.longdouble
    off = np.linalg.norm(np.float64(accelerations - expected), axis=1) / np.linalg.norm(expected, axis=1)
    # Golden solves with the mass matrix in double precision, whose rounding grows with its condition.
    condition = np.linalg.cond(golden.evaluate(snake(links), "m", tasks)["M"])
    assert 0.0 < (off / condition).max() < 16.0 * np.finfo(np.float64).eps


@pytest.mark.verify
def test_errors_fall_with_the_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_runs, "SAMPLES", 128)
    monkeypatch.setattr(chain_runs, "LONGEST_IN_FIXED_POINT", 3)
    monkeypatch.setattr(chain_runs, "MOST_LINKS", {"inverse": 3, "solves": 0, "eliminated": 0})
    short, *_ = rows = chain_errors((3, 4), (18, 32))
    assert [(row["links"], row["way"]) for row in rows] == [
        *((3, way) for way in ("inverse", "propagated", "reduced")),
        *((4, way) for way in ("propagated", "reduced")),
    ]
    for row in rows:
        assert 0.0 < row["float64"]["median"] <= row["float64"]["max"] < 1e-8
        assert 1e-9 < row["float32"]["median"] <= row["float32"]["max"] < 1e-2
    for row in rows[:3]:
        assert 0.0 < 16.0 * row["32 bits"]["median"] < row["18 bits"]["median"]
    assert list(errors_layout(rows)[0]) == ["links", "way", "float64", "float32", "18 bits", "32 bits"]
    assert errors_layout(rows)[-1]["18 bits"] == "-"
    assert errors_layout([{**short, "float64": {"median": 1e-15, "max": 2.54e-12}}])[0]["float64"] == (
        "1.0e-15 / 2.5e-12"
    )


@pytest.mark.verify
def test_times_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "ROUND_SECONDS", 0.0)
    monkeypatch.setattr(chain_runs, "MOST_LINKS", {"inverse": 2, "solves": 0, "reduced": 0, "eliminated": 0})
    rows = chain_times((2, 3))
    assert [(row["links"], row["way"]) for row in rows] == [
        (2, "inverse"),
        (2, "propagated"),
        (3, "propagated"),
    ]
    assert all(row[f"{calls:,}"] > 0.0 for row in rows for calls in CALLS)
    row = {"links": 1024, "way": "propagated", "1": 1234.5, "10": 0.12345}
    assert times_layout([row]) == [{"links": "1,024", "way": "propagated", "1": "1,234 µs", "10": "0.12 µs"}]


@pytest.mark.verify
def test_rounding_errors_that_multiply_flag_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formats raised to the rounding errors of eight bits would have steps beyond double precision."""
    monkeypatch.setattr(chain_runs, "SAMPLES", 64)
    errors = fixed_errors(7, "eliminated", (8,))["8 bits"]
    assert errors["median"] > 1.0
