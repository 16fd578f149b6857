"""Packs results, one in each window, into the lines of a memory."""

from __future__ import annotations

from amaranth.hdl import C, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.rtl.serial_layout import Packing
from rbdhw.rtl.shifter import shift_up, shifter_luts


class Packer(wiring.Component):
    """Places the results of a task side by side, behind room for a header, and gives line after line.

    Bits of the header, and those after the last result, are zero.
    """

    latency = 1
    """Cycles from a result to the line that it completes, unless the result goes on in the next line."""

    def __init__(self, *, shape: Packing) -> None:
        self.shape = shape
        super().__init__(
            {
                # A result, and with the last one of a task whether a value of the task overflowed.
                "valid": In(1),
                "result": In(shape.width),
                "overflow": In(1),
                # A line is complete.
                "full": Out(1),
                "line": Out(shape.line),
                # It is the last one of a task; whether a value of the task overflowed.
                "done": Out(1),
                "overflowed": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        shape = self.shape
        units, first = shape.line // shape.unit, shape.header // shape.unit
        place = Signal(range(units), name="place", init=first)
        count, last = Signal(range(shape.links)), Signal()
        low = len(place) // 2
        field = Signal(shape.field)
        fine = shift_up(m, "fine", field, place[:low], shape.unit)
        placed, rest = Signal(len(fine), name="placed", reset_less=True), Signal(len(place) - low)
        present, fills, ends, overflow = (Signal(name=name) for name in ("present", "fills", "ends", "flag"))
        after = place + shape.field // shape.unit
        m.d.comb += [field.eq(self.result.as_signed()), last.eq(count == shape.links - 1)]
        m.d.sync += [
            placed.eq(fine),
            rest.eq(place[low:]),
            present.eq(self.valid),
            fills.eq(self.valid & (after >= units)),
            ends.eq(self.valid & last),
            overflow.eq(self.overflow),
        ]
        with m.If(self.valid):
            m.d.sync += [place.eq(Mux(last, first, after)), count.eq(Mux(last, 0, count + 1))]
        whole = shift_up(m, "coarse", placed, rest, shape.unit << low)
        self._gather(m, whole, (present, fills, ends), overflow)
        return m

    def _gather(self, m: Module, whole: Signal, state: tuple[Signal, Signal, Signal], flag: Signal) -> None:
        """Add a result to the line that is begun; ``state`` is whether there is one, it fills and it ends."""
        shape, (present, fills, ends) = self.shape, state
        begun, tail = Signal(shape.line), C(0, 1)
        if shape.splits_last:
            tail, overflowed = Signal(name="tail"), Signal(name="overflowed_before")
            m.d.sync += [tail.eq(ends), overflowed.eq(flag)]
            flag = overflowed
        merged = Signal(shape.line + shape.field)
        m.d.comb += [
            merged.eq(Mux(tail, 0, begun) | whole),
            self.line.eq(Mux(tail, begun, merged[: shape.line])),
            self.full.eq(fills | ends | tail),
            self.done.eq(tail if shape.splits_last else ends),
            self.overflowed.eq(flag),
        ]
        with m.If(present):
            m.d.sync += begun.eq(Mux(fills | ends, merged[shape.line :], merged[: shape.line]))
        with m.Elif(tail):
            m.d.sync += begun.eq(0)


def packer_cells(shape: Packing, fabric: Fabric) -> Cells:
    """Return what places results side by side, and the line that is begun."""
    amount = (shape.line // shape.unit - 1).bit_length()
    low = amount // 2
    placed = shape.field + shape.unit * ((1 << low) - 1)
    luts = shifter_luts(low, shape.unit, shape.field, fabric)
    luts += shifter_luts(amount - low, shape.unit << low, placed, fabric)
    counters = amount + shape.links.bit_length()
    return Cells(luts + shape.line + shape.field + 2.0 * counters, placed + shape.line + counters)
