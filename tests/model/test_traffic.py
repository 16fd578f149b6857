"""The traffic on the link, computed by hand."""

from dataclasses import replace

from rbdhw.design.packet_layout import link_entry
from rbdhw.model.traffic import Traffic, slowest, traffic
from tests.support.designs import rail_design


def test_packets_of_a_design_fill_whole_beats():
    """Three bodies with words of 16 bits: a header of 32 bits, then a slot for each number."""
    design = rail_design(data_width=64, bodies=3)
    packets = traffic(design.interface)
    bits = 32 + sum(design.interface.request_widths("id"))
    assert packets["id"].bytes_in == -(-bits // 8)
    assert packets["id"].beats_in == -(-bits // 64)
    assert packets["id"].bytes_out == -(-(32 + sum(design.interface.response_widths("id"))) // 8)
    assert list(packets) == ["id", "fd"]


def test_rates_and_intervals():
    packets = Traffic(bytes_in=30, bytes_out=225, beats_in=1, beats_out=4)
    assert (packets.interval(125.0, None), packets.tasks_per_second(125.0, None)) == (4, 31.25e6)
    assert [packets.cycles(ii) for ii in (1, 4, 7)] == [4, 4, 7]
    assert packets.interval(125.0, 32.0) == 1
    assert packets.tasks_per_second(125.0, 32.0) == 32e9 / 225
    assert packets.interval(125.0, 4.0) == 8


def test_pairs_of_streams_carry_packets_at_once():
    """The rate of the streams is theirs together; that of a link behind them stays."""
    packets = Traffic(bytes_in=30, bytes_out=225, beats_in=1, beats_out=4, streams=3)
    assert (packets.interval(125.0, None), packets.tasks_per_second(125.0, None)) == (2, 93.75e6)
    assert [packets.cycles(ii) for ii in (1, 4)] == [2, 4]
    assert packets.interval(125.0, 4.0) == 8
    interface = replace(rail_design(data_width=64, bodies=3).interface, streams=2)
    assert traffic(interface)["id"].streams == 2


def test_the_slowest_function_has_the_most_bytes_or_beats():
    packets = {"id": Traffic(90, 10, 2, 1), "fd": Traffic(80, 95, 2, 2), "m": Traffic(10, 40, 1, 1)}
    assert slowest(packets, 100.0, 1.0) == "fd"
    assert slowest(packets, 100.0, None) == "id"
    assert link_entry(packets, 100.0, 1.0).data() == {
        "bandwidth": 1.0,
        "ii": 10,
        "function": "fd",
        "functions": {
            "id": {"bytes_in": 90, "bytes_out": 10, "beats_in": 2, "beats_out": 1},
            "fd": {"bytes_in": 80, "bytes_out": 95, "beats_in": 2, "beats_out": 2},
            "m": {"bytes_in": 10, "bytes_out": 40, "beats_in": 1, "beats_out": 1},
        },
    }
