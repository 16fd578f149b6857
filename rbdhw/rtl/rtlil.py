"""RTLIL, the text in which Amaranth hands over a netlist, as data.

The grammar is Yosys' (its manual, "RTLIL text representation"), as far as Amaranth's back end uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Part:
    """Neighbouring bits of a wire."""

    wire: str
    low: int
    width: int


@dataclass(frozen=True, slots=True)
class Bits:
    """Constant bits, the most significant first."""

    text: str

    @property
    def width(self) -> int:
        """How many."""
        return len(self.text)


Value = tuple[Part | Bits, ...]
"""Parts side by side, the most significant first."""

Constant = str | int
"""A parameter or attribute: text, or a number."""


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
    """An operator, register, port of a memory, or instance of a module."""

    kind: str
    name: str
    parameters: dict[str, Constant] = field(default_factory=dict)
    ports: dict[str, Value] = field(default_factory=dict)
    attributes: dict[str, Constant] = field(default_factory=dict)


@dataclass(slots=True)
class Assign:
    """Lets bits take a value."""

    target: Part
    value: Value


@dataclass(slots=True)
class Case:
    """What happens where a test matches one of the patterns; without patterns it always does."""

    patterns: tuple[str, ...]
    body: Body = field(default_factory=list)


@dataclass(slots=True)
class Switch:
    """Of several cases the first that matches. One that always does is the last."""

    test: Value
    cases: list[Case] = field(default_factory=list)


Body = list[Assign | Switch]


@dataclass(slots=True)
class Process:
    """A combinational process: of assignments to the same bits the last one that applies holds."""

    body: Body = field(default_factory=list)


@dataclass(slots=True)
class Module:
    """A module, everything in the order of the text."""

    name: str
    wires: dict[str, Wire] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    connections: list[tuple[str, Value]] = field(default_factory=list)


RESULTS = ("Y", "Q")
"""The ports of operators and registers that drive a wire."""


def read(text: str) -> list[Module]:
    """The modules of a text, without operators and registers that have no bits.

    Raises
    ------
    ValueError
        For a statement that is unknown.
    """
    return _Reader(text).modules()


class _Reader:
    """Reads one statement, on a line of its own, after the other."""

    def __init__(self, text: str) -> None:
        self._lines = (line.split() for line in text.splitlines() if line.strip())
        self._attributes: dict[str, Constant] = {}

    def modules(self) -> list[Module]:
        return [self._module(words[1]) for words in self._statements() if words[0] == "module"]

    def _statements(self) -> Iterator[list[str]]:
        """The statements up to the end of the block; attributes are kept for what follows them."""
        for words in self._lines:
            if words[0] == "attribute":
                self._attributes[_plain(words[1])] = _constant(" ".join(words[2:]))
            elif words[0] == "end":
                return
            else:
                yield words

    def _taken(self) -> dict[str, Constant]:
        attributes, self._attributes = self._attributes, {}
        return attributes

    def _module(self, name: str) -> Module:
        module = Module(name)
        self._taken()
        for words in self._statements():
            attributes = self._taken()
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
        """The statements of a process; cases begin new lists of them."""
        body: Body = []
        for words in self._statements():
            self._step(module, words, body)
        return body

    def _step(self, module: Module, words: list[str], body: Body) -> None:
        if words[0] == "assign":
            body.append(_assignment(module, words[1:]))
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


def _assignment(module: Module, words: list[str]) -> Assign:
    """The assignment to bits of one wire."""
    length = 2 if words[1].startswith("[") else 1
    (target,) = _value(module, words[:length])
    assert isinstance(target, Part)
    return Assign(target, _value(module, words[length:]))


def _value(module: Module, words: list[str]) -> Value:
    """The value of a sigspec, of which adjacent constants are one; parts without bits are left out."""
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
    """The name of an attribute, a parameter or a port as it is elsewhere."""
    return name.removeprefix("\\")


def _constant(text: str) -> Constant:
    """Text in quotes, a decimal number, or bits of a width that does not matter."""
    if text.startswith('"'):
        return text[1:-1].replace("\\\\", "\\")
    _, quote, bits = text.partition("'")
    return int(bits.replace("x", "0") or "0", 2) if quote else int(text)
