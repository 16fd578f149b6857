"""Operations of the bit-exact program as Amaranth expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed

from rbdhw.fixed.program import Kind, Operand, Operation, room_for_half
from rbdhw.fixed.recoding import Term, pair_summands, round_constant
from rbdhw.rtl.delay import register

ADDENDS = 4
"""The numbers that are added in a cycle."""


def align(value: Any, operand: Operand) -> Any:
    """Return an operand's value after its shift (zeros appended, or low bits cut), without its sign."""
    if operand.shift > 0:
        return Cat(Const(0, operand.shift), value).as_signed()
    if operand.shift < 0:
        cut = min(-operand.shift, len(value) - 1)
        return value[cut:].as_signed()
    return value


def total(operands: tuple[Operand, ...], values: list[Any], drop: int = 0, *, paired: bool = False) -> Any:
    """Return the exact sum of one or two shifted, signed operands, plus half of the bits to be dropped.

    It has the bits that it needs, not those of a sum of sums. Look-up tables are ``paired`` if they have a
    second output, which a carry chain takes.

    The half needs no adder where it fits into the zeros below an operand. What is subtracted comes last: an
    inverted first operand would need look-up tables of its own.
    """
    parts = [align(value, operand) for value, operand in zip(values, operands, strict=True)]
    room = room_for_half(operands, drop)
    for k in room[:1]:
        parts[k] = Cat(Const(half(drop), operands[k].shift), values[k]).as_signed()
    pairs = sorted(zip(operands, parts, strict=True), key=lambda pair: pair[0].negative)
    rounding = 0 if room else half(drop)
    lowest, highest = rounding, rounding
    for operand, part in pairs:
        least, most = -(1 << len(part) - 1), (1 << len(part) - 1) - 1
        lowest += -most if operand.negative else least
        highest += -least if operand.negative else most
    bits = max(highest.bit_length(), (~lowest).bit_length()) + 1
    (operand, result), *rest = pairs
    if operand.negative or not rest:
        result = rounding - result if operand.negative else result + rounding if rounding else result
        rounding = 0
    for operand, second in rest:
        if rounding:
            carry = Const(1) if operand.negative else None
            second = ~second if operand.negative else second
            result = round_sum(result, second, carry, rounding, bits, paired)
        else:
            result = _apart(result, second, operand.negative)
    return result[:bits].as_signed()


def _apart(first: Any, second: Any, negative: bool) -> Any:
    """Return a sum or difference of two numbers that synthesis does not merge with sums in front or behind.

    Merged sums add their operands in an order of their own, in which one that comes last may wait for more
    logic. Here each is a carry chain, whose lowest bit is not used.
    """
    one, two = (Cat(Const(0, 1), value).as_signed() for value in (first, second))
    return (one - two if negative else one + two)[1:]


def round_sum(first: Any, second: Any, carry: Any, rounding: int, bits: int, paired: bool) -> Any:
    """Return ``first + second + rounding``, and one more where ``carry`` is 1, in a single carry chain.

    ``rounding`` is a power of two. From its bit on, both numbers are added bit by bit without it: the sums
    with it and the carries are two numbers that a chain adds, and both are in its look-up tables. The caller
    inverts a number that is to be subtracted, and adds the missing one by ``carry``; None adds nothing.

    For ``paired`` tables the chain adds the bits that sums and carries have in common to those that either
    has: the same total, of which no part is a part of another. Otherwise synthesis would put one table behind
    another. Tables of one output take the other form, in which fewer of them read each bit.
    """
    # Amaranth walks through a number once more for each copy of its sign.
    a, b = (Cat(n, n[-1].replicate(max(bits - len(n), 0)))[:bits] for n in (first, second))
    position = rounding.bit_length() - 1
    either, both = a[position] | b[position], (a & b)[position + 1 : -1]
    carries = Cat(Const(0, 1), either, both)[: bits - position]
    sums = Cat(~(a[position] ^ b[position]), (a ^ b)[position + 1 :])
    if paired:
        carries, sums = carries & sums, carries | sums
    one, two = Cat(a[:position], carries), Cat(b[:position], sums)
    return one + two if carry is None else (Cat(carry, one) + Cat(carry, two))[1:]


