"""The table of iterations on accelerators and processors: time, power, and their product."""

import pytest

from benchmarks import iterations
from benchmarks.iterations import GPU, PROCESSOR, iteration_layout, iteration_rows
from benchmarks.solver_cores import Build


@pytest.mark.verify
def test_lines_of_builds_of_one_core_and_of_a_gpu(monkeypatch):
    monkeypatch.setattr(iterations, "BUILDS", (Build("toy", "xcvu9p", 4),))
    monkeypatch.setattr(iterations, "solver_row", lambda *_: dict.fromkeys(PROCESSOR.values(), 80.0))
    rows = iteration_rows()
    assert [row["step lengths"] for row in rows] == [8, 1, 1, 1, 1, 1]
    build, *cores, gpu = iteration_layout(rows)
    assert build[""] == "xcvu9p, --ii 4"
    assert {line["energy"] for line in cores} == {"300 µJ"}
    assert tuple(gpu.values()) == (GPU, 1, "133 µs", "575 W", "76,475 µJ")
    assert rows[0]["microseconds"] == pytest.approx(5299 / 125.0, rel=0.05)
