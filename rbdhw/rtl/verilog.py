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
from itertools import groupby, pairwise
from typing import Any

from amaranth.back import rtlil

from rbdhw.rtl.add_subtract import write_adders
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

LONGEST_LINE = 118
"""The most characters of a line."""

LONGEST_LITERAL = 64
"""The most bits of a constant in one literal."""

SHORT_LITERAL = 4
"""The most bits of a constant in binary notation."""

UNARY = {
    "$neg": "-",
    "$not": "~",
    "$reduce_and": "&",
    "$reduce_bool": "|",
    "$reduce_or": "|",
    "$reduce_xor": "^",
}
BINARY = {
    "$add": "+",
    "$sub": "-",
    "$mul": "*",
    "$shl": "<<",
    "$shr": ">>",
    "$sshr": ">>>",
    "$shift": ">>",
    "$and": "&",
    "$or": "|",
    "$xor": "^",
    "$eq": "==",
    "$ne": "!=",
    "$lt": "<",
    "$gt": ">",
    "$le": "<=",
    "$ge": ">=",
}

SHIFTS = ("$shl", "$shr", "$sshr", "$shift")

MEMORY_PORTS = ("$meminit_v2", "$memrd_v2", "$memwr_v2")


def to_verilog(component: Any, name: str = "accelerator", header: Sequence[str] = ()) -> str:
    """Return the Verilog of a component as module ``name``; the same component gives the same text.

    The lines of ``header`` precede it as comments.

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
        return write_adders(write_cells("\n".join(lines).lstrip("\n") + "\n"))


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
        self._functions: dict[tuple[int, int, tuple[tuple[str, ...], ...]], str] = {}
        uses = Counter(wires_read(module))
        for cell in module.cells:
            if cell.kind == "$dff":
                self._keep(cell, uses)
            elif cell.kind == "$memrd_v2" and cell.parameters["CLK_ENABLE"]:
                self._read.add(_part(cell.ports["DATA"]).wire)
        hidden = {driven_wire(process).wire for process in self._nexts.values()}
        self._names = WireNames(module, names, hidden)
        self._memories = {name: self._names.new_name(name) for name in module.memories}

    def _keep(self, cell: Cell, uses: Mapping[str, int]) -> None:
        """Record a register; a process that only this register reads moves into its clocked block."""
        if cell.parameters["CLK_POLARITY"] != 1:
            raise ValueError("register: of falling edges; expected rising ones")
        register, following = _part(cell.ports["Q"]).wire, cell.ports["D"]
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
        yield from _list([f"{wire.port} {self._declare(wire)}" for wire in outside])
        yield ");"
        yield from (f"  {self._declare(wire)};" for wire in wires if wire.name not in self._ports)
        for name, part in self._names.used.items():
            yield f"  wire {_range(part.width)}{name} = {self._names.plain(part)};"
        for (width, bits, labels), name in self._functions.items():
            yield from (f"  {line}" for line in self._function(name, width, bits, labels))
        yield from (f"  {line}" for line in body)
        yield "endmodule"

    def _declare(self, wire: Wire) -> str:
        """Return the declaration of a wire or of a register with its initial value."""
        name = f"{_range(wire.width)}{self._names.wires[wire.name]}"
        if wire.name in self._registers:
            first = wire.attributes.get("init", 0)
            return f"reg {name} = {_constant(f'{first:0{wire.width}b}')}"
        return f"{'reg' if wire.name in self._read else 'wire'} {name}"

    def _text(self, value: Value) -> str:
        """Return the text of a value; repeated parts become a replication."""
        pieces: list[str] = []
        for part, same in groupby(value, key=_if_part):
            parts = list(same)
            if part is None:
                pieces += _literals("".join(bits.text for bits in parts if isinstance(bits, Bits)))
            else:
                text = self._names.text(part)
                pieces.append(f"{{{len(parts)}{{{text}}}}}" if len(parts) > 1 else text)
        if not pieces:
            return _literal("0")
        return pieces[0] if len(pieces) == 1 else f"{{{', '.join(pieces)}}}"

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
            yield from _list([f".{name}({_setting(value)})" for name, value in cell.parameters.items()])
            opening = ")"
        yield f"{opening} {self._names.new_name(cell.name)} ("
        attached = [(known.get(f"\\{port}", port), value) for port, value in cell.ports.items() if value]
        yield from _list([f".{port}({self._text(value)})" for port, value in attached])
        yield ");"

    # Combinational logic

    def _logic(self) -> Iterator[str]:
        for cell in self._module.cells:
            if is_operator(cell):
                yield f"assign {self._names.plain(_part(cell.ports['Y']))} = {self._operator(cell)};"
            elif cell.kind[0] == "$" and cell.kind not in ("$dff", *MEMORY_PORTS):
                raise ValueError(
                    f"cell {cell.kind}: unknown; expected logic that the writer of Verilog knows"
                )
        for process in self._processes.values():
            for part, expression in self._drive(process):
                yield f"assign {self._names.plain(part)} = {expression};"
        for target, value in self._module.connections:
            if target in self._ports:
                yield f"assign {self._names.wires[target]} = {self._text(value)};"

    def _operator(self, cell: Cell) -> str:
        ports, parameters = cell.ports, cell.parameters
        if cell.kind == "$mux":
            return f"{self._text(ports['S'])} ? {self._text(ports['B'])} : {self._text(ports['A'])}"
        if cell.kind not in UNARY and cell.kind not in BINARY:
            raise ValueError(f"cell {cell.kind}: unknown; expected logic that the writer of Verilog knows")
        wide = max(_width(value) for port, value in ports.items() if port != "Y")
        a = self._operand(ports["A"], parameters["A_SIGNED"], wide)
        if cell.kind in UNARY:
            return f"{UNARY[cell.kind]}{a}"
        if cell.kind == "$shift" and parameters["A_SIGNED"]:
            raise ValueError("cell $shift: of a signed number; expected an unsigned one")
        b = self._operand(ports["B"], parameters["B_SIGNED"], 0 if cell.kind in SHIFTS else wide)
        return f"{a} {BINARY[cell.kind]} {b}"

    def _operand(self, value: Value, signed: Constant, wide: int) -> str:
        """Return an operand; a constant is extended to the widest operand."""
        if all(isinstance(part, Bits) for part in value) and max(_width(value), wide) <= LONGEST_LITERAL:
            bits = "".join(part.text for part in value if isinstance(part, Bits)) or "0"
            return _literal(bits.rjust(wide, bits[0] if signed else "0"), "s" if signed else "")
        return f"$signed({self._text(value)})" if signed else self._text(value)

    def _drive(self, process: Process) -> Iterator[tuple[Part, str]]:
        """Yield the expressions of a process, by the parts of its wire that are assigned together."""
        whole = driven_wire(process)
        if not any(isinstance(item, Switch) for item in process.body):
            yield whole, self._text(_overlay(whole, process.body))
            return
        ends = sorted({end for part in _targets(process.body) for end in (part.low, part.low + part.width)})
        for low, high in pairwise(ends):
            part = Part(whole.wire, low, high - low)
            yield part, self._expression(process.body, part, "")

    def _expression(self, body: Body, part: Part, before: str) -> str:
        """Return the expression of a part, formerly ``before``, after these statements."""
        for item in body:
            if isinstance(item, Switch):
                before = self._choice(item, part, before)
            elif item.target.low <= part.low < item.target.low + item.target.width:
                before = self._text(slice_value(item.value, part.low - item.target.low, part.width))
        return before

    def _choice(self, switch: Switch, part: Part, before: str) -> str:
        """Return a choice of expressions: a chain of conditions, or a function call to test a number."""
        arms = [(case, self._expression(case.body, part, before)) for case in switch.cases]
        if not arms or arms[-1][0].patterns:
            arms.append((Case(()), before))
        wild = any("-" in pattern for case in switch.cases for pattern in case.patterns)
        if _width(switch.test) > 1 and len({text for _, text in arms}) > 1 and not wild:
            return self._call(switch, part.width, arms)
        result = arms[-1][1]
        for case, text in reversed(arms[:-1]):
            if text != result:
                inner = f"({text})" if " ? " in text else text
                result = f"{self._condition(switch, case)} ? {inner} : {result}"
        return result

    def _call(self, switch: Switch, width: int, arms: Sequence[tuple[Case, str]]) -> str:
        """Return the call of a function that selects an argument by a number with a case statement."""
        arguments = list(dict.fromkeys(text for _, text in arms))
        labels: list[list[str]] = [[] for _ in arguments]
        for case, text in arms:
            labels[arguments.index(text)] += [f"{len(p)}'b{p}" for p in case.patterns]
        *_, (_, last) = arms
        labels[arguments.index(last)] = []
        key = (width, _width(switch.test), tuple(map(tuple, labels)))
        if key not in self._functions:
            self._functions[key] = self._names.new_name(f"choice_of_{len(arguments)}")
        return f"{self._functions[key]}({self._text(switch.test)}, {', '.join(arguments)})"

    def _function(self, name: str, width: int, bits: int, labels: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield a function of :meth:`_call`; the argument without labels is the default."""
        yield f"function {_range(width)}{name}("
        ports = [f"{_range(bits)}{name}_by", *(f"{_range(width)}{name}_{k}" for k in range(len(labels)))]
        yield from _list([f"input {port}" for port in ports])
        yield ");"
        yield f"  case ({name}_by)"
        for k, own in sorted(enumerate(labels), key=lambda entry: not entry[1]):
            yield f"    {', '.join(own) or 'default'}: {name} = {name}_{k};"
        yield "  endcase"
        yield "endfunction"

    def _condition(self, switch: Switch, case: Case) -> str:
        """Return the condition that a case's pattern matches."""
        alternatives = []
        for pattern in case.patterns:
            tests, low = [], len(pattern)
            for known, run in groupby(pattern, key=lambda bit: bit != "-"):
                bits = "".join(run)
                low -= len(bits)
                tests += [self._equal(slice_value(switch.test, low, len(bits)), bits)] if known else []
            alternatives.append(" & ".join(tests))
        return " | ".join(alternatives)

    def _equal(self, value: Value, bits: str) -> str:
        if len(bits) > 1:
            return f"({self._text(value)} == {_constant(bits)})"
        return f"{'~' * (bits == '0')}{self._text(value)}"

    # Memories

    def _storage(self) -> Iterator[str]:
        for name, memory in self._module.memories.items():
            settings = ", ".join(f"{key} = {_setting(value)}" for key, value in memory.attributes.items())
            if settings:
                yield f"(* {settings} *)"
            yield f"reg {_range(memory.width)}{self._memories[name]} [0:{memory.size - 1}];"
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
            yield f"    {memory}[{index}] = {_constant('0' * width)};"
        yield from (f"  {memory}[{k}] = {_constant(word)};" for k, word in enumerate(words) if "1" in word)
        yield "end"

    def _read_port(self, cell: Cell, memory: str) -> str:
        if cell.parameters["TRANSPARENCY_MASK"]:
            raise ValueError("memory: a transparent port; expected one that reads what was there before")
        word = self._names.plain(_part(cell.ports["DATA"]))
        address = self._text(cell.ports["ADDR"]) or "0"
        if not cell.parameters["CLK_ENABLE"]:
            return f"assign {word} = {memory}[{address}];"
        return self._clocked_statement(cell, cell.ports["EN"], f"{word} <= {memory}[{address}];")

    def _write_port(self, cell: Cell, memory: str) -> Iterator[str]:
        """Yield the statements of a write port, one for each group of bits with a common enable."""
        place, data = f"{memory}[{self._text(cell.ports['ADDR'])}]", cell.ports["DATA"]
        low, width = 0, _width(data)
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
                condition = f"if ({self._condition(switch, case)})" if case.patterns else ""
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


