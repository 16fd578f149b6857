"""The Verilog of a component: readable, tool-independent Verilog-2005.

Combinational logic is written as continuous assignments; clocked blocks contain only registers. (Yosys' own
writer emits ``always @*`` blocks. SystemVerilog evaluates such a block when an input changes, so a block
whose inputs never change is never evaluated.)
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from rbdhw.rtl.add_subtract import write_adders
from rbdhw.rtl.hierarchy import read_modules
from rbdhw.rtl.literals import bit_range, constant
from rbdhw.rtl.logic import ANYTHING, NO_BREAK, READ, Logic, is_operator
from rbdhw.rtl.multiplexer import write_cells
from rbdhw.rtl.naming import DesignNames, WireNames
from rbdhw.rtl.rtlil import (
    Assign,
    Bits,
    Body,
    Case,
    Cell,
    Constant,
    Module,
    Part,
    Switch,
    Value,
    Wire,
    only_part,
    slice_value,
    width_of,
)
from rbdhw.runtime.garbage_collector import pause_collection, seldom_collect
from rbdhw.verilog_names import DEFAULT_NAME

LONGEST_LINE = 118
"""The most characters of a line."""

PASSES = 3
"""How often a module is written; see :class:`~rbdhw.rtl.logic.Logic`."""

MEMORY_PORTS = ("$meminit_v2", "$memrd_v2", "$memwr_v2")


def to_verilog(component: Any, name: str = DEFAULT_NAME, header: Sequence[str] = ()) -> str:
    """Return the Verilog of a component as module ``name``; the same component gives the same text.

    The names of all its modules begin with ``name``, so that several designs can stand in one. The lines of
    ``header`` precede it as comments.

    Raises ValueError for logic that the writer does not support, such as a division.
    """
    with seldom_collect():
        modules = read_modules(component, name)
    with pause_collection():
        names = DesignNames(modules)
        lines = [piece for line in header for piece in _break_line(f"// {line}", "//     ")]
        for module in modules:
            lines += [
                "",
                *(piece for line in module.comment for piece in _break_line(f"// {line}", "//     ")),
            ]
            lines += [piece for line in _module_lines(module, names) for piece in _break_line(line)]
        return write_adders(write_cells("\n".join(lines).lstrip("\n") + "\n", name), name)


def _module_lines(module: Module, names: DesignNames) -> list[str]:
    """Return the text of a module, written again until it is as narrow as its readers need."""
    logic, lines = None, list[str]()
    for _ in range(PASSES):
        writer = _Writer(module, names, logic)
        logic, lines = writer.logic, writer.lines()
    return lines


def _break_line(line: str, indent: str = "") -> list[str]:
    """Return a line, broken into several if it is too long."""
    if 0 < len(line) <= LONGEST_LINE:
        return [line.rstrip().replace(NO_BREAK, " ")]
    spaces = " " * (len(line) - len(line.lstrip()))
    following = indent or f"{spaces}    "
    pieces = textwrap.wrap(
        line.lstrip(),
        LONGEST_LINE,
        initial_indent=spaces,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [piece.replace(NO_BREAK, " ") for piece in pieces]


class _Writer:
    """The writer of one module; ``before`` is the logic as it was written the time before."""

    def __init__(self, module: Module, names: DesignNames, before: Logic | None) -> None:
        self._module = module
        self._design = names
        self._ports = names.ports[module.name]
        self._names = WireNames(module, names)
        self.logic = Logic(module, self._names, before)
        self._text = self.logic.text
        self._declared: dict[str, str] = {}
        self._unread: set[str] = set()
        for cell in module.cells:
            if cell.kind == "$dff":
                if cell.parameters["CLK_POLARITY"] != 1:
                    raise ValueError("register: of falling edges; expected rising ones")
                register = only_part(cell.ports["Q"]).wire
                self._declared[register] = "reg"
                if before is not None and not before.uses[register] and register not in self._ports:
                    self._unread.add(register)
            elif cell.kind == READ and cell.parameters["TRANSPARENCY_MASK"]:
                raise ValueError("memory: a transparent port; expected one that reads what was there before")
            elif cell.kind == READ and cell.parameters["CLK_ENABLE"]:
                self._declared[only_part(cell.ports["DATA"]).wire] = "reg"
            elif cell.kind[0] != "$":
                wires = (
                    part.wire for value in cell.ports.values() for part in value if isinstance(part, Part)
                )
                self._declared = dict.fromkeys(wires, "wire") | self._declared
            elif not is_operator(cell) and cell.kind not in MEMORY_PORTS:
                raise ValueError(
                    f"cell {cell.kind}: unknown; expected logic that the writer of Verilog knows"
                )

    def lines(self) -> list[str]:
        """Return the module's text; what an expression reads is declared before it."""
        others = [*self._connections(), *self._instances(), *self._storage(), *self._clocked_blocks()]
        hidden = self._ports.keys() | self.logic.driven | self._names.bits | self._unread
        ports = [self._module.wires[name] for name in self._ports]
        wires = [w for name, w in self._module.wires.items() if name in self._declared and name not in hidden]
        return [
            f"module {self._design.modules[self._module.name]} (",
            *_entries([self._declare(wire, f"{wire.port} ") for wire in ports]),
            ");",
            *(f"  {self._declare(wire)};" for wire in wires),
            *(f"  {line}" for line in self._memory_declarations()),
            *(f"  {line}" for line in self.logic.functions()),
            *(f"  {line}" for line in self.logic.lines),
            *(f"  {line}" for line in others),
            "endmodule",
        ]

    def _declare(self, wire: Wire, port: str = "") -> str:
        """Return the declaration of a wire or of a register with its first value, with a port's direction."""
        name = f"{bit_range(wire.width)}{self._names.plain(Part(wire.name, 0, wire.width))}"
        kind = self._declared.get(wire.name, "wire")
        first = wire.attributes.get("init")
        if first is not None and kind == "reg":
            settings = _settings({key: text for key, text in wire.attributes.items() if key != "init"})
            return f"{settings}{port}reg {name} = {constant(f'{first:0{wire.width}b}')}"
        return f"{port}{kind} {name}"

    def _connections(self) -> Iterator[str]:
        for target, value in self._module.connections:
            if target in self._ports:
                self.logic.define(target)
                if not self._names.bits.intersection(p.wire for p in value if isinstance(p, Part)):
                    text = self._text(value, ANYTHING, bare=True)
                    yield f"assign {self._names.plain(Part(target, 0, width_of(value)))} = {text};"
        for port in self._ports:
            self.logic.define(port)

    # Instances

    def _instances(self) -> Iterator[str]:
        for cell in self._module.cells:
            if cell.kind[0] != "$":
                yield from self._instance(cell)

    def _instance(self, cell: Cell) -> Iterator[str]:
        """Yield an instance, one parameter or port a line."""
        opening = self._design.modules.get(cell.kind, cell.kind.removeprefix("\\"))
        known = self._design.ports.get(cell.kind, {})
        if cell.parameters:
            yield f"{opening} #("
            yield from _entries([f".{name}({_setting(value)})" for name, value in cell.parameters.items()])
            opening = ")"
        yield f"{opening} {self._names.new_name(cell.name)} ("
        attached = [(known.get(f"\\{port}", port), value) for port, value in cell.ports.items() if value]
        yield from _entries([f".{port}({self._text(value, bare=True)})" for port, value in attached])
        yield ");"

    # Memories

    def _memory_declarations(self) -> Iterator[str]:
        for name, memory in self._module.memories.items():
            declared = f"reg {bit_range(memory.width)}{self._names.memories[name]} [0:{memory.size - 1}];"
            yield f"{_settings(memory.attributes)}{declared}"

    def _storage(self) -> Iterator[str]:
        for cell in self._module.cells:
            if cell.kind == "$meminit_v2":
                yield from self._first_words(cell, self._names.memories[str(cell.parameters["MEMID"])])
            elif cell.kind == "$memwr_v2":
                yield from self._write_port(cell)
            elif cell.kind == READ and cell.parameters["CLK_ENABLE"]:
                word = self._names.plain(only_part(cell.ports["DATA"]))
                yield self._clocked_statement(cell, cell.ports["EN"], f"{word} <= {self.logic.word(cell)};")

    def _first_words(self, cell: Cell, memory: str) -> Iterator[str]:
        """Yield the initial words of a memory: zeros in a loop, the other words one by one."""
        bits = "".join(part.text for part in cell.ports["DATA"] if isinstance(part, Bits))
        width = int(cell.parameters["WIDTH"])
        words = [bits[end - width : end] for end in range(len(bits), 0, -width)]
        index = self._names.new_name("word")
        if any("1" not in word for word in words):
            yield f"integer {index};"
        yield "initial begin"
        if any("1" not in word for word in words):
            yield f"  for ({index} = 0; {index} < {len(words)}; {index} = {index} + 1)"
            yield f"    {memory}[{index}] = {constant('0' * width)};"
        others = [f"{memory}[{k}] = {constant(word)};" for k, word in enumerate(words) if "1" in word]
        if others:
            yield "  " + " ".join(statement.replace(" ", NO_BREAK) for statement in others)
        yield "end"

    def _write_port(self, cell: Cell) -> Iterator[str]:
        """Yield the statements of a write port, one for each group of bits with a common enable."""
        word, data = self.logic.word(cell), cell.ports["DATA"]
        low, width = 0, width_of(data)
        for enable, same in groupby(reversed(list(_single_bits(cell.ports["EN"])))):
            count = sum(1 for _ in same)
            bits = f"[{low + count - 1}:{low}]" if count < width else ""
            statement = f"{word}{bits} <= {self._text(slice_value(data, low, count))};"
            yield self._clocked_statement(cell, (enable,), statement)
            low += count

    def _clocked_statement(self, cell: Cell, enable: Value, statement: str) -> str:
        """Return a clocked block with one statement under a port's enable."""
        condition = "" if enable == (Bits("1"),) else f"if ({self._text(enable, bare=True)}) "
        return f"always @(posedge {self._text(cell.ports['CLK'])}) {condition}{statement}"

    # Registers

    def _clocked_blocks(self) -> Iterator[str]:
        for cell in self._module.cells:
            if cell.kind == "$dff" and only_part(cell.ports["Q"]).wire not in self._unread:
                register, following = only_part(cell.ports["Q"]), cell.ports["D"]
                process = self.logic.take(following)
                body: Body = [Assign(register, following)]
                if process is not None:
                    body = _move_into_clocked(process.body, register)
                clock = self._text(cell.ports["CLK"])
                yield from _under(f"always @(posedge {clock})", self._block(body, register))

    def _block(self, body: Body, register: Part) -> list[str]:
        """Return the statements of a register's block, with the reset, which has priority, written first."""
        *others, last = body
        if not isinstance(last, Switch) or not _resets(last, register):
            return list(self._statements(body))
        reset, otherwise = list(self._statements([last])), list(self._statements(others))
        return reset + _under("else", otherwise) if otherwise else reset

    def _statements(self, body: Body) -> Iterator[str]:
        """Yield non-blocking assignments, of which the last applicable one takes effect."""
        for item in body:
            if isinstance(item, Switch) and item.test == (Bits("1"),) and item.cases[0].patterns == ("1",):
                yield from self._statements(item.cases[0].body)
            elif isinstance(item, Assign):
                yield f"{self._names.plain(item.target)} <= {self._text(item.value, ANYTHING, bare=True)};"
            else:
                yield from self._branches(item)

    def _branches(self, switch: Switch) -> Iterator[str]:
        """Yield a chain of conditions, or a case statement where the test is a number."""
        cases = list(switch.cases)
        while cases and not cases[-1].body:
            cases.pop()
        patterns = [pattern for case in cases for pattern in case.patterns]
        if all(len(pattern) - pattern.count("-") == 1 for pattern in patterns):
            opening = ""
            for case in cases:
                condition = f"if ({self.logic.condition(switch, case)})" if case.patterns else ""
                yield from _under(f"{opening}{condition}".rstrip(), list(self._statements(case.body)))
                opening = "else "
            return
        kind = "casez" if any("-" in pattern for pattern in patterns) else "case"
        yield f"{kind} ({self._text(switch.test, bare=True)})"
        for case in cases:
            label = ", ".join(f"{len(p)}'b{p.replace('-', '?')}" for p in case.patterns) or "default"
            yield from (f"  {line}" for line in _under(f"{label}:", list(self._statements(case.body))))
        if cases[-1].patterns:
            yield "  default: ;"
        yield "endcase"


