"""The trigonometry unit: sine and cosine of an angle in turns."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.polynomial import coefficient_width
from rbdhw.fixed.trigonometry import GUARD, TrigonometrySpec
from rbdhw.rtl.delay import after, register
from rbdhw.rtl.multiplier import addend_delay, multiply_add
from rbdhw.target import Primitive


class TrigonometryUnit(wiring.Component):
    """Computes :func:`rbdhw.fixed.trigonometry.sin_cos`, one angle per cycle.

    Members
    -------
    angle : In
        The angle in steps of ``2**-phase_bits`` turns.
    sin, cos : Out
        The results, ``latency`` cycles later, through one level of logic.
    """

    def __init__(
        self,
        spec: TrigonometrySpec,  # widths, tables and order of the polynomial
        # Pipeline registers of each product, and the device's multiplier: see `multiplier`.
        registers: int = 0,
        primitive: Primitive | None = None,
    ) -> None:
        self.spec = spec
        self.registers = registers
        self.primitive = primitive
        results = signed(spec.width)
        super().__init__({"angle": In(spec.phase_bits), "sin": Out(results), "cos": Out(results)})

    @property
    def latency(self) -> int:
        return 1 + self.spec.order * (1 + self.registers)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        spec = self.spec
        quadrant = self.angle[-2:]
        rest = Cat(self.angle[: spec.rest_bits - 1], ~self.angle[spec.rest_bits - 1]).as_signed()
        for _ in range(self.latency):
            quadrant = register(m, "quadrant", quadrant, unsigned(2))
        rest = register(m, "rest", rest, signed(spec.rest_bits))
        magnitudes = [
            self._polynomial(m, name, self._table(m, name, table), spec.operand_widths(table), rest)
            for name, table in zip(("sine", "cosine"), spec.tables, strict=True)
        ]
        sine, cosine = magnitudes
        m.d.comb += [
            self.sin.eq(_negate_if(quadrant[1], Mux(quadrant[0], cosine, sine))),
            self.cos.eq(_negate_if(quadrant[0] ^ quadrant[1], Mux(quadrant[0], sine, cosine))),
        ]
        return m

    def _table(self, m: Module, name: str, table: tuple[Any, ...]) -> list[Any]:
        """Return the coefficients of the angle's segment by power, one cycle later."""
        widths = [coefficient_width(column) for column in table]
        words = [pack([int(c) for c in row], widths) for row in zip(*table, strict=True)]
        m.submodules[name] = memory = Memory(shape=unsigned(sum(widths)), depth=len(words), init=words)
        port = memory.read_port(domain="sync")
        m.d.comb += port.addr.eq(self.angle[self.spec.rest_bits : -2])
        ends = [sum(widths[: k + 1]) for k in range(len(widths))]
        return [port.data[end - width : end].as_signed() for width, end in zip(widths, ends, strict=True)]

    def _polynomial(
        self, m: Module, name: str, coefficients: list[Any], widths: tuple[int, ...], rest: Any
    ) -> Any:
        """Return the clamped magnitude, by Horner's rule with a register after each power.

        ``widths`` are those of the registers.
        """
        spec = self.spec
        total = coefficients[-1]
        for power in reversed(range(1, spec.order)):
            inner = self._power(m, name, power, total, rest, coefficients[power])
            total = register(m, f"{name}_total_{power}", inner, signed(widths[power - 1]))
            waiting = 1 + self.registers
            others = {f"{name}_coefficient_{k}": value for k, value in enumerate(coefficients[:power])}
            rest, *coefficients = after(m, waiting, rest=rest, **others)
        full = self._power(m, name, 0, total, rest, coefficients[0])
        magnitude = full >> GUARD
        clamped = Mux(magnitude > spec.format.highest, spec.format.highest, magnitude)
        return register(m, name, clamped, signed(spec.width))

    def _power(self, m: Module, name: str, power: int, total: Any, rest: Any, coefficient: Any) -> Any:
        """Return one step of Horner's rule, the coefficient plus total times rest, with the low bits cut."""
        later = addend_delay(self.registers, (len(total), len(rest)), self.primitive)
        cut = self.spec.product_cut(power)
        (coefficient,) = after(m, later, **{f"{name}_coefficient": coefficient})
        return (
            multiply_add(
                m,
                f"{name}_{power}",
                total,
                rest,
                coefficient << cut,
                registers=self.registers,
                primitive=self.primitive,
            )
            >> cut
        )


def _negate_if(condition: Any, value: Any) -> Any:
    return Mux(condition, -value, value)


def pack(row: list[int], widths: list[int]) -> int:
    """Pack coefficients into one word, the first in the lowest bits."""
    word, position = 0, 0
    for coefficient, width in zip(row, widths, strict=True):
        word |= (coefficient & ((1 << width) - 1)) << position
        position += width
    return word


def trigonometry_cells(unit: TrigonometrySpec, fabric: Fabric) -> Cells:
    """Return the cells of a unit with its tables."""
    cells = fabric.trigonometry.cells(unit.width, unit.order)
    for columns in unit.tables:
        bits = sum(coefficient_width(column) for column in columns)
        cells += fabric.table(bits, len(columns[0]))
    return cells + Cells(luts=unit.phase_bits * fabric.constant_addend)
