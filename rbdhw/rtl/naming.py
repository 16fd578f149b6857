"""Verilog names for the modules, wires and cells of a netlist.

The netlist names only some of its wires. Every other wire is named after a signal that is part of it, after
the port of an instance that it connects to, or by a number.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from rbdhw.rtl.rtlil import Module, Part, Value
from rbdhw.verilog_names import KEYWORDS, is_identifier


class Scope:
    """A scope of unique names."""

    def __init__(self) -> None:
        self._taken: set[str] = set(KEYWORDS)
        self._numbers: dict[str, int] = {}

    def new_name(self, wanted: str) -> str:
        """Return a valid name close to ``wanted``; a number is appended if the name is taken."""
        plain = wanted if is_identifier(wanted) else re.sub(r"\W+", "_", wanted).strip("_") or "x"
        plain = f"n{plain}" if plain[0].isdigit() else plain
        name, number = plain, self._numbers.get(plain, 2)
        while name in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(name)
        self._numbers[plain] = number
        return name


class DesignNames:
    """The names of modules and of their ports, which are also needed at the instances.

    Members
    -------
    modules
        By module of the netlist, its name in Verilog.
    ports
        By module, the names of its ports, those without bits excepted.
    scopes
        By module, the scope of its names.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        top = Scope()
        self.modules = {module.name: top.new_name(module.name.lstrip("\\")) for module in modules}
        self.scopes = {module.name: Scope() for module in modules}
        self.ports: dict[str, dict[str, str]] = {}
        for module in modules:
            ports = [wire.name for wire in module.wires.values() if wire.port and wire.width]
            ports.sort(key=is_numbered)
            self.ports[module.name] = {name: self.scopes[module.name].new_name(stem(name)) for name in ports}


class WireNames:
    """The names of a module's wires, and of named parts of wires.

    Members
    -------
    wires
        The name of every wire that is not merely an alias of another.
    used
        The named parts that the text uses and therefore must define.
    """

    def __init__(self, module: Module, names: DesignNames, hidden: set[str]) -> None:
        self._module = module
        self._scope = names.scopes[module.name]
        self.wires = dict(names.ports[module.name])
        self.used: dict[str, Part] = {}
        self._labels: dict[str, list[tuple[Part, str]]] = defaultdict(list)
        aliases = {target for target, _ in module.connections}
        unnamed = aliases | hidden
        plain = [wire.name for wire in module.wires.values() if wire.width and wire.name not in unnamed]
        for name in plain:
            if name not in self.wires and not is_numbered(name):
                self.wires[name] = self.new_name(name)
        self._label(aliases - set(names.ports[module.name]))
        attached = self._derive_names(names)
        for name in plain:
            if name not in self.wires:
                self.wires[name] = self._scope.new_name(attached.get(name, stem(name)))

    def new_name(self, name: str) -> str:
        """Return a new name in the module for an element of the netlist."""
        return self._scope.new_name(stem(name))

    def text(self, part: Part) -> str:
        """Return the text of a part of a wire, through the name of a part that contains it if one exists."""
        for label, name in self._labels[part.wire]:
            if label.low <= part.low and part.low + part.width <= label.low + label.width:
                self.used[name] = label
                return _select(name, part.low - label.low, part.width, label.width)
        return self.plain(part)

    def plain(self, part: Part) -> str:
        """Return the text of a part of a wire, through the name of the wire."""
        width = self._module.wires[part.wire].width
        return _select(self.wires[part.wire], part.low, part.width, width)

    def _label(self, aliases: set[str]) -> None:
        """Name parts of wires after the signals that are exactly these parts."""
        for target, value in self._module.connections:
            if target in aliases and not is_numbered(target) and "[" not in target and len(value) == 1:
                (part,) = value
                if isinstance(part, Part) and part.width < self._module.wires[part.wire].width:
                    self._labels[part.wire].append((part, self.new_name(target)))

    def _derive_names(self, names: DesignNames) -> dict[str, str]:
        """Derive names for unnamed wires, from a port that they connect to or from a named part."""
        found: dict[str, str] = {}
        for cell in self._module.cells:
            for port, value in cell.ports.items() if cell.kind in names.ports else ():
                wire = whole(value, self._module)
                if wire is not None:
                    found.setdefault(wire, f"{stem(cell.name)}_{port}")
        for target, value in self._module.connections:
            if not is_numbered(target) and len(value) == 1 and isinstance(value[0], Part):
                found.setdefault(value[0].wire, f"{stem(target)}_full")
        return found


def is_numbered(name: str) -> bool:
    """Return whether the netlist numbered this name, because it was missing or taken."""
    return "$" in name


def stem(name: str) -> str:
    """Return a netlist name without the prefix and suffix that the netlist added."""
    return name.lstrip("\\").partition("$")[0] or "n"


def whole(value: Value, module: Module) -> str | None:
    """Return the wire of which a value is the whole, or None."""
    match value:
        case (Part(wire, _, width),) if width == module.wires[wire].width:
            return wire
    return None


def _select(name: str, low: int, width: int, of: int) -> str:
    if width == of:
        return name
    return f"{name}[{low}]" if width == 1 else f"{name}[{low + width - 1}:{low}]"