def _entries(entries: Sequence[str]) -> Iterator[str]:
    """Yield the entries of a list, one a line."""
    for k, entry in enumerate(entries):
        yield f"  {entry}{',' if k < len(entries) - 1 else ''}"


def _single_bits(value: Value) -> Iterator[Part | Bits]:
    for part in value:
        for k in reversed(range(part.width)):
            yield from slice_value((part,), k, 1)


def _move_into_clocked(body: Body, register: Part, *, first: bool = True) -> Body:
    """Return the statements with the register as their target; it keeps its value without an assignment."""
    moved: Body = []
    for k, item in enumerate(body):
        if isinstance(item, Assign):
            if k or not first or item.value != (register,):
                moved.append(Assign(replace(item.target, wire=register.wire), item.value))
        else:
            cases = [
                Case(case.patterns, _move_into_clocked(case.body, register, first=False))
                for case in item.cases
            ]
            moved.append(Switch(item.test, cases))
    return moved


def _resets(switch: Switch, register: Part) -> bool:
    """Return whether a switch only assigns the whole register where one bit is 1."""
    if len(switch.cases) != 1 or switch.cases[0].patterns != ("1",):
        return False
    body = switch.cases[0].body
    return len(body) == 1 and isinstance(body[0], Assign) and body[0].target == register


def _setting(value: Constant) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _settings(attributes: Mapping[str, Constant]) -> str:
    """Return the text of attributes before a declaration."""
    settings = ", ".join(f"{key} = {_setting(value)}" for key, value in attributes.items())
    return f"(* {settings} *) " if settings else ""


def _under(head: str, statements: Sequence[str]) -> list[str]:
    """Return statements under a condition, in a block unless one line without a dangling ``else`` does."""
    ends = head == "else" or not head.startswith(("if", "else if"))
    if len(statements) == 1 and (ends or not statements[0].startswith(("if", "case"))):
        return [f"{head} {statements[0]}"]
    return [f"{head} begin", *(f"  {statement}" for statement in statements), "end"]
