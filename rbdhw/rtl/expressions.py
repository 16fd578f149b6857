"""Verilog's expressions: values, operators, and the choices of combinational processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from rbdhw.rtl.naming import WireNames
from rbdhw.rtl.rtlil import Assign, Bits, Body, Case, Cell, Constant, Part, Process, Switch, Value
from rbdhw.rtl.sharing import driven_wire, slice_value

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


class Expressions:
    """The expressions of a module.

    Choices by a number call functions, which :meth:`functions` defines once all expressions are written.
    """

    def __init__(self, names: WireNames) -> None:
        self._names = names
        self._functions: dict[tuple[int, int, tuple[tuple[str, ...], ...]], str] = {}

    def text(self, value: Value) -> str:
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

    def operator(self, cell: Cell) -> str:
        """Return the expression of a combinational operator.

        Raises
        ------
        ValueError
            For an operator that is unknown.
        """
        ports, parameters = cell.ports, cell.parameters
        if cell.kind == "$mux":
            return f"{self.text(ports['S'])} ? {self.text(ports['B'])} : {self.text(ports['A'])}"
        if cell.kind not in UNARY and cell.kind not in BINARY:
            raise ValueError(f"cell {cell.kind}: unknown; expected logic that the writer of Verilog knows")
        wide = max(width_of(value) for port, value in ports.items() if port != "Y")
        a = self._operand(ports["A"], parameters["A_SIGNED"], wide)
        if cell.kind in UNARY:
            return f"{UNARY[cell.kind]}{a}"
        if cell.kind == "$shift" and parameters["A_SIGNED"]:
            raise ValueError("cell $shift: of a signed number; expected an unsigned one")
        b = self._operand(ports["B"], parameters["B_SIGNED"], 0 if cell.kind in SHIFTS else wide)
        return f"{a} {BINARY[cell.kind]} {b}"

    def _operand(self, value: Value, signed: Constant, wide: int) -> str:
        """Return an operand; a constant is extended to the widest operand."""
        if all(isinstance(part, Bits) for part in value) and max(width_of(value), wide) <= LONGEST_LITERAL:
            bits = "".join(part.text for part in value if isinstance(part, Bits)) or "0"
            return _literal(bits.rjust(wide, bits[0] if signed else "0"), "s" if signed else "")
        return f"$signed({self.text(value)})" if signed else self.text(value)

    def drive(self, process: Process) -> Iterator[tuple[Part, str]]:
        """Yield the expressions of a process, by the parts of its wire that are assigned together."""
        whole = driven_wire(process)
        if not any(isinstance(item, Switch) for item in process.body):
            yield whole, self.text(_overlay(whole, process.body))
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
                before = self.text(slice_value(item.value, part.low - item.target.low, part.width))
        return before

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
        return f"{self._functions[key]}({self.text(switch.test)}, {', '.join(arguments)})"

    def functions(self) -> Iterator[str]:
        """Yield the definitions of the functions that expressions call."""
        for (width, bits, labels), name in self._functions.items():
            yield from self._function(name, width, bits, labels)

    def _function(self, name: str, width: int, bits: int, labels: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield a function of :meth:`_call`; the argument without labels is the default."""
        yield f"function {bit_range(width)}{name}("
        ports = [
            f"{bit_range(bits)}{name}_by",
            *(f"{bit_range(width)}{name}_{k}" for k in range(len(labels))),
        ]
        yield from list_entries([f"input {port}" for port in ports])
        yield ");"
        yield f"  case ({name}_by)"
        for k, own in sorted(enumerate(labels), key=lambda entry: not entry[1]):
            yield f"    {', '.join(own) or 'default'}: {name} = {name}_{k};"
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
                tests += [self._equal(slice_value(switch.test, low, len(bits)), bits)] if known else []
            alternatives.append(" & ".join(tests))
        return " | ".join(alternatives)

    def _equal(self, value: Value, bits: str) -> str:
        if len(bits) > 1:
            return f"({self.text(value)} == {constant(bits)})"
        return f"{'~' * (bits == '0')}{self.text(value)}"


def width_of(value: Value) -> int:
    """Return the number of bits."""
    return sum(part.width for part in value)


def _if_part(part: Part | Bits) -> Part | None:
    return part if isinstance(part, Part) else None


def only_part(value: Value) -> Part:
    """Return the only part of a value."""
    (part,) = value
    assert isinstance(part, Part)
    return part


def bit_range(width: int) -> str:
    """Return the range of bits before a name; nothing for one bit."""
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


def constant(bits: str) -> str:
    """Return constant bits, the most significant first."""
    texts = _literals(bits)
    return texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"


def list_entries(entries: Sequence[str]) -> Iterator[str]:
    """Yield the entries of a list, one a line."""
    for k, entry in enumerate(entries):
        yield f"  {entry}{',' if k < len(entries) - 1 else ''}"


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


def _targets(body: Body) -> Iterator[Part]:
    for item in body:
        if isinstance(item, Assign):
            yield item.target
        else:
            for case in item.cases:
                yield from _targets(case.body)
