"""The exploration of several cores: the sets that are compared, their rates, tables and plot."""

import re
from dataclasses import replace

import pytest

from rbdhw.explore import plot
from rbdhw.explore.sets import explore, remarks, tables
from rbdhw.options.arguments import asked_build
from rbdhw.robots import path

pytestmark = pytest.mark.usefixtures("without_verilog")

SMALL = {"width": 18, "target": "ecp5-85"}


def asked(**options):
    """Return the options of a build for a small device, with few samples."""
    build, _ = asked_build(**SMALL | options)
    return replace(build, samples=64)


@pytest.fixture(scope="module")
def copies():
    """Three copies of a core that starts a task every second cycle."""
    options = asked(functions="id", ii="2", copies=3)
    return explore(path("toy"), options)


@pytest.fixture(scope="module")
def mix():
    options = asked(functions="id,dfd", mix="id=10,dfd=1", fit="60%")
    return explore(path("toy"), options)


def test_copies_are_counted_up_to_those_that_are_asked_for(copies):
    assert [row["cores"] for row in copies["rows"]] == ["id:2", "id:2*2", "id:2*3"]
    assert copies["chosen"] == {"set": 3, "why": "asked for"}
    blocks = [row["dsp_blocks"] for row in copies["rows"]]
    assert blocks == [blocks[0], 2 * blocks[0], 3 * blocks[0]]


def test_a_rate_is_that_of_the_cores_up_to_that_of_the_link(copies):
    clock = copies["rows"][0]["clock_mhz"]
    rates = [row["tasks_per_second"]["id"] for row in copies["rows"]]
    assert rates == [clock * 0.5e6, clock * 1e6, clock * 1e6]


def test_given_cores_are_compared_at_longer_intervals():
    options = asked(cores="id:1 fd:9:array*2")
    exploration = explore(path("toy"), options)
    expected = [f"id:{factor} fd:{9 * factor}:array*2" for factor in (16, 8, 4, 2)]
    assert [row["cores"] for row in exploration["rows"]] == [*expected, "id:1 fd:9:array*2"]
    assert exploration["chosen"] == {"set": 5, "why": "asked for"}
    assert exploration["refused"] == []


def test_cores_that_take_too_much_are_not_chosen():
    options = asked(cores="id:1", fit="5%")
    exploration = explore(path("toy"), options)
    why = exploration["chosen"]["why"]
    assert exploration["chosen"] == {"set": None, "why": why}
    assert re.fullmatch(r"fit: the cores take .* of ecp5-85; use longer intervals in --cores, .*", why)
    assert remarks(exploration)[0] == f"generate takes none: {why}"


def test_cores_that_cannot_be_built_are_told():
    """The clock is too fast for the formats of one core."""
    options = asked(cores="id:1 fd:2", clock=10_000.0)
    exploration = explore(path("toy"), options)
    assert (exploration["rows"], len(exploration["refused"])) == ([], 5)
    assert exploration["refused"][-1]["cores"] == "id:1 fd:2"
    assert exploration["chosen"] == {"set": None, "why": exploration["refused"][-1]["why"]}


def test_cores_for_a_mix_serve_more_with_more_of_the_device(mix):
    rates = [row["mixes_per_second"] for row in mix["rows"]]
    assert rates == sorted(rates)
    assert [row["allowed"] for row in mix["rows"]] == sorted({row["allowed"] for row in mix["rows"]})
    assert len({row["cores"] for row in mix["rows"]}) == len(mix["rows"]) > 1
    assert mix["chosen"] == {"set": len(mix["rows"]), "why": "the most mixes a second"}
    assert [entry["fit"] for entry in mix["refused"]] == [0.05]
    for row in mix["rows"]:
        assert max(row["shares"].values()) <= row["allowed"]
        assert row["mixes_per_second"] <= min(
            row["tasks_per_second"]["id"] / 10, row["tasks_per_second"]["dfd"]
        )


def test_what_fits_a_share_of_the_device_fits_a_larger_one():
    """The first choice for a fifth of the device is too large, and it is the same for a little less."""
    options = asked(functions="id,did", mix="id=10,did=1", fit="60%", width=27)
    exploration = explore(path("toy"), options)
    assert all(refused["fit"] < exploration["rows"][0]["allowed"] for refused in exploration["refused"])


@pytest.mark.verify
def test_the_command_prints_every_set(rbdhw):
    command = ("info", path("toy"), "--explore", "--functions", "id,dfd", "--mix", "id=10,dfd=1")
    status, out, _ = rbdhw(*command, "--fit", "60%", "--width", 18, "--target", "ecp5-85")
    assert status == 0
    options, _ = asked_build(functions="id,dfd", mix="id=10,dfd=1", fit="60%", **SMALL)
    exploration = explore(path("toy"), options)
    for title, *_ in tables(exploration):
        assert title in out
    for row in exploration["rows"]:
        assert row["cores"] in out
    for line in remarks(exploration):
        assert line.partition(";")[0] in " ".join(out.split())


def test_a_plot_has_a_line_for_each_function_and_one_for_mixes(mix):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 8.0), layout="constrained")
    plot.draw_sets(figure, mix)
    _, _, latency, rate = figure.axes
    names = [line.get_label() for line in rate.get_lines()]
    assert names == ["id", "dfd", "mixes", f"chosen: set {mix['chosen']['set']}"]
    assert list(latency.get_lines()[1].get_ydata()) == [row["latency"]["dfd"] for row in mix["rows"]]
