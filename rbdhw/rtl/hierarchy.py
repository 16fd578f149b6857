"""The netlist of a component, one module for each component in it, with exactly the ports of its signature.

Amaranth derives the ports of a submodule from the signals that cross its border, and numbers those that are
no whole signal. Here every component is converted by itself, as a top module, and stands in its parent as an
instance. Components whose netlists are equal become one module. Those of a class that have the same
``variant``, if it has one, are known to be equal: the first is converted.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockSignal, Fragment, Instance, ResetSignal, Value
from amaranth.hdl._ast import SignalSet
from amaranth.hdl._ir import PortDirection
from amaranth.hdl._mem import MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered

from rbdhw.rtl.naming import Scope
from rbdhw.rtl.rtlil import Module, Wire, read

DOMAINS = {"sync": "", "stream": "stream_", "core": "core_"}
"""The prefixes of the clock and the reset of each clock domain."""

CLOCKS = {
    f"{prefix}{name}": partial(signal, domain)
    for domain, prefix in DOMAINS.items()
    for name, signal in (("clk", ClockSignal), ("rst", ResetSignal))
}
"""The clock and the reset of each domain, by the names of the ports that Amaranth makes for them."""

WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word begins within the name of a class."""

Port = tuple[Value, PortDirection]

_DIRECTIONS = {wiring.In: PortDirection.Input, wiring.Out: PortDirection.Output}

FIFO_PORTS = {
    **dict.fromkeys(("w_data", "w_en", "r_en"), PortDirection.Input),
    **dict.fromkeys(("w_rdy", "r_data", "r_rdy", "level"), PortDirection.Output),
}
"""The ports of Amaranth's queues, which have no signature."""


def read_modules(component: Any, name: str) -> list[Module]:
    """Return the modules of a component, the outer ones first; the names of all begin with ``name``.

    A component that is there once is named after its path, one that is there several times after its class.
    """
    converter = _Converter()
    converter.convert(Fragment.get(component, None), name)
    converter.check_borders()
    scope, names = Scope(), dict[str, str]()
    converted = list(reversed(converter.converted.values()))
    for part in converted:
        shared = f"{name}_{WORD.sub('_', type(part.component).__name__)}".lower()
        plain = part.paths[0] if len(part.paths) == 1 else shared
        for module in part.modules:
            inside = module.name.partition(".")[2].replace(".", "_")
            names[module.name] = "\\" + scope.new_name(f"{plain}_{inside}" if inside else plain)
    modules = [module for part in converted for module in part.modules]
    for module in modules:
        module.name = names[module.name]
        for cell in module.cells:
            cell.kind = names.get(cell.kind, cell.kind)
    return modules


@dataclass
class _Converted:
    """A component, the paths of its instances, and its module with any parts that have no signature."""

    component: Any
    paths: list[str]
    modules: list[Module]


@dataclass
class _Border:
    """The signals that a component reads and does not drive, without its ports, and those that it drives."""

    path: str
    foreign: SignalSet
    driven: SignalSet


class _Converter:
    """Converts components, the inner ones first; ``converted`` are the components by their netlists."""

    def __init__(self) -> None:
        self.converted: dict[str, _Converted] = {}
        self._variants: dict[tuple[type, Any], _Converted] = {}
        self._borders: list[_Border] = []

    def convert(self, fragment: Fragment, path: str) -> Module:
        """Return the module of a component's fragment; its name is a number."""
        component = fragment.origins[0]
        variant = type(component), getattr(component, "variant", None)
        if variant in self._variants:  # its outputs are driven by an instance in its parent
            self._variants[variant].paths.append(path)
            return self._variants[variant].modules[0]
        for k, (inner, label, location) in enumerate(fragment.subfragments):
            if _is_component(inner):
                module = self.convert(inner, f"{path}_{label or k}")
                fragment.subfragments[k] = (_instance(inner.origins[0], module), label, location)
        ports = _ports(component)
        design = fragment.prepare(ports)
        netlist, _ = rtlil.convert_fragment(design, name="top", emit_src=False)
        self._borders.append(_border(design.fragment, ports, path))
        if netlist not in self.converted:
            modules = read(netlist)
            _number(modules, len(self.converted))
            modules[0].comment = _comment(component)
            modules[0].wires = _clocks_first(modules[0], netlist)
            self.converted[netlist] = _Converted(component, [], modules)
        converted = self.converted[netlist]
        converted.paths.append(path)
        if variant[1] is not None:
            self._variants[variant] = converted
        return converted.modules[0]

    def check_borders(self) -> None:
        """Check that no component reads a signal of another one that is none of its ports.

        Converted by itself, it would read the signal's initial value instead, without an error.
        """
        drivers = {id(signal): border.path for border in self._borders for signal in border.driven}
        for border in self._borders:
            for signal in border.foreign:
                driver = drivers.get(id(signal))
                if driver is not None:
                    raise RuntimeError(
                        f"{border.path} reads '{signal.name}' of {driver}, which is no port of it"
                    )


