"""The exploration of intervals: what it tells is what builds at them are."""

from functools import cache

import pytest

from rbdhw.config import BuildOptions, Pacing
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import RESOURCES
from rbdhw.explore import explore, table
from rbdhw.interval import INTERVALS
from rbdhw.pipeline import generate
from rbdhw.robots import path

FUNCTIONS = ("id", "fd")
OPTIONS = BuildOptions(FUNCTIONS, target="ecp5-85", width=18, data_width=32, samples=256)


@cache
def found():
    return explore(path("toy"), OPTIONS)


@cache
def both():
    return explore(path("toy"), BuildOptions(**{**vars(OPTIONS), "core": "auto"}), intervals=(4, 8, 16))


def test_every_interval_has_a_row():
    assert [row["ii"] for row in found()["rows"]] == list(INTERVALS)
    assert {row["core"] for row in found()["rows"]} == {"pipeline"}
    assert (found()["robot"], found()["target"], found()["clock_mhz"]) == ("toy", "ecp5-85", 50.0)
    assert found()["functions"] == list(FUNCTIONS)
    for row in found()["rows"]:
        assert row["tasks_per_second"] == round(50e6 / row["ii"])


def test_a_row_is_what_a_build_at_that_interval_is():
    facts = generate(path("toy"), BuildOptions(**{**vars(OPTIONS), "ii": 4})).manifest
    row = next(row for row in found()["rows"] if row["ii"] == 4)
    assert {name: row[name] for name in RESOURCES} == {name: facts["estimate"][name] for name in RESOURCES}
    assert row["multipliers"] == facts["multipliers"]
    assert row["latency"] == {f: facts["functions"][f]["latency_cycles"] for f in FUNCTIONS}
    assert row["core_latency"] == {f: facts["functions"][f]["core_latency_cycles"] for f in FUNCTIONS}


def test_the_array_has_rows_where_it_is_possible():
    cores = [(row["ii"], row["core"]) for row in both()["rows"]]
    assert cores == [(4, "pipeline"), (8, "pipeline"), (8, "array"), (16, "pipeline"), (16, "array")]
    pipelines = [row for row in found()["rows"] if row["ii"] in (4, 8, 16)]
    assert [row for row in both()["rows"] if row["core"] == "pipeline"] == pipelines
    assert both()["refused"] == []
    facts = generate(path("toy"), BuildOptions(**{**vars(OPTIONS), "ii": 16, "core": "array"})).manifest
    row = both()["rows"][-1]
    assert {name: row[name] for name in RESOURCES} == {name: facts["estimate"][name] for name in RESOURCES}
    assert row["multipliers"] == facts["multipliers"]
    assert row["latency"] == {f: facts["functions"][f]["latency_cycles"] for f in FUNCTIONS}
    assert row["core_latency"] == {f: facts["functions"][f]["core_latency_cycles"] for f in FUNCTIONS}


def test_an_array_that_finds_no_place_is_told(monkeypatch):
    def refuse(*_):
        raise InputError("ii: no place")

    monkeypatch.setattr("rbdhw.cores.arrayed", refuse)
    options = BuildOptions(**{**vars(OPTIONS), "core": "auto"})
    told = explore(path("toy"), options, intervals=(16,))
    assert [row["core"] for row in told["rows"]] == ["pipeline"]
    assert told["refused"] == [{"ii": 16, "core": "array", "why": "ii: no place"}]
    alone = BuildOptions(**{**vars(OPTIONS), "core": "array", "pacing": Pacing()})
    with pytest.raises(InputError, match="ii: no place"):
        explore(path("toy"), alone, intervals=(4, 16))


def test_arrays_alone_begin_at_their_shortest_interval():
    options = BuildOptions(**{**vars(OPTIONS), "core": "array", "pacing": Pacing()})
    alone = explore(path("toy"), options, intervals=(1, 4, 8))
    assert [(row["ii"], row["core"]) for row in alone["rows"]] == [(8, "array")]


def test_more_cycles_take_fewer_multipliers_and_more_time():
    multipliers = [row["multipliers"] for row in found()["rows"]]
    assert multipliers == sorted(multipliers, reverse=True)
    assert multipliers[0] > 10 * multipliers[-1]
    latency = [row["latency"]["id"] for row in found()["rows"]]
    assert latency[-1] > latency[0]


def test_the_link_is_that_of_the_streams_or_of_a_bandwidth():
    for own in found()["link"].values():
        beats = -(-max(own["bytes_in"], own["bytes_out"]) // 4)
        assert own["tasks_per_second"] == round(50e6 / beats)
    pacing = Pacing(bandwidth=0.5)
    fast = explore(path("toy"), BuildOptions(**{**vars(OPTIONS), "pacing": pacing}), intervals=(1,))
    own = fast["link"]["id"]
    assert own["tasks_per_second"] == round(0.5e9 / max(own["bytes_in"], own["bytes_out"]))
    assert fast["bandwidth"] == 0.5


def test_the_table_keeps_to_the_slower_of_accelerator_and_link():
    columns, rows = table(found())
    assert columns == [
        "II", "core", "multipliers", "DSP blocks", "LUTs", "flip-flops", "block RAMs", "id", "fd", "tasks/s",
        "tasks/s by the link",
    ]  # fmt: skip
    link = min(own["tasks_per_second"] for own in found()["link"].values())
    assert rows[0][-2:] == ["50 M", f"{link / 1e6:.4g} M"]
    assert rows[-1][-2:] == ["0.7812 M", "0.7812 M"]
    _, rows = table(both())
    assert [row[:2] for row in rows[1:3]] == [["8", "pipeline"], ["8", "array"]]
