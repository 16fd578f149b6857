"""A diagram that a script makes in Vivado, as Verilog: the block, and models of AMD's cells around it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from tests.support.tcl import Call

MODELS = Path(__file__).with_name("shells") / "cells.v.template"
SPIRIT = {"spirit": "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"}

BLOCK, HOST = "accelerator", "host_"

UNCONNECTED = {"tkeep": "{{{0}{{1'b1}}}}", "dcm_locked": "{{{0}{{1'b1}}}}"}
"""What Vivado gives an input that may be left unconnected: here, ones."""


@dataclass(frozen=True)
class Port:
    """A port of a cell."""

    name: str
    width: int
    output: bool


@dataclass(frozen=True)
class Cell:
    """A cell of the diagram.

    Members
    -------
    ports
        Its ports by name.
    interfaces
        Of the block, the names of ports by the signals of each interface. Those of other cells begin with the
        interface's name.
    """

    name: str
    module: str
    verilog: str
    ports: Mapping[str, Port]
    interfaces: Mapping[str, Mapping[str, str]]

    def interface(self, name: str) -> Mapping[str, Port]:
        """Return the ports of an interface by their signals."""
        if name in self.interfaces:
            return {signal: self.ports[port] for signal, port in self.interfaces[name].items()}
        start = f"{name}_"
        return {port.removeprefix(start): self.ports[port] for port in self.ports if port.startswith(start)}


RESET = Port(f"{HOST}rst", 1, output=False)


class Diagram:
    """The cells and the connections that a script makes, and the package of the block."""

    def __init__(self, calls: Sequence[Call], ip: Path) -> None:
        self._calls = calls
        self._segments = self._find_segments()
        self.cells = {
            cell: self._cell(cell, vlnv.split(":")[2], ip)
            for _, *words, cell in self._of("create_bd_cell")
            for vlnv in (words[words.index("-vlnv") + 1],)
        }
        self.sources = dict(self._connections())
        """What drives each connected input of a cell, in Verilog."""

    def verilog(self) -> str:
        """Return the module ``top``, whose ports are those of the host, and AMD's cells.

        An input that nothing drives, and ends of different widths, are errors.
        """
        host = {RESET.name: RESET} | {
            port.name: port
            for cell in self.cells.values()
            for port in cell.ports.values()
            if port.name.startswith(HOST)
        }
        declared = [f"{_way(port)} {port.name.removeprefix(HOST)}" for port in host.values()]
        wires = [
            f"  wire [{port.width - 1}:0] {cell.name}__{port.name};"
            for cell in self.cells.values()
            for port in cell.ports.values()
            if port.output and not port.name.startswith(HOST)
        ]
        instances = [self._instance(cell) for cell in self.cells.values()]
        top = [f"module top ({', '.join(declared)});", *wires, *instances, "endmodule"]
        return "\n".join([*top, *(cell.verilog for cell in self.cells.values())])

    def _of(self, command: str) -> Iterator[Call]:
        return (call for call in self._calls if call[0] == command)

    def _find_segments(self) -> dict[str, tuple[int, int]]:
        """Return offset and size of each slave that has an address."""
        sizes = {"K": 1 << 10}
        segments = {}
        for call in self._of("assign_bd_address"):
            if "-offset" in call:
                offset, size = (call[call.index(option) + 1] for option in ("-offset", "-range"))
                slave = call[-1].rpartition("/")[0]
                segments[slave] = (int(offset, 16), int(size[:-1]) * sizes[size[-1]])
        return segments

    def _cell(self, name: str, kind: str, ip: Path) -> Cell:
        """Return the block as its package describes it, or the model of another cell."""
        if name == BLOCK:
            text = (ip / "accelerator_axi.v").read_text()
            return Cell(name, kind, "", _ports(text, kind), _interfaces(ip / "component.xml"))
        module, verilog = f"{kind}_{name}", getattr(_models(), kind, None)
        assert verilog is not None, f"no model of {kind}"
        slaves = {
            master.removeprefix(f"{name}/"): self._segments[slave]
            for _, master, slave in self._of("connect_bd_intf_net")
            if slave in self._segments
        }
        text = str(verilog(module, self._configuration(name), slaves))
        return Cell(name, module, text, _ports(text, module), {})

    def _configuration(self, name: str) -> dict[str, str]:
        """Return the parameters of a cell."""
        words = [word for call in self._of("set_property") if call[-1] == name for word in call[2].split()]
        return {
            key.removeprefix("CONFIG."): value for key, value in zip(words[::2], words[1::2], strict=True)
        }

    def _connections(self) -> Iterator[tuple[str, str]]:
        """Yield each input and what drives it."""
        outside = {call[-1]: call for call in self._of("create_bd_port")}
        for _, driver, sink in self._of("connect_bd_net"):
            if driver in outside:  # the reset of the slot, which is low
                yield sink, "!rst"
            else:
                yield self._drive(driver, self._port(driver), sink, self._port(sink))
        for _, *ends in self._of("connect_bd_intf_net"):
            if all("/" in end for end in ends):
                yield from self._connect(*ends)

    def _port(self, pin: str) -> Port:
        cell, _, name = pin.partition("/")
        return self.cells[cell].ports[name]

    def _connect(self, one: str, other: str) -> Iterator[tuple[str, str]]:
        """Yield the connections of two interfaces."""
        names = [end.partition("/") for end in (one, other)]
        sides = [self.cells[cell].interface(name) for cell, _, name in names]
        for signal in sides[0].keys() & sides[1].keys():
            pins = [
                (f"{cell}/{side[signal].name}", side[signal])
                for (cell, *_), side in zip(names, sides, strict=True)
            ]
            driver, sink = sorted(pins, key=lambda pin: not pin[1].output)
            yield self._drive(*driver, *sink)

    def _drive(self, driver: str, source: Port, sink: str, end: Port) -> tuple[str, str]:
        """Return an input and its wire; the lower bits of an address, otherwise all."""
        assert (source.output, end.output) == (True, False), f"{driver} cannot drive {sink}"
        is_address = end.name.endswith("addr")
        assert is_address or source.width == end.width, f"{driver} and {sink} differ in width"
        return sink, f"{driver.replace('/', '__')}[{end.width - 1}:0]"

    def _instance(self, cell: Cell) -> str:
        connected = [f".{port.name}({self._end(cell, port)})" for port in cell.ports.values()]
        return f"  {cell.module} {cell.name} ({', '.join(connected)});"

    def _end(self, cell: Cell, port: Port) -> str:
        """Return what a port is connected to."""
        if port.name.startswith(HOST):
            return port.name.removeprefix(HOST)
        if port.output:
            return f"{cell.name}__{port.name}"
        pin, ones = f"{cell.name}/{port.name}", UNCONNECTED.get(port.name.rpartition("_")[2])
        ones = UNCONNECTED.get(port.name, ones)
        assert pin in self.sources or ones, f"nothing drives {pin}"
        return self.sources.get(pin) or str(ones).format(port.width)


def _models() -> Any:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(MODELS.read_text()).module


def _way(port: Port) -> str:
    return f"{'output' if port.output else 'input'} [{port.width - 1}:0]"


def _ports(text: str, module: str) -> dict[str, Port]:
    """Return the ports of a module."""
    header = re.search(rf"^module {module} \((.*?)^\);", text, re.MULTILINE | re.DOTALL)
    assert header is not None
    pattern = r"^ *(input|output) +(?:wire |reg )? *(?:\[(\d+):0\] )?(\w+)"
    declared = re.findall(pattern, header[1], re.MULTILINE)
    return {name: Port(name, int(left or 0) + 1, way == "output") for way, left, name in declared}


def _interfaces(component: Path) -> dict[str, dict[str, str]]:
    """Return the ports of each interface of a package by their signals, in lower case."""
    return {
        str(bus.findtext("spirit:name", namespaces=SPIRIT)): {
            str(each.findtext("spirit:logicalPort/spirit:name", namespaces=SPIRIT)).lower(): str(
                each.findtext("spirit:physicalPort/spirit:name", namespaces=SPIRIT)
            )
            for each in bus.iterfind(".//spirit:portMap", SPIRIT)
        }
        for bus in ET.parse(component).iterfind(".//spirit:busInterface", SPIRIT)
    }
