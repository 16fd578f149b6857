"""The choice of an initiation interval on the command line: by the link, by the device, by the tables."""

import json
import re

import pytest

from rbdhw.robots import path

pytestmark = pytest.mark.usefixtures("without_verilog")

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
    assert f"core {facts['core']}: {facts['parts'][0]['cores']['why']}" in " ".join(out.split())
    _, out, _ = rbdhw(*command, "pipeline")
    assert "core pipeline" not in out


def test_what_does_not_fit_is_refused_with_what_would(told, tmp_path):
    line = told("generate", *SMALL, "-o", tmp_path / "out", "--ii", 1, "--fit", "5%")
    assert line.startswith("fit: at an ii of 1 the design takes 17 DSP blocks, 10 more than 5% of 156")
    assert line.endswith(" of ecp5-85; use --ii 3")
    assert list(tmp_path.iterdir()) == []


def test_a_share_that_no_pipeline_fits_names_the_array(told, tmp_path):
    command = ("generate", path("toy"), "-o", tmp_path / "out", "--functions", "fd", "--target", "ecp5-85")
    line = told(*command, "--ii", 8, "--fit", "2%")
    assert line.startswith("fit: at an ii of 8 the design takes ")
    smaller = "use fewer --functions, a smaller --width, a larger --fit or --core array --width 18"
    assert line.endswith(f", and no ii up to 64 fits; {smaller}, which was not tried")
    line = told(*command, "--width", 27, "--fit", "2%")
    tried = "no other ii fits better, nor does any with --core array"
    assert line.endswith(f", and {tried}; use fewer --functions, a smaller --width or a larger --fit")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.verify
def test_the_interval_of_the_array_that_is_named_fits(rbdhw, told, tmp_path):
    folder, share = tmp_path / "out", ("--fit", "10%")
    command = ("generate", path("iiwa14"), "-o", folder, "--functions", "id", "--width", 12)
    line = told(*command, "--target", "ecp5-85", *share)
    match = re.search(r"use --core array \(which fits at --ii (\d+)\), fewer --functions, ", line)
    assert match, line
    status, out, _ = rbdhw(*command, "--target", "ecp5-85", *share, "--core", "array", "--json")
    assert (status, json.loads(out)["ii"]) == (0, int(match[1]))


def test_exploring_prints_a_row_for_each(rbdhw):
    status, out, _ = rbdhw("info", *SMALL, "--explore", "--bandwidth", 1, "--clock", 40)
    assert status == 0
    assert out.startswith("toy on ecp5-85 at 40 MHz: hardware by estimate, and share of the device")
    assert "link (1 GB/s): " in out
    assert "* generate takes II 1 on the pipeline: 1 GB/s: a task of id takes " in out
    assert max(map(len, out.splitlines())) <= 80
    assert sum(line.startswith(("| ", "|*")) for line in out.splitlines()) > 19


def test_exploring_takes_the_options_of_generate(rbdhw, tmp_path):
    (tmp_path / "domain.toml").write_text("[default]\nvelocity = 2.0\n")
    options = ("--clock", 30, "--tdata", 64, "--number", "float32", "--seed", 3, "--fext", "all", "--ii", 5)
    options += ("--base", "given", "--gravity", "task", "--share-limbs", "off", "--core", "pipeline")
    options += ("--domain", tmp_path / "domain.toml", "--algorithm", "axes=turning")
    status, out, _ = rbdhw("info", *SMALL, *options, "--explore", "--json")
    report = json.loads(out)
    assert (status, report["clock_mhz"], report["tdata"]) == (0, 30.0, 64)
    assert report["chosen"] == {"ii": 5, "core": "pipeline", "why": "asked for"}
    row = next(row for row in report["rows"] if row["ii"] == 5)
    status, out, _ = rbdhw("generate", *SMALL, *options, "-o", tmp_path / "out", "--json")
    facts = json.loads(out)
    assert status == 0
    assert {name: row[name] for name in ("luts", "flip_flops")} == {
        name: facts["estimate"][name] for name in ("luts", "flip_flops")
    }
    assert row["latency"]["id"] == facts["functions"]["id"]["latency_cycles"]
    sent = facts["interval"]["link"]["functions"]["id"]
    assert report["link"]["id"]["bytes_in"] == sent["bytes_in"]


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (("--clock", 30), "clock"),
        (("--max-error", 0.1), "max-error"),
        (("--tdata", 512), "tdata"),
        (("--share-limbs", "auto"), "share-limbs"),
        (("--output", "plots"), "output"),
        (("--seed", 0, "--fit", "50%"), "fit"),
    ],
)
def test_options_that_change_nothing_of_a_description_are_refused(told, option, name):
    line = f"{name}: has no effect on info without --explore; expected both or neither"
    assert told("info", path("toy"), *option) == line


@pytest.mark.verify
def test_exploring_draws(rbdhw, tmp_path):
    pytest.importorskip("matplotlib")
    status, out, _ = rbdhw(
        "info", *SMALL, "--explore", "--core", "array", "--output", tmp_path / "plots", "--json"
    )
    assert (status, [row["core"] for row in json.loads(out)["rows"]]) == (0, ["array"] * 7)
    assert {file.name for file in (tmp_path / "plots").iterdir()} == {"explore.png", "explore.svg"}


LARGE = (path("toy"), "--functions", "dfd", "--width", 32, "--target", "ecp5-85")
"""A build that is too large at an interval of 1."""


def test_a_design_that_is_too_large_is_warned_about(rbdhw, tmp_path):
    status, _, err = rbdhw("generate", *LARGE, "-o", tmp_path / "out")
    facts = json.loads((tmp_path / "out" / "manifest.json").read_text())
    blocks = facts["estimate"]["dsp_blocks"]
    assert blocks > 156
    warning = (
        f"ecp5-85: by estimate the design takes {blocks} DSP blocks, {blocks - 156} more than 100% of 156; "
        "expected an --ii of some 2 or more, or --ii auto, which finds the shortest that fits"
    )
    assert (status, err) == (0, f"rbdhw: {warning}\n")
    assert facts["remarks"] == [warning]


def test_auto_keeps_to_the_device(rbdhw, tmp_path):
    """The streams alone would permit an interval of 1."""
    status, _, err = rbdhw("generate", *LARGE, "-o", tmp_path / "out", "--ii", "auto")
    facts = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (status, err, facts["remarks"]) == (0, "", [])
    assert (facts["interval"]["link"]["ii"], facts["ii"]) == (1, 2)
    assert facts["interval"]["why"] == "the fewest that fit 100% of ecp5-85"
    assert max(facts["estimate"]["shares"].values()) <= 1.0


def test_a_link_with_a_comma_in_its_name_takes_a_force(rbdhw, tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        path("toy").read_text().replace('"upper_arm"', '"left,upper"').replace('"forearm"', '"all"')
    )
    command = ("generate", urdf, "-o", tmp_path / "out", "--functions", "id", "--width", 18)
    assert rbdhw(*command, "--fext", r"left\,upper", "--fext", r"\all")[0] == 0
    assert json.loads((tmp_path / "out" / "domain.json").read_text())["fext"] == [0, 1]


def test_processors_have_no_intervals(told):
    line = told("info", path("toy"), "--target", "c", "--explore")
    assert line == "explore: has no effect with --target c; expected an FPGA as the target, or no --explore"
