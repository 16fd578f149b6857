"""The netlist of a component, one module for each component in it, with exactly the ports of its signature.

Amaranth derives the ports of a submodule from the signals that cross its border, and numbers those that are
no whole signal. Here every component is converted by itself, as a top module, and stands in its parent as an
instance. Components whose netlists are equal become one module.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockSignal, Fragment, Instance, ResetSignal, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered

from rbdhw.rtl.naming import Scope
from rbdhw.rtl.rtlil import Module, Wire, read

CLOCKS = {"clk": ClockSignal, "rst": ResetSignal}

WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word begins within the name of a class."""

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


class _Converter:
    """Converts components, the inner ones first.

    Members
    -------
    converted
        The components by their netlists.
    """

    def __init__(self) -> None:
        self.converted: dict[str, _Converted] = {}

    def convert(self, fragment: Fragment, path: str) -> Module:
        """Return the module of a component's fragment; its name is a number."""
        component = fragment.origins[0]
        for k, (inner, label, location) in enumerate(fragment.subfragments):
            if _is_component(inner):
                module = self.convert(inner, f"{path}_{label or k}")
                fragment.subfragments[k] = (_instance(inner.origins[0], module), label, location)
        netlist, _ = rtlil.convert_fragment(fragment, _ports(component), "top", emit_src=False)
        if netlist not in self.converted:
            modules = read(netlist)
            _number(modules, len(self.converted))
            modules[0].comment = _comment(component)
            modules[0].wires = _clocks_first(modules[0], netlist)
            self.converted[netlist] = _Converted(component, [], modules)
        self.converted[netlist].paths.append(path)
        return self.converted[netlist].modules[0]


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


def _ports(component: Any) -> dict[str, tuple[Value, PortDirection]]:
    """Return the signals and directions of a component's ports, by their names."""
    if isinstance(component, SyncFIFOBuffered):
        return {port: (getattr(component, port), way) for port, way in FIFO_PORTS.items()}
    return {
        "__".join(map(str, path)): (Value.cast(value), _DIRECTIONS[member.flow])
        for path, member, value in component.signature.flatten(component)
    }


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
