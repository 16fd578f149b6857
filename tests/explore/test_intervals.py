"""The exploration of intervals agrees with builds at these intervals."""

from dataclasses import replace
from functools import cache

import pytest

from rbdhw.domain.overrides import Overrides
from rbdhw.errors import InputError
from rbdhw.estimate.resources import RESOURCES
from rbdhw.explore import sets
from rbdhw.explore.initiation_interval import INTERVALS
from rbdhw.explore.intervals import explore, remarks, tables
from rbdhw.options.build import BuildOptions, Pacing
from rbdhw.pipeline import generate
from rbdhw.robots import path
from tests.support.marks import long

pytestmark = pytest.mark.usefixtures("without_verilog")

FUNCTIONS = ("id", "fd")
PIPELINE = BuildOptions(
    FUNCTIONS, target="ecp5-85", clock_mhz=40.0, width=18, data_width=32, samples=64, core="pipeline"
)
BOTH = replace(PIPELINE, core=None)


@cache
def exploration():
    return explore(path("toy"), PIPELINE)


@cache
def both():
    return explore(path("toy"), BOTH, intervals=(4, 8, 16))


def test_every_interval_has_a_row():
    assert [row["ii"] for row in exploration()["rows"]] == list(INTERVALS)
    assert {row["core"] for row in exploration()["rows"]} == {"pipeline"}
    assert (exploration()["robot"], exploration()["target"], exploration()["clock_mhz"]) == (
        "toy",
        "ecp5-85",
        40.0,
    )
    assert exploration()["functions"] == list(FUNCTIONS)
    for row in exploration()["rows"]:
        assert row["tasks_per_second"] == round(40e6 / row["ii"])


def test_a_row_agrees_with_a_build_at_that_interval():
    facts = generate(path("toy"), replace(PIPELINE, ii=4)).manifest
    row = next(row for row in exploration()["rows"] if row["ii"] == 4)
    assert {name: row[name] for name in RESOURCES} == {name: facts["estimate"][name] for name in RESOURCES}
    assert {name: round(share, 4) for name, share in row["shares"].items()} == facts["estimate"]["shares"]
    assert row["multipliers"] == facts["multipliers"]
    assert row["latency"] == {f: facts["functions"][f]["latency_cycles"] for f in FUNCTIONS}
    assert row["core_latency"] == {f: facts["functions"][f]["core_latency_cycles"] for f in FUNCTIONS}


def test_the_array_has_rows_at_its_possible_intervals():
    cores = [(row["ii"], row["core"]) for row in both()["rows"]]
    assert cores == [(4, "pipeline"), (8, "pipeline"), (8, "array"), (16, "pipeline"), (16, "array")]
    pipelines = [row for row in exploration()["rows"] if row["ii"] in (4, 8, 16)]
    assert [row for row in both()["rows"] if row["core"] == "pipeline"] == pipelines
    assert both()["refused"] == []
    facts = generate(path("toy"), replace(PIPELINE, ii=16, core="array")).manifest
    row = both()["rows"][-1]
    assert {name: row[name] for name in RESOURCES} == {name: facts["estimate"][name] for name in RESOURCES}
    assert row["multipliers"] == facts["multipliers"]
    assert row["latency"] == {f: facts["functions"][f]["latency_cycles"] for f in FUNCTIONS}
    assert row["core_latency"] == {f: facts["functions"][f]["core_latency_cycles"] for f in FUNCTIONS}


def test_an_array_that_cannot_be_built_is_listed_as_refused(monkeypatch):
    def refuse(*_):
        raise InputError("ii", "no place")

    monkeypatch.setattr("rbdhw.cores.array.core.build_array", refuse)
    options = replace(PIPELINE, core="auto")
    told = explore(path("toy"), options, intervals=(16,))
    assert [row["core"] for row in told["rows"]] == ["pipeline"]
    assert told["refused"] == [{"ii": 16, "core": "array", "why": "ii: no place"}]
    alone = replace(PIPELINE, core="array", pacing=Pacing())
    with pytest.raises(InputError, match="ii: no place"):
        explore(path("toy"), alone, intervals=(4, 16))


def test_the_array_alone_begins_at_its_shortest_interval():
    options = replace(PIPELINE, core="array", pacing=Pacing())
    alone = explore(path("toy"), options, intervals=(1, 4, 8))
    assert [(row["ii"], row["core"]) for row in alone["rows"]] == [(8, "array")]


def test_more_cycles_take_fewer_multipliers_and_more_time():
    multipliers = [row["multipliers"] for row in exploration()["rows"]]
    assert multipliers == sorted(multipliers, reverse=True)
    assert multipliers[0] > 10 * multipliers[-1]
    latency = [row["latency"]["id"] for row in exploration()["rows"]]
    assert latency[-1] > latency[0]