# Values


def _width(value: Value) -> int:
    return sum(part.width for part in value)


def _if_part(part: Part | Bits) -> Part | None:
    return part if isinstance(part, Part) else None


def _part(value: Value) -> Part:
    """Return the only part of a value."""
    (part,) = value
    assert isinstance(part, Part)
    return part


def _single_bits(value: Value) -> Iterator[Part | Bits]:
    for part in value:
        for k in reversed(range(part.width)):
            yield from slice_value((part,), k, 1)


def _overlay(whole: Part, body: Body) -> Value:
    """Return the value of a part after unconditional assignments, of which the first assigns all bits."""
    last = [0] * whole.width
    assignments = [item for item in body if isinstance(item, Assign)]
    for k, item in enumerate(assignments):
        low = item.target.low - whole.low
        last[low : low + item.target.width] = [k] * item.target.width
    result: list[Part | Bits] = []
    high = whole.width
    for k, bits in groupby(reversed(last)):
        low = high - sum(1 for _ in bits)
        item = assignments[k]
        result += slice_value(item.value, low - item.target.low + whole.low, high - low)
        high = low
    return tuple(result)


# Processes


def _targets(body: Body) -> Iterator[Part]:
    for item in body:
        if isinstance(item, Assign):
            yield item.target
        else:
            for case in item.cases:
                yield from _targets(case.body)


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


