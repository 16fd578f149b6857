"""Synthesis of a design folder: reports and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbdhw.board import BOARDS
from rbdhw.boards.nextpnr import read_report
from rbdhw.boards.synthesize import TimingError, synthesize
from rbdhw.boards.tools import ToolError
from rbdhw.errors import InputError
from rbdhw.runtime.build_folder import TAG
from rbdhw.target import TARGETS
from tests.boards.conftest import write_manifest, write_sealed
from tests.support.manifests import MANIFEST

KEYS = (
    "board",
    "target",
    "tool",
    "luts",
    "flip_flops",
    "dsp_blocks",
    "block_rams",
    "clock_mhz_target",
    "clock_mhz_achieved",
    "bitstream",
    "versions",
    "tries",
    "seed",
)

COUNTS = ("luts", "flip_flops", "dsp_blocks", "block_rams")


def refusal(design: Path, **options: Any) -> str:
    """Return the message with which the design is refused."""
    with pytest.raises(InputError) as caught:
        synthesize(design, **options)
    return str(caught.value)


def found(report: dict[str, Any], *keys: str) -> tuple[Any, ...]:
    """Return some values of a report."""
    return tuple(report[key] for key in keys)


def test_target_is_placed_and_routed(design: Path) -> None:
    steps: list[str] = []
    report = synthesize(design, target="ecp5-85", progress=steps.append)
    assert tuple(report) == KEYS
    assert found(report, "board", "target", "tool") == (None, "ecp5-85", "yosys, nextpnr-ecp5")
    # Beside the 34 registers of the design: two chains of a bit of TDATA each, and seven more.
    assert found(report, *COUNTS) == (37, 34 + 2 * 32 + 7, 1, 0)
    assert report["clock_mhz_target"] == 50.0
    assert 100.0 < report["clock_mhz_achieved"] < 200.0
    assert found(report, "bitstream", "seed") == (None, 1)
    assert report["tries"] == [{"seed": 1, "clock_mhz_achieved": report["clock_mhz_achieved"]}]
    assert set(report["versions"]) == {"yosys", "nextpnr-ecp5"}
    assert [step for step in steps if ": " not in step] == [
        "preparing the programs",
        "synthesis with Yosys",
        "placement with nextpnr, try 1 of 3, seed 1",
    ]
    work = design / "build-ecp5-85"
    assert "Program finished normally" in (work / "placement.log").read_text()
    json.dumps(report)


def test_target_is_by_default_the_designs_own(
    design: Path, tmp_path: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({1: 60.0})
    named = synthesize(design, target="ecp5-85", seed=1)
    assert synthesize(design) == named
    assert synthesize(design, work=tmp_path / "work") == named
    assert (tmp_path / "work/placement.json").exists()


def test_target_ultrascale_plus_is_counted(design: Path) -> None:
    write_manifest(design, target="xcvu9p", clock_mhz=125.0)
    steps: list[str] = []
    report = synthesize(design, target="xcvu9p", progress=steps.append)
    assert tuple(report) == KEYS
    assert found(report, "board", "target", "tool") == (None, "xcvu9p", "yosys (not placed)")
    assert found(report, *COUNTS) == (1, 34, 1, 0)
    assert found(report, "clock_mhz_target", "clock_mhz_achieved") == (125.0, None)
    assert found(report, "bitstream", "tries", "seed") == (None, [], None)
    assert set(report["versions"]) == {"yosys"}
    assert {step.partition(": ")[0] for step in steps} == {
        "preparing the programs",
        "synthesis with Yosys",
    }
    assert (design / "build-xcvu9p/resources.json").exists()


def test_count_places_nothing_and_always_fits(design: Path) -> None:
    write_manifest(design, dsp_blocks=500)
    report = synthesize(design, count=True)
    assert found(report, "tool", *COUNTS) == ("yosys (not placed)", 1, 34, 1, 0)
    assert found(report, "clock_mhz_achieved", "seed") == (None, None)


def test_missed_clock_names_the_path_and_keeps_the_report(design: Path) -> None:
    write_manifest(design, clock_mhz=400.0)
    with pytest.raises(TimingError) as caught:
        synthesize(design, tries=2)
    report = caught.value.report
    achieved, seed = found(report, "clock_mhz_achieved", "seed")
    expected = (
        f"timing: the design reaches {achieved:.1f} MHz of 400 MHz on ecp5-85 with seed {seed}, "
        "the best of 2 tries; its slowest path goes from accelerator to accelerator, "
        f"see {design}/build-ecp5-85/placement.json; synthesize with --clock {int(achieved)} --seed {seed}, "
        "which it reached, or with more --tries, or generate with a lower --clock, a larger --ii, "
        "a smaller --width or fewer --functions"
    )
    assert str(caught.value) == expected
    assert found(report, "dsp_blocks", "clock_mhz_target") == (1, 400.0)
    assert [one["seed"] for one in report["tries"]] == [1, 2]
    reached = {one["clock_mhz_achieved"] for one in report["tries"]}
    assert achieved == max(reached)
    assert len(reached) > 1, "the seed decides the placement"
    assert 100.0 < achieved < 200.0
    # The files are those of the seed that was kept, and the clock that is named was reached with it.
    work = design / "build-ecp5-85"
    assert round(read_report(work / "placement.json").achieved_mhz, 2) == achieved
    kept = synthesize(design, clock_mhz=int(achieved), seed=seed, tries=1)
    assert found(kept, "clock_mhz_target", "seed") == (int(achieved), seed)
    assert kept["clock_mhz_achieved"] >= int(achieved)


def test_further_seeds_are_tried_until_one_keeps_the_clock(
    design: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({5: 48.26, 6: 47.1, 7: 50.5, 8: 99.0})
    steps: list[str] = []
    report = synthesize(design, seed=5, tries=4, progress=steps.append)
    assert found(report, "clock_mhz_achieved", "seed") == (50.5, 7)
    assert report["tries"] == [
        {"seed": 5, "clock_mhz_achieved": 48.26},
        {"seed": 6, "clock_mhz_achieved": 47.1},
        {"seed": 7, "clock_mhz_achieved": 50.5},
    ]
    assert [step for step in steps if ": " not in step] == [
        "preparing the programs",
        "synthesis with Yosys",
        "placement with nextpnr, try 1 of 4, seed 5",
        "placement with nextpnr, try 2 of 4, seed 6; best 48.3 of 50 MHz",
        "placement with nextpnr, try 3 of 4, seed 7; best 48.3 of 50 MHz",
    ]


def test_of_tries_that_all_miss_the_best_is_kept(
    design: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({1: 47.0, 2: 49.06, 3: 48.0})
    with pytest.raises(TimingError, match=r"49\.1 MHz of 50 MHz .* --clock 49 --seed 2,") as caught:
        synthesize(design)
    assert found(caught.value.report, "clock_mhz_achieved", "seed") == (49.06, 2)
    work = design / "build-ecp5-85"
    assert read_report(work / "placement.json").achieved_mhz == 49.06
    assert (work / "placement.log").read_text() == "log of seed 2"


def test_one_try_is_one_placement(design: Path, placer: Callable[[dict[int, float]], None]) -> None:
    placer({1: 47.0, 2: 51.0})
    with pytest.raises(TimingError, match=r" on ecp5-85 with seed 1; ") as caught:
        synthesize(design, tries=1)
    assert caught.value.report["tries"] == [{"seed": 1, "clock_mhz_achieved": 47.0}]


def test_board_ulx3s_gives_a_bitstream(design: Path, placer: Callable[[dict[int, float]], None]) -> None:
    placer({3: 52.0})
    report = synthesize(design, board="ulx3s-85f", seed=3)
    assert tuple(report) == KEYS
    assert found(report, "board", "target") == ("ulx3s-85f", "ecp5-85")
    assert report["tool"] == "yosys, nextpnr-ecp5"
    assert report["dsp_blocks"] == 1
    assert report["clock_mhz_target"] == 50.0
    assert report["clock_mhz_achieved"] > 50.0
    assert report["bitstream"] == str(design / "build-ulx3s-85f/top.bit")
    assert Path(report["bitstream"]).exists()
    assert report["seed"] == 3
    assert set(report["versions"]) == {"yosys", "nextpnr-ecp5", "ecppack"}
    json.dumps(report)


@pytest.mark.verify
def test_board_without_timing_has_no_bitstream(design: Path) -> None:
    write_manifest(design, clock_mhz=400.0)
    expected = r"^timing: .* MHz of 400 MHz on the ULX3S with seed 1; "
    with pytest.raises(TimingError, match=expected) as caught:
        synthesize(design, board="ulx3s-85f", tries=1)
    assert caught.value.report["bitstream"] is None


def test_the_bitstream_is_that_of_the_seed_that_keeps_the_clock(
    design: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({1: 48.0, 2: 52.0})
    steps: list[str] = []
    report = synthesize(design, board="ulx3s-85f", progress=steps.append)
    assert found(report, "clock_mhz_achieved", "seed") == (52.0, 2)
    assert [one["seed"] for one in report["tries"]] == [1, 2]
    assert Path(report["bitstream"]).read_text() == "placed with seed 2"
    assert [step for step in steps if ": " not in step] == [
        "preparing the programs",
        "synthesis with Yosys",
        "placement with nextpnr, try 1 of 3, seed 1",
        "placement with nextpnr, try 2 of 3, seed 2; best 48.0 of 50 MHz",
        "packing with ecppack",
    ]


def test_the_files_of_a_board_are_those_of_the_best_seed(
    design: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({1: 48.0, 2: 49.0, 3: 47.0})
    with pytest.raises(TimingError, match=r" --clock 49 --seed 2,"):
        synthesize(design, board="ulx3s-85f")
    work = design / "build-ulx3s-85f"
    assert (work / "top.config").read_text() == "placed with seed 2"
    assert (work / "top.tim").read_text() == "log of seed 2"
    assert read_report(work / "top.report.json").achieved_mhz == 49.0
    assert "--seed 2 " in (work / "build_top.sh").read_text()
    assert not (work / "top.bit").exists()


def test_board_vcu118_without_vivado_gives_a_plan(design: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVADO", "vivado-that-is-not-there")
    write_manifest(design, target="xcvu9p", clock_mhz=125.0)
    report = synthesize(design, board="vcu118-uart")
    assert found(report, "board", "target", "tool") == ("vcu118-uart", "xcvu9p", "vivado (not run)")
    assert found(report, *COUNTS) == (None, None, None, None)
    assert found(report, "clock_mhz_target", "clock_mhz_achieved", "bitstream") == (125.0, None, None)
    assert found(report, "versions", "seed") == ({}, None)
    assert (design / "build-vcu118-uart/vivado.zip").exists()


def test_missing_program_is_told_before_any_runs(design: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEXTPNR_ECP5", "/no/such/nextpnr")
    expected = "NEXTPNR_ECP5=/no/such/nextpnr: no such program; expected the path of nextpnr-ecp5"
    assert refusal(design) == expected
    assert [file.name for file in (design / "build-ecp5-85").iterdir()] == [TAG]


def test_failing_placer_shows_the_end_of_its_log(design: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = design / "nextpnr"
    program.write_text(
        '#!/bin/sh\nif [ "$1" = --version ]; then echo nextpnr-9.8; exit; fi\necho ERROR: no way; exit 3\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("NEXTPNR_ECP5", str(program))
    with pytest.raises(ToolError) as caught:
        synthesize(design)
    log = design / "build-ecp5-85/placement.log"
    assert str(caught.value) == f"nextpnr-ecp5 failed (exit status 3); its log is {log}\n  ERROR: no way"
    assert log.read_text() == "ERROR: no way\n"


def test_design_with_too_many_multipliers_is_refused_before_synthesis(design: Path) -> None:
    write_manifest(design, dsp_blocks=223, multipliers=213, multiplier_slots={"used": 213})
    expected = (
        f"{design}/manifest.json: does not fit ecp5-85: 223 DSP blocks of 156, 67 too many; "
        "generate with --ii 2 or more"
    )
    assert refusal(design) == expected
    write_manifest(design, tdata=32, dsp_blocks=223, multipliers=213, multiplier_slots={"used": 213})
    assert refusal(design, board="ulx3s-85f") == expected
    assert not list(design.glob("build-*"))


def test_design_with_too_much_logic_is_refused_after_synthesis(
    design: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(TARGETS["ecp5-85"], luts=20, flip_flops=100)
    monkeypatch.setitem(TARGETS, "ecp5-85", small)
    expected = (
        f"{design}/manifest.json: does not fit ecp5-85: 35 LUTs of 20, 15 too many and "
        "105 flip-flops of 100, 5 too many; generate with fewer --functions or a smaller --width"
    )
    assert refusal(design) == expected
    assert not (design / "build-ecp5-85/placement.json").exists()


def test_counted_design_that_does_not_fit_is_refused(design: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_manifest(design, target="xcvu9p")
    monkeypatch.setitem(TARGETS, "xcvu9p", replace(TARGETS["xcvu9p"], flip_flops=30))
    assert refusal(design).startswith(
        f"{design}/manifest.json: does not fit xcvu9p: 34 flip-flops of 30, 4 too many; generate with "
    )


def test_seed_without_a_placement_is_refused(design: Path) -> None:
    assert refusal(design, count=True, seed=2) == "seed: nothing is placed for ecp5-85; expected no --seed"
    write_manifest(design, target="xcvu9p")
    assert refusal(design, seed=2) == "seed: nothing is placed for xcvu9p; expected no --seed"
    expected = "seed: nothing is placed for vcu118-uart; expected no --seed"
    assert refusal(design, board="vcu118-uart", seed=2) == expected


def test_tries_without_a_placement_are_refused(design: Path) -> None:
    expected = "tries: nothing is placed for ecp5-85; expected no --tries"
    assert refusal(design, count=True, tries=2) == expected
    write_manifest(design, target="xcvu9p")
    for where in ({}, {"board": "vcu118-uart"}):
        device = where.get("board", "xcvu9p")
        expected = f"tries: nothing is placed for {device}; expected no --tries"
        assert refusal(design, tries=1, **where) == expected


def test_no_tries_are_refused(design: Path) -> None:
    assert refusal(design, tries=0) == "tries: 0 is out of range; expected 1 or more"
    assert refusal(design, tries=-1, board="ulx3s-85f") == "tries: -1 is out of range; expected 1 or more"


def test_clock_without_a_placement_is_refused(design: Path) -> None:
    expected = "clock: nothing is placed for ecp5-85; expected no --clock"
    assert refusal(design, count=True, clock_mhz=40.0) == expected


@pytest.mark.parametrize("clock", [0.0, -1.0, float("nan"), float("inf")])
def test_clock_that_is_none_is_refused(design: Path, clock: float) -> None:
    expected = f"clock: {clock:g} MHz is not a clock; expected a positive number"
    assert refusal(design, clock_mhz=clock) == expected


@pytest.mark.parametrize("seed", [-1, 2**31])
def test_seed_beyond_the_placers_is_refused(design: Path, seed: int) -> None:
    assert refusal(design, seed=seed) == f"seed: {seed} is out of range; expected 0 to 2147483647"


def test_count_of_a_board_is_refused(design: Path) -> None:
    expected = "count: board ulx3s-85f is built; expected --count or --board, not both"
    assert refusal(design, board="ulx3s-85f", count=True) == expected


def test_unknown_board_is_refused(design: Path) -> None:
    assert (
        refusal(design, board="arty")
        == f"board: 'arty' is unknown; expected one of {', '.join(sorted(BOARDS))}"
    )


def test_unknown_target_is_refused(design: Path) -> None:
    expected = f"target: 'ice40' is unknown; expected one of {', '.join(sorted(TARGETS))}"
    assert refusal(design, target="ice40") == expected


def test_target_beside_a_board_is_refused(design: Path) -> None:
    expected = "target: board ulx3s-85f has its own; expected --target or --board, not both"
    assert refusal(design, target="ecp5-85", board="ulx3s-85f") == expected


def test_design_for_another_target_is_refused(design: Path) -> None:
    expected = (
        f"{design}/manifest.json, target: the design is for ecp5-85; expected xcvu9p for --target xcvu9p; "
        "generate with --target xcvu9p"
    )
    assert refusal(design, target="xcvu9p") == expected


def test_design_for_another_board_is_refused(design: Path) -> None:
    expected = (
        f"{design}/manifest.json, target: the design is for ecp5-85; expected xcvu9p for board vcu118-uart; "
        "generate with --target xcvu9p"
    )
    assert refusal(design, board="vcu118-uart") == expected


def test_several_pairs_of_streams_are_refused_by_a_board_and_by_a_placement(design: Path) -> None:
    write_manifest(design, pairs=2)
    where = f"{design}/manifest.json, stream.pairs: 2 pairs of streams; expected one pair for"
    assert refusal(design, board="ulx3s-85f") == f"{where} board ulx3s-85f; generate without --streams"
    assert refusal(design) == f"{where} a placement; generate without --streams, or use --count"


def test_wide_stream_is_refused_by_a_board(design: Path) -> None:
    write_manifest(design, tdata=64)
    expected = (
        f"{design}/manifest.json, stream.tdata_width: 64 bits; expected 32 bits for board ulx3s-85f; "
        "generate with --tdata 32"
    )
    assert refusal(design, board="ulx3s-85f") == expected


def test_folder_without_a_design_is_refused(tmp_path: Path) -> None:
    expected = f"{tmp_path}/manifest.json: no such file; expected a folder that `rbdhw generate` wrote"
    assert refusal(tmp_path) == expected


def test_design_without_verilog_is_refused(design: Path) -> None:
    (design / "accelerator.v").unlink()
    expected = f"{design}/accelerator.v: no such file; expected a folder that `rbdhw generate` wrote"
    assert refusal(design) == expected


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({}, "format: 1: its keys are others; expected 2"),
        ({"format": 2}, "stream: Field required; expected what generate wrote"),
        (MANIFEST | {"ii": None}, "ii: Input should be a valid integer; expected what generate wrote"),
        (MANIFEST | {"heat": 3}, "heat: Extra inputs are not permitted; expected what generate wrote"),
    ],
)
def test_broken_manifest_is_refused(design: Path, manifest: dict[str, Any], reason: str) -> None:
    write_sealed(design, manifest)
    assert refusal(design) == f"{design}/manifest.json, {reason}; run `rbdhw generate` again"


def test_a_manifest_that_is_not_json_is_refused(design: Path) -> None:
    (design / "manifest.json").write_text("{")
    reason = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
    assert refusal(design) == (
        f"{design}/manifest.json: damaged, not JSON ({reason}); expected what generate wrote; "
        "run `rbdhw generate` with another folder"
    )


def test_verilog_that_was_changed_is_refused(design: Path) -> None:
    with (design / "accelerator.v").open("a") as verilog:
        verilog.write("// by hand\n")
    assert refusal(design) == (
        f"{design}/accelerator.v: is not the file that manifest.json describes: it was changed or belongs to "
        "another design; expected the folder as it was written; run `rbdhw generate` with another folder"
    )


def test_work_folder_that_cannot_be_made_is_refused(design: Path) -> None:
    work = design / "accelerator.v" / "work"
    reason = "cannot be written (Not a directory)"
    assert refusal(design, work=work) == f"{work}: {reason}; expected a writable folder"


def test_clock_that_the_line_cannot_follow_is_refused(design: Path) -> None:
    write_manifest(design, clock_mhz=20.0)
    expected = (
        "clock: 20 MHz is too slow for a serial line of 921600 bits a second; expected at least 23.04 MHz"
    )
    assert refusal(design, board="ulx3s-85f") == expected
