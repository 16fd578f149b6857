"""Verilog names for the modules, wires and cells of a netlist.

The netlist names only some of its wires. Every other wire is named after a signal that is part of it, after
the port of an instance that it connects to, or by a number.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy

from rbdhw.rtl.rtlil import Module, Part, Value, is_numbered, only_part
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

    ``modules`` are the names in Verilog of the modules of the netlist. By module, ``ports`` are the names of
    its ports, those without bits excepted, ``outputs`` the outputs among them, as the netlist calls them, and
    ``scopes`` the scopes of names.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        top = Scope()
        self.modules = {module.name: top.new_name(module.name.lstrip("\\")) for module in modules}
        self.scopes = {module.name: Scope() for module in modules}
        self.outputs = {
            module.name: {wire.name[1:] for wire in module.wires.values() if wire.port == "output"}
            for module in modules
        }
        self.ports: dict[str, dict[str, str]] = {}
        for module in modules:
            ports = [wire.name for wire in module.wires.values() if wire.port and wire.width]
            ports.sort(key=is_numbered)
            self.ports[module.name] = {name: self.scopes[module.name].new_name(stem(name)) for name in ports}


class WireNames:
    """The names of a module's wires, memories and instances, and of named parts of wires."""

    def __init__(self, module: Module, names: DesignNames) -> None:
        self._module = module
        self._scope = deepcopy(names.scopes[module.name])
        self._wires = dict(names.ports[module.name])
        self._labels: dict[str, list[tuple[str, Part]]] = defaultdict(list)
        aliases = {target for target, _ in module.connections}
        self.bits = self._name_bits()
        attached = self._attached(names)
        named = aliases | self._wires.keys() | attached.keys()
        for name in module.wires:
            if name not in named and not is_numbered(name):
                self._wires[name] = self.new_name(name)
        self._label(aliases - set(names.ports[module.name]))
        self._derived = self._derive_names() | attached
        self.memories = {name: self.new_name(name) for name in module.memories}

    def new_name(self, name: str) -> str:
        return self._scope.new_name(stem(name))

    def label(self, part: Part) -> tuple[str, Part] | None:
        """Return the named part that is a part of a wire, or else contains it, and its name."""
        labels = self._labels[part.wire]
        end = part.low + part.width
        around = (
            entry for entry in labels if entry[1].low <= part.low and end <= entry[1].low + entry[1].width
        )
        return next((entry for entry in labels if entry[1] == part), next(around, None))

    def text(self, part: Part, label: tuple[str, Part] | None) -> str:
        """Return the text of a part of a wire, through a named part if there is one."""
        if label is None:
            return self.plain(part)
        return _select(label[0], part.low - label[1].low, part.width, label[1].width)

    def plain(self, part: Part) -> str:
        """Return the text of a part of a wire, through the name of the wire."""
        wire = part.wire
        if wire not in self._wires:
            self._wires[wire] = self._scope.new_name(self._derived.get(wire, stem(wire)))
        return _select(self._wires[wire], part.low, part.width, self._module.wires[wire].width)

    def _label(self, aliases: set[str]) -> None:
        """Name parts of wires after the signals that are exactly these parts."""
        for target, value in self._module.connections:
            if target in aliases and not is_numbered(target) and "[" not in target and len(value) == 1:
                (part,) = value
                if isinstance(part, Part) and part.width < self._module.wires[part.wire].width:
                    self._labels[part.wire].append((self.new_name(target), part))

    def _name_bits(self) -> set[str]:
        """Name wires of one bit, with which instances drive a port, as bits of it; return these wires."""
        named: set[str] = set()
        foreign = {
            value for cell in self._module.cells if cell.kind[0] != "$" for value in cell.ports.values()
        }
        for target, value in self._module.connections:
            single = [
                p.wire for p in value if (p,) in foreign and isinstance(p, Part) and is_numbered(p.wire)
            ]
            if target in self._wires and 1 < len(single) == self._module.wires[target].width:
                self._wires |= {w: f"{self._wires[target]}[{k}]" for k, w in enumerate(reversed(single))}
                named |= set(single)
        return named

    def _attached(self, names: DesignNames) -> dict[str, str]:
        """Return names for the wires between instances: the instance that drives a wire, and its port.

        A wire that also has a name of its own keeps it.
        """
        module, ports = self._module, defaultdict[str, list[tuple[bool, str, str]]](list)
        for cell in module.cells:
            for port, value in cell.ports.items() if cell.kind in names.ports else ():
                wire = whole(value, module)
                if wire is not None:
                    driven = names.outputs[cell.kind]
                    ports[wire].append((port not in driven, stem(cell.name), port))
        aliases = defaultdict[str | None, list[str]](list)
        for target, value in module.connections:
            aliases[whole(value, module)].append(stem(target))
        described_as = {}
        for wire, uses in ports.items():
            _, instance, port = min(uses)
            passed = {"n", *(port for _, _, port in uses)}
            described = port if port.startswith(instance) else f"{instance}_{port}"
            named = [name for name in (stem(wire), *aliases[wire]) if name not in passed]
            described_as[wire] = next(iter(named), described)
        return described_as

    def _derive_names(self) -> dict[str, str]:
        """Derive names for unnamed wires from a part that has one, or from a sum of which they are a term."""
        derived: dict[str, str] = {}
        for target, value in self._module.connections:
            if not is_numbered(target) and len(value) == 1 and isinstance(value[0], Part):
                derived.setdefault(value[0].wire, f"{stem(target)}_full")
        for cell in self._module.cells:
            if cell.kind in ("$add", "$sub"):
                result, term = only_part(cell.ports["Y"]).wire, next(iter(cell.ports["A"]), None)
                name = derived.get(result, stem(result)).removesuffix("_full")
                if isinstance(term, Part) and is_numbered(term.wire) and name != "n":
                    derived.setdefault(term.wire, f"{name}_sum")
        return derived


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
