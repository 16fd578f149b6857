"""The Verilog of a component: readable, tool-independent Verilog-2005.

Combinational logic is written as continuous assignments; clocked blocks contain only registers. (Yosys' own
writer emits ``always @*`` blocks. SystemVerilog evaluates such a block when an input changes, so a block
whose inputs never change is never evaluated.)
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from amaranth.back import rtlil

from rbdhw.rtl.add_subtract import write_adders
from rbdhw.rtl.expressions import Expressions, bit_range, constant, list_entries, only_part, width_of
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
    Process,
    Switch,
    Value,
    Wire,
    read,
)
from rbdhw.rtl.sharing import driven_wire, is_operator, share_operators, slice_value, wires_read
from rbdhw.runtime.garbage_collector import pause_collection, seldom_collect
from rbdhw.verilog_names import DEFAULT_NAME

LONGEST_LINE = 118
"""The most characters of a line."""

MEMORY_PORTS = ("$meminit_v2", "$memrd_v2", "$memwr_v2")


def to_verilog(component: Any, name: str = DEFAULT_NAME, header: Sequence[str] = ()) -> str:
    """Return the Verilog of a component as module ``name``; the same component gives the same text.

    The names of all its modules begin with ``name``, so that several designs can stand in one. The lines of
    ``header`` precede it as comments.

    Raises
    ------
    ValueError
        For logic that the writer does not support, such as a division.
    """
    with seldom_collect():
        netlist = rtlil.convert(component, name=name, emit_src=False)
    with pause_collection():
        lines = [f"// {line}".rstrip() for line in header]
        modules = [share_operators(module) for module in read(netlist)]
        names = DesignNames(modules)
        for module in modules:
            for line in ["", *_Writer(module, names).lines()]:
                lines += _break_line(line)
        return write_adders(write_cells("\n".join(lines).lstrip("\n") + "\n", name), name)


def _break_line(line: str) -> list[str]:
    """Return a line of code, broken into several if it is too long."""
    if len(line) <= LONGEST_LINE:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line,
        LONGEST_LINE,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


class _Writer:
    """The writer of one module."""

    def __init__(self, module: Module, names: DesignNames) -> None:
        self._module = module
        self._design = names
        self._ports = names.ports[module.name]
        self._processes = {driven_wire(process).wire: process for process in module.processes}
        self._registers: dict[str, Cell] = {}
        self._nexts: dict[str, Process] = {}
        self._read: set[str] = set()
        uses = Counter(wires_read(module))
        for cell in module.cells:
            if cell.kind == "$dff":
                self._keep(cell, uses)
            elif cell.kind == "$memrd_v2" and cell.parameters["CLK_ENABLE"]:
                self._read.add(only_part(cell.ports["DATA"]).wire)
        hidden = {driven_wire(process).wire for process in self._nexts.values()}
        self._names = WireNames(module, names, hidden)
        self._expressions = Expressions(self._names)
        self._text = self._expressions.text
        self._memories = {name: self._names.new_name(name) for name in module.memories}

    def _keep(self, cell: Cell, uses: Mapping[str, int]) -> None:
        """Record a register; a process that only this register reads moves into its clocked block."""
        if cell.parameters["CLK_POLARITY"] != 1:
            raise ValueError("register: of falling edges; expected rising ones")
        register, following = only_part(cell.ports["Q"]).wire, cell.ports["D"]
        self._registers[register] = cell
        if len(following) == 1 and isinstance(following[0], Part):
            process = self._processes.get(following[0].wire)
            if process is not None and uses[following[0].wire] == 1 and following[0] == driven_wire(process):
                self._nexts[register] = self._processes.pop(following[0].wire)

    def lines(self) -> Iterator[str]:
        """Yield the module's text."""
        wires = [wire for wire in self._module.wires.values() if wire.name in self._names.wires]
        outside = [wire for wire in wires if wire.name in self._ports]
        body = [*self._instances(), *self._logic(), *self._storage(), *self._clocked_blocks()]
        yield f"module {self._design.modules[self._module.name]} ("
        yield from list_entries([f"{wire.port} {self._declare(wire)}" for wire in outside])
        yield ");"
        yield from (f"  {self._declare(wire)};" for wire in wires if wire.name not in self._ports)
        for name, part in self._names.used.items():
            yield f"  wire {bit_range(part.width)}{name} = {self._names.plain(part)};"
        yield from (f"  {line}" for line in self._expressions.functions())
        yield from (f"  {line}" for line in body)
        yield "endmodule"

    def _declare(self, wire: Wire) -> str:
        """Return the declaration of a wire or of a register with its initial value."""
        name = f"{bit_range(wire.width)}{self._names.wires[wire.name]}"
        if wire.name in self._registers:
            first = wire.attributes.get("init", 0)
            return f"reg {name} = {constant(f'{first:0{wire.width}b}')}"
        return f"{'reg' if wire.name in self._read else 'wire'} {name}"

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
            yield from list_entries(
                [f".{name}({_setting(value)})" for name, value in cell.parameters.items()]
            )
            opening = ")"
        yield f"{opening} {self._names.new_name(cell.name)} ("
        attached = [(known.get(f"\\{port}", port), value) for port, value in cell.ports.items() if value]
        yield from list_entries([f".{port}({self._text(value)})" for port, value in attached])
        yield ");"

    # Combinational logic

    def _logic(self) -> Iterator[str]:
        for cell in self._module.cells:
            if is_operator(cell):
                result = self._names.plain(only_part(cell.ports["Y"]))
                yield f"assign {result} = {self._expressions.operator(cell)};"
            elif cell.kind[0] == "$" and cell.kind not in ("$dff", *MEMORY_PORTS):
                raise ValueError(
                    f"cell {cell.kind}: unknown; expected logic that the writer of Verilog knows"
                )
        for process in self._processes.values():
            for part, expression in self._expressions.drive(process):
                yield f"assign {self._names.plain(part)} = {expression};"
        for target, value in self._module.connections:
            if target in self._ports:
                yield f"assign {self._names.wires[target]} = {self._text(value)};"

    # Memories

    def _storage(self) -> Iterator[str]:
        for name, memory in self._module.memories.items():
            settings = ", ".join(f"{key} = {_setting(value)}" for key, value in memory.attributes.items())
            if settings:
                yield f"(* {settings} *)"
            yield f"reg {bit_range(memory.width)}{self._memories[name]} [0:{memory.size - 1}];"
        for cell in self._module.cells:
            if cell.kind in MEMORY_PORTS:
                memory_name = self._memories[str(cell.parameters["MEMID"])]
                if cell.kind == "$meminit_v2":
                    yield from self._first_words(cell, memory_name)
                elif cell.kind == "$memrd_v2":
                    yield self._read_port(cell, memory_name)
                else:
                    yield from self._write_port(cell, memory_name)

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
        yield from (f"  {memory}[{k}] = {constant(word)};" for k, word in enumerate(words) if "1" in word)
        yield "end"

    def _read_port(self, cell: Cell, memory: str) -> str:
        if cell.parameters["TRANSPARENCY_MASK"]:
            raise ValueError("memory: a transparent port; expected one that reads what was there before")
        word = self._names.plain(only_part(cell.ports["DATA"]))
        address = self._text(cell.ports["ADDR"]) or "0"
        if not cell.parameters["CLK_ENABLE"]:
            return f"assign {word} = {memory}[{address}];"
        return self._clocked_statement(cell, cell.ports["EN"], f"{word} <= {memory}[{address}];")

    def _write_port(self, cell: Cell, memory: str) -> Iterator[str]:
        """Yield the statements of a write port, one for each group of bits with a common enable."""
        place, data = f"{memory}[{self._text(cell.ports['ADDR'])}]", cell.ports["DATA"]
        low, width = 0, width_of(data)
        for enable, same in groupby(reversed(list(_single_bits(cell.ports["EN"])))):
            count = sum(1 for _ in same)
            bits = f"[{low + count - 1}:{low}]" if count < width else ""
            statement = f"{place}{bits} <= {self._text(slice_value(data, low, count))};"
            yield self._clocked_statement(cell, (enable,), statement)
            low += count

    def _clocked_statement(self, cell: Cell, enable: Value, statement: str) -> str:
        """Return a clocked block with one statement under a port's enable."""
        condition = "" if enable == (Bits("1"),) else f"if ({self._text(enable)}) "
        return f"always @(posedge {self._text(cell.ports['CLK'])}) {condition}{statement}"

    # Registers

    def _clocked_blocks(self) -> Iterator[str]:
        for register, cell in self._registers.items():
            own = Part(register, 0, self._module.wires[register].width)
            body: Body = [Assign(own, cell.ports["D"])]
            if register in self._nexts:
                body = _move_into_clocked(self._nexts[register].body, own)
            yield from _under(f"always @(posedge {self._text(cell.ports['CLK'])})", self._block(body, own))

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
            if isinstance(item, Assign):
                yield f"{self._names.plain(item.target)} <= {self._text(item.value)};"
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
                condition = f"if ({self._expressions.condition(switch, case)})" if case.patterns else ""
                yield from _under(f"{opening}{condition}".rstrip(), list(self._statements(case.body)))
                opening = "else "
            return
        yield f"case{'z' * any('-' in pattern for pattern in patterns)} ({self._text(switch.test)})"
        for case in cases:
            label = ", ".join(f"{len(p)}'b{p.replace('-', '?')}" for p in case.patterns) or "default"
            yield from (f"  {line}" for line in _under(f"{label}:", list(self._statements(case.body))))
        if cases[-1].patterns:
            yield "  default: ;"
        yield "endcase"


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
    """Return the text of a parameter or attribute."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def _under(head: str, statements: Sequence[str]) -> list[str]:
    """Return statements under a condition, in a block unless one line without a dangling ``else`` does."""
    ends = head == "else" or not head.startswith(("if", "else if"))
    if len(statements) == 1 and (ends or not statements[0].startswith(("if", "case"))):
        return [f"{head} {statements[0]}"]
    return [f"{head} begin", *(f"  {statement}" for statement in statements), "end"]
