"""Vivado's projects of boards: the scripts run in Tcl, with the right files, part, constraints and order."""

from __future__ import annotations

import re
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from rbdhw.board import BOARDS
from rbdhw.boards.synthesize import synthesize
from rbdhw.design.folder import read, write
from rbdhw.errors import InputError
from rbdhw.options.arguments import asked_build
from rbdhw.packages.block import read_block
from rbdhw.packages.vivado import interfaces
from rbdhw.pipeline import generate
from rbdhw.registers.map import MAGIC
from rbdhw.robots import path
from tests.support.diagram import Diagram
from tests.support.marks import long
from tests.support.tcl import VIVADO, Call, run_project, run_tcl

tkinter = pytest.importorskip("tkinter")  # its Tcl runs the scripts

PROJECTS = [long(name) if name == "kr260" else name for name, board in BOARDS.items() if board.part]
"""The KR260 has the project of the KV260, with other files of its board."""


@dataclass(frozen=True)
class Project:
    """A project that was written, and the design in it."""

    board: str
    design: Path

    @property
    def folder(self) -> Path:
        return self.design / f"build-{self.board}"

    def run(self, **outcome: str) -> list[Call]:
        """Run the script."""
        return run_project(self.folder, **outcome)


@pytest.fixture(scope="module", params=PROJECTS)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    design = tmp_path_factory.mktemp(request.param) / "design"
    options, overrides = asked_build(board=request.param, functions="id", ii=8, width=18)
    write(generate(path("toy"), options, overrides), design)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIVADO", "vivado-that-is-not-there")
        report = synthesize(design, board=request.param)
    assert (report["tool"], report["bitstream"]) == ("vivado (not run)", None)
    return Project(request.param, design)


def test_parts_files_and_constraints(project: Project) -> None:
    calls, board = project.run(), BOARDS[project.board]
    created = calls[0]
    assert created[0] == "create_project"
    assert created[created.index("-part") + 1] == board.part
    assert Path(next(call[2] for call in calls if call[1:2] == ("ip_repo_paths",))).samefile(
        project.folder / "ip"
    )
    assert (project.folder / "ip/component.xml").is_file()
    (constraints,) = (call for call in calls if call[:2] == ("add_files", "-fileset"))
    assert Path(constraints[-1]).is_file()
    assert any(call[:2] == ("set_property", "board_part") for call in calls) is bool(board.board_part)


def test_each_pin_of_the_block_is_connected_once(project: Project) -> None:
    calls, (block, _) = project.run(), read_block(project.design)
    cells = {call[call.index("-vlnv") + 2] for call in calls if call[0] == "create_bd_cell"}
    pins = [call[1] for call in calls if call[0] in ("get_bd_pins", "get_bd_intf_pins")]
    assert {pin.partition("/")[0] for pin in pins} == cells
    connected = [pin for pin in pins if pin.startswith("accelerator/")]
    assert sorted(connected) == sorted(f"accelerator/{each.name}" for each in interfaces(block))
    # A pin that many share is the first of each connection; the others are connected only once.
    ends = [call[2] for call in calls if call[0] == "connect_bd_net"]
    assert len(ends) == len(set(ends))
    (segment,) = (call[1] for call in calls if call[0] == "get_bd_addr_segs" and "accelerator" in call[1])
    assert segment == "accelerator/s_axi/registers"


def test_ends_that_are_connected_fit(project: Project) -> None:
    calls, ip = project.run(), project.folder / "ip"
    Diagram(calls, ip).verilog()
    narrow = [tuple(re.sub(r"(?<=data_width )(128|512)", "64", word) for word in call) for call in calls]
    with pytest.raises(AssertionError, match="differ in width"):
        Diagram(narrow, ip)
    without = [call for call in calls if call[-1] != "accelerator/clk"]
    with pytest.raises(AssertionError, match="nothing drives accelerator/clk"):
        Diagram(without, ip).verilog()


def test_order_of_steps(project: Project) -> None:
    names = [call[0] for call in project.run()]
    steps = [
        "create_project",
        "update_ip_catalog",
        "create_bd_design",
        "create_bd_cell",
        "connect_bd_net",
        "assign_bd_address",
        "validate_bd_design",
        "make_wrapper",
        "launch_runs",
        "wait_on_run",
        "open_run",
        "report_timing_summary",
        "get_timing_paths",
        "write_bitstream",
        "write_hw_platform",
    ]
    assert [names.index(step) for step in steps] == sorted(names.index(step) for step in steps)


