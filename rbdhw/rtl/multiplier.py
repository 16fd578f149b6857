"""Products with pipeline registers, in a device's multiplier block or as equivalent portable RTL.

As :mod:`rbdhw.target` defines, one register holds the operands; a second holds the result; a third holds the
product. The registers have neither reset nor enable. A number is added to each product: before the result's
register, or after it where the block cannot add.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ClockSignal, Const, Instance, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.delay import register
from rbdhw.target import Primitive, limbs

MOST_REGISTERS = 3
"""Registers of the operands, the product and the result."""

SUM_BITS = 48
"""The width of the sum in a block that adds."""

# Ports and parameters of AMD's block that are not used, or never change.
UNUSED_REGISTERS = tuple(
    f"{name}REG" for name in ("AD", "ALUMODE", "CARRYIN", "CARRYINSEL", "C", "D", "INMODE", "OPMODE")
)
IDLE_ENABLES = ("CEA1", "CEB1", "CEC", "CED", "CEAD", "CEALUMODE", "CECARRYIN", "CECTRL", "CEINMODE")
RESETS = ("A", "B", "C", "D", "M", "P", "ALLCARRYIN", "ALUMODE", "CTRL", "INMODE")
PREADDERS: dict[str, dict[str, str]] = {
    "DSP48E1": {"p_USE_DPORT": "FALSE"},
    "DSP48E2": {"p_AMULTSEL": "A", "p_BMULTSEL": "B", "p_PREADDINSEL": "A"},
}
"""Parameters without which an adder before the multiplier would be used."""


def multiply_add(
    m: Module, name: str, a: Any, b: Any, addend: Any, *, registers: int, primitive: Primitive | None
) -> Any:
    """Return ``a b + addend``, ``registers`` cycles after the operands.

    The addend must arrive :func:`addend_delay` cycles after the operands. ``name`` names the submodule.
    Without registers, a block that adds is named, too: synthesis would leave the addition to the fabric.
    """
    if registers == 0 and primitive is not None and _is_alone(primitive, a, b, addend):
        first, second = (b, a) if primitive.swaps_operands((len(a), len(b))) else (a, b)
        bits = max(len(a) + len(b), len(addend) + (not addend.shape().signed)) + 1
        return block(m, name, primitive, first, second, addend, 0)[:bits].as_signed()
    if registers == 0:
        product = Signal(signed(len(a) + len(b)), name=f"{name}_product")
        m.d.comb += product.eq(a * b)
        return product + addend
    widths, width = (len(a), len(b)), len(addend) + (not addend.shape().signed)
    m.submodules[name] = unit = Multiplier(widths, width, registers, primitive)
    m.d.comb += [unit.a.eq(a), unit.b.eq(b), unit.addend.eq(addend)]
    return unit.o


def _is_alone(primitive: Primitive, a: Any, b: Any, addend: Any) -> bool:
    """Return whether one block computes a product with its addition, and synthesis would take a block."""
    bits = len(a) + len(b)
    fits = primitive.blocks((len(a), len(b))) == 1 and max(bits, len(addend) + 1) < SUM_BITS
    return primitive.adds and fits and bits >= primitive.least_bits


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
        elif self.primitive.blocks((len(self.a), len(self.b))) > 1 or (
            self.primitive.adds and len(self.o) > SUM_BITS
        ):
            result = self._join_blocks(m, self.primitive)
        else:
            a, b = self._order_operands(self.primitive)
            addend = self.addend if self.primitive.adds else Const(0, 1)
            result = block(m, "block", self.primitive, a, b, addend, self.registers)
            result = result if self.primitive.adds else result + self.addend
        m.d.comb += self.o.eq(result)
        return m

    def _order_operands(self, primitive: Primitive) -> tuple[Any, Any]:
        """Return the operands in the order of the block's ports."""
        turned = primitive.swaps_operands((len(self.a), len(self.b)))
        return (self.b, self.a) if turned else (self.a, self.b)

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
            _parts(operand, port)
            for operand, port in zip(self._order_operands(primitive), primitive.ports, strict=True)
        )
        registers = 2 if self.registers == MOST_REGISTERS else 1
        terms = []
        for i, (low, x) in enumerate(a):
            for k, (position, y) in enumerate(b):
                part = block(m, f"block_{i}_{k}", primitive, x, y, Const(0, 1), registers)
                terms.append(part << (low + position))
        total = _total([*terms, self.addend])
        return register(m, "result", total, total.shape()) if self.registers > 1 else total


