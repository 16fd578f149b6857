"""The cells of the interface: more for wider streams and longer packets, and converters for singles."""

from dataclasses import replace

import pytest
from amaranth.hdl import _nir
from amaranth.lib import data

from rbdhw.estimate.fabric import ECP5, ULTRASCALE_PLUS, Cells
from rbdhw.rtl.edge_cells import CorePort, edge_cells
from rbdhw.rtl.lane import Lane, lane_cells, waiting_places
from rbdhw.rtl.skid_buffer import SkidBuffer, skid_buffer_cells
from tests.support.designs import rail_design
from tests.support.netlists import netlist_of

LATENCY = {"id": 10, "fd": 20}


def cells_of(interface, latency, ii, fabric):
    """Return the cells around one core with these latencies."""
    return edge_cells(interface, [CorePort(latency, ii, sum(interface.slots))], fabric)


def cells(fabric=ULTRASCALE_PLUS, ii=1, bodies=3, data_width=64, number="fixed"):
    interface = replace(rail_design(data_width=data_width, bodies=bodies).interface, number=number)
    return cells_of(interface, LATENCY, ii, fabric)


@pytest.mark.parametrize("fabric", [ULTRASCALE_PLUS, ECP5])
def test_longer_packets_take_more(fabric):
    small, large = (cells(fabric, bodies=bodies) for bodies in (2, 12))
    for part in ("edge", "buffers"):
        assert large[part].luts > small[part].luts
        assert large[part].flip_flops > small[part].flip_flops


def test_buffers_hold_the_tasks_in_flight():
    """At one cycle 20 + 3 + 2 tasks and more wait (depth 32); at eight cycles 5 do (depth 8)."""
    assert cells(ECP5, ii=1)["buffers"].luts > cells(ECP5, ii=8)["buffers"].luts
    assert cells(ECP5, ii=1)["edge"] == cells(ECP5, ii=8)["edge"]


def test_a_beat_that_waits_has_its_end(monkeypatch):
    """Long answers wait in beats: each has a bit that tells whether it is the last."""
    interface, asked = rail_design(data_width=64, bodies=40).interface, []
    queue = type(ECP5).queue
    monkeypatch.setattr(
        type(ECP5), "queue", lambda fabric, bits, depth: asked.append(bits) or queue(fabric, bits, depth)
    )
    cells_of(interface, {"id": 64, "fd": 64}, 64, ECP5)
    assert asked.count(interface.response_beat + 1) == len(LATENCY)


def test_every_cycle_of_latency_takes_two_flip_flops_of_each_function():
    interface = rail_design(data_width=64, bodies=3).interface
    later = {function: cycles + 3 for function, cycles in LATENCY.items()}
    first, second = (cells_of(interface, known, 8, ECP5)["edge"] for known in (LATENCY, later))
    assert second.flip_flops - first.flip_flops == len(LATENCY) * 3 * 2


def test_each_pair_of_streams_has_an_edge_of_its_own():
    """Two pairs take twice the cells of one, and what lets them take turns at the core."""
    one = rail_design(data_width=64, bodies=3).interface
    alone, both = (cells_of(interface, LATENCY, 8, ECP5) for interface in (one, replace(one, streams=2)))
    bits = sum(one.slots)
    assert 2 * alone["edge"].luts + bits <= both["edge"].luts <= 2.5 * alone["edge"].luts + 2 * bits
    assert both["buffers"].luts >= 2 * alone["buffers"].luts + bits


def test_every_lane_of_singles_has_converters():
    narrow, wide = (cells(number="float32", data_width=width)["edge"] for width in (32, 64))
    plain = cells(data_width=64)["edge"]
    assert wide.luts > narrow.luts > plain.luts
    assert wide.luts - plain.luts > 2 * 32 * 19


def test_only_streams_that_have_a_bit_there_are_chosen_among():
    """One beat holds a refusal's header and the two answers; the end of the longer one holds nothing else."""
    interface = rail_design(data_width=512, bodies=3).interface
    long, other = interface.functions
    short = replace(other, outputs=other.outputs[:1])
    assert interface.response_beats(long, extended=True) == 1
    fewer = long.result_bits - short.result_bits
    both, one = (
        cells_of(replace(interface, functions=(long, function)), LATENCY, 1, ULTRASCALE_PLUS)["edge"].luts
        for function in (replace(other, outputs=long.outputs), short)
    )
    chosen = ULTRASCALE_PLUS.multiplexer(2, fewer)
    assert fewer > 0
    assert both - one == pytest.approx(chosen + 0.5 * fewer)


def test_the_quotas_of_a_round_are_counted():
    """Answers of 2 and 8 beats send 4 and 1 packets in a round, and with priority 4 more of either."""
    interface = rail_design(data_width=32, bodies=12).interface
    long, other = interface.functions
    short = replace(other, outputs=other.outputs[:1])
    interface = replace(interface, functions=(replace(long, name="m"), replace(short, name="id")))
    assert [interface.response_beats(function, extended=True) for function in interface.functions] == [8, 2]
    latency = {"m": 10, "id": 10}
    kept = cells_of(interface, latency, 1, ECP5)["edge"]
    for priority, more in ((("id",), 5 - 3), (("m",), 3 - 1), (("m", "id"), 5 - 3 + 3 - 1)):
        edge = cells_of(replace(interface, priority=priority), latency, 1, ECP5)["edge"]
        assert edge.flip_flops - kept.flip_flops == more
        assert edge.luts == kept.luts


def test_an_output_slower_than_the_interval_needs_fewer_places():
    """Answers of 8 beats leave every 8 cycles, whatever the interval."""
    narrow, wide = (cells(ECP5, bodies=12, data_width=width)["buffers"] for width in (32, 512))
    assert narrow.luts < wide.luts


def test_the_queue_of_a_core_holds_whole_tasks():
    lane = Lane(bits=40, functions=3, places=waiting_places(cores=2, initiation_interval=4))
    bits = len(lane.select) + len(lane.options) + len(lane.words)
    turns, queue = lane_cells(bits=40, functions=3, ii=4, cores=2, streams=1, fabric=ECP5)
    assert (turns, queue) == (Cells(), ECP5.queue(bits, lane.places))
    turns, _ = lane_cells(bits=40, functions=3, ii=4, cores=2, streams=2, fabric=ECP5)
    assert turns.luts == ECP5.multiplexer(2, bits)


def test_a_beat_that_is_kept_takes_a_choice_for_each_of_its_bits():
    netlist = netlist_of(SkidBuffer(layout=data.StructLayout({"data": 30, "last": 1})))
    registers = sum(len(cell.data) for cell in netlist.cells if isinstance(cell, _nir.FlipFlop))
    chosen = sum(len(cell.default) for cell in netlist.cells if isinstance(cell, _nir.AssignmentList))
    cells = skid_buffer_cells(31)
    assert cells.flip_flops == registers
    assert 31 <= cells.luts <= chosen


def test_parts_add_up():
    assert Cells(1, 2, 3) + Cells(10, 20, 30) == Cells(11, 22, 33)
