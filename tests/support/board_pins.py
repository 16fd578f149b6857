"""Boards in Verilator, whole as they are built, with the driver at their pins."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from amaranth_boards.ulx3s import ULX3S_85F_Platform

from rbdhw.boards import arty, ulx3s, vcu118
from rbdhw.boards.build import prepare
from rbdhw.boards.udp_core import IP_ADDRESS, MAC_ADDRESS, MODULE, PORT
from rbdhw.design.folder import read
from rbdhw.design.replacement import AXI_VERILOG, VERILOG
from rbdhw.driver.library import Driver, Library, Options, Transport, sources
from rbdhw.driver.simulated import SHARED
from rbdhw.software.compiler import load_library
from rbdhw.verilator.simulator import Harness, make_simulator

HERE = Path(__file__).with_name("shells")

DIVISOR = 8
"""The cycles of a bit of a simulated serial line: as few as a receiver takes."""

QUIET_NS = 50_000

MII = {"RX_CLOCK": "rx_clk", "RX_VALID": "rx_dv", "RX_DATA": "rx_data"}
MII |= {"TX_CLOCK": "tx_clk", "TX_VALID": "tx_en", "TX_DATA": "tx_data"}


@dataclass(frozen=True)
class Pins:
    """The host at the pins of a board, the pins, and the time that a byte takes there."""

    host: str
    ports: dict[str, str]
    byte_ns: float


def _uart(clock: str) -> Pins:
    ports = {"CLOCK": clock, "RX": "uart_0__rx__io", "TX": "uart_0__tx__io"}
    return Pins("uart_pins.h", ports, 200 * DIVISOR)


PINS = {
    "ulx3s-85f": _uart("clk25_0__io"),
    "vcu118-uart": _uart("clk125_0__p"),
    "arty-a7-100t": Pins(
        "mii_pins.h",
        {"CLOCK": "clk100_0__io", "NO_RESET": "rst_0__io"}
        | {name: f"eth_mii_0__{pin}__io" for name, pin in MII.items()},
        80.0,
    ),
}


def _top(board: str, verilog: Path, work: Path) -> str:
    """Return the Verilog of the top module of a board and what is in it, beside the accelerator."""
    match board:
        case "ulx3s-85f":
            clock, platform = ulx3s.Clocking(ulx3s.pll_for(50.0)), ULX3S_85F_Platform()
            plan = prepare(platform, verilog, clock=clock, divisor=DIVISOR, debug_verilog=True)
            return plan.files["top.debug.v"]
        case "vcu118-uart":
            clock, platform = vcu118.Clocking(vcu118.mmcm_for(50.0)), vcu118.VCU118Platform()
            return prepare(platform, verilog, clock=clock, divisor=DIVISOR).files["top.v"]
        case _:
            plan, _ = arty.write_build_plan(verilog, work / "plan", clock_mhz=80.0)
            return plan.files["top.v"] + plan.files[f"{MODULE}.v"]


class BoardPins:
    """A board with the accelerator of a design, and the driver's frames at its pins."""

    def __init__(self, board: str, folder: Path, work: Path) -> None:
        self.pins, self.folder = PINS[board], folder
        self._driver = Library(read(folder))
        self._c = load_library(_build(board, folder, work))
        self._c.board_new.restype = ctypes.c_void_p
        self._c.board_clock.restype = self._c.board_bytes.restype = ctypes.c_uint64
        self._self = ctypes.c_void_p(self._c.board_new())

    @contextmanager
    def open(self) -> Iterator[Driver]:
        """Yield a driver at the pins, in the board's time."""
        transport = Transport()
        make = ctypes.cast(self._driver.function("frames_transport"), ctypes.c_void_p)
        self._c.board_transport(self._self, ctypes.byref(transport), make, self._driver.described)
        clock = ctypes.cast(self._c.board_clock, ctypes.c_void_p)
        options = Options(clock=clock, of_clock=self._self, quiet=QUIET_NS)
        driver = self._driver.open(transport, options, "pins")
        yield driver
        driver.close()

    @property
    def nanoseconds(self) -> int:
        """The time of the board."""
        return int(self._c.board_clock(self._self))

    @property
    def wire_ns(self) -> tuple[int, int]:
        """The time that the wire to the board and that from it were busy."""
        counts = (self._c.board_bytes(self._self, k) for k in range(2))
        return tuple(round(count * self.pins.byte_ns) for count in counts)

    def close(self) -> None:
        """End the simulation."""
        self._c.board_delete(self._self)


def _build(board: str, folder: Path, work: Path) -> Path:
    """Return the library of a board in Verilator."""
    accelerator = [(folder / name).read_text() for name in (VERILOG, AXI_VERILOG)]
    work.mkdir()
    texts = [_top(board, folder / VERILOG, work), (HERE / "primitives.v").read_text(), *accelerator]
    (work / VERILOG).write_text("\n".join(texts))
    (work / "manifest.json").write_text(json.dumps({"name": "top"}))
    pins, driver = PINS[board], sources()
    macros = {name: port.replace("__", "___05F") for name, port in pins.ports.items()}
    address = int.from_bytes(bytes(map(int, IP_ADDRESS.split("."))), "big")
    macros |= {"DIVISOR": str(DIVISOR), "BOARD_MAC": f"{MAC_ADDRESS}ull", "BOARD_IP": f"{address}ull"}
    macros |= {"BOARD_PORT": str(PORT)}
    headers = {name: driver[name].encode() for name in ("frames.h", "rbdhw_design.h", "rbdhw_transport.h")}
    headers["ports.h"] = "".join(f"#define {name} {value}\n" for name, value in macros.items()).encode()
    headers["pins.h"] = (HERE / pins.host).read_bytes()
    files = {"board_line.cpp": (HERE / "board_line.cpp").read_bytes()}
    return make_simulator(work, None, Harness(files, SHARED, headers))
