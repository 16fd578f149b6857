"""First derivatives beside differences."""

import ctypes

import numpy as np
import pytest

from benchmarks import timing
from benchmarks.gradients import (
    cholesky_sources,
    gradient_layout,
    gradient_rows,
    step_layout,
    step_rows,
)
from rbdhw.software.compiler import compile_library


@pytest.fixture(scope="module")
def steps():
    return step_rows(["toy"], ["id"])


def test_errors_of_differences_have_the_orders_of_their_kinds(steps):
    """Forward differences err with the step, central ones with its square, until rounding takes over."""
    exact, *stepped = steps
    assert max(exact["by position"], exact["by velocity"]) < 1e-14
    by_step = {row["step"]: row for row in stepped}
    assert 7 < by_step[1e-2]["by position"] / by_step[1e-3]["by position"] < 13
    assert 70 < by_step[1e-1]["by position, central"] / by_step[1e-2]["by position, central"] < 130
    assert by_step[1e-13]["by position"] > 1e-4
    assert min(row["by position"] for row in stepped) > 1e-9


def test_at_rest_only_differences_leave_a_remainder(steps):
    exact, *stepped = steps
    assert exact["rest"] == 0
    assert stepped[1]["rest"] > 1e-4


def test_the_best_step_of_each_kind_is_shown(steps):
    exact, forward, central = step_layout(steps)
    assert (exact["derivatives"], exact["by velocity at rest"]) == ("analytical", "0.0e+00")
    assert forward["derivatives"].startswith("forward, step ")
    assert float(central["error, by position"]) < float(forward["error, by position"])


def test_forward_dynamics_errs_alike():
    exact, *stepped = step_rows(["toy"], ["fd"])
    assert max(exact["by position"], exact["by velocity"]) < 1e-13
    assert exact["rest"] == 0
    assert min(row["by position"] for row in stepped) > 1e-9
    assert step_layout([exact, *stepped])[0]["robot, function"] == "toy, fd"


def test_the_inverse_by_cholesky_is_the_inverse():
    matrix = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]])
    inverse = np.zeros((3, 3))
    library = ctypes.CDLL(str(compile_library(cholesky_sources(), ["cholesky.c"], ["-DNV=3"])))
    doubles = ctypes.POINTER(ctypes.c_double)
    pointers = (array.ctypes.data_as(doubles) for array in (matrix, inverse))
    library.cholesky_inverse(ctypes.c_size_t(1), *pointers, None)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-12)


@pytest.mark.verify
def test_times(monkeypatch):
    monkeypatch.setattr(timing, "ROUND_SECONDS", 1e-4)
    rows = gradient_rows([("toy", "fixed")])
    assert [row["function"] for row in rows] == ["id", "fd", "minv"]
    assert {row["evaluations"] for row in rows[:2]} == {5}
    lines = gradient_layout(rows)
    assert lines[0]["forward differences, one after the other"].endswith("×)")
    assert lines[0]["central differences, one after the other"].endswith("×)")
    assert lines[2]["`m` and its Cholesky factors"].endswith("×)")
