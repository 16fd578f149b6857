"""The command ``synthesize``: exit statuses, JSON and tables."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rbdhw.cli.app import main
from tests.support.board_designs import write_manifest

Command = Callable[..., tuple[int | str, str, str]]


@pytest.fixture
def synthesize(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command; return its exit status, standard output and error stream."""

    def synthesize(*arguments: object) -> tuple[int | str, str, str]:
        monkeypatch.setattr(sys, "argv", ["rbdhw", "synthesize", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return synthesize


def test_report_as_json(
    synthesize: Command, design: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({2: 60.0})
    status, out, err = synthesize(design, "--target", "ecp5-85", "--seed", 2, "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert (report["target"], report["seed"], report["dsp_blocks"]) == ("ecp5-85", 2, 1)


def test_report_as_a_table(synthesize: Command, design: Path) -> None:
    status, out, _ = synthesize(design, "--count")
    assert status == 0
    rows = [line.strip("|").split("|") for line in out.splitlines() if line.startswith("|")]
    told = {name.strip(): value.strip() for name, value in rows}
    assert (told["tool"], told["flip flops"], told["clock mhz achieved"]) == ("yosys (not placed)", "34", "-")
    assert told["versions"].startswith("yosys 0.")
    assert (told["tries"], told["seed"]) == ("-", "-")
    assert "timing of the netlist (ecp5-85, speed grade 6): " in out
    assert " ns in cells, into top: a to m_axis_tdata" in out


def test_tries_in_a_table(
    synthesize: Command, design: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({3: 48.26, 4: 50.5})
    status, out, _ = synthesize(design, "--seed", 3, "--tries", 2)
    assert status == 0
    assert "seed 3: 48.26 MHz, seed 4: 50.5 MHz" in out


def test_a_lower_clock_may_be_asked_for(
    synthesize: Command, design: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({1: 50.5})
    _, out, _ = synthesize(design, "--clock", 48, "--json")
    assert json.loads(out)["clock_mhz_target"] == 48.0


def test_missed_clock_tells_what_was_found_and_exits_with_1(
    synthesize: Command, design: Path, placer: Callable[[dict[int, float]], None]
) -> None:
    placer({1: 48.26})
    status, out, err = synthesize(design, "--tries", 1, "--json")
    assert status == 1
    assert json.loads(out)["clock_mhz_achieved"] == 48.26
    assert err.startswith("rbdhw: timing: the design reaches 48.3 MHz of 50 MHz ")
    assert err.count("\n") == 1


def test_design_that_does_not_fit_exits_with_2(synthesize: Command, design: Path) -> None:
    write_manifest(design, dsp_blocks=157, multipliers=157, multiplier_slots={"used": 157})
    line = "does not fit ecp5-85: 157 DSP blocks of 156, 1 too many; generate with --ii 2 or more"
    assert synthesize(design) == (2, "", f"rbdhw: {design}/manifest.json: {line}\n")


def test_missing_program_exits_with_2(
    synthesize: Command, design: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YOSYS", "/no/such/yosys")
    line = "rbdhw: YOSYS=/no/such/yosys: no such program; expected the path of yosys\n"
    assert synthesize(design) == (2, "", line)
