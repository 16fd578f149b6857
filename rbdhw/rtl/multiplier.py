"""Products with pipeline registers, in a device's multiplier block or as equivalent portable RTL.

As :mod:`rbdhw.delays` defines, one register holds the operands; a second holds the result; a third holds the
product. The registers have neither reset nor enable. A number is added to each product: before the result's
register, or after it where the block cannot add.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.delay import register
from rbdhw.target import SUM_BITS, Primitive

MOST_REGISTERS = 3
"""Registers of the operands, the product and the result."""

# Ports and parameters of AMD's block that are not used, or never change.
UNUSED_REGISTERS = tuple(
    f"{name}REG" for name in ("AD", "ALUMODE", "CARRYIN", "CARRYINSEL", "C", "D", "INMODE", "OPMODE")
)
IDLE_ENABLES = ("CEA1", "CEB1", "CEC", "CED", "CEAD", "CEALUMODE", "CECARRYIN", "CECTRL", "CEINMODE")
RESETS = ("A", "B", "C", "D", "M", "P", "ALLCARRYIN", "ALUMODE", "CTRL", "INMODE")
PRE_ADDERS: dict[str, tuple[dict[str, str], ...]] = {
    "DSP48E1": tuple({"p_USE_DPORT": used} for used in ("FALSE", "TRUE")),
    "DSP48E2": tuple({"p_AMULTSEL": a, "p_BMULTSEL": "B", "p_PREADDINSEL": "A"} for a in ("A", "AD")),
}
"""Parameters without the adder in front of the multiplier, and with it."""


@dataclass(frozen=True)
class Signs:
    """What a block computes without registers: ``a b + addend``, with other signs, and a constant."""

    product: bool = False
    """Whether the product is subtracted."""
    addend: bool = False
    """Whether the addend is subtracted. Only one block alone that adds constants can."""
    constant: int = 0

    @property
    def mode(self) -> int:
        """The operation of AMD's adder (UG579): Z + X, Z - X, -Z + X - 1 or -Z - X - 1.

        Z is the addend, and X the product and the constant.
        """
        return (0b0000, 0b0011, 0b0001, 0b0010)[self.product + 2 * self.addend]

    @property
    def inner(self) -> int:
        """The constant beside the product in AMD's adder."""
        constant = self.constant + self.addend
        return (-constant if self.product else constant) % (1 << SUM_BITS)

    def apply(self, product: Any, addend: Any) -> Any:
        """Return the sum of a product and an addend."""
        first, second = (-addend if self.addend else addend), (-product if self.product else product)
        return first + second + Const(self.constant)


PLUS = Signs()


@dataclass(frozen=True)
class PreAdded:
    """A factor that a block without registers adds up in front of its multiplier."""

    first: Any
    second: Any
    subtracts: bool
    """Whether the second number is subtracted."""

    def __len__(self) -> int:
        return len(self.total)

    @property
    def total(self) -> Any:
        """The factor."""
        return self.first - self.second if self.subtracts else self.first + self.second


def multiply_add(
    m: Module,
    name: str,
    a: Any,
    b: Any,
    addend: Any,
    *,
    registers: int,
    primitive: Primitive | None,
    signs: Signs = PLUS,
) -> Any:
    """Return ``a b + addend``, ``registers`` cycles after the operands; without registers with other signs.

    The addend must arrive :func:`addend_delay` cycles after the operands. ``name`` names the submodule.
    Without registers, a block that adds is named, too: synthesis would leave the addition to the fabric. Such
    a block also takes a factor ``a`` that it adds up itself.
    """
    widths, addend_bits = (len(a), len(b)), len(addend)
    if registers == 0 and primitive is not None and primitive.chains(widths, addend_bits):
        return chain(m, name, primitive, _ordered(primitive, a, b), addend, 0, signs)
    if registers == 0 and primitive is not None and primitive.adds_alone(widths, addend_bits):
        first, second = (a, b) if isinstance(a, PreAdded) else _ordered(primitive, a, b)
        bits = max(sum(widths), addend_bits + (not addend.shape().signed), signs.constant.bit_length()) + 2
        bits -= signs == PLUS
        return block(m, name, primitive, first, second, addend, 0, signs=signs).o[:bits].as_signed()
    if registers == 0:
        product = Signal(signed(sum(widths)), name=f"{name}_product")
        m.d.comb += product.eq((a.total if isinstance(a, PreAdded) else a) * b)
        return product + addend if signs == PLUS else signs.apply(product, addend)
    m.submodules[name] = unit = Multiplier(
        widths, addend_bits + (not addend.shape().signed), registers, primitive
    )
    m.d.comb += [unit.a.eq(a), unit.b.eq(b), unit.addend.eq(addend)]
    return unit.o


