"""The VCU118: its clocks, Vivado's build plan, and the reading of Vivado's reports."""

import re
import zipfile
from pathlib import Path

import pytest

from rbdhw.boards.tools import ToolError, find_tool, run_tool
from rbdhw.boards.vcu118 import Mmcm, build_bitstream, mmcm_for, write_build_plan
from rbdhw.errors import InputError
from rbdhw.estimate.resources import Resources

TIMING = """
| Design Timing Summary
| ---------------------
-----------------------

    WNS(ns)      TNS(ns)  TNS Failing Endpoints  TNS Total Endpoints      WHS(ns)      THS(ns)
    -------      -------  ---------------------  -------------------      -------      -------
      1.750        0.000                      0                 1234        0.021        0.000
"""
UTILIZATION = """
| CLB LUTs*                  |  812 |     0 |          0 |   1182240 |  0.07 |
|   LUT as Logic             |  800 |     0 |          0 |   1182240 |  0.07 |
| CLB Registers              |  640 |     0 |          0 |   2364480 |  0.03 |
| Block RAM Tile    |  1.5 |     0 |          0 |      2160 |  0.07 |
| DSPs           |    1 |     0 |          0 |      6840 |  0.01 |
"""


@pytest.mark.parametrize(
    ("asked", "expected", "made"),
    [
        (125.0, Mmcm(12.0, 12), 125.0),
        (100.0, Mmcm(12.0, 15), 100.0),
        (250.0, Mmcm(12.0, 6), 250.0),
        (333.0, Mmcm(10.625, 4), 332.03125),
    ],
)
def test_mmcm_makes_the_fastest_clock_not_above(asked: float, expected: Mmcm, made: float) -> None:
    assert mmcm_for(asked) == expected
    assert mmcm_for(asked).clock_mhz == made


def test_clock_below_the_mmcm_is_refused() -> None:
    expected = "clock: 5 MHz is too slow for the MMCM of the VCU118; expected at least 6.34766 MHz"
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        mmcm_for(5.0)


def test_clock_below_the_serial_line_is_refused(design: Path, tmp_path: Path) -> None:
    expected = (
        "clock: 20 MHz is too slow for a serial line of 921600 bits a second; expected at least 23.04 MHz"
    )
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        write_build_plan(design / "accelerator.v", tmp_path, clock_mhz=20.0)


def test_build_plan_has_tcl_constraints_and_sources(design: Path, tmp_path: Path) -> None:
    write_build_plan(design / "accelerator.v", tmp_path)
    tcl = (tmp_path / "top.tcl").read_text()
    assert "create_project -force -name top -part xcvu9p-flga2104-2L-e" in tcl
    for name in ("accelerator.v", "accelerator_axi.v"):
        assert f'add_files "{name}"' in tcl
    assert tcl.index("$slack < 0") < tcl.index("write_bitstream")
    constraints = (tmp_path / "top.xdc").read_text()
    for pin, port in (
        ("AY24", "clk125_0__p"),
        ("AY23", "clk125_0__n"),
        ("L19", "cpu_reset_0__io"),
        ("AW25", "uart_0__rx__io"),
        ("BB21", "uart_0__tx__io"),
        ("AT32", "led_0__io"),
    ):
        assert f'set_property LOC {pin} [get_ports "{port}"]' in constraints
    assert 'create_clock -name clk125_0__p -period 8.0 [get_nets "clk125_0__p"]' in constraints
    assert "set_property CFGBVS GND [current_design]" in constraints
    with zipfile.ZipFile(tmp_path / "vivado.zip") as archive:
        assert {"top.tcl", "top.xdc", "top.v", "accelerator.v", "build_top.sh"} <= set(archive.namelist())
        assert archive.read("accelerator.v").decode() == (design / "accelerator.v").read_text()


def test_build_plan_is_reproducible(design: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write_build_plan(design / "accelerator.v", tmp_path / folder)
    assert (tmp_path / "one/vivado.zip").read_bytes() == (tmp_path / "two/vivado.zip").read_bytes()


@pytest.mark.verify
def test_sources_fit_together_and_the_device_has_their_primitives(design: Path, tmp_path: Path) -> None:
    write_build_plan(design / "accelerator.v", tmp_path, clock_mhz=100.0)
    script = "read_verilog accelerator.v accelerator_axi.v top.v; synth_xilinx -family xcup -top top"
    checks = "hierarchy -check; check -assert"
    yosys = [find_tool("yosys"), "-q", "-p", f"{script} -run begin:prepare; {checks}"]
    run_tool("yosys", yosys, folder=tmp_path, log=tmp_path / "check.log")


def test_without_vivado_only_the_plan_is_written(
    design: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVADO", "vivado-that-is-not-there")
    built = build_bitstream(design / "accelerator.v", tmp_path, clock_mhz=125.0)
    assert built.tool == "vivado (not run)"
    assert (built.clock_mhz, built.fastest_mhz, built.resources, built.bitstream) == (125.0, None, None, None)
    assert (tmp_path / "vivado.zip").exists()


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Replace Vivado by a program that executes ``body``."""
    program = folder / "stand-in"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("VIVADO", str(program))


def test_reports_of_vivado_are_read(design: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "top_timing.rpt").write_text(TIMING)
    (work / "top_utilization_place.rpt").write_text(UTILIZATION)
    stand_in(tmp_path, monkeypatch, 'echo "$@" > arguments; touch top.bit')
    built = build_bitstream(design / "accelerator.v", work, clock_mhz=125.0)
    assert (work / "arguments").read_text() == "-mode batch -log top.log -source top.tcl\n"
    assert built.tool == "vivado"
    assert built.fastest_mhz == 160.0
    assert built.resources == Resources(luts=812, flip_flops=640, dsp_blocks=1, block_rams=2)
    assert built.bitstream == work / "top.bit"


def test_failure_of_vivado_is_an_error(design: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    stand_in(tmp_path, monkeypatch, 'echo "timing: the worst max path misses the clock by -0.1 ns"; exit 1')
    expected = (
        f"vivado failed (exit status 1); its log is {work}/top.log\n"
        "  timing: the worst max path misses the clock by -0.1 ns"
    )
    with pytest.raises(ToolError, match=f"^{re.escape(expected)}$"):
        build_bitstream(design / "accelerator.v", work, clock_mhz=125.0)
    assert not (work / "top.bit").exists()


@pytest.mark.parametrize(
    ("timing", "utilization", "reason"),
    [
        ("", UTILIZATION, "top_timing.rpt has no worst negative slack"),
        (TIMING, UTILIZATION.replace("DSPs", "?"), "top_utilization_place.rpt has no line for 'DSPs'"),
    ],
)
def test_report_that_is_not_understood_is_an_error(
    design: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timing: str, utilization: str, reason: str
) -> None:
    (tmp_path / "top_timing.rpt").write_text(timing)
    (tmp_path / "top_utilization_place.rpt").write_text(utilization)
    stand_in(tmp_path, monkeypatch, "true")
    with pytest.raises(ToolError, match=f"^{re.escape(f'vivado: {tmp_path}/{reason}')}$"):
        build_bitstream(design / "accelerator.v", tmp_path, clock_mhz=125.0)
