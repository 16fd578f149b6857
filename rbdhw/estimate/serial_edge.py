"""The cells of an edge that takes the numbers of tasks one after the other: memories, shifters and checks."""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.estimate.edge import converter_cells
from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.interface import FunctionWords, Interface
from rbdhw.protocol import HEADER_BITS
from rbdhw.rtl.column_reader import NUMBER_LATENCY, WAITING
from rbdhw.rtl.serial_layout import Column, Packing, Reader, columns, distinct, packing
from rbdhw.rtl.serial_request import RECORD
from rbdhw.rtl.serial_response import places


def serial_edge_cells(
    interface: Interface, inputs: Sequence[Reader], latency: int, ii: int, copies: int, fabric: Fabric
) -> dict[str, Cells]:
    """Return the cells between equal cores and the streams, by the parts ``edge`` and ``buffers``.

    Parameters
    ----------
    inputs
        The numbers of each link.
    latency, ii
        Cycles from a task's start to its last result, and between tasks of a core.
    copies
        The number of cores.
    """
    (function,) = interface.functions
    cells, buffers = Cells(), Cells()
    for column in columns(inputs, interface, function):
        cells, buffers = cells + _reader(column, fabric), buffers + _beats(column, fabric)
    depth = places(interface, function, latency, ii, copies)
    cells += _request(interface, function) + _response(packing(interface, function), fabric)
    buffers += _queues(packing(interface, function), depth, fabric)
    numbers = sum(own.width for own in inputs)
    cells += Cells(luts=fabric.multiplexer(interface.streams, numbers) / interface.streams)
    turns = Cells(fabric.multiplexer(copies, interface.response_beat), interface.response_beat + copies)
    whole = cells * copies + turns
    if interface.converts:
        whole += converter_cells(interface)
    return {"edge": whole * interface.streams, "buffers": buffers * (copies * interface.streams)}


def _reader(column: Column, fabric: Fabric) -> Cells:
    """Return the cells that find the number of a link among the beats, and compare it with its bounds."""
    whole = (len(column.beats) * column.beat // column.unit - 1).bit_length()
    place = (column.beat // column.unit - 1).bit_length() + (column.banks - 1).bit_length()
    low = place // 2
    coarse = column.width + column.unit * ((1 << low) - 1)
    chosen = _shifter(coarse, column.unit << low, place - low) + _shifter(column.width, column.unit, low)
    numbers = sum(own.width for own in column.readers)
    link = (len(column.words) - 1).bit_length()
    cells = Cells(
        luts=chosen * fabric.select[2] + 2.0 * column.width * fabric.compare + numbers / 2.0 + whole,
        flip_flops=whole + place + low + coarse + column.width + numbers + 1 + 2 * link,
    )
    entries = (column.lowest, column.highest, *(own.links for own in column.readers))
    table = sum(max(map(abs, values)).bit_length() + 1 for values in entries if distinct(values))
    steps = max(column.steps).bit_length() if distinct(column.steps) else 0
    for width in (table, steps):
        if width:
            cells += fabric.table(width, len(column.words))
    return cells


def _beats(column: Column, fabric: Fabric) -> Cells:
    """Return the memories of beats, which need no pointers of their own."""
    return fabric.queue(column.beat, WAITING * column.rows) * column.banks


def _request(interface: Interface, function: FunctionWords) -> Cells:
    """Return the registers of a header, and the counters of beats, links and requests."""
    beats = interface.request_beats(function, extended=False)
    link = (len(function.outputs) - 1).bit_length()
    counters = beats.bit_length() + 3 * link + 6 * WAITING.bit_length() + 2 * NUMBER_LATENCY
    return Cells(luts=2.0 * HEADER_BITS + 2.0 * counters, flip_flops=HEADER_BITS + counters)


def _response(shape: Packing, fabric: Fabric) -> Cells:
    """Return the packer of results, and the choice of a beat of a line."""
    place = (shape.line // shape.unit - 1).bit_length()
    low = place // 2
    fine = shape.field + shape.unit * ((1 << low) - 1)
    whole = shape.line + shape.field
    placed = sum(shape.field + (shape.unit << k) for k in range(low))
    placed += sum(fine + (shape.unit << k) for k in range(low, place))
    beat = _shifter(shape.beat, shape.beat, (shape.beats_of_line - 1).bit_length())
    luts = (placed + beat) * fabric.select[2] + 2.0 * whole / fabric.inputs + shape.line + HEADER_BITS
    return Cells(luts=luts, flip_flops=fine + shape.line + place)


def _queues(shape: Packing, depth: int, fabric: Fabric) -> Cells:
    """Return the queues of lines, of records and of flags."""
    lines = fabric.queue(shape.line, depth * shape.lines)
    return lines + fabric.queue(RECORD.size, depth + WAITING) + fabric.queue(1, depth) * 2


def _shifter(width: int, unit: int, bits: int) -> int:
    """Return the choices of :func:`rbdhw.rtl.shifter.shift_down`."""
    return sum(width + unit * ((1 << k) - 1) for k in range(bits))
