"""The combinational logic of a module, as Verilog's expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from rbdhw.rtl.literals import LONGEST_LITERAL, bit_range, constant, literal, literals
from rbdhw.rtl.naming import WireNames
from rbdhw.rtl.rtlil import (
    Assign,
    Bits,
    Body,
    Case,
    Cell,
    Module,
    Part,
    Process,
    Switch,
    Value,
    is_numbered,
    only_part,
    slice_value,
    width_of,
)

NO_BREAK = "\N{NO-BREAK SPACE}"
"""A space at which no line is broken."""

READ = "$memrd_v2"

REDUCTIONS = {"$reduce_and": "&", "$reduce_bool": "|", "$reduce_or": "|", "$reduce_xor": "^"}
UNARY = {"$neg": "-", "$not": "~", **REDUCTIONS}
COMPARISONS = {"$eq": "==", "$ne": "!=", "$lt": "<", "$gt": ">", "$le": "<=", "$ge": ">="}
SHIFTS = {"$shl": "<<", "$shr": ">>", "$sshr": ">>>", "$shift": ">>"}
BINARY = {
    "$add": "+",
    "$sub": "-",
    "$mul": "*",
    "$and": "&",
    "$or": "|",
    "$xor": "^",
    **COMPARISONS,
    **SHIFTS,
}

NARROWED = ("$add", "$sub", "$mul", "$neg", "$and", "$or", "$xor", "$not", "$mux")
"""Operators whose low bits depend only on the low bits of their operands."""

ANYTHING, CLOSED, UNIFORM, NOTHING = range(4)
"""Which operators may stand at a position, instead of on a wire of their own.

