"""The transport to the Verilog of a design in Verilator."""

from __future__ import annotations

import ctypes
import re
from importlib.resources import files
from pathlib import Path

from rbdhw.design.digests import top_module
from rbdhw.design.replacement import AXI_VERILOG
from rbdhw.driver.library import Options, Transport
from rbdhw.software.compiler import load_library
from rbdhw.verilator.simulator import Harness, make_simulator

_SOURCE, _PORTS = "simulated.cpp", "ports.h"
_HEADERS = ("rbdhw_simulated.h", "rbdhw_transport.h")

_SEVERAL_PAIRS, _TWO_CLOCKS = re.compile(r"\bs_axis_0_tvalid\b"), re.compile(r"\binput\b.*\bstream_clk\b")

SHARED = ("-CFLAGS", "-fPIC", "-LDFLAGS", "-shared")
"""The options of Verilator for a shared library."""

PERIOD_NS = 10.0
"""The period of the simulated clock."""

PATIENCE = 20_000
"""The cycles in which nothing moves after which a wait is over."""


def build(directory: Path, cache: Path | None = None) -> Path:
    """Return the library of a transport to the Verilog in a design folder, kept like the other simulators.

    Raises
    ------
    InputError, SimulationError
        As :func:`rbdhw.verilator.simulator.make_simulator`.
    """
    verilog = (directory / AXI_VERILOG).read_text(encoding="utf-8")
    texts = {name: text.encode() for name, text in sources(verilog).items()}
    compiled = {_SOURCE: texts.pop(_SOURCE), AXI_VERILOG: verilog.encode()}
    options = (*SHARED, "--top-module", f"{top_module(directory)}_axi")
    return make_simulator(directory, cache, Harness(compiled, options, texts))


def sources(verilog: str) -> dict[str, str]:
    """Return the transport's files by name, with the ports of the Verilog with registers."""
    folder = files("rbdhw.driver")
    texts = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in (_SOURCE, *_HEADERS)}
    return texts | {_PORTS: _ports(verilog)}


def _ports(verilog: str) -> str:
    """Return macros with the names of the ports."""
    number = "0_" if _SEVERAL_PAIRS.search(verilog) else ""
    ports = {"REQUESTS(port)": f"s_axis_{number}##port", "ANSWERS(port)": f"m_axis_{number}##port"}
    if _TWO_CLOCKS.search(verilog):
        ports |= {"CLOCK": "stream_clk", "RESET": "stream_rst", "CORE_CLOCK": "clk"}
    else:
        ports |= {"CLOCK": "clk", "RESET": "rst"}
    return "".join(f"#define {name} {port}\n" for name, port in ports.items())


class Simulation:
    """An accelerator in Verilator, as the driver sees it."""

    def __init__(self, library: Path) -> None:
        self._library = load_library(library)
        self._library.rbdhw_simulated_new.restype = ctypes.c_void_p
        arguments = ctypes.c_double(PERIOD_NS), ctypes.c_int64(PATIENCE)
        self._self = ctypes.c_void_p(self._library.rbdhw_simulated_new(*arguments))

    def transport(self) -> Transport:
        """Return the transport."""
        made = Transport()
        self._library.rbdhw_simulated_transport(self._self, ctypes.byref(made))
        return made

    def options(self, **others: int) -> Options:
        """Return options of the driver with the time of the simulation."""
        return Options(clock=self.function("clock"), of_clock=self._self, **others)

    def function(self, name: str) -> ctypes.c_void_p:
        """Return the address of a function of the simulation, such as ``reset``."""
        return ctypes.cast(getattr(self._library, f"rbdhw_simulated_{name}"), ctypes.c_void_p)

    def close(self) -> None:
        """End the simulation; its transport must not be used any more."""
        self._library.rbdhw_simulated_delete(self._self)
