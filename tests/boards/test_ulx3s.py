"""The ULX3S: its clocks, and the bitstream of a small accelerator."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rbdhw.boards.tools import ToolError
from rbdhw.boards.ulx3s import VCO_MHZ, Pll, build_bitstream, pll_for
from rbdhw.errors import InputError


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (25.0, Pll(1, 16, 16)),
        (50.0, Pll(1, 16, 8)),
        (60.0, Pll(1, 24, 10)),
        (62.5, Pll(1, 20, 8)),
        (75.0, Pll(1, 18, 6)),
        (48.0, Pll(1, 23, 12)),
        (1000.0, Pll(1, 16, 1)),
    ],
)
def test_pll_makes_the_fastest_clock_not_above(asked: float, expected: Pll) -> None:
    pll = pll_for(asked)
    assert pll == expected
    assert VCO_MHZ[0] <= 25.0 / pll.reference * pll.feedback <= VCO_MHZ[1]
    assert asked * 0.97 < pll.clock_mhz <= asked or asked > 400.0


def test_clock_below_the_pll_is_refused() -> None:
    expected = "clock: 1 MHz is too slow for the PLL of the ULX3S; expected at least 3.125 MHz"
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        pll_for(1.0)


@pytest.mark.verify
def test_small_design_becomes_a_bitstream(design: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    work = tmp_path / "work"
    built = build_bitstream(design / "accelerator.v", work, clock_mhz=50.0, progress=steps.append)
    assert built.bitstream == work / "top.bit"
    assert built.bitstream.stat().st_size > 100_000
    assert built.clock_mhz == 50.0
    assert built.fastest_mhz is not None
    assert built.fastest_mhz > 50.0
    assert built.resources is not None
    assert built.resources.dsp_blocks == 1
    assert 900 < built.resources.luts < 1300
    assert 400 < built.resources.flip_flops < 800
    assert built.resources.block_rams == 2
    assert [step for step in steps if ": " not in step] == [
        "synthesis with Yosys",
        "placement with nextpnr, try 1 of 1, seed 1",
        "packing with ecppack",
    ]
    assert [one.seed for one in built.tries] == [1]
    assert "--seed 1 " in (work / "build_top.sh").read_text()
    assert 'FREQUENCY PORT "clk25_0__io" 25000000.0 HZ;' in (work / "top.lpf").read_text()
    report = json.loads((work / "top.report.json").read_text())
    assert [clock["constraint"] for clock in report["fmax"].values()] == [50]


def test_missed_clock_gives_no_bitstream(
    design: Path, tmp_path: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({1: 48.26})
    (tmp_path / "top.bit").write_text("of an earlier run")
    steps: list[str] = []
    built = build_bitstream(design / "accelerator.v", tmp_path, clock_mhz=50.0, progress=steps.append)
    expected = (
        "timing: the design reaches 48.3 MHz of 50 MHz on the ULX3S with seed 1; "
        f"its slowest path goes from top to top, see {tmp_path}/top.report.json; synthesize with --clock 48 "
    )
    assert built.missed is not None
    assert built.missed.startswith(expected)
    assert built.bitstream is None
    assert not (tmp_path / "top.bit").exists()
    assert not any("packing" in step for step in steps)


def test_verilog_that_does_not_fit_the_shell_is_yosys_failing(tmp_path: Path) -> None:
    for name in ("accelerator", "accelerator_axi"):
        (tmp_path / f"{name}.v").write_text(f"module {name}(input clk);\nendmodule\n")
    with pytest.raises(ToolError) as caught:
        build_bitstream(tmp_path / "accelerator.v", tmp_path / "work", clock_mhz=50.0)
    assert str(caught.value).startswith(f"yosys failed (exit status 1); its log is {tmp_path}/work/top.rpt\n")
    assert "does not have a port named" in str(caught.value)