def _ordered(primitive: Primitive, a: Any, b: Any) -> tuple[Any, Any]:
    """Return operands in the order of the block's ports."""
    return (b, a) if primitive.swaps_operands((len(a), len(b))) else (a, b)


def addend_delay(registers: int, widths: tuple[int, int], primitive: Primitive | None) -> int:
    """Return the cycles from the operands of a product to its addend."""
    behind = primitive is not None and primitive.blocks(widths) == 1 and not primitive.adds
    return registers if behind else registers - (registers > 1)


class Multiplier(wiring.Component):
    """A product and an addition, one per cycle.

    The sum ``o`` is there ``registers`` cycles after the operands ``a`` and ``b``; the addend comes
    :func:`addend_delay` cycles after them.

    Raises ValueError for another number of registers.
    """

    def __init__(
        self,
        # Bits of the operands and of the addend.
        widths: tuple[int, int],
        addend_width: int,
        registers: int,  # pipeline registers, 1 to 3; also the latency
        # The device's multiplier block; None for portable RTL. Operands too wide for one block use several.
        primitive: Primitive | None = None,
    ) -> None:
        if not 1 <= registers <= MOST_REGISTERS:
            raise ValueError(f"a multiplier has 1 to {MOST_REGISTERS} registers, not {registers}")
        self.registers = registers
        self.primitive = primitive
        self.addend_delay = addend_delay(registers, widths, primitive)
        a, b = (signed(width) for width in widths)
        o = signed(max(sum(widths), addend_width) + 1)
        super().__init__({"a": In(a), "b": In(b), "addend": In(signed(addend_width)), "o": Out(o)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        if self.primitive is None:
            result = self._multiply(m)
        elif self.registers < MOST_REGISTERS and self.primitive.chains(
            (len(self.a), len(self.b)), len(self.addend)
        ):
            operands = _ordered(self.primitive, self.a, self.b)
            result = chain(m, "block", self.primitive, operands, self.addend, self.registers)
        elif self.primitive.blocks((len(self.a), len(self.b))) > 1 or (
            self.primitive.adds and len(self.o) > SUM_BITS
        ):
            result = self._join_blocks(m, self.primitive)
        else:
            a, b = _ordered(self.primitive, self.a, self.b)
            addend = self.addend if self.primitive.adds else Const(0, 1)
            result = block(m, "block", self.primitive, a, b, addend, self.registers).o
            result = result if self.primitive.adds else result + self.addend
        m.d.comb += self.o.eq(result)
        return m

    def _multiply(self, m: Module) -> Any:
        a = register(m, "a_operand", self.a, self.a.shape())
        b = register(m, "b_operand", self.b, self.b.shape())
        product = a * b
        if self.registers == MOST_REGISTERS:
            product = register(m, "product", product, product.shape())
        result = product + self.addend
        return register(m, "result", result, result.shape()) if self.registers > 1 else result

    def _join_blocks(self, m: Module, primitive: Primitive) -> Any:
        """Return the sum of the partial products, each in a block with registers of its own."""
        a, b = (
            _parts(operand, widths)
            for operand, widths in _limbs(primitive, _ordered(primitive, self.a, self.b))
        )
        registers = 2 if self.registers == MOST_REGISTERS else 1
        terms = []
        for i, (low, x) in enumerate(a):
            for k, (position, y) in enumerate(b):
                part = block(m, f"block_{i}_{k}", primitive, x, y, Const(0, 1), registers)
                terms.append(part.o << (low + position))
        total = _total([*terms, self.addend])
        return register(m, "result", total, total.shape()) if self.registers > 1 else total


def _limbs(primitive: Primitive, operands: tuple[Any, Any]) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """Yield the operands, in the order of the ports, with the widths of their parts."""
    first, second = operands
    yield from zip(operands, primitive.limbs((len(first), len(second))), strict=True)


def _parts(operand: Any, widths: Sequence[int]) -> list[tuple[int, Any]]:
    """Return the parts of an operand, each with the position of its lowest bit."""
    parts, low = [], 0
    for width in widths:
        part = operand[low : low + width]
        parts.append((low, part.as_signed() if low + width == len(operand) else part))
        low += width
    return parts


def chain(
    m: Module,
    name: str,
    primitive: Primitive,
    operands: tuple[Any, Any],
    addend: Any,
    registers: int,
    signs: Signs = PLUS,
) -> Any:
    """Return the sum of a product and an addend from blocks that add to the sum of the block below.

    The partial products are added from the lowest on. Each part of the addend is added with the first product
    at its place, before which the sum so far is shifted; the bits below are those of the result. One register
    is that of the operands, and a second one, of the result, is in the fabric. Where the product is
    subtracted, all blocks subtract what they do not have from below, so the first one takes the whole addend.
    """
    a, b = (_parts(operand, widths) for operand, widths in _limbs(primitive, operands))
    pairs = sorted(
        (low + position, i, k) for i, (low, _) in enumerate(a) for k, (position, _) in enumerate(b)
    )
    last, shift = pairs[-1][0], primitive.shift
    whole = Signal(signed(max(len(addend) + 1, last + 1)), name=f"{name}_addend")
    m.d.comb += whole.eq(addend)
    bits: list[Any] = []
    below: Any = None
    for n, (offset, i, k) in enumerate(pairs):
        begins = n == 0 or pairs[n - 1][0] != offset
        if begins and below is not None:
            bits.append(below.o[:shift])
        part, adds = Const(0, 1), begins and not (signs.product and n)
        if adds:
            all_of_it = offset == last or signs.product
            part = whole[offset:].as_signed() if all_of_it else whole[offset : offset + shift]
        inner = Chained(below, shifts=begins, adds=adds)
        factors = a[i][1], b[k][1]
        below = block(m, f"{name}_{i}_{k}", primitive, *factors, part, min(registers, 1), inner, signs)
    width = max(sum(map(len, operands)), len(addend) + (not addend.shape().signed)) + 1
    total = Cat(*bits, below.o)[:width].as_signed()
    return register(m, f"{name}_result", total, total.shape()) if registers > 1 else total


def _total(terms: list[Any]) -> Any:
    """Return the sum of the terms, as a balanced tree."""
    while len(terms) > 1:
        terms = [*terms[2:], terms[0] + terms[1]]
    return terms[0]


@dataclass(frozen=True)
class Chained:
    """The place of a block in a cascade."""

    below: Any
    """The block below; None for the first."""
    shifts: bool
    """Whether that sum is shifted before the block adds."""
    adds: bool
    """Whether the block adds an addend, too."""


class DspBlock(wiring.Component):
    """One multiplier block of the device, without reset and enable.

    A block that can add takes the addend in the cycle before the result's register, and gives the sum ``o``;
    another one gives the product. A block of a cascade has at most a register of the operands, and adds the
    sum ``below``, too.

    Attributes
    ----------
    variant
        Blocks of one variant are equal, and need to be converted once only (:mod:`rbdhw.rtl.hierarchy`).
    """

    def __init__(
        self,
        primitive: Primitive,
        registers: int,  # pipeline registers, 0 to 3; also the latency
        chained: Chained | None = None,  # the place in a cascade
        signs: Signs = PLUS,
        # Whether `a` is subtracted from `d` in front of the multiplier, or added; None if `a` is the factor.
        subtracts: bool | None = None,
    ) -> None:
        self.primitive = primitive
        self.registers = registers
        self.chained = chained
        self.signs = signs
        self.subtracts = subtracts
        cascade = chained and (chained.below is None, chained.shifts, chained.adds)
        self.variant = primitive.name, registers, cascade, signs, subtracts
        a, b = primitive.ports
        adds = {"addend": In(signed(SUM_BITS))} if primitive.adds else {}
        if subtracts is not None:
            adds["d"] = In(signed(a))
        if chained is not None:
            adds["above"] = Out(signed(SUM_BITS))
            if chained.below is not None:
                adds["below"] = In(signed(SUM_BITS))
        bits = SUM_BITS if primitive.adds else a + b
        super().__init__({"a": In(signed(a)), "b": In(signed(b)), **adds, "o": Out(signed(bits))})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.block = self._dsp48(m) if self.primitive.adds else self._mult18x18d()
        return m

    def _dsp48(self, m: Module) -> Instance:
        """AMD's block (UG579, UG479): P = C + A B, or C + (D + A) B, or C + (D - A) B.

        The wider operand goes to A, extended to its 30 bits.
        """
        kind, chained = self.primitive.name, self.chained
        operand, product, result = (int(self.registers >= least) for least in (1, MOST_REGISTERS, 2))
        used = {"CEA2": operand, "CEB2": operand, "CEM": product, "CEP": result}
        extended = Signal(signed(30), name="a_extended")
        m.d.comb += extended.eq(self.a)
        # X and Y select the product, Z selects C, W a constant; the block adds them.
        mode, cascade = 0b011_01_01, {}
        pre_adds = self.subtracts is not None
        in_mode = pre_adds << 2 | bool(self.subtracts) << 3  # D counts, and A is subtracted from it
        if self.signs.inner and chained is None:
            mode |= 0b10 << 7
            cascade["p_RND"] = Const(self.signs.inner, SUM_BITS)
        if self.primitive.shift:
            above = Signal(SUM_BITS, name="cascade") if chained is None else self.above
            cascade |= {"i_PCIN": Const(0, SUM_BITS), "o_PCOUT": above}
        if chained is not None and chained.below is not None:  # Z selects the block below, W selects C
            cascade["i_PCIN"] = self.below
            mode = (chained.adds * 0b11 << 7) | (0b101_01_01 if chained.shifts else 0b001_01_01)
        return Instance(
            kind,
            **{f"p_{register}": 0 for register in UNUSED_REGISTERS},
            **{f"p_{register}": operand for register in ("AREG", "ACASCREG", "BREG", "BCASCREG")},
            p_MREG=product,
            p_PREG=result,
            p_USE_MULT="MULTIPLY",
            p_USE_SIMD="ONE48",
            p_A_INPUT="DIRECT",
            p_B_INPUT="DIRECT",
            p_USE_PATTERN_DETECT="NO_PATDET",
            **PRE_ADDERS[kind][pre_adds],
            i_CLK=ClockSignal("sync"),
            i_A=extended,
            i_B=self.b,
            i_C=self.addend,
            i_D=self.d if pre_adds else Const(0, self.primitive.ports[0]),
            i_OPMODE=Const(mode, 9 if kind == "DSP48E2" else 7),
            i_ALUMODE=Const(self.signs.mode, 4),
            i_INMODE=Const(in_mode, 5),
            i_CARRYIN=Const(0, 1),
            i_CARRYINSEL=Const(0, 3),
            **{f"i_{port}": Const(enabled, 1) for port, enabled in used.items()},
            **{f"i_{port}": Const(0, 1) for port in IDLE_ENABLES},
            **{f"i_RST{register}": Const(0, 1) for register in RESETS},
            **cascade,
            o_P=self.o,
        )

    def _mult18x18d(self) -> Instance:
        """Lattice's block (FPGA-TN-02205): P = A B."""
        product, result = self.registers == MOST_REGISTERS, self.registers > 1
        used = {"INPUTA": True, "INPUTB": True, "PIPELINE": product, "OUTPUT": result}
        return Instance(
            "MULT18X18D",
            **{f"p_REG_{stage}_CLK": "CLK0" if on else "NONE" for stage, on in used.items()},
            **{f"p_REG_{stage}_CE": "CE0" for stage in used},
            **{f"p_REG_{stage}_RST": "RST0" for stage in used},
            p_GSR="DISABLED",
            i_CLK0=ClockSignal("sync"),
            i_CE0=Const(1, 1),
            i_RST0=Const(0, 1),
            i_SIGNEDA=Const(1, 1),
            i_SIGNEDB=Const(1, 1),
            i_SOURCEA=Const(0, 1),
            i_SOURCEB=Const(0, 1),
            **{f"i_A{k}": self.a[k] for k in range(18)},
            **{f"i_B{k}": self.b[k] for k in range(18)},
            **{f"o_P{k}": self.o[k] for k in range(36)},
        )


def block(
    m: Module,
    name: str,
    primitive: Primitive,
    a: Any,
    b: Any,
    addend: Any,
    registers: int,
    chained: Chained | None = None,
    signs: Signs = PLUS,
) -> DspBlock:
    """Return one multiplier block, whose output is ``registers`` cycles after operands that fit its ports.

    The block adds ``addend`` before the result's register; a block that cannot add ignores it. ``a`` may be a
    factor that it adds up.
    """
    added = a if isinstance(a, PreAdded) else None
    unit = DspBlock(primitive, registers, chained, signs, added.subtracts if added else None)
    m.submodules[name] = unit
    m.d.comb += [unit.a.eq(added.second if added else a), unit.b.eq(b)]
    if added:
        m.d.comb += unit.d.eq(added.first)
    if primitive.adds:
        m.d.comb += unit.addend.eq(addend)
    if chained is not None and chained.below is not None:
        m.d.comb += unit.below.eq(chained.below.above)
    return unit
