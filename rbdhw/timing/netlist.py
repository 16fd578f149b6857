"""A mapped netlist, as Yosys writes it in JSON, with the names of signals in the Verilog."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdhw.errors import InputError

Bits = tuple[int, ...]
"""Nets of one bit, by number; :data:`CONSTANT` for a constant."""

CONSTANT = -1

# Yosys names what it adds after a signal, then the kind of the cell and its port.
_ADDED = re.compile(
    r"_(?:TRELLIS_\w+?|LUT\d|CCU2C|PFUMX|L6MUX21|MULT18X18D|PDPW16KD|DP16KD"
    r"|FD[CPRS]E|INV|CARRY\d|MUXF\d|SRLC?\d+E|RAMB?\w+?|DSP48E\d)_[A-Z]"
)

_FRAMES = re.compile(r"shell|accelerator|core(_\d+)?")
"""Modules that contain regions, or surround the accelerator."""

_JOINT = re.compile(r"(.*?)_(\d+)")


@dataclass(frozen=True)
class Cell:
    """A cell of the device's library."""

    name: str
    kind: str
    parameters: Mapping[str, str]
    ports: Mapping[str, Bits]


@dataclass(frozen=True)
class Netlist:
    """A flat netlist."""

    cells: tuple[Cell, ...]
    inputs: Bits
    """Bits of the ports of the design; those of the clock are among them."""
    outputs: Bits
    signals: Mapping[int, str]
    """The signal of each net that has one: the instances around it and its name, joined by dots."""


@dataclass(frozen=True)
class Place:
    """Where a signal is in the design."""

    region: str
    """The outermost module that says something; ``top`` if there is none."""
    step: str
    """The algorithm's step that the region's name tells; else the region."""
    joint: int | None


def read_netlist(path: Path, top: str) -> Netlist:
    """Return the module ``top`` of a netlist that Yosys wrote with ``write_json``.

    Raises InputError if the file is no such netlist, or is that of another design.
    """
    try:
        module = json.loads(path.read_text())["modules"][top]
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(str(path), "is not a netlist", "the output of Yosys' write_json") from error
    except KeyError as error:
        raise InputError(str(path), f"has no module {top}", "the netlist of this design") from error
    cells = tuple(
        Cell(name, cell["type"], cell["parameters"], {k: _bits(v) for k, v in cell["connections"].items()})
        for name, cell in module["cells"].items()
        if cell["type"] != "$scopeinfo"
    )
    ports = module["ports"].values()
    return Netlist(
        cells,
        tuple(bit for port in ports if port["direction"] == "input" for bit in _bits(port["bits"])),
        tuple(bit for port in ports if port["direction"] == "output" for bit in _bits(port["bits"])),
        _signals(module["netnames"]),
    )


def _bits(values: list[Any]) -> Bits:
    return tuple(bit if isinstance(bit, int) else CONSTANT for bit in values)


def _signals(nets: Mapping[str, Any]) -> dict[int, str]:
    """Return a signal for each bit; names of the Verilog are preferred to those that Yosys added."""
    ranked: dict[int, tuple[bool, int, str]] = {}
    for name, net in nets.items():
        if name.startswith("$"):
            continue
        signal = signal_of(name)
        rank = (signal != name, len(signal), signal)
        for bit in _bits(net["bits"]):
            if bit not in ranked or rank < ranked[bit]:
                ranked[bit] = rank
    return {bit: signal for bit, (*_, signal) in ranked.items()}


def signal_of(name: str) -> str:
    """Return the signal after which Yosys named a net or a cell."""
    return _ADDED.split(name, maxsplit=1)[0]


def place_of(signal: str) -> Place:
    """Return the place of a signal, or of a cell that Yosys named after one, in a flattened design."""
    modules = signal.split(".")[:-1]
    inner = [module for module in modules if not _FRAMES.fullmatch(module)]
    region = inner[0] if inner else (modules or ["top"])[-1]
    numbered = _JOINT.fullmatch(region)
    return Place(region, numbered[1], int(numbered[2])) if numbered else Place(region, region, None)
