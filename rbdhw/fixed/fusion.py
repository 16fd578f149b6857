"""Fusion: trees of sums and products become sums of products, each computed by one accumulator.

A sum that is used only by one other sum needs no format of its own: its terms are added to the other sum
directly. The result consists of sums of products, each rounded once, and the values stored between them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from rbdhw.errors import InputError
from rbdhw.fixed.format import Format, round_half_up
from rbdhw.fixed.program import Interval, Kind, Operand, Operation, Program, Word, checked
from rbdhw.scalar import Region

GUARD_BITS = 6
"""The number of bits below a result's last to which the terms of its sum are cut before they are added.
Cutting moves a term by half a guard step on average, and twenty terms by a sixth of the result's step."""

CONSTANTS = Region("constants")
"""The region of factors of scaled values."""

_SUMS = (Kind.ADD, Kind.MULTIPLY, Kind.SCALE)


@dataclass(frozen=True, slots=True)
class _Term:
    """A product of two values, or of a value and a constant (``second`` None), times a power of two."""

    first: int
    second: int | None
    constant: int
    negative: bool
    exponent: int


def fuse(program: Program, most: int) -> Program:
    """Convert every sum and product of the program to sums of at most ``most`` products.

    Results keep their binary points. InputError if a product is wider than the ordinary multiplier.
    """
    if program.wide:
        reason = "the array has no multipliers wider than its ports"
        raise InputError("core", reason, "a width instead of an error budget", "leave out --max-error")
    return _Fusion(program, most).program()


class _Fusion:
    def __init__(self, program: Program, most: int) -> None:
        self._before = program
        self._most = most
        self._uses = _uses(program)
        self._lost: Counter[int] = Counter()
        self._place: dict[int, int] = {}
        self._constants: dict[int, int] = {}
        self._operations: list[Operation] = []
        self._intervals: list[Interval] = []

    def program(self) -> Program:
        before = self._before
        terms, absorbed = self._terms()
        for i, operation in enumerate(before.operations):
            if operation.kind is Kind.INPUT or (i not in absorbed and self._uses[i]):
                if operation.kind in (*_SUMS, Kind.SELECT, Kind.CONSTANT):
                    self._lost[i] = max(0, operation.format.width - self._width(operation))
                self._place[i] = self._add(self._operation(i, operation, terms.get(i, [])))
        outputs = {
            function: tuple(replace(word, format=self._format(word)) for word in words)
            for function, words in before.outputs.items()
        }
        return replace(before, outputs=outputs).with_values(self._operations, self._place)

    def _terms(self) -> tuple[dict[int, list[_Term]], set[int]]:
        """Return the terms of every sum and product, at its own step, and the values merged into sums."""
        terms: dict[int, list[_Term]] = {}
        absorbed: set[int] = set()
        for i, operation in enumerate(self._before.operations):
            if operation.kind is Kind.ADD:
                terms[i] = []
                left = len(operation.operands)
                for operand in operation.operands:
                    left -= 1
                    inner = terms.get(operand.value, [])
                    if self._uses[operand.value] == 1 and 0 < len(inner) <= self._most - left - len(terms[i]):
                        absorbed.add(operand.value)
                    else:
                        inner = [_Term(operand.value, None, 1, False, 0)]
                    terms[i] += [_move_term(term, operand, operation.drop) for term in inner]
            elif operation.kind is Kind.MULTIPLY:
                first, second = (operand.value for operand in operation.operands)
                terms[i] = [_Term(first, second, 1, False, -operation.drop)]
            elif operation.kind is Kind.SCALE:
                (operand,) = operation.operands
                terms[i] = [_Term(operand.value, None, operation.constant, False, -operation.drop)]
        return terms, absorbed

    def _operation(self, i: int, operation: Operation, terms: list[_Term]) -> Operation:
        """Return an operation on values of the new program; a result that was wider keeps its range."""
        fitted = Format(self._width(operation), operation.format.binary_point - self._lost[i])
        if operation.kind in _SUMS:
            operands = tuple(operand for term in terms for operand in self._pair(term, self._lost[i]))
            return Operation(Kind.DOT, operands, fitted, operation.region, drop=GUARD_BITS)
        if operation.kind is Kind.CONSTANT:
            rounded = min(round_half_up(operation.constant, self._lost[i]), fitted.highest)
            kept = Format(operation.format.width - self._lost[i], fitted.binary_point)
            return replace(operation, constant=rounded, format=kept)
        operands = tuple(self._move_operand(operand) for operand in operation.operands)
        if operation.kind is Kind.RECIPROCAL:
            lost = self._lost[operation.operands[0].value]
            plain = replace(operands[0], shift=operation.operands[0].shift)
            return replace(operation, operands=(plain,), constant=operation.constant + lost)
        if operation.kind is not Kind.SELECT:
            return replace(operation, operands=operands)
        flag, *values = operands
        finer = GUARD_BITS - operation.drop - self._lost[i]
        moved = tuple(replace(value, shift=value.shift + finer) for value in values)
        return replace(operation, operands=(flag, *moved), format=fitted, drop=GUARD_BITS)

    def _width(self, operation: Operation) -> int:
        """Return the bits of the multiplier's operand that a result can be, the narrower if it fits that."""
        wide, narrow = self._before.port_widths
        return narrow if operation.format.width <= narrow else wide

    def _pair(self, term: _Term, lost: int) -> tuple[Operand, Operand]:
        """Return the operands of a term of a sum that loses ``lost`` low bits; factors may have lost some."""
        second = self._constant(term.constant) if term.second is None else self._place[term.second]
        shift = term.exponent + GUARD_BITS - lost + self._lost[term.first]
        if term.second is not None:
            shift += self._lost[term.second]
        return Operand(self._place[term.first], term.negative, shift), Operand(second)

    def _move_operand(self, operand: Operand) -> Operand:
        """Return an operand of the new program, shifted by the low bits that its value lost."""
        lost = self._lost[operand.value]
        return replace(operand, value=self._place[operand.value], shift=operand.shift + lost)

    def _constant(self, value: int) -> int:
        if value not in self._constants:
            kept = Format(max(2, value.bit_length() + 1), 0)
            self._constants[value] = self._add(Operation(Kind.CONSTANT, (), kept, CONSTANTS, value))
        return self._constants[value]

    def _add(self, operation: Operation) -> int:
        """Append an operation; it is checked if its result may not fit."""
        operation, interval = checked(operation, self._intervals)
        self._operations.append(operation)
        self._intervals.append(interval)
        return len(self._operations) - 1

    def _format(self, word: Word) -> Format:
        """Return an output word's format, changed as the format of its value was."""
        width = self._operations[self._place[word.value]].format.width
        return Format(width, word.format.binary_point - self._lost[word.value])


def _move_term(term: _Term, operand: Operand, drop: int) -> _Term:
    """Return a term of an operand as a term of the sum that uses the operand and then drops bits."""
    return replace(
        term, negative=term.negative != operand.negative, exponent=term.exponent + operand.shift - drop
    )


def _uses(program: Program) -> Counter[int]:
    """Return for each value how often it is an operand or an output word."""
    uses = Counter(operand.value for operation in program.operations for operand in operation.operands)
    uses.update({word.value for words in program.outputs.values() for word in words})
    return uses
