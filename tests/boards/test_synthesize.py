"""Synthesis of a design folder: what it reports, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rbdhw.boards.synthesize import synthesize
from rbdhw.errors import InputError
from tests.boards.conftest import write_manifest

KEYS = (
    "board",
    "tool",
    "luts",
    "flip_flops",
    "dsp_blocks",
    "block_rams",
    "clock_mhz_target",
    "clock_mhz_achieved",
    "bitstream",
)


def refusal(design: Path, **options: Any) -> str:
    """The line with which the design is refused."""
    with pytest.raises(InputError) as caught:
        synthesize(design, **options)
    return str(caught.value)


def test_target_is_the_designs_own(design: Path) -> None:
    steps: list[str] = []
    report = synthesize(design, progress=steps.append)
    assert tuple(report) == KEYS
    assert tuple(report.values()) == (None, "yosys", 1, 34, 1, 0, 50.0, None, None)
    assert steps == ["synthesis with Yosys"]
    assert (design / "build-ecp5-85/synthesis.log").exists()


def test_target_ultrascale_plus_is_counted(design: Path, tmp_path: Path) -> None:
    write_manifest(design, target="xcvu9p", clock_mhz=125.0)
    report = synthesize(design, target="xcvu9p", work=tmp_path / "work")
    assert tuple(report.values()) == (None, "yosys", 1, 34, 1, 0, 125.0, None, None)
    assert (tmp_path / "work/resources.json").exists()


def test_board_ulx3s_gives_a_bitstream(design: Path) -> None:
    report = synthesize(design, board="ulx3s-85f")
    assert tuple(report) == KEYS
    assert report["board"] == "ulx3s-85f"
    assert report["tool"] == "yosys, nextpnr-ecp5"
    assert report["dsp_blocks"] == 1
    assert report["clock_mhz_target"] == 50.0
    assert report["clock_mhz_achieved"] > 50.0
    assert report["bitstream"] == str(design / "build-ulx3s-85f/top.bit")
    assert Path(report["bitstream"]).exists()
    json.dumps(report)


def test_board_vcu118_without_vivado_gives_a_plan(design: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVADO", "vivado-that-is-not-there")
    write_manifest(design, target="xcvu9p", clock_mhz=125.0)
    report = synthesize(design, board="vcu118")
    assert tuple(report.values()) == ("vcu118", "vivado (not run)", *4 * (None,), 125.0, None, None)
    assert (design / "build-vcu118/vivado.zip").exists()


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
            '{"target": "ecp5-85", "clock_mhz": 50, "stream": {"tdata_width": "32"}}',
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
