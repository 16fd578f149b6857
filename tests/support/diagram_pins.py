"""Boards whose projects are diagrams, simulated as scripts connect them, with the driver's transports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rbdhw.boards.synthesize import synthesize
from rbdhw.design.folder import read
from rbdhw.design.replacement import AXI_VERILOG, VERILOG
from rbdhw.driver import simulated, transports
from rbdhw.driver.library import Driver, Library
from rbdhw.verilator.simulator import Harness, make_simulator
from tests.support.answering import SimulatedBlock
from tests.support.diagram import Diagram
from tests.support.far_ends import UioBoard, XdmaBoard
from tests.support.tcl import run_project

DIAGRAMS = {"kv260": (UioBoard, 0b100), "vcu118": (XdmaBoard, 0b1)}
"""The devices of a board, and the line of the interrupt among those of its host."""

INTERRUPT_LINES = 0xFFFF_FFFC
"""The address where the models of cells have the lines of interrupts."""

TIMEOUT_NS = 60_000_000_000


class DiagramPins:
    """A board with the accelerator of a design, and the driver's transports to its devices."""

    def __init__(self, board: str, folder: Path, work: Path) -> None:
        (self._far_end, self.line), self.folder, self._work = DIAGRAMS[board], folder, work
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VIVADO", "vivado-that-is-not-there")
            synthesize(folder, board=board)
        project = folder / f"build-{board}"
        overlay = project / "overlay.dts"
        addresses = re.findall(r"reg = <0x0 (\w+)", overlay.read_text()) if overlay.exists() else ["0", "0"]
        self._base = int(addresses[1], 16)
        self._library = _build(Diagram(run_project(project), project / "ip"), folder, work)

    def block(self) -> SimulatedBlock:
        """Return the board after a reset, as its host sees the block."""
        return SimulatedBlock(self.folder, self._library, self._base)

    def lines(self, block: SimulatedBlock) -> int:
        """Return the lines of interrupts."""
        return block.read(INTERRUPT_LINES - self._base)

    @contextmanager
    def open(self) -> Iterator[Driver]:
        """Yield a driver at the devices of the board."""
        devices = self._work / f"devices-{len([*self._work.iterdir()])}"
        devices.mkdir()
        far_end, library = self._far_end(devices, self.block()), Library(read(self.folder))
        device = transports.parse(far_end.transport, library)
        try:
            driver = library.open(device.transport(), device.options(timeout=TIMEOUT_NS), "pins")
            yield driver
            driver.close()
            device.close()
        finally:
            far_end.close()

    def close(self) -> None:
        """End the board, of which nothing is open any more."""


def _build(diagram: Diagram, folder: Path, work: Path) -> Path:
    """Return the library of a diagram in Verilator."""
    top = diagram.verilog()
    texts = {name: text.encode() for name, text in simulated.sources(top).items()}
    work.mkdir()
    (work / VERILOG).write_bytes((folder / VERILOG).read_bytes())
    (work / "manifest.json").write_text(json.dumps({"name": "top"}))
    block = f"{top}\n{(folder / AXI_VERILOG).read_text()}"
    files = {name: texts.pop(name) for name in [*texts] if name.endswith(".cpp")}
    return make_simulator(
        work, None, Harness({**files, AXI_VERILOG: block.encode()}, simulated.SHARED, texts)
    )