# Text


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _literal(bits: str, sign: str = "") -> str:
    if len(bits) <= SHORT_LITERAL:
        return f"{len(bits)}'{sign}b{bits}"
    return f"{len(bits)}'{sign}h{int(bits, 2):0{-(-len(bits) // 4)}x}"


def _literals(bits: str) -> list[str]:
    """Return constant bits as elements of a concatenation."""
    if len(bits) <= LONGEST_LITERAL:
        return [_literal(bits)]
    if len(set(bits)) == 1:
        return [f"{{{len(bits)}{{1'b{bits[0]}}}}}"]
    first = len(bits) % LONGEST_LITERAL
    starts = [0, *range(first, len(bits), LONGEST_LITERAL)] if first else range(0, len(bits), LONGEST_LITERAL)
    return [_literal(bits[a:b]) for a, b in pairwise([*starts, len(bits)])]


def _constant(bits: str) -> str:
    texts = _literals(bits)
    return texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"


def _setting(value: Constant) -> str:
    """Return the text of a parameter or attribute."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def _list(entries: Sequence[str]) -> Iterator[str]:
    """Yield the entries of a list, one a line."""
    for k, entry in enumerate(entries):
        yield f"  {entry}{',' if k < len(entries) - 1 else ''}"


def _under(head: str, statements: Sequence[str]) -> list[str]:
    """Return statements under a condition, in a block unless one line without a dangling ``else`` does."""
    ends = head == "else" or not head.startswith(("if", "else if"))
    if len(statements) == 1 and (ends or not statements[0].startswith(("if", "case"))):
        return [f"{head} {statements[0]}"]
    return [f"{head} begin", *(f"  {statement}" for statement in statements), "end"]