def test_the_link_has_the_rate_of_the_streams_or_of_the_bandwidth():
    for traffic in exploration()["link"].values():
        beats = -(-max(traffic["bytes_in"], traffic["bytes_out"]) // 4)
        assert traffic["tasks_per_second"] == round(40e6 / beats)
    pacing = Pacing(bandwidth=0.5)
    fast = explore(path("toy"), replace(PIPELINE, pacing=pacing), intervals=(1,))
    traffic = fast["link"]["id"]
    assert traffic["tasks_per_second"] == round(0.5e9 / max(traffic["bytes_in"], traffic["bytes_out"]))
    assert fast["bandwidth"] == 0.5


class TestChosen:
    """The interval that `generate` takes with the same options is explored and marked as chosen."""

    def test_nothing_is_chosen_without_an_option_on_the_interval(self):
        assert exploration()["chosen"] is None
        assert not any("generate" in line for line in remarks(exploration()))

    @pytest.mark.parametrize(
        ("options", "ii", "why"),
        [
            long({"ii": 5}, 5, "asked for"),
            long({"ii": 10, "core": "array"}, 10, "asked for"),
            long({"ii": 7, "fit": 0.9}, 7, "asked for"),
            ({"fit": 0.07, "pacing": Pacing(link=False)}, 3, "the fewest that fit 7% of ecp5-85"),
        ],
    )
    def test_it_is_the_interval_of_generate(self, options, ii, why):
        asked = replace(BOTH, **options)
        told = explore(path("toy"), asked, intervals=(1, 8))
        facts = generate(path("toy"), asked).manifest
        assert told["chosen"] == {"ii": ii, "core": facts["core"], "why": why}
        assert (facts["ii"], facts["interval"]["why"]) == (ii, why)
        assert told["fit"] == asked.fit
        row = next(row for row in told["rows"] if (row["ii"], row["core"]) == (ii, facts["core"]))
        assert {name: row[name] for name in RESOURCES} == {n: facts["estimate"][n] for n in RESOURCES}
        assert f"* generate takes II {ii} on the {facts['core']}: {why}" in remarks(told)
        for _, _, rows in tables(told):
            starred = [cells[:2] for cells in rows if cells[0].endswith("*")]
            assert starred == [[f"{ii}*", facts["core"]]]

    def test_it_keeps_up_with_the_link(self):
        told = explore(path("toy"), replace(BOTH, pacing=Pacing()), intervals=(1,))
        slowest = max(max(traffic["bytes_in"], traffic["bytes_out"]) for traffic in told["link"].values())
        assert told["chosen"]["ii"] == -(-slowest // 4)
        assert told["chosen"]["why"].startswith("the streams: a task of ")
        assert [row["ii"] for row in told["rows"]] == [1, told["chosen"]["ii"]]

    def test_a_share_that_nothing_fits_does_not_end_the_exploration(self):
        told = explore(path("toy"), replace(BOTH, ii=1, fit=0.01), intervals=(1, 2))
        assert told["chosen"]["ii"] is told["chosen"]["core"] is None
        assert told["chosen"]["why"].startswith("fit: at an ii of 1 the design takes ")
        assert f"no II can be chosen: {told['chosen']['why']}" in remarks(told)
        assert [row["ii"] for row in told["rows"]] == [1, 2]

    def test_invalid_options_are_refused(self):
        with pytest.raises(InputError) as error:
            explore(path("toy"), replace(BOTH, ii=0), intervals=(1,))
        assert str(error.value) == "ii: 0 is not possible; expected 1 to 4096 cycles between tasks"


def test_overrides_of_the_bounds_apply():
    slow = Overrides.model_validate({"default": {"velocity": 1e-3, "acceleration": 1e-3}})
    options = replace(PIPELINE, functions=("id",), width=None, max_error=0.1)
    told = explore(path("toy"), options, (4,), overrides=slow)
    usual = explore(path("toy"), options, (4,))
    facts = generate(path("toy"), replace(options, ii=4), slow).manifest
    assert told["rows"][0]["luts"] == facts["estimate"]["luts"]
    assert told["rows"][0]["luts"] != usual["rows"][0]["luts"]


def test_the_tables_list_hardware_with_shares_then_rates_and_latencies():
    (hardware, columns, rows), (times, time_columns, time_rows) = tables(exploration())
    assert hardware == "toy on ecp5-85 at 40 MHz: hardware by estimate, and share of the device"
    assert columns == ["II", "core", "LUTs", "flip-flops", "DSP blocks", "block RAMs"]
    first = exploration()["rows"][0]
    assert rows[0][:2] == ["1", "pipeline"]
    assert rows[0][4] == f"{first['dsp_blocks']:,} {first['dsp_blocks'] / 156:.1%}"
    assert times == "toy on ecp5-85 at 40 MHz: tasks a second, and latencies in cycles"
    assert time_columns == ["II", "core", "tasks/s", *FUNCTIONS]
    assert time_rows[0] == ["1", "pipeline", "40 M", *(str(first["latency"][f]) for f in FUNCTIONS)]
    assert time_rows[-1][2] == "0.625 M"
    assert [row[:2] for row in tables(both())[0][2][1:3]] == [["8", "pipeline"], ["8", "array"]]


def test_the_line_on_the_link_names_the_intervals_that_it_limits():
    link = exploration()["link"]["id"]
    slowest = min(traffic["tasks_per_second"] for traffic in exploration()["link"].values())
    least = -(-40_000_000 // slowest)
    line = remarks(exploration())[0]
    assert line.startswith(f"link (32 bits a cycle): {slowest / 1e6:.4g} M tasks/s of ")
    assert line.endswith(f", which limits an II below {least}")
    fast = {"link": {"id": link | {"tasks_per_second": 40_000_000}}, "bandwidth": 2.5}
    assert remarks(exploration() | fast)[0] == "link (2.5 GB/s): 40 M tasks/s of id, which limits no II"
    third = {"link": {"id": link | {"tasks_per_second": 13_333_333}}}
    assert remarks(exploration() | third)[0].endswith(", which limits an II below 3")


@pytest.mark.verify
@pytest.mark.filterwarnings("ignore")
def test_workers_of_a_cluster_explore_alike():
    from distributed import LocalCluster

    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        assert explore(path("toy"), BOTH, intervals=(4, 8, 16), cluster=address) == both()
        given = replace(PIPELINE, copies=2)
        assert sets.explore(path("toy"), given, cluster=address) == sets.explore(path("toy"), given)