def _number(modules: list[Module], number: int) -> None:
    """Rename modules that were converted as ``top``, and the instances of each other."""
    names = {module.name: module.name.replace("\\top", f"\\{number}", 1) for module in modules}
    for module in modules:
        module.name = names[module.name]
        for cell in module.cells:
            cell.kind = names.get(cell.kind, cell.kind)


def _is_component(fragment: Fragment) -> bool:
    """Return whether a fragment is that of a component; memories have statements of their own."""
    origins = fragment.origins or (None,)
    return type(fragment) is Fragment and isinstance(origins[0], (wiring.Component, SyncFIFOBuffered))


def _ports(component: Any) -> dict[str, Port]:
    """Return the signals and directions of a component's ports, by their names."""
    if isinstance(component, SyncFIFOBuffered):
        return {port: (getattr(component, port), way) for port, way in FIFO_PORTS.items()}
    return {
        "__".join(map(str, path)): (Value.cast(value), _DIRECTIONS[member.flow])
        for path, member, value in component.signature.flatten(component)
    }


def _border(fragment: Fragment, ports: Mapping[str, Port], path: str) -> _Border:
    """Return the signals that cross the border of a component, whose inner ones are instances."""
    read, driven = _signals(fragment)
    known = SignalSet(signal for value, _ in ports.values() for signal in value._rhs_signals())
    return _Border(path, SignalSet(read - driven - known), driven)


def _signals(fragment: Fragment) -> tuple[SignalSet, SignalSet]:
    """Return the signals that a fragment and those in it read, and those that they drive."""
    read, driven = SignalSet(), SignalSet()
    fragments = [fragment]
    while fragments:
        each = fragments.pop()
        fragments += [inner for inner, _, _ in each.subfragments]
        for reads, drives in _crossings(each):
            read.update(reads)
            driven.update(drives)
    return read, driven


def _crossings(fragment: Fragment) -> Iterator[tuple[SignalSet, SignalSet]]:
    """Yield the signals that parts of a fragment read, and those that they drive, without those within."""
    nothing = SignalSet()
    for statements in fragment.statements.values():
        yield statements._rhs_signals(), statements._lhs_signals()
    if isinstance(fragment, Instance):
        for value, way in fragment.ports.values():
            yield (nothing, value._lhs_signals()) if way == "o" else (value._rhs_signals(), nothing)
    if isinstance(fragment, MemoryInstance):
        for port in fragment._read_ports:
            yield port._addr._rhs_signals() | port._en._rhs_signals(), port._data._lhs_signals()
        for port in fragment._write_ports:
            read = port._addr._rhs_signals() | port._en._rhs_signals() | port._data._rhs_signals()
            yield read, nothing


def _instance(component: Any, module: Module) -> Instance:
    """Return an instance of a component's module, connected to the component's signals."""
    signals = {name: value for name, (value, _) in _ports(component).items()}
    signals |= {name: signal() for name, signal in CLOCKS.items()}
    ports = (wire for wire in module.wires.values() if wire.port)
    attached = {f"{wire.port[0]}_{wire.name[1:]}": signals[wire.name[1:]] for wire in ports}
    return Instance(module.name[1:], **attached)


def _clocks_first(module: Module, netlist: str) -> dict[str, Wire]:
    """Return the wires of a module, its clock and its reset first, where it has them and reads them."""
    wires = dict(module.wires)
    clocks = {name: wires.pop(name) for name in (f"\\{clock}" for clock in CLOCKS) if name in wires}
    return {name: wire for name, wire in clocks.items() if f"{name} [" in netlist} | wires


def _comment(component: Any) -> list[str]:
    """Return what a component says of itself, or the first paragraph of its class's documentation."""
    if hasattr(component, "description"):
        return list(component.description)
    return inspect.cleandoc(type(component).__doc__ or "").partition("\n\n")[0].splitlines()
