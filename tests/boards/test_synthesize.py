"""Synthesis of a design folder: reports and refusals."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbdhw.boards.nextpnr import read_report
from rbdhw.boards.synthesize import TimingError, synthesize
from rbdhw.boards.tools import ToolError
from rbdhw.errors import InputError
from rbdhw.runtime.build_folder import TAG
from rbdhw.target import TARGETS
from tests.support.board_designs import write_manifest, write_sealed
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
    "link",
    "timing",
)

COUNTS = ("luts", "flip_flops", "dsp_blocks", "block_rams")


def refusal(design: Path, **options: Any) -> str:
    """Return the message with which the design is refused."""
    with pytest.raises(InputError) as caught:
        synthesize(design, **options)
    return str(caught.value)


def values_of(report: dict[str, Any], *keys: str) -> tuple[Any, ...]:
    """Return some values of a report."""
    return tuple(report[key] for key in keys)


def test_target_is_placed_and_routed(design: Path) -> None:
    steps: list[str] = []
    report = synthesize(design, target="ecp5-85", progress=steps.append)
    assert tuple(report) == KEYS
    assert values_of(report, "board", "target", "tool") == (None, "ecp5-85", "yosys, nextpnr-ecp5")
    # Beside the 34 registers of the design: two chains of a bit of TDATA each, and seven more.
    assert values_of(report, *COUNTS) == (37, 34 + 2 * 32 + 7, 1, 0)
    assert report["clock_mhz_target"] == 50.0
    assert 100.0 < report["clock_mhz_achieved"] < 200.0
    assert values_of(report, "bitstream", "seed") == (None, 1)
    assert report["tries"] == [{"seed": 1, "clock_mhz_achieved": report["clock_mhz_achieved"]}]
    assert set(report["versions"]) == {"yosys", "nextpnr-ecp5"}
    assert [step for step in steps if ": " not in step] == [
        "preparing the programs",
        "synthesis with Yosys",
        "timing of the netlist",
        "placement with nextpnr, try 1 of 3, seed 1",
    ]
    work = design / "build-ecp5-85"
    assert "Program finished normally" in (work / "placement.log").read_text()
    json.dumps(report)


@pytest.mark.verify
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
    assert values_of(report, "board", "target", "tool") == (None, "xcvu9p", "yosys (not placed)")
    assert values_of(report, *COUNTS) == (1, 34, 1, 0)
    assert values_of(report, "clock_mhz_target", "clock_mhz_achieved") == (125.0, None)
    assert values_of(report, "bitstream", "tries", "seed") == (None, [], None)
    assert set(report["versions"]) == {"yosys"}
    assert {step.partition(": ")[0] for step in steps} == {
        "preparing the programs",
        "synthesis with Yosys",
        "timing of the netlist",
    }
    assert (design / "build-xcvu9p/resources.json").exists()
    assert json.loads((design / "build-xcvu9p/timing.json").read_text()) == report["timing"]
    assert values_of(report["timing"], "device", "speed_grade") == ("xcvu9p", "-2")


@pytest.mark.verify
def test_a_slower_speed_grade_has_a_slower_clock(design: Path) -> None:
    write_manifest(design, target="xcvu9p", clock_mhz=125.0)
    usual, slow = (synthesize(design, speed_grade=grade)["timing"]["clock_mhz"] for grade in (None, "-1"))
    assert usual / slow == pytest.approx(775 / 645, rel=1e-3)


def test_count_places_nothing_and_always_fits(design: Path) -> None:
    write_manifest(design, dsp_blocks=500)
    report = synthesize(design, count=True)
    assert values_of(report, "tool", *COUNTS) == ("yosys (not placed)", 1, 34, 1, 0)
    assert values_of(report, "clock_mhz_achieved", "seed") == (None, None)


@pytest.mark.verify
def test_missed_clock_names_the_path_and_keeps_the_report(design: Path) -> None:
    write_manifest(design, clock_mhz=400.0)
    with pytest.raises(TimingError) as caught:
        synthesize(design, tries=2)
    report = caught.value.report
    achieved, seed = values_of(report, "clock_mhz_achieved", "seed")
    expected = (
        f"timing: the design reaches {achieved:.1f} MHz of 400 MHz on ecp5-85 with seed {seed}, "
        "the best of 2 tries; its slowest path goes from accelerator to accelerator, "
        f"see {design}/build-ecp5-85/placement.json; synthesize with --clock {int(achieved)} --seed {seed}, "
        "which it reached, or with more --tries, or generate with a lower --clock, a larger --ii, "
        "a smaller --width or fewer --functions"
    )
    assert str(caught.value) == expected
    assert values_of(report, "dsp_blocks", "clock_mhz_target") == (1, 400.0)
    assert [one["seed"] for one in report["tries"]] == [1, 2]
    reached = {one["clock_mhz_achieved"] for one in report["tries"]}
    assert achieved == max(reached)
    assert len(reached) > 1, "the seed decides the placement"
    assert 100.0 < achieved < 200.0
    # The files are those of the seed that was kept, and the clock that is named was reached with it.
    work = design / "build-ecp5-85"
    assert round(read_report(work / "placement.json").achieved_mhz, 2) == achieved
    kept = synthesize(design, clock_mhz=int(achieved), seed=seed, tries=1)
    assert values_of(kept, "clock_mhz_target", "seed") == (int(achieved), seed)
    assert kept["clock_mhz_achieved"] >= int(achieved)


def test_further_seeds_are_tried_until_one_keeps_the_clock(
    design: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({5: 48.26, 6: 47.1, 7: 50.5, 8: 99.0})
    steps: list[str] = []
    report = synthesize(design, seed=5, tries=4, progress=steps.append)
    assert values_of(report, "clock_mhz_achieved", "seed") == (50.5, 7)
    assert report["tries"] == [
        {"seed": 5, "clock_mhz_achieved": 48.26},
        {"seed": 6, "clock_mhz_achieved": 47.1},
        {"seed": 7, "clock_mhz_achieved": 50.5},
    ]
    assert [step for step in steps if ": " not in step] == [
        "preparing the programs",
        "synthesis with Yosys",
        "timing of the netlist",
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
    assert values_of(caught.value.report, "clock_mhz_achieved", "seed") == (49.06, 2)
    work = design / "build-ecp5-85"
    assert read_report(work / "placement.json").achieved_mhz == 49.06
    assert (work / "placement.log").read_text() == "log of seed 2"


def test_placements_elsewhere_give_the_same_result(
    design: Path, placer: Callable[[dict[int, float]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeds behind the first that reaches the clock do not count, however good they are."""
    placer({1: 47.0, 2: 50.5, 3: 99.0})
    here = synthesize(design)
    asked: list[str] = []

    def anywhere(work: Any, jobs: Any, cluster: str, *_: Any) -> list[Any]:
        asked.extend([cluster, *jobs])
        return [work(pickle.loads(pickle.dumps(job))) for job in jobs.values()]

    monkeypatch.setattr("rbdhw.boards.nextpnr.execute_in_order", anywhere)
    assert synthesize(design, cluster="tcp://somewhere") == here
    assert asked == ["tcp://somewhere", "seed 1", "seed 2", "seed 3"]
    assert (design / "build-ecp5-85" / "placement.log").read_text() == "log of seed 2"


