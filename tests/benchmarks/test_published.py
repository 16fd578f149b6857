"""Tables of published accelerators, measured on a small robot."""

import pytest

from benchmarks import published
from benchmarks.builds import ALL, errors_of, plan_of
from benchmarks.pinocchio_cpp import Figures
from benchmarks.published import PUBLISHED, measure_published, measure_small, pace, small_layout
from rbdhw.design.folder import write
from rbdhw.options.build import BuildOptions
from rbdhw.target import target
from tests.support.designs import rail_design


def test_rates_beside_pinocchio(monkeypatch):
    """The rate is limited by the packets: on a stream of 32 bits derivatives take longer than the II."""
    options = BuildOptions(("id", "did"), ii=5, width=18, target="ecp5-85", data_width=32, samples=256)
    monkeypatch.setattr(published, "SMALL_ROBOT", "toy")
    monkeypatch.setattr(published, "SMALL", options)
    theirs = Figures("rnea", "native", 500.0, 2e6)
    monkeypatch.setattr(published, "measure", lambda *_: dict.fromkeys(ALL, theirs))
    rows = {row["function"]: row for row in measure_small()}
    assert list(rows) == ["id", "did"]
    assert rows["id"]["cycles a task"] == 5 < rows["did"]["cycles a task"]
    for row in rows.values():
        rate = float(row["MHz"]) / row["cycles a task"]
        assert float(row["tasks/s"].removesuffix(" M")) == pytest.approx(rate, rel=1e-3)
        assert row["Pinocchio, tasks/s"] == "2 M"
        assert float(row["times Pinocchio"]) == pytest.approx(rate / 2.0, abs=0.06)
    shown = {row[""]: row for row in small_layout(list(rows.values()))}
    assert shown["cycles a task"] == {"": "cycles a task", "id": 5, "did": rows["did"]["cycles a task"]}


def test_published_latencies_in_microseconds():
    latencies = {entry.name: entry.latency / entry.clock_mhz for entry in PUBLISHED}
    expected = {"Robomorphic [1, 2]": pytest.approx(0.61, abs=0.005), "Dadu-RBD [3]": pytest.approx(0.76)}
    assert latencies == expected


@pytest.mark.verify
def test_a_row_of_ours(monkeypatch):
    """Shares of the device are estimates where Yosys has not counted this design."""
    monkeypatch.setattr(published, "OURS", ((("difd",), 3, 18),))
    monkeypatch.setattr(published, "COMPARED_ROBOT", "toy")
    *others, ours = measure_published()
    assert [row["accelerator"] for row in others] == [entry.name for entry in PUBLISHED]
    plan = plan_of("toy", ("difd",), 18, 3)
    device = target("xcvu9p")
    assert ours["DSP blocks"] == f"{plan.estimate.dsp_blocks / device.dsp_blocks:.1%}, by estimate"
    assert ours["LUTs"] == f"{plan.estimate.luts / device.luts:.1%}, by estimate"
    assert ours["cycles a task"] == "3 (3)"
    assert (ours["functions"], ours["bits"], ours["MHz"]) == ("difd", "18×18", "125")
    assert ours["latency"].startswith(f"{plan.latency['difd']} cycles, ")
    assert float(ours["largest error"]) == pytest.approx(errors_of(plan, "difd").whole.max, rel=0.05)
    assert set(ours) == set(others[0])


def test_the_pace_of_tasks_without_a_pause(tmp_path):
    """The hardware receives a request's beats, waits a cycle, and then sends the response's."""
    design = rail_design(data_width=32, bodies=2)
    write(design, tmp_path / "design")
    widths = design.interface.request_widths("id"), design.interface.response_widths("id")
    assert pace(tmp_path / "design", "id") == sum(map(design.interface.beats, widths)) + 1
