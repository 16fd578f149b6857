"""The trigonometry unit: sine and cosine of an angle in turns."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.polynomial import coefficient_width
from rbdhw.fixed.trigonometry import GUARD, TrigonometrySpec
from rbdhw.rtl.arithmetic import negate
from rbdhw.rtl.delay import after, register
from rbdhw.rtl.polynomial import coefficients, horner_step
from rbdhw.target import Primitive


class TrigonometryUnit(wiring.Component):
    """Computes :func:`rbdhw.fixed.trigonometry.sin_cos`, one angle per cycle.

    The angle is in steps of ``2**-phase_bits`` turns.

    Raises ValueError for a latency outside this range.
    """

    def __init__(
        self,
        spec: TrigonometrySpec,  # widths, tables and order of the polynomials
        # Cycles from the angle to the results: one for the tables, and for each power of the polynomials one
        # plus `registers`. The results then come through one level of logic from registers. With one cycle
        # less they come through the last products, too.
        latency: int,
        # Pipeline registers of each product, and the device's multiplier: see `multiplier`.
        registers: int = 0,
        primitive: Primitive | None = None,
    ) -> None:
        most = 1 + spec.order * (1 + registers)
        if not most - 1 <= latency <= most:
            raise ValueError(f"a sine takes {most - 1} to {most} cycles, not {latency}")
        self.spec = spec
        self.latency = latency
        self.registers = registers
        self.primitive = primitive
        self._waits = latency == most
        results = signed(spec.width)
        super().__init__({"angle": In(spec.phase_bits), "sin": Out(results), "cos": Out(results)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        spec = self.spec
        quadrant = self.angle[-2:]
        rest = Cat(self.angle[: spec.rest_bits - 1], ~self.angle[spec.rest_bits - 1]).as_signed()
        (quadrant,) = after(m, self.latency - 1, quadrant=quadrant)
        swap, opposite, both = after(
            m, 1, swap=quadrant[0], opposite=quadrant[1], both=quadrant[0] ^ quadrant[1]
        )
        rest = register(m, "rest", rest, signed(spec.rest_bits))
        segment = self.angle[spec.rest_bits : -2]
        sine, cosine = (
            self._polynomial(m, name, coefficients(m, name, table, segment), spec.operand_widths(table), rest)
            for name, table in zip(("sine", "cosine"), spec.tables, strict=True)
        )
        m.d.comb += [
            self.sin.eq(negate(Mux(swap, cosine, sine).as_signed(), opposite)),
            self.cos.eq(negate(Mux(swap, sine, cosine).as_signed(), both)),
        ]
        return m

    def _polynomial(
        self, m: Module, name: str, by_power: list[Any], widths: tuple[int, ...], rest: Any
    ) -> Any:
        """Return the clamped magnitude, by Horner's rule with a register after each power but maybe the last.

        ``by_power`` are the coefficients, and ``widths`` those of the registers. The last register is before
        the clamp, whose only condition it has.
        """
        spec = self.spec
        total = by_power[-1]
        for power in reversed(range(1, spec.order)):
            inner = self._power(m, name, power, total, rest, by_power[power])
            total = register(m, f"{name}_total_{power}", inner, signed(widths[power - 1]))
            waiting = 1 + self.registers
            others = {f"{name}_coefficient_{k}": value for k, value in enumerate(by_power[:power])}
            rest, *by_power = after(m, waiting, rest=rest, **others)
        full = self._power(m, name, 0, total, rest, by_power[0])
        if not self._waits:  # less than two, so a single bit tells whether it is one
            full = full[: GUARD + spec.width + 1].as_signed()
        below, sign = full[GUARD : GUARD + spec.width - 1], full[-1]
        too_large = ~sign & full[GUARD + spec.width - 1 : -1].any()
        signals = {name: below, f"{name}_sign": sign, f"{name}_too_large": too_large}
        below, sign, too_large = after(m, self._waits, **signals)
        return Cat(below | too_large.replicate(len(below)), sign).as_signed()

    def _power(self, m: Module, name: str, power: int, total: Any, rest: Any, coefficient: Any) -> Any:
        names = f"{name}_{power}", f"{name}_coefficient"
        return horner_step(m, self, names, total, rest, coefficient, self.spec.product_cut(power))


def trigonometry_cells(unit: TrigonometrySpec, fabric: Fabric, *, soonest: bool = False) -> Cells:
    """Return the cells of a unit with its tables.

    The ``soonest`` results come without registers of both magnitudes, of their clamps and of the quadrant.
    """
    cells = fabric.trigonometry.cells(unit.width, unit.order)
    cells += Cells(flip_flops=-2 * (unit.width + 2) * soonest)
    for columns in unit.tables:
        bits = sum(coefficient_width(column) for column in columns)
        cells += fabric.table(bits, len(columns[0]))
    return cells + Cells(luts=unit.phase_bits * fabric.constant_addend)
