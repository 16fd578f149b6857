"""Synthesis of a design folder: what it reports, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbdhw.boards.synthesize import TimingError, synthesize
from rbdhw.boards.tools import ToolError
from rbdhw.errors import InputError
from rbdhw.target import TARGETS
from tests.boards.conftest import write_manifest

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
    "seed",
)

COUNTS = ("luts", "flip_flops", "dsp_blocks", "block_rams")


def refusal(design: Path, **options: Any) -> str:
    """The line with which the design is refused."""
    with pytest.raises(InputError) as caught:
        synthesize(design, **options)
    return str(caught.value)


def found(report: dict[str, Any], *keys: str) -> tuple[Any, ...]:
    """Some values of a report."""
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
    assert set(report["versions"]) == {"yosys", "nextpnr-ecp5"}
    assert steps == ["synthesis with Yosys", "placement and routing with nextpnr"]
    work = design / "build-ecp5-85"
    assert "Program finished normally" in (work / "placement.log").read_text()
    json.dumps(report)


def test_target_is_by_default_the_designs_own(design: Path, tmp_path: Path) -> None:
    own = synthesize(design, work=tmp_path / "own")
    assert own == synthesize(design, target="ecp5-85", work=tmp_path / "named", seed=1)


def test_seed_decides_the_placement(design: Path) -> None:
    first, second, again = (synthesize(design, seed=seed) for seed in (1, 2, 1))
    assert first == again
    assert second["seed"] == 2
    assert first["clock_mhz_achieved"] != second["clock_mhz_achieved"]


def test_target_ultrascale_plus_is_counted(design: Path, tmp_path: Path) -> None:
    write_manifest(design, target="xcvu9p", clock_mhz=125.0)
    steps: list[str] = []
    report = synthesize(design, target="xcvu9p", work=tmp_path / "work", progress=steps.append)
    assert tuple(report) == KEYS
    assert found(report, "board", "target", "tool") == (None, "xcvu9p", "yosys (not placed)")
    assert found(report, *COUNTS) == (1, 34, 1, 0)
    assert found(report, "clock_mhz_target", "clock_mhz_achieved") == (125.0, None)
    assert found(report, "bitstream", "seed") == (None, None)
    assert set(report["versions"]) == {"yosys"}
    assert steps == ["synthesis with Yosys"]
    assert (tmp_path / "work/resources.json").exists()


def test_count_places_nothing_and_always_fits(design: Path) -> None:
    write_manifest(design, dsp_blocks=500)
    report = synthesize(design, count=True)
    assert found(report, "tool", *COUNTS) == ("yosys (not placed)", 1, 34, 1, 0)
    assert found(report, "clock_mhz_achieved", "seed") == (None, None)


def test_missed_clock_names_the_path_and_keeps_the_report(design: Path) -> None:
    write_manifest(design, clock_mhz=400.0)
    with pytest.raises(TimingError) as caught:
        synthesize(design)
    report = caught.value.report
    expected = (
        f"timing: the design reaches {report['clock_mhz_achieved']:.1f} MHz of 400 MHz on ecp5-85; "
        f"its slowest path goes from accelerator to accelerator, see {design}/build-ecp5-85/placement.json"
    )
    assert str(caught.value) == expected
    assert 100.0 < report["clock_mhz_achieved"] < 200.0
    assert found(report, "dsp_blocks", "clock_mhz_target") == (1, 400.0)


def test_board_ulx3s_gives_a_bitstream(design: Path) -> None:
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


def test_board_without_timing_has_no_bitstream(design: Path) -> None:
    write_manifest(design, clock_mhz=400.0)
    with pytest.raises(TimingError, match=r"^timing: .* MHz of 400 MHz on the ULX3S; ") as caught:
        synthesize(design, board="ulx3s-85f")
    assert caught.value.report["bitstream"] is None


def test_board_vcu118_without_vivado_gives_a_plan(design: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVADO", "vivado-that-is-not-there")
    write_manifest(design, target="xcvu9p", clock_mhz=125.0)
    report = synthesize(design, board="vcu118")
    assert found(report, "board", "target", "tool") == ("vcu118", "xcvu9p", "vivado (not run)")
    assert found(report, *COUNTS) == (None, None, None, None)
    assert found(report, "clock_mhz_target", "clock_mhz_achieved", "bitstream") == (125.0, None, None)
    assert found(report, "versions", "seed") == ({}, None)
    assert (design / "build-vcu118/vivado.zip").exists()


def test_missing_program_is_told_before_any_runs(design: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEXTPNR_ECP5", "/no/such/nextpnr")
    with pytest.raises(ToolError, match=r"^NEXTPNR_ECP5=/no/such/nextpnr: no such program$"):
        synthesize(design)
    assert list((design / "build-ecp5-85").iterdir()) == []


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
        f"{design}/manifest.json: does not fit ecp5-85: 35 LUTs of 20, 15 too many; "
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
    assert refusal(design, board="vcu118", seed=2) == "seed: nothing is placed for vcu118; expected no --seed"


@pytest.mark.parametrize("seed", [-1, 2**31])
def test_seed_beyond_the_placers_is_refused(design: Path, seed: int) -> None:
    assert refusal(design, seed=seed) == f"seed: {seed} is out of range; expected 0 to 2147483647"


def test_count_of_a_board_is_refused(design: Path) -> None:
    expected = "count: board ulx3s-85f is built; expected --count or --board, not both"
    assert refusal(design, board="ulx3s-85f", count=True) == expected


def test_unknown_board_is_refused(design: Path) -> None:
    assert refusal(design, board="arty") == "board: 'arty' is unknown; expected one of ulx3s-85f, vcu118"


def test_unknown_target_is_refused(design: Path) -> None:
    expected = "target: 'ice40' is unknown; expected one of ecp5-85, xc7a200t, xcvu9p"
    assert refusal(design, target="ice40") == expected


def test_target_beside_a_board_is_refused(design: Path) -> None:
    expected = "target: board ulx3s-85f has its own; expected --target or --board, not both"
    assert refusal(design, target="ecp5-85", board="ulx3s-85f") == expected


def test_design_for_another_target_is_refused(design: Path) -> None:
    expected = (
        f"{design}/manifest.json: target: the design is for ecp5-85, --target xcvu9p needs xcvu9p; "
        "generate with --target xcvu9p"
    )
    assert refusal(design, target="xcvu9p") == expected


def test_design_for_another_board_is_refused(design: Path) -> None:
    expected = (
        f"{design}/manifest.json: target: the design is for ecp5-85, board vcu118 needs xcvu9p; "
        "generate with --target xcvu9p"
    )
    assert refusal(design, board="vcu118") == expected


def test_wide_stream_is_refused_by_a_board(design: Path) -> None:
    write_manifest(design, tdata=64)
    expected = (
        f"{design}/manifest.json: stream.tdata_width: board ulx3s-85f takes 32 bits, not 64; "
        "generate with --tdata 32"
    )
    assert refusal(design, board="ulx3s-85f") == expected


def test_folder_without_a_design_is_refused(tmp_path: Path) -> None:
    expected = (
        f"{tmp_path}/manifest.json: No such file or directory; expected a folder that rbdhw generate wrote"
    )
    assert refusal(tmp_path) == expected


def test_design_without_verilog_is_refused(design: Path) -> None:
    (design / "accelerator.v").unlink()
    expected = f"{design}/accelerator.v: no such file; expected a folder that rbdhw generate wrote"
    assert refusal(design) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "document: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        ("{}", "target: Field required"),
        (
            '{"target": "ecp5-85", "clock_mhz": 50, "ii": 1, "multipliers": 1, '
            '"multiplier_slots": {"used": 1}, "shift_add_products": 0, "dsp_blocks": 1, '
            '"stream": {"tdata_width": "32"}}',
            "stream.tdata_width: Input should be a valid integer",
        ),
    ],
)
def test_broken_manifest_is_refused(design: Path, text: str, reason: str) -> None:
    (design / "manifest.json").write_text(text)
    assert refusal(design) == f"{design}/manifest.json: {reason}"


def test_work_folder_that_cannot_be_made_is_refused(design: Path) -> None:
    work = design / "accelerator.v" / "work"
    assert refusal(design, work=work) == f"{work}: Not a directory; expected a folder that can be written"


def test_clock_that_the_line_cannot_follow_is_refused(design: Path) -> None:
    write_manifest(design, clock_mhz=20.0)
    expected = (
        "clock: 20 MHz is too slow for a serial line of 921600 bits a second; at least 23.04 MHz was expected"
    )
    assert refusal(design, board="ulx3s-85f") == expected