Verilog extends operands to the widest width of an expression, and by zeros if any operand is unsigned.
``ANYTHING`` is a position with the operator's width and nothing beside it. ``CLOSED`` is one that takes the
width of what stands there: it must be the operator's. In ``UNIFORM``, other operands stand beside it: none of
its own may be extended.
"""

MOST_REPEATED = 4000
"""The most characters of an expression that a choice repeats in its arms, since choices follow each other."""


class Logic:
    """The expressions of a module, each on a wire that is declared before it is read.

    Equal operators are written once, trivial and unread ones not at all. The module is written several times:
    with what is known from the time ``before``, an unnamed operator is as wide as its readers need, and one
    that is read once stands where it is read.

    ``lines`` are the declarations. ``uses`` and ``reads`` are how often each wire is read, and how many of
    its bits.
    """

    def __init__(self, module: Module, names: WireNames, before: Logic | None) -> None:
        self.lines: list[str] = []
        self.uses: Counter[str] = Counter()
        self.reads: dict[str, int] = {}
        self._module = module
        self._names = names
        self._before = before
        self._drivers: dict[str, Cell | Process] = {driven(p).wire: p for p in module.processes}
        self._drivers |= {only_part(c.ports["Y"]).wire: c for c in module.cells if is_operator(c)}
        reads = (c for c in module.cells if c.kind == READ and not c.parameters["CLK_ENABLE"])
        self._drivers |= {only_part(c.ports["DATA"]).wire: c for c in reads}
        self.driven = frozenset(self._drivers)
        self._labels: set[tuple[str, Part]] = set()
        self._instead: dict[str, Value] = {}
        self._known: dict[tuple[object, ...], Value] = {}
        self._pending: dict[str, Cell] = {}
        self._functions: dict[tuple[int, int, tuple[tuple[str, ...], ...]], str] = {}

    def take(self, value: Value) -> Process | None:
        """Return the process that drives what a register reads, if nothing else reads it."""
        match value:
            case (Part(wire) as part,) if self._before is not None and self._before.uses[wire] == 1:
                process = self._drivers.get(wire)
                if isinstance(process, Process) and part == driven(process):
                    self.uses[wire] += 1
                    del self._drivers[wire]
                    return process
        return None

    # Values

    def text(self, value: Value, asked: int = CLOSED, *, bare: bool = False) -> str:
        """Return the text of a value; a nested operator has brackets unless it stands ``bare``."""
        value = self._resolve(value)
        if len(value) > 1:
            asked, bare = CLOSED, True
        pieces: list[str] = []
        for part, same in groupby(value, key=_if_part):
            parts = list(same)
            if part is None:
                pieces += literals("".join(bits.text for bits in parts if isinstance(bits, Bits)))
            else:
                text = self._part(part, asked, bare)
                pieces.append(f"{{{len(parts)}{{{text}}}}}" if len(parts) > 1 else text)
        if not pieces:
            return literal("0")
        return pieces[0] if len(pieces) == 1 else f"{{{', '.join(pieces)}}}"

    def _resolve(self, value: Value) -> Value:
        """Return a value of wires that are declared, or are nested operators."""
        parts: list[Part | Bits] = []
        for part in value:
            if isinstance(part, Part):
                self.define(part.wire)
            if isinstance(part, Part) and part.wire in self._instead:
                parts += slice_value(self._instead[part.wire], part.low, part.width)
            else:
                parts.append(part)
        return tuple(parts)

    def _part(self, part: Part, asked: int, bare: bool) -> str:
        wire = part.wire
        self.uses[wire] += 1
        self.reads[wire] = max(self.reads.get(wire, 0), part.low + part.width)
        if (cell := self._pending.get(wire)) is not None:
            text = self._operator(cell)
            if part.width == width_of(cell.ports["Y"]) and _fits(cell, asked):
                return text if bare or (" " not in text and text[0] not in "&|^-") else f"({text})"
            self._declare(only_part(self._pending.pop(wire).ports["Y"]), text)
        label = self._names.label(part)
        if label is not None and label not in self._labels:
            self._labels.add(label)
            name, whole = label
            known = self._module.wires[wire].width  # an operator may be narrower than its result was
            whole = replace(whole, width=min(whole.width, known - whole.low))
            self.lines.append(f"wire {bit_range(whole.width)}{name} = {self._names.plain(whole)};")
        return self._names.text(part, label)

    # Definitions

    def define(self, wire: str) -> None:
        """Declare a wire with its expression, unless this was done."""
        driver = self._drivers.pop(wire, None)
        if isinstance(driver, Process):
            self._define_process(driver, driven(driver))
        elif driver is not None and driver.kind == READ:
            self._declare(only_part(driver.ports["DATA"]), self.word(driver))
        elif driver is not None:
            self._define_operator(driver, only_part(driver.ports["Y"]))

    def word(self, cell: Cell) -> str:
        address = cell.ports["ADDR"]
        memory = self._names.memories[str(cell.parameters["MEMID"])]
        return f"{memory}[{self.text(address, bare=True) if address else '0'}]"

    def _define_process(self, process: Process, whole: Part) -> None:
        parts = list(self._drive(process))
        if not any(isinstance(item, Switch) for item in process.body):
            texts = [text for _, text in reversed(parts)]
            self._declare(whole, texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}")
        elif len(parts) == 1:
            self._declare(*parts[0])
        else:
            if not self._module.wires[whole.wire].port:
                self.lines.append(f"wire {bit_range(whole.width)}{self._names.plain(whole)};")
            self.lines += [f"assign {self._names.plain(part)} = {text};" for part, text in parts]

    def _define_operator(self, cell: Cell, result: Part) -> None:
        inputs = {port: self._resolve(value) for port, value in cell.ports.items() if port != "Y"}
        if cell.kind in NARROWED and is_numbered(result.wire) and self._before is not None:
            width = self._before.reads.get(result.wire, result.width)
            result = replace(result, width=width)
            self._module.wires[result.wire].width = width
            inputs = {p: slice_value(v, 0, width) if p in "AB" else v for p, v in inputs.items()}
        key = (cell.kind, result.width, *cell.parameters.items(), *inputs.items())
        known = _fold(cell, inputs, result.width) or self._known.get(key)
        if known is not None:
            if self._module.wires[result.wire].port:
                self._declare(result, self.text(known, ANYTHING, bare=True))
            self._instead[result.wire] = known
            return
        self._known[key] = (result,)
        cell = replace(cell, ports={**inputs, "Y": (result,)})
        if self._before is not None and self._before.uses[result.wire] == 1 and is_numbered(result.wire):
            self._pending[result.wire] = cell
        else:
            self._declare(result, self._operator(cell))

    def _declare(self, part: Part, text: str) -> None:
        declared = "assign " if self._module.wires[part.wire].port else f"wire {bit_range(part.width)}"
        self.lines.append(f"{declared}{self._names.plain(part)} = {text};")

    def _operator(self, cell: Cell) -> str:
        ports, parameters = cell.ports, cell.parameters
        wide = max(width_of(value) for port, value in ports.items() if port != "Y")
        equal = cell.kind in COMPARISONS and width_of(ports["A"]) == width_of(ports["B"])
        beside = UNIFORM if equal or _fits(cell, UNIFORM) else NOTHING
        if cell.kind == "$mux":
            chosen, other = (self.text(ports[port], beside) for port in "BA")
            return f"{self.text(ports['S'])} ? {chosen} : {other}"
        if cell.kind in UNARY:
            asked = CLOSED if cell.kind in REDUCTIONS else beside
            a = self._operand(ports["A"], bool(parameters["A_SIGNED"]), wide, asked)
            return f"{UNARY[cell.kind]}({a})" if a[0] in UNARY.values() else f"{UNARY[cell.kind]}{a}"
        if cell.kind == "$shift" and parameters["A_SIGNED"]:
            raise ValueError("cell $shift: of a signed number; expected an unsigned one")
        a = self._operand(ports["A"], bool(parameters["A_SIGNED"]), wide, beside)
        shift = cell.kind in SHIFTS
        b = self._operand(
            ports["B"], bool(parameters["B_SIGNED"]), 0 if shift else wide, CLOSED if shift else beside
        )
        return f"{a} {BINARY[cell.kind]} {b}"

    def _operand(self, value: Value, signed: bool, wide: int, asked: int) -> str:
        """Return an operand; a constant is extended to the widest operand."""
        if all(isinstance(part, Bits) for part in value) and max(width_of(value), wide) <= LONGEST_LITERAL:
            bits = "".join(part.text for part in value if isinstance(part, Bits)) or "0"
            return literal(bits.rjust(wide, bits[0] if signed else "0"), "s" if signed else "")
        return f"$signed({self.text(value, bare=True)})" if signed else self.text(value, asked)

    # Processes

    def _drive(self, process: Process) -> Iterator[tuple[Part, str]]:
        """Yield the expressions of a process, by the parts of its wire that are assigned together."""
        ends = sorted({end for part in _targets(process.body) for end in (part.low, part.low + part.width)})
        for low, high in pairwise(ends):
            part = Part(driven(process).wire, low, high - low)
            yield part, self._expression(process.body, part, "")

    def _expression(self, body: Body, part: Part, before: str) -> str:
        """Return the expression of a part, formerly ``before``, after these statements."""
        for item in body:
            if isinstance(item, Switch):
                if len(before) > MOST_REPEATED:
                    before = self._named(before, part.width)
                before = self._choice(item, part, before)
            elif item.target.low <= part.low < item.target.low + item.target.width:
                value = slice_value(item.value, part.low - item.target.low, part.width)
                before = self.text(value, UNIFORM, bare=True)
        return before

    def _named(self, text: str, width: int) -> str:
        """Return the name of a new wire with an expression."""
        name = self._names.new_name("before")
        self.lines.append(f"wire {bit_range(width)}{name} = {text};")
        return name

    def _choice(self, switch: Switch, part: Part, before: str) -> str:
        """Return a choice of expressions: a chain of conditions, or a function call to test a number."""
        arms = [(case, self._expression(case.body, part, before)) for case in switch.cases]
        if not arms or arms[-1][0].patterns:
            arms.append((Case(()), before))
        wild = any("-" in pattern for case in switch.cases for pattern in case.patterns)
        if width_of(switch.test) > 1 and len({text for _, text in arms}) > 1 and not wild:
            return self._call(switch, part.width, arms)
        result = arms[-1][1]
        for case, text in reversed(arms[:-1]):
            if text != result:
                inner = f"({text})" if " ? " in text else text
                result = f"{self.condition(switch, case)} ? {inner} : {result}"
        return result

    def _call(self, switch: Switch, width: int, arms: Sequence[tuple[Case, str]]) -> str:
        """Return the call of a function that selects an argument by a number with a case statement."""
        arguments = list(dict.fromkeys(text for _, text in arms))
        labels: list[list[str]] = [[] for _ in arguments]
        for case, text in arms:
            labels[arguments.index(text)] += [f"{len(p)}'b{p}" for p in case.patterns]
        *_, (_, last) = arms
        labels[arguments.index(last)] = []
        key = (width, width_of(switch.test), tuple(map(tuple, labels)))
        if key not in self._functions:
            self._functions[key] = self._names.new_name(f"choice_of_{len(arguments)}")
        cases = [",".join(str(int(label.partition("b")[2], 2)) for label in few) or "-" for few in labels]
        marked = (f"/*{case}*/{NO_BREAK}{text}" for case, text in zip(cases, arguments, strict=True))
        return f"{self._functions[key]}({self.text(switch.test, bare=True)}, {', '.join(marked)})"

    def functions(self) -> Iterator[str]:
        """Yield the functions that expressions call; the argument without cases is for all others."""
        for (width, bits, labels), name in self._functions.items():
            arguments = ", ".join(f"_{k}" for k in range(len(labels)))
            choice, chosen = bit_range(bits), bit_range(width)
            yield f"function {chosen}{name}(input {choice}_by, input {chosen}{arguments});"
            yield "  case (_by)"
            for k, cases in sorted(enumerate(labels), key=lambda entry: not entry[1]):
                yield f"    {', '.join(cases) or 'default'}: {name} = _{k};"
            yield "  endcase"
            yield "endfunction"

    def condition(self, switch: Switch, case: Case) -> str:
        """Return the condition that a case's pattern matches."""
        alternatives = []
        for pattern in case.patterns:
            tests, low = [], len(pattern)
            for known, run in groupby(pattern, key=lambda bit: bit != "-"):
                bits = "".join(run)
                low -= len(bits)
                tests += [(slice_value(switch.test, low, len(bits)), bits)] if known else []
            if len(case.patterns) == len(tests) == len(tests[0][1]) == 1 and tests[0][1] == "1":
                return self.text(tests[0][0], bare=True)
            alternatives.append(" & ".join(self._equal(value, bits) for value, bits in tests))
        return " | ".join(alternatives)

    def _equal(self, value: Value, bits: str) -> str:
        if len(bits) > 1:
            return f"({self.text(value)} == {constant(bits)})"
        text = self.text(value)
        return f"~({text})" if bits == "0" and text[0] in UNARY.values() else f"{'~' * (bits == '0')}{text}"


