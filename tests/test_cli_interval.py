"""The command line, choosing an initiation interval: by the link, by the device, by eye."""

import json

import pytest

from rbdhw.robots import path

SMALL = (path("toy"), "--functions", "id", "--width", 18, "--target", "ecp5-85")


def test_auto_keeps_to_the_streams(rbdhw, tmp_path):
    command = ("generate", *SMALL, "-o", tmp_path / "out", "--tdata", 32, "--ii", "auto", "--json")
    status, out, _ = rbdhw(*command)
    facts = json.loads(out)
    beats = -(-(32 + sum(facts["stream"]["slots"])) // 32)
    assert (status, facts["ii"]) == (0, beats)
    assert facts["interval"]["why"] == f"the streams: a task of id takes {beats} beats in and 3 out"
    assert facts["interval"]["link"]["ii"] == beats


def test_what_fits_is_told(rbdhw, tmp_path):
    status, out, _ = rbdhw("generate", *SMALL, "-o", tmp_path / "out", "--fit", "3%")
    facts = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert status == 0
    assert f"II {facts['ii']}: the fewest that fit 3% of ecp5-85\nby estimate " in out
    assert facts["interval"]["fit"] == 0.03
    assert max(facts["estimate"]["shares"].values()) <= 0.03


def test_the_core_that_was_chosen_is_told(rbdhw, tmp_path):
    command = ("generate", *SMALL, "-o", tmp_path / "out", "--ii", 16, "--core")
    status, out, _ = rbdhw(*command, "auto")
    facts = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert status == 0
    assert f"core {facts['core']}: {facts['cores']['why']}" in " ".join(out.split())
    _, out, _ = rbdhw(*command, "pipeline")
    assert "core pipeline" not in out


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--ii", "soon"), "ii: 'soon' is no interval; expected a number of cycles or auto"),
        (("--bandwidth", 3), "bandwidth: 3 GB/s decide nothing here; expected it with ii auto"),
        (("--fit", 60), "fit: '60' is no share of a device; expected a percentage such as 60%"),
        (
            ("--ii", "auto", "--bandwidth", -1),
            "bandwidth: -1 GB/s is no bandwidth; expected a positive number",
        ),
    ],
)
def test_what_decides_nothing_is_refused(told, tmp_path, options, line):
    assert told("generate", *SMALL, "-o", tmp_path / "out", *options) == line
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_refused_with_what_would(told, tmp_path):
    line = told("generate", *SMALL, "-o", tmp_path / "out", "--ii", 1, "--fit", "5%")
    assert line.startswith("fit: at an ii of 1 the design takes 17 DSP blocks, 10 more than 5% of 156")
    assert line.endswith(" of ecp5-85; an ii of 3 would fit")
    assert list(tmp_path.iterdir()) == []


def test_exploring_prints_a_row_for_each(rbdhw):
    status, out, _ = rbdhw("info", *SMALL, "--explore", "--bandwidth", 1)
    assert status == 0
    assert out.startswith("toy for ecp5-85 at 50 MHz, link 1 GB/s")
    assert "tasks/s by the link" in out
    status, out, _ = rbdhw("info", *SMALL, "--explore", "--json")
    found = json.loads(out)
    assert (status, len(found["rows"]), list(found["link"])) == (0, 12 + 7, ["id"])
    status, out, _ = rbdhw("info", *SMALL, "--explore", "--core", "array", "--json")
    assert [row["core"] for row in json.loads(out)["rows"]] == ["array"] * 7


def test_exploring_draws(rbdhw, tmp_path):
    pytest.importorskip("matplotlib")
    status, _, _ = rbdhw("info", *SMALL, "--explore", "--output", tmp_path / "plots")
    assert status == 0
    assert {file.name for file in (tmp_path / "plots").iterdir()} == {"explore.png", "explore.svg"}
