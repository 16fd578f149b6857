"""The block of a design with registers, as packages describe it: its ports, interfaces and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from rbdhw.design.manifest import Manifest, read_manifest
from rbdhw.design.replacement import AXI_VERILOG, VERILOG
from rbdhw.errors import InputError
from rbdhw.registers.map import ADDRESS_BITS

CONSTRAINTS = ("accelerator.xdc", "accelerator.lpf")
"""The clock of the accelerator as a whole design, for AMD and for Lattice; a design has one of them."""

_FILES = (VERILOG, AXI_VERILOG, "primitives.v", "selftest.v", "accelerator.vlt", *CONSTRAINTS)

_CHANNELS = {"aw": ("addr",), "w": ("data", "strb"), "b": ("resp",), "ar": ("addr",), "r": ("data", "resp")}
"""The channels of AXI4-Lite, and what each carries beside VALID and READY."""

_WIDTHS = {"addr": ADDRESS_BITS, "data": 32, "strb": 4, "resp": 2}


@dataclass(frozen=True)
class Port:
    """A port: its width, and whether it is an output."""

    name: str
    width: int
    output: bool

    @property
    def verilog(self) -> str:
        """The declaration of the port in Verilog."""
        bits = f"[{self.width - 1}:0] " if self.width > 1 else ""
        return f"{'output' if self.output else 'input'} {bits}{self.name}"


@dataclass(frozen=True)
class Clock:
    """A clock input, in MHz, and the interfaces that belong to it."""

    name: str
    mhz: float
    interfaces: tuple[str, ...] = ()
    reset: str = ""
    """The reset of this clock; empty if it has none."""


@dataclass(frozen=True)
class Block:
    """A module with AXI4-Lite registers and AXI4-Streams.

    Members
    -------
    streams
        The prefixes of the streams' ports, and whether each leaves the block.
    ports
        All ports but those of clocks and resets.
    """

    module: str
    version: str
    description: str
    data_width: int
    pairs: int
    clocks: tuple[Clock, ...]
    registers: str = "s_axi"
    reset_is_low: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    """The texts of the design's Verilog, lint rules and constraints by name."""

    @property
    def streams(self) -> dict[str, bool]:
        suffixes = [f"_{k}" for k in range(self.pairs)] if self.pairs > 1 else [""]
        return {f"{side}{suffix}": side == "m_axis" for suffix in suffixes for side in ("s_axis", "m_axis")}

    def stream_ports(self, stream: str) -> dict[str, Port]:
        """Return the ports of a stream by their names in AXI4-Stream."""
        leaves = self.streams[stream]
        named = {"TDATA": self.data_width, "TVALID": 1, "TLAST": 1, "TREADY": 1}
        return {
            name: Port(f"{stream}_{name.lower()}", width, leaves != (name == "TREADY"))
            for name, width in named.items()
        }

    @property
    def register_ports(self) -> dict[tuple[str, str], Port]:
        """The ports of the registers by channel and signal of AXI4-Lite."""
        ports = {}
        for channel, carried in _CHANNELS.items():
            for signal in (*carried, "valid", "ready"):
                output = (channel in ("b", "r")) != (signal == "ready")
                width = _WIDTHS.get(signal, 1)
                ports[channel, signal] = Port(f"{self.registers}_{channel}{signal}", width, output)
        return ports

    @property
    def ports(self) -> tuple[Port, ...]:
        streams = [port for stream in self.streams for port in self.stream_ports(stream).values()]
        return (*streams, *self.register_ports.values(), Port("interrupt", 1, True))

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The clocks and the resets."""
        resets = [clock.reset for clock in self.clocks if clock.reset]
        return tuple(Port(name, 1, False) for name in (*(clock.name for clock in self.clocks), *resets))


def read_block(directory: Path) -> tuple[Block, Manifest]:
    """Return the block in a folder that `rbdhw generate` wrote, and the folder's manifest.

    Raises InputError if it holds no accelerator, or one without registers.
    """
    manifest = read_manifest(directory)
    names = [name for name in _FILES if (directory / name).is_file()]
    if AXI_VERILOG not in names:
        raise InputError(str(directory / AXI_VERILOG), "missing", remedy="run `rbdhw generate` again")
    files = {name: (directory / name).read_text(encoding="utf-8") for name in names}
    block = Block(
        module=f"{manifest.name}_axi",
        version=version("rbdhw"),
        description=f"{', '.join(manifest.functions)} of {manifest.robot.name} for {manifest.target}",
        data_width=manifest.stream.tdata_width,
        pairs=manifest.stream.pairs,
        clocks=(),
        files=files,
    )
    interfaces = (*block.streams, block.registers)
    core, streams = manifest.clock_mhz, manifest.stream_clock_mhz
    if streams is None:
        return replace(block, clocks=(Clock("clk", core, interfaces, "rst"),)), manifest
    of_streams = Clock("stream_clk", streams, interfaces, "stream_rst")
    return replace(block, clocks=(of_streams, Clock("clk", core))), manifest


def sources(block: Block) -> dict[str, str]:
    """Return the Verilog for synthesis."""
    return {name: block.files[name] for name in (VERILOG, AXI_VERILOG)}