def test_a_slow_path_or_missing_board_files_end_it(project: Project) -> None:
    with pytest.raises(tkinter.TclError, match=r"timing: the worst max path misses the clock by -0\.1 ns"):
        project.run(slack="-0.1")
    if BOARDS[project.board].board_part:
        with pytest.raises(tkinter.TclError, match=r"no board files xilinx\.com:k"):
            project.run(board_parts="")


def test_constraints_are_tcl(project: Project) -> None:
    calls = run_tcl(project.folder / "top.xdc", VIVADO, project.folder)
    pins = {call[3]: call[2] for call in calls if call[:2] == ("set_property", "PACKAGE_PIN")}
    expected = {"{pcie_refclk_clk_p[0]}": "AC9"} if project.board == "vcu118" else {}
    assert {f"{{{port}}}": pin for port, pin in pins.items() if "clk_p" in port} == expected
    for file in (project.folder / "ip").glob("*.xdc"):
        bounds = [call for call in run_tcl(file, VIVADO, project.folder) if call[0] == "set_max_delay"]
        assert [call[-1] for call in bounds] == ["4.000", "4.000"]


def test_a_design_for_another_device_is_refused(project: Project) -> None:
    other = {"vcu118": "kv260"}.get(project.board, "vcu118")
    with pytest.raises(InputError, match=r"target: the design is for"):
        synthesize(project.design, board=other)


@pytest.mark.usefixtures("only_heading")
@pytest.mark.parametrize(("asked", "told"), [({}, "none"), ({"stream_clock": 100}, "100.0")])
def test_a_board_whose_streams_have_another_clock_is_refused(tmp_path: Path, asked: dict, told: str) -> None:
    options, overrides = asked_build(target="xcvu9p", functions="m", ii=8, width=18, tdata=512, **asked)
    write(generate(path("toy"), options, overrides), tmp_path / "design")
    with pytest.raises(InputError) as refusal:
        synthesize(tmp_path / "design", board="vcu118")
    assert (refusal.value.where.rpartition(" ")[2], refusal.value.reason) == ("stream_clock_mhz", told)
    assert refusal.value.remedy == "generate with --stream-clock 250"


class Link:
    """AXI DMA and the accelerator, which answers each packet by its bytes in reverse."""

    def __init__(self) -> None:
        self.sendchannel = SimpleNamespace(transfer=self._send, wait=lambda: None)
        self.recvchannel = SimpleNamespace(transfer=self._receive, wait=lambda: None, transferred=0)

    def _receive(self, buffer: np.ndarray) -> None:
        self.answers = buffer

    def _send(self, buffer: np.ndarray, nbytes: int) -> None:
        self.answers[:nbytes] = buffer[:nbytes][::-1]
        self.recvchannel.transferred = nbytes


@pytest.mark.parametrize("wrong", [False, True])
def test_overlay_of_pynq(project: Project, monkeypatch: pytest.MonkeyPatch, wrong: bool) -> None:
    script = project.folder / "rbdhw_overlay.py"
    if not BOARDS[project.board].board_part:
        assert not script.exists()
        return
    identity = str(read(project.design).manifest["identity"])
    words = {0: MAGIC} | {0x20 + 4 * k: int(identity[8 * k : 8 * k + 8], 16) for k in range(8)}
    words[0x3C] ^= wrong
    pynq = ModuleType("pynq")
    pynq.MMIO = lambda address, _: SimpleNamespace(read=words.get, address=address)  # type: ignore[attr-defined]
    pynq.Overlay = lambda _: SimpleNamespace(dma=Link())  # type: ignore[attr-defined]
    pynq.allocate = np.zeros  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynq", pynq)
    accelerator = runpy.run_path(str(script))["Accelerator"]
    if wrong:
        with pytest.raises(RuntimeError, match=r"top\.bit: is not the bitstream of this design"):
            accelerator()
    else:
        assert accelerator().exchange(b"0123456789abcdef") == b"fedcba9876543210"
    overlay = (project.folder / "overlay.dts").read_text()
    assert re.findall(r"reg = <0x0 (\w+)", overlay) == ["0xA0000000", "0xA0010000"]