def add_or_subtract(
    operands: tuple[Operand, ...], values: list[Any], signs: list[Any], drop: int = 0, *, paired: bool = False
) -> Any:
    """Return the sum of :func:`total` with signs that are signals: 1 negates the operand.

    At most one sign may be 1 in a cycle. Where a sign is None, the operand's own sign applies.
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
    turned = [Mux(bit, ~part, part).as_signed() for bit, part in zip(bits, parts, strict=True)]
    rounding = 0 if room else half(drop)
    if rounding and turned[1:]:
        size = max(map(len, parts)) + 2
        return round_sum(turned[0], turned[1], carry, rounding, size, paired)[:size].as_signed()
    rest = turned[1] if turned[1:] else Const(rounding, drop + 1)
    first, second = (Cat(carry, number).as_signed() for number in (turned[0], rest))
    return (first + second)[1:].as_signed()


def scale(m: Module, name: str, value: Any, constant: int, drop: int = 0) -> Any:
    """Return the exact product by a positive constant, plus half of the bits to be dropped, in adders alone.

    :func:`rbdhw.fixed.recoding.shift_add` counts the same adders. ``name`` is the prefix of the partial sums'
    names.
    """

    def add(first: Summand, second: Summand) -> Summand:
        return first.plus(second).named(m, f"{name}_partial")

    total = pair_summands([Summand.of(term, value) for term in round_constant(constant, drop)], add)
    return Cat(Const(0, total.shift), total.value).as_signed()


@dataclass(frozen=True)
class Summand:
    """A number with its shift and its sign."""

    value: Any
    shift: int
    negative: bool = False

    @classmethod
    def of(cls, term: Term, factor: Any) -> Summand:
        """Return a term of the recoded product of ``factor``."""
        if term.one is None:
            return cls(Const(1, signed(2)), term.shift)
        return cls(Cat(Const(1, term.one), factor).as_signed(), term.shift, term.negative)

    def plus(self, other: Summand) -> Summand:
        """Return the sum with a summand whose shift is not smaller.

        The low bits that the other summand does not reach are copied, unless they are negated.
        """
        below = other.shift - self.shift
        if self.negative and not other.negative:
            return Summand(Cat(Const(0, below), other.value).as_signed() - self.value, self.shift)
        missing = max(below + 1 - len(self.value), 0)
        value = Cat(self.value, self.value[-1].replicate(missing))
        high = value[below:].as_signed()
        top = high + other.value if self.negative == other.negative else high - other.value
        return Summand(Cat(value[:below], top).as_signed(), self.shift, self.negative and other.negative)

    def named(self, m: Module, name: str) -> Summand:
        """Return the number as a signal."""
        signal = Signal.like(self.value, name=name)
        m.d.comb += signal.eq(self.value)
        return replace(self, value=signal)


def negate(value: Any, sign: Any) -> Any:
    """Return ``-value`` where ``sign`` is 1, else ``value``: the bits inverted, plus the sign.

    The sign comes first in the sum, so that its carry chain needs no other table for the inverted bits.
    """
    return sign + (value ^ sign.replicate(len(value)).as_signed())


def choose(operands: tuple[Operand, ...], values: list[Any], drop: int = 0) -> Any:
    """Return the second operand where the first, a flag, is 1, else the third; plus half of ``drop`` bits."""
    flag, *others = values
    first, second = (total((operand,), [value]) for operand, value in zip(operands[1:], others, strict=True))
    return plus_half(Mux(flag[0], first, second).as_signed(), drop)


def plus_half(full: Any, drop: int) -> Any:
    """Return the number plus half of its ``drop`` low bits."""
    return full + half(drop) if drop else full


def half(drop: int) -> int:
    """Return the constant that makes a cut of ``drop`` bits round half up."""
    return 1 << (drop - 1) if drop else 0


def cut(full: Any, operation: Operation) -> tuple[Any, Any]:
    """Return an operation's result and its overflow bit, from the full sum with the rounding half."""
    return _kept(full, operation)[: operation.format.width].as_signed(), differ(sign_bits(full, operation))


def _kept(full: Any, operation: Operation) -> Any:
    return full[min(operation.drop, len(full) - 1) :].as_signed()


def sign_bits(full: Any, operation: Operation) -> Any:
    """Return the bits of a full sum that are equal unless it overflows; none if that is not checked."""
    kept, width = _kept(full, operation), operation.format.width
    return kept[width - 1 :] if operation.checked and len(kept) > width else Cat()


def differ(bits: Any) -> Any:
    """Return whether bits are not all equal."""
    return bits.any() & ~bits.all() if len(bits) else Const(0)


def split_sum(m: Module, bits: Any, widths: Sequence[int]) -> list[Signal]:
    """Return signals of these widths with the consecutive parts of ``bits``, lowest first.

    A single assignment splits the word. Separate slices would each repeat the whole word, and the netlist
    would grow with the square of the word's size.
    """
    parts = [Signal(width) for width in widths]
    m.d.comb += Cat(*parts).eq(bits)
    return parts


def combine(operation: Operation, columns: list[tuple[Operand, Any, Any]], *, paired: bool = False) -> Any:
    """Return a sum or choice, before rounding, of operands with their signals and any varying signs.

    ``paired`` is that of :func:`total`.
    """
    operands = tuple(operand for operand, _, _ in columns)
    wires, signs = [wire for _, wire, _ in columns], [sign for _, _, sign in columns]
    if operation.kind is Kind.ADD:
        if all(sign is None for sign in signs):
            return total(operands, wires, operation.drop, paired=paired)
        return add_or_subtract(operands, wires, signs, operation.drop, paired=paired)
    # A shift to the right cuts bits, so it comes before the sign.
    plain = tuple(
        operand if sign is None else Operand(operand.value)
        for operand, sign in zip(operands, signs, strict=True)
    )
    wires = [
        wire if sign is None else negate(align(wire, operand), sign)
        for operand, wire, sign in zip(operands, wires, signs, strict=True)
    ]
    return choose(plain, wires, operation.drop)


def sum_latency(numbers: int) -> int:
    """Return the cycles that a sum takes; none for one number."""
    latency = 0
    while numbers > 1:
        numbers = -(-numbers // ADDENDS)
        latency += 1
    return latency


def add_up(m: Module, name: str, numbers: Sequence[Any]) -> Any:
    """Return the exact sum of numbers, :func:`sum_latency` cycles later."""
    level = 0
    while len(numbers) > 1:
        groups = [numbers[k : k + ADDENDS] for k in range(0, len(numbers), ADDENDS)]
        sums = [sum(group[1:], group[0]) for group in groups]
        numbers = [
            register(m, f"{name}_{level}_{k}", subtotal, subtotal.shape()) for k, subtotal in enumerate(sums)
        ]
        level += 1
    return numbers[0]