def _if_part(part: Part | Bits) -> Part | None:
    return part if isinstance(part, Part) else None


def is_operator(cell: Cell) -> bool:
    return cell.kind in UNARY or cell.kind in BINARY or cell.kind == "$mux"


def driven(process: Process) -> Part:
    """Return the wire that a process drives; its first statement assigns all of it."""
    first = process.body[0]
    assert isinstance(first, Assign)
    return first.target


def _targets(body: Body) -> Iterator[Part]:
    for item in body:
        if isinstance(item, Assign):
            yield item.target
        else:
            for case in item.cases:
                yield from _targets(case.body)


def _fits(cell: Cell, asked: int) -> bool:
    if asked in (NOTHING, ANYTHING) or cell.kind in COMPARISONS or cell.kind in REDUCTIONS:
        return asked != NOTHING
    operands = [cell.ports[p] for p in ("A" if cell.kind in SHIFTS else "AB") if p in cell.ports]
    width = width_of(cell.ports["Y"])
    # A constant is written as wide as the widest operand.
    variable = {width_of(value) for value in operands if any(isinstance(part, Part) for part in value)}
    if max(map(width_of, operands)) != width:
        return False
    return asked == CLOSED or (variable <= {width} and cell.kind not in SHIFTS)


def _fold(cell: Cell, inputs: Mapping[str, Value], width: int) -> Value | None:
    """Return the input or constant that an operator always equals; None for an operator that computes."""
    kind, a, b = cell.kind, inputs["A"], inputs.get("B", ())
    if kind in ("$add", "$sub") and _number(b) == 0:
        return _extend(a, width, bool(cell.parameters["A_SIGNED"]))
    if kind in REDUCTIONS and width_of(a) == 1:
        return a
    if kind == "$mux" and (a == b or inputs["S"] == (Bits("0"),)):
        return a
    if kind == "$mux" and inputs["S"] == (Bits("1"),):
        return b
    if kind in ("$eq", "$ne") and None not in (numbers := [_number(a), _number(b)]):
        return (Bits(str(int((numbers[0] == numbers[1]) == (kind == "$eq")))),)
    return None


def _extend(value: Value, width: int, signed: bool) -> Value:
    """Return a number extended, by its sign or by zeros, or cut to ``width``."""
    more = width - width_of(value)
    if more <= 0:
        return slice_value(value, 0, width)
    sign = slice_value(value, width_of(value) - 1, 1) if signed and value else (Bits("0"),)
    return (sign if isinstance(sign[0], Part) else (Bits(sign[0].text),)) * more + value


def _number(value: Value) -> int | None:
    """Return a constant as an unsigned number; None for any other value."""
    bits = "".join(part.text for part in value if isinstance(part, Bits))
    return int(bits or "0", 2) if all(isinstance(part, Bits) for part in value) else None
