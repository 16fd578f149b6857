"""Tables beside published accelerators, and of a full link: for a small robot what they are for the large."""

import pytest

from rbdhw import bench, comparison
from rbdhw.artifact import write
from rbdhw.comparison import BANDWIDTH, PUBLISHED, link_rows, pace, small_rows
from rbdhw.config import BuildOptions
from rbdhw.errors import InputError
from tests.designs import rail_design


def test_the_interval_is_the_least_that_the_link_allows(monkeypatch):
    monkeypatch.setattr(comparison, "LINKED", ("toy",))
    monkeypatch.setattr(comparison, "EDGES", (("fixed", 125.0), ("float32", 125.0)))
    monkeypatch.setattr(comparison, "BANDWIDTH", 2.0)
    packed, singles = link_rows()
    for row in (packed, singles):
        a_cycle = 2.0e9 / 125e6
        assert row["II"] == -(-max(row["bytes in"], row["bytes out"]) // a_cycle)
        assert row["DSP blocks"].endswith("%)")
    assert packed["II"] < singles["II"]
    assert packed["bytes out"] < singles["bytes out"]
    assert BANDWIDTH == 32.0


def test_rates_beside_pinocchio(monkeypatch):
    """No faster than packets can leave: on a stream of 32 bits derivatives take longer than the II."""
    options = BuildOptions(("id", "did"), ii=5, width=18, target="ecp5-85", data_width=32, samples=256)
    monkeypatch.setattr(comparison, "SMALL_ROBOT", "toy")
    monkeypatch.setattr(comparison, "SMALL", options)
    monkeypatch.setattr(comparison, "RATED", 10)
    rows = {row["function"]: row for row in small_rows()}
    assert list(rows) == ["id", "did"]
    assert rows["id"]["cycles a task"] == 5 < rows["did"]["cycles a task"]
    for row in rows.values():
        rate = float(row["MHz"]) / row["cycles a task"]
        assert float(row["tasks/s"].removesuffix(" M")) == pytest.approx(rate, rel=1e-3)
        theirs = float(row["Pinocchio, tasks/s"].removesuffix(" M"))
        assert float(row["times Pinocchio"]) == pytest.approx(rate / theirs, rel=0.02, abs=0.06)


def test_published_latencies_are_those_told_in_microseconds():
    told = {own.name: own.latency / own.clock_mhz for own in PUBLISHED}
    assert told == {"Robomorphic": pytest.approx(0.61, abs=0.005), "Dadu-RBD": pytest.approx(0.76)}


def test_the_pace_of_tasks_without_a_pause(tmp_path):
    """Of hardware that takes a request's beats, waits a cycle, and then gives its answer's."""
    design = rail_design(data_width=32, bodies=2)
    write(design, tmp_path / "design")
    widths = design.request_widths("id"), design.response_widths("id")
    assert pace(tmp_path / "design", "id") == sum(map(design.stream.beats, widths)) + 1


def test_tables_are_found_by_their_titles(monkeypatch):
    monkeypatch.setattr(bench, "TABLES", {"One thing": lambda: [{"a": 1}], "Another": lambda: [{"b": 2}]})
    told = []
    assert bench.measure(told.append, "THING") == {"One thing": [{"a": 1}]}
    assert bench.measure(told.append) == {"One thing": [{"a": 1}], "Another": [{"b": 2}]}
    assert told == ["One thing", "One thing", "Another"]
    with pytest.raises(InputError) as refusal:
        bench.measure(told.append, "third")
    expected = "only: no table's title contains 'third'; expected part of One thing, Another"
    assert str(refusal.value) == expected
