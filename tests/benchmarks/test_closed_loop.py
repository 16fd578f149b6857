"""Number formats judged in a closed loop: the rows of a small robot."""

import pytest

from benchmarks.closed_loop import loop_layout, loop_rows
from rbdhw.control import loop


@pytest.mark.verify
def test_a_row_for_each_candidate(monkeypatch):
    for name, number in {"KNOTS": 4, "PROBLEMS": 1, "FINER": 1}.items():
        monkeypatch.setattr(loop, name, number)
    few = {"frames": (), "widths": (), "budgets": (), "formats": ("Q10.20",), "seconds": 0.1, "workers": 1}
    lines = loop_layout(loop_rows("toy", **few))
    assert [line[""] for line in lines] == ["float64", "Q10.20"]
    assert list(lines[0])[:3] == ["", "error in the loop, median / max", "failed / flagged, %"]
