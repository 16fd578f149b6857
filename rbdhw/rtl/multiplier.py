"""Products with pipeline registers: in a device's DSP block, or as portable RTL that does the same.

As :mod:`rbdhw.target` says, the registers are of the operands; of the operands and the result; of the
operands, the product, and the result. They are never reset or stopped. To each product a number is added:
before the result's register, or behind it where the block cannot add.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import ClockSignal, Const, Instance, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.target import Primitive

MOST_REGISTERS = 3
"""Of the operands, the product, and the result."""

SUM_BITS = 48
"""The width of the sums of those blocks that add."""


def multiply_add(
    m: Module, name: str, a: Any, b: Any, addend: Any, *, registers: int, primitive: Primitive | None
) -> Any:
    """``a b + addend``, as many cycles after the operands as there are ``registers``.

    The addend is given :func:`addend_delay` cycles after the operands. ``name`` is that of the submodule.
    """
    if registers == 0:
        return a * b + addend
    widths, width = (len(a), len(b)), len(addend) + (not addend.shape().signed)
    m.submodules[name] = unit = Multiplier(widths, width, registers, primitive)
    m.d.comb += [unit.a.eq(a), unit.b.eq(b), unit.addend.eq(addend)]
    return unit.o


def addend_delay(registers: int, widths: tuple[int, int], primitive: Primitive | None) -> int:
    """Cycles from the operands of a product to the number that is added to it."""
    if primitive is not None and primitive.fits(widths) and not primitive.adds:
        return registers
    return registers - (registers > 1)


class Multiplier(wiring.Component):
    """A product and an addition to it every cycle.

    Parameters
    ----------
    widths, addend_width
        Of the operands and of the number that is added.
    registers
        One to three, which is also the latency.
    primitive
        The device's block, which is taken where the operands and the sum fit it; else the RTL is portable.

    Members
    -------
    a, b : In
        The operands.
    addend : In
        The number that is added, :func:`addend_delay` cycles after the operands.
    o : Out
        The sum, ``registers`` cycles after the operands.

    Raises
    ------
    ValueError
        For another number of registers.
    """

    def __init__(
        self, widths: tuple[int, int], addend_width: int, registers: int, primitive: Primitive | None = None
    ) -> None:
        if not 1 <= registers <= MOST_REGISTERS:
            raise ValueError(f"a multiplier has 1 to {MOST_REGISTERS} registers, not {registers}")
        self.registers = registers
        width = max(sum(widths), addend_width) + 1
        fits = primitive is not None and primitive.fits(widths) and not (primitive.adds and width > SUM_BITS)
        self.primitive = primitive if fits else None
        self.addend_delay = addend_delay(registers, widths, primitive)
        a, b = (signed(width) for width in widths)
        super().__init__(
            {"a": In(a), "b": In(b), "addend": In(signed(addend_width)), "o": Out(signed(width))}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        if self.primitive is None:
            self._portable(m)
            return m
        a, b = sorted((self.a, self.b), key=len, reverse=True)
        result = BLOCKS[self.primitive.name](m, a, b, self.addend, self.registers)
        m.d.comb += self.o.eq(result if self.primitive.adds else result + self.addend)
        return m

    def _portable(self, m: Module) -> None:
        a, b = (_registered(m, f"{name}_operand", getattr(self, name)) for name in "ab")
        product = a * b
        if self.registers == MOST_REGISTERS:
            product = _registered(m, "product", product)
        result = product + self.addend
        m.d.comb += self.o.eq(_registered(m, "result", result) if self.registers > 1 else result)


def _registered(m: Module, name: str, value: Any) -> Any:
    register = Signal(value.shape(), name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register


def _extended(m: Module, name: str, value: Any, width: int) -> Any:
    """A number with its sign in a port that is wider."""
    port = Signal(signed(width), name=name)
    m.d.comb += port.eq(value)
    return port


def _dsp48(
    kind: str, opmode_bits: int, extra: dict[str, Any], m: Module, a: Any, b: Any, addend: Any, registers: int
) -> Any:
    """AMD's block (UG579, UG479): P = C + A B. The wider operand is on A, sign extended to its 30 bits."""
    operands, product, result = 1, int(registers == MOST_REGISTERS), int(registers > 1)
    o = Signal(signed(SUM_BITS))
    unused = ("ADREG", "ALUMODEREG", "CARRYINREG", "CARRYINSELREG", "CREG", "DREG", "INMODEREG", "OPMODEREG")
    enabled = {"CEA2": operands, "CEB2": operands, "CEM": product, "CEP": result}
    idle = ("CEA1", "CEB1", "CEC", "CED", "CEAD", "CEALUMODE", "CECARRYIN", "CECTRL", "CEINMODE")
    resets = ("A", "B", "C", "D", "M", "P", "ALLCARRYIN", "ALUMODE", "CTRL", "INMODE")
    m.submodules.block = Instance(
        kind,
        **{f"p_{name}": 0 for name in unused},
        **{f"p_{name}": operands for name in ("AREG", "ACASCREG", "BREG", "BCASCREG")},
        p_MREG=product,
        p_PREG=result,
        p_USE_MULT="MULTIPLY",
        p_USE_SIMD="ONE48",
        p_A_INPUT="DIRECT",
        p_B_INPUT="DIRECT",
        p_USE_PATTERN_DETECT="NO_PATDET",
        **extra,
        i_CLK=ClockSignal("sync"),
        i_A=_extended(m, "port_a", a, 30),
        i_B=_extended(m, "port_b", b, 18),
        i_C=_extended(m, "port_c", addend, SUM_BITS),
        i_D=Const(0, 27 if kind == "DSP48E2" else 25),
        # X and Y take the product, Z takes C, and the three are added.
        i_OPMODE=Const(0b011_01_01, opmode_bits),
        i_ALUMODE=Const(0, 4),
        i_INMODE=Const(0, 5),
        i_CARRYIN=Const(0, 1),
        i_CARRYINSEL=Const(0, 3),
        **{f"i_{name}": Const(used, 1) for name, used in enabled.items()},
        **{f"i_{name}": Const(0, 1) for name in idle},
        **{f"i_RST{name}": Const(0, 1) for name in resets},
        o_P=o,
    )
    return o


