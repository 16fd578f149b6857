"""The ports of a pair of streams, their register slices, and the conversion of numbers behind them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring

from rbdhw.estimate.fabric import Cells
from rbdhw.model.interface import Interface
from rbdhw.rtl.conversion import Elastic, RequestConverter, ResponseConverter, converter_cells
from rbdhw.rtl.layouts import beat_layout
from rbdhw.rtl.skid_buffer import SkidBuffer, skid_buffer_cells


def conversion_latency(interface: Interface) -> int:
    """Return the cycles that the conversion of numbers adds to the way of a request and its response."""
    return RequestConverter.latency + ResponseConverter.latency if interface.converts else 0


def connect_ports(
    m: Module, accelerator: Any, interface: Interface, names: tuple[str, str], requests: Any, responses: Any
) -> None:
    """Connect the ports of a pair of streams: no output depends on an input in the same cycle.

    Parameters
    ----------
    accelerator
        The component with the ports.
    names
        The prefixes of the ports of requests and of responses.
    requests
        The stream that takes the beats of requests (:func:`rbdhw.rtl.layouts.request_layout`).
    responses
        The stream that gives the beats of responses.
    """
    if interface.converts:
        m.submodules.from_singles = from_singles = Elastic(pipeline=RequestConverter(interface=interface))
        m.submodules.to_singles = to_singles = Elastic(pipeline=ResponseConverter(interface=interface))
        wiring.connect(m, from_singles.o, requests)
        wiring.connect(m, responses, to_singles.i)
        requests, responses = from_singles.i, to_singles.o
    port = {
        f"{way}_{name}": getattr(accelerator, f"{prefix}_{name}")
        for way, prefix in zip(("in", "out"), names, strict=True)
        for name in ("tdata", "tvalid", "tready", "tlast")
    }
    m.submodules.skid_buffer = entry = SkidBuffer(layout=beat_layout(interface.data_width))
    m.d.comb += [
        entry.i.p.data.eq(port["in_tdata"]),
        entry.i.p.last.eq(port["in_tlast"]),
        entry.i.valid.eq(port["in_tvalid"]),
        port["in_tready"].eq(entry.i.ready),
        requests.p.data.eq(entry.o.p.data),
        requests.p.last.eq(entry.o.p.last),
        requests.valid.eq(entry.o.valid),
        entry.o.ready.eq(requests.ready),
        port["out_tdata"].eq(responses.p.data),
        port["out_tlast"].eq(responses.p.last),
        port["out_tvalid"].eq(responses.valid),
        responses.ready.eq(port["out_tready"]),
    ]


def port_cells(interface: Interface) -> Cells:
    """Return the cells of the ports of a pair of streams: the register slice, and the converters if any."""
    cells = skid_buffer_cells(interface.data_width + 1)
    return cells + converter_cells(interface) if interface.converts else cells