def _parts(operand: Any, port: int) -> list[tuple[int, Any]]:
    """Return the parts of an operand that fit a signed port, each with the position of its lowest bit."""
    parts, low = [], 0
    for width in limbs(len(operand), port):
        part = operand[low : low + width]
        parts.append((low, part.as_signed() if low + width == len(operand) else part))
        low += width
    return parts


def _total(terms: list[Any]) -> Any:
    """Return the sum of the terms, as a balanced tree."""
    while len(terms) > 1:
        terms = [*terms[2:], terms[0] + terms[1]]
    return terms[0]


class DspBlock(wiring.Component):
    """One multiplier block of the device, without reset and enable.

    A block that can add takes the addend in the cycle before the result's register, and gives the sum ``o``;
    another one gives the product.

    Attributes
    ----------
    variant
        Blocks of one variant are equal, and need to be converted once only (:mod:`rbdhw.rtl.hierarchy`).
    """

    def __init__(
        self,
        primitive: Primitive,
        registers: int,  # pipeline registers, 0 to 3; also the latency
    ) -> None:
        self.primitive = primitive
        self.registers = registers
        self.variant = primitive.name, registers
        a, b = primitive.ports
        adds = {"addend": In(signed(SUM_BITS))} if primitive.adds else {}
        bits = SUM_BITS if primitive.adds else a + b
        super().__init__({"a": In(signed(a)), "b": In(signed(b)), **adds, "o": Out(signed(bits))})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.block = self._dsp48(m) if self.primitive.adds else self._mult18x18d()
        return m

    def _dsp48(self, m: Module) -> Instance:
        """AMD's block (UG579, UG479): P = C + A B. The wider operand goes to A, extended to its 30 bits."""
        kind = self.primitive.name
        operand, product, result = (int(self.registers >= least) for least in (1, MOST_REGISTERS, 2))
        used = {"CEA2": operand, "CEB2": operand, "CEM": product, "CEP": result}
        extended = Signal(signed(30), name="a_extended")
        m.d.comb += extended.eq(self.a)
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
            **PREADDERS[kind],
            i_CLK=ClockSignal("sync"),
            i_A=extended,
            i_B=self.b,
            i_C=self.addend,
            i_D=Const(0, 27 if kind == "DSP48E2" else 25),
            # X and Y select the product, Z selects C; the block adds the three.
            i_OPMODE=Const(0b011_01_01, 9 if kind == "DSP48E2" else 7),
            i_ALUMODE=Const(0, 4),
            i_INMODE=Const(0, 5),
            i_CARRYIN=Const(0, 1),
            i_CARRYINSEL=Const(0, 3),
            **{f"i_{port}": Const(enabled, 1) for port, enabled in used.items()},
            **{f"i_{port}": Const(0, 1) for port in IDLE_ENABLES},
            **{f"i_RST{register}": Const(0, 1) for register in RESETS},
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


def block(m: Module, name: str, primitive: Primitive, a: Any, b: Any, addend: Any, registers: int) -> Any:
    """Return the output of one multiplier block, ``registers`` cycles after operands that fit its ports.

    The block adds ``addend`` before the result's register; a block that cannot add ignores it.
    """
    m.submodules[name] = unit = DspBlock(primitive, registers)
    m.d.comb += [unit.a.eq(a), unit.b.eq(b)]
    if primitive.adds:
        m.d.comb += unit.addend.eq(addend)
    return unit.o