def test_one_try_is_one_placement(design: Path, placer: Callable[[dict[int, float]], None]) -> None:
    placer({1: 47.0, 2: 51.0})
    with pytest.raises(TimingError, match=r" on ecp5-85 with seed 1; ") as caught:
        synthesize(design, tries=1)
    assert caught.value.report["tries"] == [{"seed": 1, "clock_mhz_achieved": 47.0}]


@pytest.mark.verify
def test_board_ulx3s_gives_a_bitstream(design: Path, placer: Callable[[dict[int, float]], None]) -> None:
    placer({3: 52.0})
    report = synthesize(design, board="ulx3s-85f", seed=3)
    assert tuple(report) == KEYS
    assert values_of(report, "board", "target") == ("ulx3s-85f", "ecp5-85")
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
    assert values_of(report, "clock_mhz_achieved", "seed") == (52.0, 2)
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
    packets = {"bytes_in": 20, "bytes_out": 12, "beats_in": 5, "beats_out": 3}
    link = {"bandwidth": None, "ii": 1, "function": "id", "functions": {"id": packets}}
    write_manifest(design, target="xcvu9p", clock_mhz=125.0, interval={"link": link})
    report = synthesize(design, board="vcu118-uart")
    assert values_of(report, "board", "target", "tool") == ("vcu118-uart", "xcvu9p", "vivado (not run)")
    assert values_of(report, *COUNTS) == (None, None, None, None)
    assert values_of(report, "clock_mhz_target", "clock_mhz_achieved", "bitstream") == (125.0, None, None)
    assert values_of(report, "versions", "seed") == ({}, None)
    # 921,600 bit/s, ten bits a byte, and four bytes beside each of the longer packet.
    rates = {"title": "UART, 921,600 bit/s", "source": "computed", "tasks_per_second": {"id": 3840}}
    assert report["link"] == rates
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


ULTRASCALE, BOARD = {"target": "xcvu9p"}, "ulx3s-85f"
TOO_SLOW = "20 MHz is too slow for a serial line of 921600 bits a second"


