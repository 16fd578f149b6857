"""The cells between the streams and cores that take the numbers of their tasks one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.model.interface import Interface
from rbdhw.protocol import HEADER_BITS
from rbdhw.rtl.column_reader import WAITING
from rbdhw.rtl.serial_layout import Column, Packing, Reader, columns, distinct, packing
from rbdhw.rtl.serial_request import RECORD
from rbdhw.rtl.serial_response import places

COUNTERS = 4
"""Counters of beats and of links around a memory of requests."""


def serial_cells(
    interface: Interface, readers: Sequence[Reader], latency: int, ii: int, copies: int, fabric: Fabric
) -> tuple[Cells, Cells]:
    """Return the cells between one pair of streams and one core, and those of the memories among them.

    Parameters
    ----------
    readers
        The numbers of each link.
    latency
        Cycles from a task's start to its last result.
    ii
        Its initiation interval.
    copies
        The cores whose packets take turns.
    """
    (function,) = interface.functions
    counter = interface.request_beats(function, extended=False).bit_length()
    cells = Cells(COUNTERS * counter + RECORD.size, COUNTERS * counter + HEADER_BITS + RECORD.size)
    buffers = Cells()
    for column in columns(readers, interface, function):
        cells += _reader(column, fabric)
        buffers += _memories(column, fabric)
    shape = packing(interface, function)
    cells += _packer(shape, fabric) + Cells(fabric.multiplexer(shape.beats_of_line, shape.beat) + shape.beat)
    cells += Cells(fabric.multiplexer(copies, shape.beat), (shape.beat + 2) / copies)
    depth = places(interface, function, latency, ii, copies)
    return cells, buffers + _queues(shape, depth, fabric)


def _memories(column: Column, fabric: Fabric) -> Cells:
    """Return the memories of beats, and the table of what differs between links."""
    kinds = [column.kinds.index(kind) for kind in column.kind_of_each]
    entries = [column.lowest, column.highest, kinds, *(own.links for own in column.readers)]
    cells = fabric.memory(column.beat, WAITING * column.rows) * column.banks
    for kept in ([column.steps], entries):
        bits = sum(_bits(values) for values in kept if distinct(values))
        if bits:
            cells += fabric.table(bits, len(column.words))
    return cells


def _bits(values: Sequence[int]) -> int:
    """Return the bits of the widest of some integers."""
    return max(value.bit_length() for value in values) + (min(values) < 0)


def _reader(column: Column, fabric: Fabric) -> Cells:
    """Return the selection of a field among beats, its comparison, and the registers on the way."""
    units = column.banks * column.beat // column.unit
    amount = (units - 1).bit_length()
    low = amount // 2
    coarse = column.width + column.unit * ((1 << low) - 1)
    given = sum(own.width for own in column.readers)
    place = (len(column.beats) * column.beat // column.unit).bit_length()
    luts = _shifter(amount - low, column.unit << low, coarse, fabric)
    luts += _shifter(low, column.unit, column.width, fabric)
    luts += 2.0 * column.width * fabric.compare + given + 2.0 * place
    return Cells(luts, coarse + column.width + given + place + amount + low + 1)


def _shifter(stages: int, unit: int, width: int, fabric: Fabric) -> float:
    """Return the look-up tables of a shift of ``width`` bits by units, in stages of two choices."""
    moved = sum(width + unit * ((1 << k) - 1) for k in range(stages))
    return moved * min(fabric.select[2], fabric.select[4] / 2.0)


def _packer(shape: Packing, fabric: Fabric) -> Cells:
    """Return what places results side by side, and the line that is begun."""
    amount = (shape.line // shape.unit - 1).bit_length()
    low = amount // 2
    placed = shape.field + shape.unit * ((1 << low) - 1)
    luts = _shifter(low, shape.unit, shape.field, fabric)
    luts += _shifter(amount - low, shape.unit << low, placed, fabric)
    counters = amount + shape.links.bit_length()
    return Cells(luts + shape.line + shape.field + 2.0 * counters, placed + shape.line + counters)


def _queues(shape: Packing, depth: int, fabric: Fabric) -> Cells:
    """Return the queues of lines, of records and of two flags."""
    lines = fabric.queue(shape.line, depth * shape.lines + 1)
    return lines + fabric.queue(RECORD.size, depth + WAITING) + fabric.queue(1, depth + 1) * 2


def shared_numbers(readers: Sequence[Reader], streams: int, fabric: Fabric) -> Cells:
    """Return what lets several pairs of streams bring the numbers of a core."""
    return Cells(fabric.multiplexer(streams, sum(own.width for own in readers)))
