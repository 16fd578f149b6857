"""Operations of the bit-exact program as Amaranth expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed

from rbdhw.fixed.program import Operand, Operation
from rbdhw.fixed.recoding import Term, pair_summands, round_constant


def align(value: Any, operand: Operand) -> Any:
    """An operand's value moved by its shift: zeros below, or low bits cut. Its sign is not applied."""
    if operand.shift > 0:
        return Cat(Const(0, operand.shift), value).as_signed()
    if operand.shift < 0:
        cut = min(-operand.shift, len(value) - 1)
        return value[cut:].as_signed()
    return value


def total(operands: tuple[Operand, ...], values: list[Any], drop: int = 0) -> Any:
    """The exact sum of one or two operands with their shifts and signs, and half of the bits to be dropped.

    The half costs no adder where it fits the zeros below an operand.
    """
    parts = [align(value, operand) for value, operand in zip(values, operands, strict=True)]
    room = [k for k, operand in enumerate(operands) if not operand.negative and operand.shift >= drop > 0]
    for k in room[:1]:
        parts[k] = Cat(Const(half(drop), operands[k].shift), values[k]).as_signed()
    first, *rest = parts
    result = -first if operands[0].negative else first
    for part, operand in zip(rest, operands[1:], strict=True):
        result = result - part if operand.negative else result + part
    return result if room else plus_half(result, drop)


def add_or_subtract(operands: tuple[Operand, ...], values: list[Any], signs: list[Any], drop: int = 0) -> Any:
    """What :func:`total` gives where the signs are bits: 1 for a negative operand. They are never 1 together.

    A sign that is None is that of the operand.
    """
    parts = [align(value, operand) for value, operand in zip(values, operands, strict=True)]
    fixed = [sign is None and not operand.negative for sign, operand in zip(signs, operands, strict=True)]
    room = [k for k, operand in enumerate(operands) if fixed[k] and operand.shift >= drop > 0]
    for k in room[:1]:
        parts[k] = Cat(Const(half(drop), operands[k].shift), values[k]).as_signed()
    bits = [
        Const(int(operand.negative), 1) if sign is None else sign
        for sign, operand in zip(signs, operands, strict=True)
    ]
    carry = Cat(bits).any()
    raised = [Cat(carry, Mux(bit, ~part, part)).as_signed() for bit, part in zip(bits, parts, strict=True)]
    rest = raised[1] if raised[1:] else Cat(carry, Const(0, 1)).as_signed()
    result = (raised[0] + rest)[1:].as_signed()
    return result if room else plus_half(result, drop)


def scale(m: Module, name: str, value: Any, constant: int, drop: int = 0) -> Any:
    """The exact product by a constant above 0, and half of the bits to be dropped, without a multiplier.

    The adders are those that :func:`rbdhw.fixed.recoding.shift_add` counts; ``name`` is that of their sums.
    """

    def added(first: _Summand, second: _Summand) -> _Summand:
        total = first.plus(second)
        partial = Signal.like(total.value, name=f"{name}_partial")
        m.d.comb += partial.eq(total.value)
        return replace(total, value=partial)

    total = pair_summands([_Summand.of(term, value) for term in round_constant(constant, drop)], added)
    return Cat(Const(0, total.shift), total.value).as_signed()


@dataclass(frozen=True)
class _Summand:
    """A number, shifted, and negated or not."""

    value: Any
    shift: int
    negative: bool = False

    @classmethod
    def of(cls, term: Term, factor: Any) -> _Summand:
        """A term of a product."""
        if term.one is None:
            return cls(Const(1, signed(2)), term.shift)
        return cls(Cat(Const(1, term.one), factor).as_signed(), term.shift, term.negative)

    def plus(self, other: _Summand) -> _Summand:
        """The sum with a summand that starts no lower; what is below that passes by unless it is negated."""
        below = other.shift - self.shift
        if self.negative and not other.negative:
            return _Summand(Cat(Const(0, below), other.value).as_signed() - self.value, self.shift)
        missing = max(below + 1 - len(self.value), 0)
        value = Cat(self.value, self.value[-1].replicate(missing))
        high = value[below:].as_signed()
        top = high + other.value if self.negative == other.negative else high - other.value
        return _Summand(Cat(value[:below], top).as_signed(), self.shift, self.negative and other.negative)


def negate(value: Any, sign: Any) -> Any:
    """A number, or where a bit is 1 what is left of nothing without it."""
    return Mux(sign, -value, value).as_signed()


def choose(operands: tuple[Operand, ...], values: list[Any], drop: int = 0) -> Any:
    """The second operand where the first, a flag, is 1, the third where it is 0, and half of ``drop``."""
    flag, *others = values
    first, second = (total((operand,), [value]) for operand, value in zip(operands[1:], others, strict=True))
    return plus_half(Mux(flag[0], first, second).as_signed(), drop)


def plus_half(full: Any, drop: int) -> Any:
    """A number and half of its ``drop`` low bits."""
    return full + half(drop) if drop else full


def half(drop: int) -> int:
    """What is added before ``drop`` bits are cut, so that the cut rounds half up."""
    return 1 << (drop - 1) if drop else 0


def cut(full: Any, operation: Operation) -> tuple[Any, Any]:
    """The result of an operation and whether it overflowed, from the sum with the half added."""
    kept = full[min(operation.drop, len(full) - 1) :].as_signed()
    width = operation.format.width
    if len(kept) <= width:
        return kept, Const(0)
    above = kept[width - 1 :]
    return kept[:width].as_signed(), (above.any() & ~above.all()) if operation.checked else Const(0)


def saturate(full: Any, operation: Operation) -> tuple[Any, Any]:
    """The result of an operation and whether it overflowed; then it is the largest integer of that sign."""
    value, overflow = cut(full, operation)
    limit = Cat((~full[-1]).replicate(operation.format.width - 1), full[-1])
    return Mux(overflow, limit.as_signed(), value), overflow


def split_sum(m: Module, bits: Any, widths: Sequence[int]) -> list[Signal]:
    """Signals of these widths that are the parts of ``bits``, lowest first.

    One assignment takes it apart: slices, each of which names all of it, would make the netlist's size the
    square of its own.
    """
    parts = [Signal(width) for width in widths]
    m.d.comb += Cat(*parts).eq(bits)
    return parts
