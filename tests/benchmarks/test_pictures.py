"""The pictures of the documentation."""

import pytest

from benchmarks.pictures import LABELS, SERIES, draw_beside, draw_latency, draw_second_steps, draw_steps
from benchmarks.second_order import ERROR


@pytest.mark.verify
def test_equal_rows_give_equal_pictures(tmp_path):
    rows = [
        {"function": function}
        | {f"{series}, latency (µs)": 0.1 * (k + 1) for k, series in enumerate(SERIES)}
        | {f"{series} (tasks/s)": 1e6 * (k + 1) for k, series in enumerate(SERIES)}
        for function in ("id", "fd")
    ]
    drawn = []
    for name in ("one.svg", "two.svg"):
        draw_beside(rows, tmp_path / name)
        drawn.append((tmp_path / name).read_bytes())
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith(b"<?xml")
    changed = [rows[0] | {"C float (tasks/s)": 9e6}, rows[1]]
    draw_beside(changed, tmp_path / "three.svg")
    assert (tmp_path / "three.svg").read_bytes() != drawn[0]
    assert LABELS.keys() == SERIES.keys()


@pytest.mark.verify
def test_errors_over_steps_are_drawn_for_each_robot(tmp_path):
    errors = {
        "by position": 1e-3,
        "by velocity": 2e-3,
        "by position, central": 1e-6,
        "by velocity, central": 2e-6,
        "rest": 0.0,
    }
    rows = [
        {"robot": robot, "function": "id", "step": step} | errors
        for robot in ("toy", "hyq")
        for step in (None, 1e-1, 1e-2)
    ]
    draw_steps(rows, tmp_path / "both.svg")
    draw_steps(rows[:3], tmp_path / "one.svg")
    assert (tmp_path / "both.svg").stat().st_size > (tmp_path / "one.svg").stat().st_size > 0


@pytest.mark.verify
def test_errors_of_second_derivatives_are_drawn_for_each_function(tmp_path):
    rows = [
        {"function": function, "robot": "chain of 2", "method": method, "step": step, ERROR: step or 1e-6}
        for function in ("sid", "sfd")
        for method, steps in (("graph", [None]), ("once", [1e-1, 1e-2]), ("twice", [1e-1, 1e-2]))
        for step in steps
    ]
    draw_second_steps(rows, tmp_path / "both.svg")
    draw_second_steps(rows[:5], tmp_path / "one.svg")
    assert (tmp_path / "both.svg").stat().st_size > (tmp_path / "one.svg").stat().st_size > 0


def test_a_step_has_a_bar_for_each_joint(tmp_path):
    def rows(joints):
        spans = [(k, k + 2) for k in range(joints)]
        return [{"ii": ii, "step": "M⁻¹", "first": 0, "last": 5, "joints": spans} for ii in (1, 4)]

    sizes = []
    for joints in (2, 4):
        draw_latency(rows(joints), tmp_path / "drawn.svg")
        sizes.append((tmp_path / "drawn.svg").read_text().count("<path"))
    assert sizes[1] - sizes[0] == 2 * 2
