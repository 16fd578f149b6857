"""The memory for the beats of one array of requests, and the reader of its numbers, link by link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Shape, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.polynomial import pack
from rbdhw.rtl.serial_layout import Column, Reader, distinct
from rbdhw.rtl.shifter import shift_down, shifter_luts

WAITING = 4
"""The requests for which the memory has room, a power of two.

One is read while the next one waits for the core and another one arrives. With one more, the end of the
reading never holds up a beat.
"""

NUMBER_LATENCY = 4
"""Cycles from the first one of a window to the numbers of the link that is read in it."""


def numbers_layout(readers: Sequence[Reader]) -> data.StructLayout:
    """Return the layout of the numbers of one link, by the inputs that read them."""
    return data.StructLayout({reader.name: reader.width for reader in readers})


class ColumnReader(wiring.Component):
    """Keeps the beats of an array, and reads, in each window, the number of one link."""

    def __init__(self, *, column: Column, beats: int) -> None:
        self.column = column
        links = len(column.words)
        super().__init__(
            {
                # A beat of a packet is kept, its number in the packet, and the place of the packet.
                "write": In(1),
                "index": In(range(beats + 1)),
                "beat": In(column.beat),
                "written": In(range(WAITING)),
                # The number of the next link is read, in the packet at this place.
                "read": In(1),
                "slot": In(range(WAITING)),
                "following": In(range(links)),  # the link whose number is read next
                # The link whose number was read two cycles before, until the next one was.
                "link": In(range(links)),
                "active": In(1),  # whether a number was read three cycles before, until the next one was
                # The number for each input of the step, `NUMBER_LATENCY` cycles after `read`.
                "numbers": Out(numbers_layout(column.readers)),
                "outside": Out(1),  # whether that number is outside its bounds
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        place = self._place(m)
        of_beat, banks = _bits(self.column.beat // self.column.unit), _bits(self.column.banks)
        beats = self._memories(m, place[of_beat:])
        self._give(m, self._select(m, beats, place[: of_beat + banks]))
        return m

    def _place(self, m: Module) -> Signal:
        """Return the place of the number that is read next, in units."""
        column = self.column
        units = len(column.beats) * column.beat // column.unit
        place = Signal(range(units), name="place", init=column.starts[0])
        step = _table(m, "steps", {"step": column.steps}, self.following)["step"]
        with m.If(self.read):
            m.d.sync += place.eq(Mux(self.following == 0, column.starts[0], place + step))
        return place

    def _memories(self, m: Module, first: Any) -> Any:
        """Return the beats of all memories, those of a field among them; ``first`` is the first of these."""
        column = self.column
        within, below = Signal(range(len(column.beats)), name="within"), _bits(column.banks)
        inside = (self.index >= column.beats.start) & (self.index < column.beats.stop)
        m.d.comb += within.eq(self.index - column.beats.start)
        beats = []
        for bank in range(column.banks):
            m.submodules[f"beats_{bank}"] = memory = Memory(
                shape=column.beat, depth=WAITING * column.rows, init=[]
            )
            write, read = memory.write_port(), memory.read_port(domain="sync")
            row, written = (Signal(range(column.rows), name=f"{name}_{bank}") for name in ("row", "written"))
            m.d.comb += [
                row.eq((first + (column.banks - 1 - bank)) >> below),
                written.eq(within >> below),
                write.addr.eq(Cat(written, self.written)),
                write.data.eq(self.beat),
                write.en.eq(self.write & inside & (within[:below] == bank)),
                read.addr.eq(Cat(row, self.slot)),
                read.en.eq(self.read),
            ]
            beats.append(read.data)
        return Cat(beats)

    def _select(self, m: Module, beats: Any, place: Any) -> Signal:
        """Return the field at a place among the beats of all memories, three cycles after ``read``."""
        column, low = self.column, len(place) // 2
        amount, rest = Signal(len(place), name="amount"), Signal(low, name="rest")
        with m.If(self.read):
            m.d.sync += amount.eq(place)
        m.d.sync += rest.eq(amount)
        rotated = Cat(beats, beats) if column.banks > 1 else beats
        width = column.width + column.unit * ((1 << low) - 1)
        coarse, field = Signal(width, name="coarse"), Signal(column.width, name="field")
        m.d.sync += [
            coarse.eq(shift_down(m, "coarse", rotated, amount[low:], column.unit << low, width)),
            field.eq(shift_down(m, "fine", coarse, rest, column.unit, column.width)),
        ]
        return field

    def _give(self, m: Module, field: Signal) -> None:
        """Compare a field with the bounds of its link, and give its number to the inputs of the step."""
        column = self.column
        of_link = _table(m, "links", column.of_links, self.link)
        value, number = (Signal(Shape(column.width, signed=True), name=name) for name in ("value", "number"))
        for kind, (of_field, of_word) in enumerate(column.kinds):
            with m.If(of_link["kind"] == kind):
                m.d.comb += [value.eq(field[:of_field].as_signed()), number.eq(field[:of_word].as_signed())]
        below, above = value < of_link["lowest"], value > of_link["highest"]
        m.d.sync += self.outside.eq(below | above)
        for reader in column.readers:
            present = self.active & of_link[reader.name]
            m.d.sync += self.numbers[reader.name].eq(Mux(present, number, 0))


def _bits(count: int) -> int:
    """Return the bits of a number below a power of two."""
    return (count - 1).bit_length()


def _table(m: Module, name: str, entries: Mapping[str, Sequence[int]], address: Any) -> dict[str, Any]:
    """Return what belongs to a link, by name, one cycle after its number: from a table, or constants.

    What is the same for all links takes no table.
    """
    columns: dict[str, Any] = {
        entry: C(int(values[0])) for entry, values in entries.items() if not distinct(values)
    }
    kept = {entry: [*map(int, values)] for entry, values in entries.items() if distinct(values)}
    if not kept:
        return columns
    shapes = {entry: Shape.cast(range(min(values), max(values) + 1)) for entry, values in kept.items()}
    widths = [shape.width for shape in shapes.values()]
    rows = [pack(list(row), widths) for row in zip(*kept.values(), strict=True)]
    m.submodules[name] = memory = Memory(shape=sum(widths), depth=len(rows), init=rows)
    read = memory.read_port(domain="sync")
    m.d.comb += read.addr.eq(address)
    for (entry, shape), part in zip(shapes.items(), split_sum(m, read.data, widths), strict=True):
        columns[entry] = part.as_signed() if shape.signed else part
    return columns


def reader_cells(column: Column, fabric: Fabric) -> Cells:
    """Return the selection of a field among beats, its comparison, and the registers on the way."""
    units = column.banks * column.beat // column.unit
    amount = (units - 1).bit_length()
    low = amount // 2
    coarse = column.width + column.unit * ((1 << low) - 1)
    numbers = sum(reader.width for reader in column.readers)
    place = (len(column.beats) * column.beat // column.unit).bit_length()
    luts = shifter_luts(amount - low, column.unit << low, coarse, fabric)
    luts += shifter_luts(low, column.unit, column.width, fabric)
    luts += 2.0 * column.width * fabric.compare + numbers + 2.0 * place
    return Cells(luts, coarse + column.width + numbers + place + amount + low + 1)
