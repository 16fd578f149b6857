"""The cells of an accelerator's interface: packets, domain check, result buffers, and conversion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.estimate.preparation import preparation_cells
from rbdhw.estimate.serial_edge import serial_cells, shared_numbers
from rbdhw.fixed.rollout import RolloutShape, force_words, state_words
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import HEADER, HEADER_BITS, ROLLOUT
from rbdhw.rtl.admission import ADMITTED
from rbdhw.rtl.completion import places, streams
from rbdhw.rtl.domain_check import checks
from rbdhw.rtl.lane import waiting_places
from rbdhw.rtl.merger import quotas
from rbdhw.rtl.preparation import preparation_latency, row_bits
from rbdhw.rtl.rollout import flights
from rbdhw.rtl.rollout_entry import entry_layout
from rbdhw.rtl.serial_layout import Reader

RECORD_CYCLES = 2
"""The number of cycles from a task's start to its record."""

TO_FIXED = Cells(luts=10.0, flip_flops=6.0)
TO_SINGLE = Cells(luts=9.0, flip_flops=6.0)
"""The cells of a lane's converter for each bit of the fixed-point numbers."""


@dataclass(frozen=True)
class Port:
    """A core as the edge sees it.

    Parameters
    ----------
    latency
        For each of its functions, the cycles from a task's words to its results at the core's port.
    ii
        Its initiation interval.
    bits
        The bits of a task's words.
    readers
        The numbers of each link, if the core takes those of one link after the other.
    """

    latency: Mapping[str, int]
    ii: int
    bits: int
    readers: tuple[Reader, ...] = ()


def edge_cells(interface: Interface, ports: Sequence[Port], fabric: Fabric) -> dict[str, Cells]:
    """Return the cells between the cores and the streams, by the parts ``edge`` and ``buffers``."""
    if all(port.readers for port in ports):
        return _serial_edges(interface, ports, fabric)
    cells, buffers = _pair(interface, ports, fabric)
    cells, buffers = cells * interface.streams, buffers * interface.streams
    for port in ports:
        task = port.bits + len(port.latency) + HEADER["options"][1]
        waiting = waiting_places(len(ports), port.ii, interface.streams)
        if waiting:
            buffers += fabric.queue(task, waiting)
        if interface.streams > 1:
            cells += Cells(luts=fabric.multiplexer(interface.streams, task))
    return {"edge": cells, "buffers": buffers}


def _serial_edges(interface: Interface, ports: Sequence[Port], fabric: Fabric) -> dict[str, Cells]:
    """Return the cells between cores that take the numbers of one link after the other, and the streams."""
    cells, buffers = Cells(), Cells()
    for port in ports:
        (latency,) = port.latency.values()
        own, queues = serial_cells(interface, port.readers, latency, port.ii, len(ports), fabric)
        cells += own * interface.streams + shared_numbers(port.readers, interface.streams, fabric)
        buffers += queues * interface.streams
    if interface.converts:
        cells += _converters(interface) * interface.streams
    return {"edge": cells, "buffers": buffers}


def _pair(interface: Interface, ports: Sequence[Port], fabric: Fabric) -> tuple[Cells, Cells]:
    """Return the cells of the edge of one pair of streams, and those of its queues."""
    kept = Cells(flip_flops=RECORD_CYCLES * (ADMITTED.size + len(interface.functions) + 1))
    kept += _loaded_parameters(interface, fabric)
    cells = (
        _assembler(interface, fabric) + _domain_check(interface, fabric) + _merger(interface, fabric) + kept
    )
    buffers = Cells()
    for port in ports:
        waiting = waiting_places(len(ports), port.ii, interface.streams)
        for name in port.latency:
            own, queues = _completion(interface, interface.words(name), port, waiting, fabric)
            cells, buffers = cells + own, buffers + queues
        if interface.rollout is not None and "step" in port.latency:
            own, queues = _rollouts(interface, interface.rollout, port, fabric)
            cells, buffers = cells + own, buffers + queues
    for name, copies in Counter(name for port in ports for name in port.latency).items():
        if copies > 1:
            bits = _fill_cells(interface, interface.words(name).result_bits)
            cells += Cells(luts=fabric.multiplexer(copies, bits))
    if interface.converts:
        cells += _converters(interface)
    return cells, buffers


def _loaded_parameters(interface: Interface, fabric: Fabric) -> Cells:
    """Return the registers of all sets of loaded parameters, and the selection of a task's set."""
    bits, sets = sum(interface.fields[slot] for slot in interface.held), interface.parameter_sets
    return Cells(luts=fabric.multiplexer(sets, bits), flip_flops=sets * bits)


