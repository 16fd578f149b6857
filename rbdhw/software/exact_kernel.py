"""C of one function of a bit-exact program: blocks of statements on integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rbdhw.fixed.program import INTEGER_BITS, Kind, Operand, Operation, Program, integer_bits
from rbdhw.model.interface import FunctionWords
from rbdhw.software.c_text import fill, integer
from rbdhw.software.exact_units import Units
from rbdhw.software.straight_line import CodeBlock, split_into_blocks, vectors_of

BLOCK_SIZE = 100
"""Operations of a block, whose instructions fit the instruction cache of a processor's core."""

MOST_VECTORS = 8
"""The most vectors that a block loops over."""


class ExactKernel:
    """The C of a function's operations: blocks, and the function that calls them in order.

    A block loops over up to ``most_vectors`` vectors of each value. Sums that could exceed 64 bits wrap, as
    in :mod:`rbdhw.fixed.evaluate`, if the code ``wraps``; otherwise there may be none.
    """

    def __init__(
        self,
        program: Program,
        layout: FunctionWords,
        units: Units,
        most_vectors: int = MOST_VECTORS,
        *,
        wraps: bool = False,
    ) -> None:
        self._program, self._layout, self._units, self._wraps = program, layout, units, wraps
        self._decided = {
            flag.value: layout.name in flag.functions
            for flag in program.flags
            if not (flag.optional and layout.name in flag.functions)
        }
        self._word_of = {word.value: k for k, word in enumerate(layout.brought(extended=True))}
        self._flag = len(self._word_of)
        order = [
            i for i in sorted(program.operations_of(layout.name)) if self._operation(i).kind not in _GIVEN
        ]
        self._code = split_into_blocks([order], self._operands, BLOCK_SIZE)
        self._results: dict[int, list[int]] = {}
        for k, word in enumerate(layout.returned(extended=True)):
            self._results.setdefault(word.value, []).append(k)
        values = self._flag + 1 + len(layout.returned(extended=True)) + self._code.slots
        self.vectors = vectors_of(values, most_vectors)

    def _operation(self, i: int) -> Operation:
        return self._program.operations[i]

    def _operands(self, i: int) -> tuple[int, ...]:
        """Return the operands of an operation, with the choices that the function decides made."""
        operation = self._operation(i)
        values = tuple(operand.value for operand in operation.operands)
        if operation.kind is Kind.SELECT and values[0] in self._decided:
            return (values[1 if self._decided[values[0]] else 2],)
        return values

    def text(self) -> str:
        first, *others = [self._block(block) for block in self._code.blocks] or [[]]
        blocks, store = [self._free() + first, *others], max(1, self._code.slots * self.vectors)
        return fill("kernel.c", name=self._layout.name, blocks=blocks, store=store)

    def _free(self) -> list[str]:
        """Return the lines of results that need no statement."""
        return [
            line
            for value, slots in self._results.items()
            if self._operation(value).kind in _GIVEN
            for line in self._result_lines(slots, self._leaf(value))
        ]

    def _block(self, block: CodeBlock) -> list[str]:
        lines = [f"const lanes v{value} = store[{slot * self.vectors}];" for value, slot in block.loads]
        phases: dict[tuple[Operand, int], str] = {}
        for i in block.body:
            lines += self._statement(i, phases)
            lines += self._result_lines(self._results.get(i, ()), f"v{i}")
        return lines + [f"store[{slot * self.vectors}] = v{value};" for value, slot in block.stores]

    def _result_lines(self, slots: Sequence[int], value: str) -> list[str]:
        return [f"results[{slot * self.vectors}] = {value};" for slot in slots]

    def _statement(self, i: int, phases: dict[tuple[Operand, int], str]) -> Iterator[str]:
        operation = self._operation(i)
        exceeds = integer_bits(self._program, operation) > INTEGER_BITS
        if exceeds and not (self._wraps and operation.kind in (Kind.ADD, Kind.DOT)):
            raise OverflowError(f"{operation}: exceeds {INTEGER_BITS} bits")
        match operation.kind:
            case Kind.SIN | Kind.COS:
                yield from self._turn(i, operation, phases)
            case Kind.RECIPROCAL:
                yield f"lanes v{i};"
                x, unit = self._shifted(operation.operands[0]), self._units.reciprocal(self._program)
                yield f"{{ const lanes x = {x}; {unit}(&x, {operation.constant}, &v{i}); }}"
                if operation.checked:
                    low, high = integer(operation.format.lowest), integer(operation.format.highest)
                    yield f"{{ const lanes x = NOT_BELOW(v{i}, {low}), y = NOT_ABOVE(x, {high});"
                    yield f"over |= v{i} ^ y; v{i} = y; }}"
            case _:
                full = (
                    self._wrapped(operation) if exceeds else _rounded(self._exact(operation), operation.drop)
                )
                spare = 64 - operation.format.width
                if operation.checked:
                    yield f"const lanes x{i} = {full}, v{i} = WRAP(x{i}, {spare}); over |= x{i} ^ v{i};"
                elif i in self._program.wrapping:
                    yield f"const lanes v{i} = WRAP({full}, {spare});"
                else:
                    yield f"const lanes v{i} = {full};"

    def _turn(self, i: int, operation: Operation, phases: dict[tuple[Operand, int], str]) -> Iterator[str]:
        """Yield the lines of a sine or cosine; both of one angle are computed together."""
        key = operation.operands[0], operation.constant
        if key not in phases:
            phases[key] = f"t{i}"
            angle = f"{self._shifted(key[0])} + {integer(key[1])}"
            yield f"lanes t{i}_sine, t{i}_cosine;"
            unit = self._units.trigonometry(self._program)
            yield f"{{ const lanes angle = {angle}; {unit}(&angle, &t{i}_sine, &t{i}_cosine); }}"
        part = "sine" if operation.kind is Kind.SIN else "cosine"
        yield f"const lanes v{i} = {phases[key]}_{part};"

    def _exact(self, operation: Operation) -> str:
        operands = operation.operands
        match operation.kind:
            case Kind.ADD:
                return " + ".join(map(self._shifted, operands))
            case Kind.MULTIPLY:
                return " * ".join(map(self._shifted, operands))
            case Kind.SCALE:
                return f"{self._shifted(operands[0])} * {integer(operation.constant)}"
            case Kind.DOT:
                return " + ".join(
                    _aligned(f"({self._leaf(first)} * {self._leaf(second)})", operand)
                    for operand, first, second in operation.pairs
                )
            case _:  # a choice
                flag, yes, no = operands
                if flag.value in self._decided:
                    return self._shifted(yes if self._decided[flag.value] else no)
                one, other = self._shifted(yes), self._shifted(no)
                return f"({other} ^ (({one} ^ {other}) & -({self._shifted(flag)} & 1)))"

    def _wrapped(self, operation: Operation) -> str:
        """Return the rounded sum, computed modulo 2**64."""
        if operation.kind is Kind.DOT:
            pairs = (
                (operand, f"{self._leaf(one)} * {self._leaf(other)}")
                for operand, one, other in operation.pairs
            )
            terms = [_aligned_modulo(text, operand) for operand, text in pairs]
        else:
            terms = [_aligned_modulo(self._leaf(operand.value), operand) for operand in operation.operands]
        terms.append(f"(unsigned_lanes)(ZERO + {integer((1 << operation.drop) >> 1)})")
        return f"(lanes)({' + '.join(terms)}) >> {operation.drop}"

    def _shifted(self, operand: Operand) -> str:
        return _aligned(self._leaf(operand.value), operand)

    def _leaf(self, value: int) -> str:
        operation = self._operation(value)
        if operation.kind is Kind.CONSTANT:
            return f"(ZERO + {integer(operation.constant)})"
        if operation.kind is not Kind.INPUT:
            return f"v{value}"
        if value in self._decided:
            return f"(ZERO + {integer(int(self._decided[value]))})"
        if value in self._word_of or any(flag.value == value for flag in self._program.flags):
            return f"words[{self._word_of.get(value, self._flag) * self.vectors}]"
        return "ZERO"  # an input of other functions


_GIVEN = (Kind.INPUT, Kind.CONSTANT)
"""The kinds of values that are not computed."""


def _aligned(text: str, operand: Operand) -> str:
    if operand.shift > 0:
        text = f"SHIFT({text}, {operand.shift})"
    elif operand.shift < 0:
        text = f"({text} >> {-operand.shift})"
    return f"(-{text})" if operand.negative else text


def _aligned_modulo(text: str, operand: Operand) -> str:
    """Return an operand as a number without sign, modulo 2**64."""
    if operand.shift < 0:
        text = f"(unsigned_lanes)(({text}) >> {-operand.shift})"
    else:
        text = f"((unsigned_lanes)({text}) << {operand.shift})"
    return f"(-{text})" if operand.negative else text


def _rounded(text: str, drop: int) -> str:
    return text if drop == 0 else f"({text} + {integer(1 << (drop - 1))}) >> {drop}"
