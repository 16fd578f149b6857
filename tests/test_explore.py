"""The exploration of intervals: what it tells is what builds at them are."""

from functools import cache

from rbdhw.config import BuildOptions, Pacing
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


def test_every_interval_has_a_row():
    assert [row["ii"] for row in found()["rows"]] == list(INTERVALS)
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
        "II", "multipliers", "DSP blocks", "LUTs", "flip-flops", "block RAMs", "id (cycles)", "fd (cycles)",
        "tasks/s", "tasks/s by the link",
    ]  # fmt: skip
    link = min(own["tasks_per_second"] for own in found()["link"].values())
    assert rows[0][-2:] == ["50 M", f"{link / 1e6:.4g} M"]
    assert rows[-1][-2:] == ["0.7812 M", "0.7812 M"]
