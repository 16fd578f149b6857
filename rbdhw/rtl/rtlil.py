"""RTLIL, Amaranth's netlist format, as data.

The grammar is that of Yosys (its manual, "RTLIL text representation"), as far as Amaranth's back end uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Part:
    """Adjacent bits of a wire."""

    wire: str
    low: int
    width: int


@dataclass(frozen=True, slots=True)
class Bits:
    """Constant bits, the most significant first."""

    text: str

    @property
    def width(self) -> int:
        return len(self.text)


Value = tuple[Part | Bits, ...]
"""Concatenated parts, the most significant first."""

Constant = str | int
"""A parameter or attribute: a text or a number."""


@dataclass(slots=True)
class Wire:
    """A wire; ``port`` is ``input``, ``output`` or empty."""

    name: str
    width: int
    port: str = ""
    attributes: dict[str, Constant] = field(default_factory=dict)


@dataclass(slots=True)
class Memory:
    """A memory of ``size`` words."""

    name: str
    width: int
    size: int
    attributes: dict[str, Constant] = field(default_factory=dict)


@dataclass(slots=True)
class Cell:
    """An operator, a register, a memory port, or an instance of a module."""

    kind: str
    name: str
    parameters: dict[str, Constant] = field(default_factory=dict)
    ports: dict[str, Value] = field(default_factory=dict)
    attributes: dict[str, Constant] = field(default_factory=dict)


@dataclass(slots=True)
class Assign:
    """An assignment of a value to bits of a wire."""

    target: Part
    value: Value


@dataclass(slots=True)
class Case:
    """The statements for a test that matches one of the patterns; a case without patterns always matches."""

    patterns: tuple[str, ...]
    body: Body = field(default_factory=list)


@dataclass(slots=True)
class Switch:
    """A switch: the first matching case applies. A case that always matches is the last."""

    test: Value
    cases: list[Case] = field(default_factory=list)


Body = list[Assign | Switch]


@dataclass(slots=True)
class Process:
    """A combinational process: the last applicable assignment to a bit takes effect."""

    body: Body = field(default_factory=list)


@dataclass(slots=True)
class Module:
    """A module; its elements are in the order of the text, and its comment has lines for the reader."""

    name: str
    comment: list[str] = field(default_factory=list)
    wires: dict[str, Wire] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    connections: list[tuple[str, Value]] = field(default_factory=list)


def slice_value(value: Value, low: int, width: int) -> Value:
    """Return ``width`` bits of a value from bit ``low`` on."""
    parts: list[Part | Bits] = []
    position = 0
    for part in reversed(value):
        first, end = max(low - position, 0), min(low + width - position, part.width)
        if first < end and isinstance(part, Part):
            parts.append(Part(part.wire, part.low + first, end - first))
        elif first < end and isinstance(part, Bits):
            parts.append(Bits(part.text[part.width - end : part.width - first]))
        position += part.width
    return tuple(reversed(parts))


def width_of(value: Value) -> int:
    return sum(part.width for part in value)


def only_part(value: Value) -> Part:
    (part,) = value
    assert isinstance(part, Part)
    return part


def is_numbered(name: str) -> bool:
    """Return whether the netlist numbered this name, because it was missing or taken."""
    return "$" in name


RESULTS = ("Y", "Q")
"""The output ports of operators and registers."""


def read(text: str) -> list[Module]:
    """Return the modules of a text, without operators and registers of zero bits.

    Raises ValueError for an unknown statement.
    """
    return _Reader(text).modules()


class _Reader:
    """A parser of one statement per line."""

    def __init__(self, text: str) -> None:
        self._lines = (line.split() for line in text.splitlines() if line.strip())
        self._attributes: dict[str, Constant] = {}

    def modules(self) -> list[Module]:
        return [self._module(words[1]) for words in self._statements() if words[0] == "module"]

    def _statements(self) -> Iterator[list[str]]:
        """Yield the statements up to the end of the block; keep attributes for the statement after them."""
        for words in self._lines:
            if words[0] == "attribute":
                self._attributes[_plain(words[1])] = _constant(" ".join(words[2:]))
            elif words[0] == "end":
                return
            else:
                yield words

    def _take_attributes(self) -> dict[str, Constant]:
        attributes, self._attributes = self._attributes, {}
        return attributes

    def _module(self, name: str) -> Module:
        module = Module(name)
        self._take_attributes()
        for words in self._statements():
            attributes = self._take_attributes()
            match words[0]:
                case "wire":
                    port = next((word for word in words[3:-1] if word in ("input", "output")), "")
                    module.wires[words[-1]] = Wire(words[-1], int(words[2]), port, attributes)
                case "memory":
                    module.memories[words[-1]] = Memory(words[-1], int(words[2]), int(words[4]), attributes)
                case "cell":
                    cell = self._cell(module, words, attributes)
                    if cell.kind[0] != "$" or all(cell.ports[port] for port in RESULTS if port in cell.ports):
                        module.cells.append(cell)
                case "process":
                    module.processes.append(Process(self._body(module)))
                case "connect":
                    module.connections.append((words[1], _value(module, words[2:])))
                case other:
                    raise ValueError(f"RTLIL: '{other}': unknown; expected a statement of a module")
        return module

    def _cell(self, module: Module, words: list[str], attributes: dict[str, Constant]) -> Cell:
        cell = Cell(words[1], words[2], attributes=attributes)
        for inside in self._statements():
            if inside[0] == "parameter":
                start = 2 if inside[1] in ("signed", "real") else 1
                cell.parameters[_plain(inside[start])] = _constant(" ".join(inside[start + 1 :]))
            else:
                cell.ports[_plain(inside[1])] = _value(module, inside[2:])
        return cell

    def _body(self, module: Module) -> Body:
        body: Body = []
        for words in self._statements():
            self._step(module, words, body)
        return body

    def _step(self, module: Module, words: list[str], body: Body) -> None:
        if words[0] == "assign":
            body += _assignments(module, words[1:])
        elif words[0] == "switch":
            body.append(self._switch(module, words[1:]))
        else:
            raise ValueError(f"RTLIL: '{words[0]}': unknown; expected a statement of a process")

    def _switch(self, module: Module, test: list[str]) -> Switch:
        switch = Switch(_value(module, test))
        for words in self._statements():
            if words[0] == "case":
                patterns = tuple(word.rstrip(",").partition("'")[2] for word in words[1:])
                switch.cases.append(Case(() if "" in patterns else patterns))
            else:
                self._step(module, words, switch.cases[-1].body)
        always = next((k for k, case in enumerate(switch.cases) if not case.patterns), len(switch.cases))
        del switch.cases[always + 1 :]
        return switch


def _assignments(module: Module, words: list[str]) -> list[Assign]:
    """Return the assignment to bits of one wire; none if the target has no bits."""
    length = 2 if words[1].startswith("[") else 1
    value = _value(module, words[length:])
    return [Assign(target, value) for target in _value(module, words[:length]) if isinstance(target, Part)]


def _value(module: Module, words: list[str]) -> Value:
    """Return the value of a sigspec; parts without bits are left out."""
    parts: list[Part | Bits] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word in "{}":
            continue
        if "'" in word and word[0] not in "\\$":
            parts.append(Bits(word.partition("'")[2]))
        elif word[0] in "\\$":
            wire, low, width = word, 0, module.wires[word].width
            if position < len(words) and words[position].startswith("["):
                high, _, last = words[position][1:-1].partition(":")
                low = int(last or high)
                width = int(high) - low + 1
                position += 1
            parts.append(Part(wire, low, width))
        else:
            number = int(word)
            parts.append(Bits(f"{number:b}"))
    return tuple(part for part in parts if part.width)


def _plain(name: str) -> str:
    """Return the name of an attribute, a parameter or a port without RTLIL's backslash."""
    return name.removeprefix("\\")


def _constant(text: str) -> Constant:
    """Return the value of a quoted text, a decimal number, or bits; the width of the bits is ignored."""
    if text.startswith('"'):
        return text[1:-1].replace("\\\\", "\\")
    _, quote, bits = text.partition("'")
    return int(bits.replace("x", "0") or "0", 2) if quote else int(text)
