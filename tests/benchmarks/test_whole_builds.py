"""Whole builds, builds beside published ones, and steps of latency: rows of small designs, and lines."""

import pytest

from benchmarks import latency_steps, like_for_like, whole_builds
from benchmarks.builds import ALL
from benchmarks.like_for_like import like_layout
from benchmarks.published import PUBLISHED
from rbdhw.options.build import BuildOptions, Pacing
from rbdhw.target import target


@pytest.fixture
def two_functions(monkeypatch):
    """Builds of two functions at 18 bits."""
    functions = ("id", "m")
    options = BuildOptions(functions, pacing=Pacing(), fit=0.6, width=18, samples=128)
    monkeypatch.setattr(whole_builds, "OPTIONS", options)
    monkeypatch.setattr(whole_builds, "ALL", functions)
    whole_builds.plan_whole.cache_clear()
    yield functions
    whole_builds.plan_whole.cache_clear()


def test_whole_builds(two_functions):
    (row,) = whole_builds.whole_rows([("toy", "fixed")])
    assert row["dsp_blocks"] <= whole_builds.SHARE * target("xcvu9p").dsp_blocks
    (line,) = whole_builds.whole_layout([row])
    assert line["bits"] == "18×18"
    assert line["DSP blocks"] == f"{row['dsp_blocks']} ({row['dsp_blocks'] / 6840:.1%})"
    rows = whole_builds.function_rows([("toy", "fixed")])
    assert [row["function"] for row in rows] == list(two_functions)
    assert {entry["tasks a second"] for entry in rows} == {125e6 / row["ii"]}
    lines = whole_builds.function_layout(rows)
    assert [line[""] for line in lines] == ["toy, latency", "toy, tasks", "toy, errors"]
    assert lines[0]["id"] == f"{rows[0]['latency (cycles)'] / 125.0:.2f} µs"


@pytest.mark.verify
def test_latency_steps_overlap_and_end_with_the_product(monkeypatch):
    monkeypatch.setattr(latency_steps, "ROBOT", "toy")
    rows = latency_steps.latency_rows([4])
    assert [row["step"] for row in rows] == list(latency_steps.STEPS)
    assert max(rows, key=lambda row: row["last"])["step"] == "its product"
    assert min(row["first"] for row in rows) == 0
    assert latency_steps.latency_layout(rows)[-1] == {
        "": "its product",
        "II 4": f"{rows[-1]['first']} to {rows[-1]['last']}",
    }


def test_published_accelerators_have_no_errors_and_builds_have_those_of_their_functions():
    published = like_for_like._published_row(PUBLISHED[1])
    built = published | {"bytes": 100, "accelerator": "rbdhw", "errors": {"difd": 2.3e-7}}
    first, second = like_layout([published, built])
    assert {first[f"error, {name}"] for name in ALL} == {"not published"}
    assert [second[f"error, {name}"] for name in ALL] == ["-"] * 6 + ["2e-07"]
    assert (first["carried by"], second["carried by"]) == ("not published", "1.04 GB/s")
    assert second["latency"] == "95 cycles, 0.76 µs"