def _completion(
    interface: Interface, function: FunctionWords, port: Port, waiting: int, fabric: Fabric
) -> tuple[Cells, Cells]:
    """Return the cells that answer a function's tasks in one core, and those of their queues."""
    cycles = port.latency[function.name]
    depth = places(interface, function, cycles + waiting * port.ii, port.ii)
    cells = _serialiser(interface, function, fabric) + Cells(flip_flops=2 * cycles + function.result_bits)
    if streams(interface, function, cycles, port.ii):
        beats = interface.response_beats(function, extended=True)
        results = fabric.queue(interface.response_beat + 1, depth * beats)
    else:
        results = fabric.queue(function.result_bits + 1, depth)
    return cells, results + fabric.queue(ADMITTED.size, depth)


def _rollouts(interface: Interface, shape: RolloutShape, port: Port, fabric: Fabric) -> tuple[Cells, Cells]:
    """Return the cells that give steps back to the core, and those of their queues and rows.

    They choose between a step and a task of the link, convert a state, limit forces, and check the domain.
    """
    step, latency = interface.words("step"), port.latency["step"]
    size = entry_layout(step, shape).size
    most = flights(latency + preparation_latency(interface), port.ii)
    row = sum(word.format.width for word in force_words(step))
    checked = sum(width for _, width, _, _ in checks(interface, step.inputs))
    luts = port.bits + step.result_bits + size + 2.0 * (row + checked) * fabric.compare
    cells = Cells(luts=luts, flip_flops=size + row + 2 * latency)
    cells += preparation_cells(interface, shape, fabric)
    state = sum(own.word.format.width for own in state_words(step, shape.nq))
    buffers = fabric.queue(size, most) + fabric.queue(size - state, most)
    for name in interface.row_commands:
        buffers += fabric.table(row_bits(interface, name), shape.horizon)
    for name in (ROLLOUT, *interface.row_commands):
        own = interface.words(name)
        depth = places(interface, own, latency, 1)
        cells += _serialiser(interface, own, fabric)
        buffers += fabric.queue(own.result_bits + 1, depth) + fabric.queue(ADMITTED.size, depth)
    return cells, buffers


def _assembler(interface: Interface, fabric: Fabric) -> Cells:
    """Return the registers for the beats of a packet and for the task, and the placement of the last beat."""
    ends = {interface.request_beats(function, extended) for function, extended in interface.modes()}
    most, task = max(ends), interface.places[-1]
    moved = max(len(ends) - 1, 0) * interface.request_beat
    held = (most - 1) * interface.request_beat
    return Cells(luts=moved * fabric.select[2] + task / fabric.inputs, flip_flops=held + task + 32)


def _domain_check(interface: Interface, fabric: Fabric) -> Cells:
    found = {
        check
        for function in interface.functions
        for check in checks(interface, function.brought(extended=True))
    }
    bits = sum(width for _, width, _, _ in found)
    return Cells(luts=2.0 * bits * fabric.compare, flip_flops=len(found))


def _serialiser(interface: Interface, function: FunctionWords, fabric: Fabric) -> Cells:
    """Return the selection of a beat of a response, and its register."""
    beats = interface.response_beats(function, extended=True)
    filled = _fill_cells(interface, function.result_bits)
    chosen = fabric.multiplexer(beats, filled) if beats > 1 else filled * 0.5
    return Cells(luts=chosen, flip_flops=filled + 2)


def _fill_cells(interface: Interface, bits: int) -> int:
    """Return the number of bits in the longest beat of a response, including its header."""
    return min(HEADER_BITS + bits, interface.response_beat)


def _merger(interface: Interface, fabric: Fabric) -> Cells:
    """Return the selection of each bit among the streams that use it: responses, and headers of refusals.

    The registers hold the beat and count the packets that each stream may still send in a round.
    """
    lengths = sorted(
        _fill_cells(interface, bits) for bits in (0, *(f.result_bits for f in interface.functions))
    )
    pieces = enumerate(pairwise([0, *lengths]))
    luts = sum(fabric.multiplexer(len(lengths) - k, end - start) for k, (start, end) in pieces)
    counters = sum(quota.bit_length() for quota in quotas(interface))
    return Cells(luts=luts, flip_flops=lengths[-1] + 1 + counters)


def _converters(interface: Interface) -> Cells:
    """Return the converters of every lane in both directions."""
    ways = ((TO_FIXED, interface.request_field), (TO_SINGLE, interface.response_field))
    cells = Cells()
    for bit, width in ways:
        cells += Cells(interface.lanes * width * bit.luts, interface.lanes * width * bit.flip_flops)
    return cells
