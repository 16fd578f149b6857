"""The timing of a link, from the robot to the netlist, and ``generate --check-timing``."""

import json
from pathlib import Path
from typing import Any

import pytest

import rbdhw
from rbdhw.boards import yosys
from rbdhw.boards.synthesize import synthesize
from rbdhw.design.folder import write
from rbdhw.errors import InputError
from rbdhw.options.arguments import asked_build
from rbdhw.pipeline import build_design
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.mechanisms import mechanism

SMALL: dict[str, Any] = {"functions": "id", "width": 18, "tdata": 32}


@pytest.mark.parametrize(
    ("target", "clocks"), [long("ecp5-85", (40.0, 130.0)), long("xcvu9p", (150.0, 500.0))]
)
def test_a_link_is_timed(tmp_path: Path, target: str, clocks: tuple[float, float]) -> None:
    """The clock is plausible, and the core's regions are among the places of the slowest paths."""
    options, _ = asked_build(**SMALL, ii=8, target=target)
    write(build_design(mechanism([JointKind.REVOLUTE], [BASE], seed=2), options), tmp_path)
    timing = synthesize(tmp_path, count=True)["timing"]
    least, most = clocks
    assert least < timing["clock_mhz"] < most
    places = {(entry["step"], entry["joint"]) for entry in timing["regions"]}
    assert {("rnea_forward", 0), ("assembler", None)} <= places
    slowest = timing["paths"][0]
    assert slowest["ns"] == pytest.approx(1e3 / timing["clock_mhz"], rel=1e-3)
    assert slowest == timing["regions"][0]


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch, only_heading: None) -> list[str]:  # noqa: ARG001
    """Time the Verilog of designs as that of a small one; return the targets that are timed."""
    targets: list[str] = []
    time_verilog = yosys.time_verilog

    def small(_: str, top: str, target: str, *_progress: object) -> Any:
        targets.append(target)
        text = f"module {top}(input clk, input [15:0] a, output reg [15:0] o);\n"
        return time_verilog(f"{text}always @(posedge clk) o <= o * a * a;\nendmodule\n", top, target)

    monkeypatch.setattr(yosys, "time_verilog", small)
    return targets


def built(folder: Path, check: str, **options: Any) -> Path:
    rbdhw.generate(path("toy"), folder, check_timing=check, **SMALL, **options)
    return folder


def test_a_clock_that_is_confirmed_is_kept(
    tmp_path: Path, timed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = built(tmp_path / "design", "refuse", target="ecp5-85", clock=50)
    assert (folder / "manifest.json").exists()
    assert timed == ["ecp5-85"]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("timed")
def test_a_clock_that_is_not_confirmed_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        built(tmp_path / "design", "refuse", target="ecp5-85", clock=95)
    assert refusal.value.where == "clock"
    assert refusal.value.reason.startswith("95 MHz is not confirmed by the timing check: ")
    assert refusal.value.remedy.startswith("generate with --clock ")
    assert not (tmp_path / "design").exists()


def test_the_best_rate_gives_way_until_it_is_confirmed(tmp_path: Path, timed: list[str]) -> None:
    """The first netlist is that of the fastest schedule; the check's answer is that of a slower design."""
    folder = built(tmp_path / "design", "refuse", target="ecp5-85", clock="best-rate")
    clock = json.loads((folder / "manifest.json").read_text())["clock_mhz"]
    assert clock == int(clock) < 95
    assert timed == ["ecp5-85"] * 2


@pytest.mark.usefixtures("timed")
def test_a_warning_names_the_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = built(tmp_path / "design", "warn", target="ecp5-85", clock=95)
    assert (folder / "manifest.json").exists()
    assert "rbdhw: clock: 95 MHz is not confirmed by the timing check: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("check", "options", "reason"),
    [("perhaps", {}, "'perhaps' is unknown"), ("warn", {"target": "c"}, "has no effect with --target c")],
)
def test_a_check_that_is_not_possible_is_refused(
    tmp_path: Path, check: str, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError) as refusal:
        rbdhw.generate(path("toy"), tmp_path, check_timing=check, functions="m", **options)
    assert (refusal.value.where, refusal.value.reason) == ("check-timing", reason)