@pytest.mark.parametrize(
    ("changes", "options", "where", "reason"),
    [
        ({}, {"count": True, "seed": 2}, "seed", "nothing is placed for ecp5-85"),
        (ULTRASCALE, {"seed": 2}, "seed", "nothing is placed for xcvu9p"),
        (ULTRASCALE, {"board": "vcu118-uart", "seed": 2}, "seed", "nothing is placed for vcu118-uart"),
        ({}, {"count": True, "tries": 2}, "tries", "nothing is placed for ecp5-85"),
        (ULTRASCALE, {"tries": 1}, "tries", "nothing is placed for xcvu9p"),
        (ULTRASCALE, {"board": "vcu118-uart", "tries": 1}, "tries", "nothing is placed for vcu118-uart"),
        ({}, {"tries": 0}, "tries", "0 is out of range"),
        ({}, {"tries": -1, "board": BOARD}, "tries", "-1 is out of range"),
        ({}, {"count": True, "clock_mhz": 40.0}, "clock", "nothing is placed for ecp5-85"),
        *(({}, {"clock_mhz": float(x)}, "clock", f"{x} MHz is not a clock") for x in ("0", "-1", "nan")),
        ({}, {"seed": -1}, "seed", "-1 is out of range"),
        ({}, {"seed": 2**31}, "seed", "2147483648 is out of range"),
        ({}, {"speed_grade": "9"}, "speed-grade", "'9' is unknown"),
        ({}, {"board": BOARD, "speed_grade": "6"}, "speed-grade", "board ulx3s-85f has its own"),
        ({}, {"board": BOARD, "count": True}, "count", "board ulx3s-85f is built"),
        ({}, {"board": BOARD, "cluster": "tcp://x"}, "cluster", "board ulx3s-85f is built here"),
        ({}, {"board": "arty"}, "board", "'arty' is unknown"),
        ({}, {"target": "ice40"}, "target", "'ice40' is unknown"),
        ({}, {"target": "ecp5-85", "board": BOARD}, "target", "board ulx3s-85f has its own"),
        ({}, ULTRASCALE, "manifest.json, target", "the design is for ecp5-85"),
        ({}, {"board": "vcu118-uart"}, "manifest.json, target", "the design is for ecp5-85"),
        ({"pairs": 2}, {"board": BOARD}, "manifest.json, stream.pairs", "2 pairs of streams"),
        ({"pairs": 2}, {}, "manifest.json, stream.pairs", "2 pairs of streams"),
        ({"stream_clock_mhz": 100.0}, {"board": BOARD}, "manifest.json, stream_clock_mhz", "100 MHz"),
        ({"tdata": 64}, {"board": BOARD}, "manifest.json, stream.tdata_width", "64 bits"),
        ({"slots": [24] * 1366}, {"board": BOARD}, "manifest.json, stream.slots", "a request of 4,098 bytes"),
        (
            {"clock_mhz": 20.0},
            {"board": BOARD},
            "clock",
            TOO_SLOW,
        ),
    ],
)
def test_what_cannot_be_synthesized_is_refused(
    design: Path, changes: dict[str, Any], options: dict[str, Any], where: str, reason: str
) -> None:
    write_manifest(design, **changes)
    with pytest.raises(InputError) as caught:
        synthesize(design, **options)
    assert (caught.value.where.removeprefix(f"{design}/"), caught.value.reason) == (where, reason)
    assert caught.value.expected


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({}, "format: 1: its keys are others"),
        ({"format": 3}, "stream: Field required"),
        (MANIFEST | {"ii": None}, "ii: Input should be a valid integer"),
        (MANIFEST | {"heat": 3}, "heat: Extra inputs are not permitted"),
    ],
)
def test_broken_manifest_is_refused(design: Path, manifest: dict[str, Any], reason: str) -> None:
    write_sealed(design, manifest)
    assert refusal(design).startswith(f"{design}/manifest.json, {reason}; expected ")


def test_broken_folders_are_refused(design: Path) -> None:
    work = design / "accelerator.v" / "work"
    assert refusal(design, work=work).startswith(f"{work}: cannot be written (Not a directory); ")
    with (design / "accelerator.v").open("a") as verilog:
        verilog.write("// by hand\n")
    assert refusal(design).startswith(f"{design}/accelerator.v: is not the file that manifest.json describes")
    (design / "accelerator.v").unlink()
    assert refusal(design).startswith(f"{design}/accelerator.v: no such file; ")
    (design / "manifest.json").write_text("{")
    assert refusal(design).startswith(f"{design}/manifest.json: damaged, not JSON (")
    (design / "manifest.json").unlink()
    assert refusal(design).startswith(f"{design}/manifest.json: no such file; ")