def _dsp48e1(m: Module, a: Any, b: Any, addend: Any, registers: int) -> Any:
    return _dsp48("DSP48E1", 7, {"p_USE_DPORT": "FALSE"}, m, a, b, addend, registers)


def _dsp48e2(m: Module, a: Any, b: Any, addend: Any, registers: int) -> Any:
    extra = {"p_AMULTSEL": "A", "p_BMULTSEL": "B", "p_PREADDINSEL": "A"}
    return _dsp48("DSP48E2", 9, extra, m, a, b, addend, registers)


def _mult18x18d(m: Module, a: Any, b: Any, _addend: Any, registers: int) -> Any:
    """Lattice's block (FPGA-TN-02205): P = A B."""
    port_a, port_b = (_extended(m, name, value, 18) for name, value in (("port_a", a), ("port_b", b)))
    used = {"INPUTA": True, "INPUTB": True, "PIPELINE": registers == MOST_REGISTERS, "OUTPUT": registers > 1}
    o = Signal(signed(36))
    m.submodules.block = Instance(
        "MULT18X18D",
        **{f"p_REG_{name}_CLK": "CLK0" if on else "NONE" for name, on in used.items()},
        **{f"p_REG_{name}_CE": "CE0" for name in used},
        **{f"p_REG_{name}_RST": "RST0" for name in used},
        p_GSR="DISABLED",
        i_CLK0=ClockSignal("sync"),
        i_CE0=Const(1, 1),
        i_RST0=Const(0, 1),
        i_SIGNEDA=Const(1, 1),
        i_SIGNEDB=Const(1, 1),
        i_SOURCEA=Const(0, 1),
        i_SOURCEB=Const(0, 1),
        **{f"i_A{k}": port_a[k] for k in range(18)},
        **{f"i_B{k}": port_b[k] for k in range(18)},
        **{f"o_P{k}": o[k] for k in range(36)},
    )
    return o


BLOCKS: dict[str, Callable[[Module, Any, Any, Any, int], Any]] = {
    "DSP48E1": _dsp48e1,
    "DSP48E2": _dsp48e2,
    "MULT18X18D": _mult18x18d,
}
"""The block of a name, between its operands, the number that it may add, and its result."""
