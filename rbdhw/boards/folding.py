"""An accelerator with its streams folded onto a few pins, for placement on a device without a board."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockSignal, Instance, Module, ResetSignal, Signal
from amaranth.lib.wiring import Component, In, Out

from rbdhw.verilog_names import DEFAULT_NAME


class FoldedAccelerator(Component):
    """The generated Verilog module with its streams folded onto a few pins.

    A shift register provides the bits of a request. Each bit of a response enters a chain of exclusive ors
    with a register per bit, so that nothing can be optimised away. Every path of the accelerator therefore
    runs between registers, with at most one look-up table of the wrapper in addition to its own logic. The
    wrapper takes two flip-flops and one look-up table per bit of TDATA.

    Parameters
    ----------
    data_width : int
        Bits of TDATA.
    name : str
        The module.

    Members
    -------
    request, valid, last, ready : In(1)
        The next bit of the request's data, and the other inputs of the streams.
    folded : Out(1)
        The end of the chain.
    """

    def __init__(self, *, data_width: int, name: str = DEFAULT_NAME) -> None:
        self.data_width = data_width
        self.name = name
        super().__init__({"request": In(1), "valid": In(1), "last": In(1), "ready": In(1), "folded": Out(1)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002 - Amaranth gives it by position
        m = Module()
        taken = Signal(4, reset_less=True)
        reset, valid, last, ready = taken
        request = Signal(self.data_width, reset_less=True)
        answer = Signal(self.data_width + 3)
        chain = Signal(len(answer), reset_less=True)
        m.d.sync += [
            taken.eq(Cat(ResetSignal(), self.valid, self.last, self.ready)),
            request.eq(Cat(self.request, request[:-1])),
            chain.eq(Cat(0, chain[:-1]) ^ answer),
        ]
        m.d.comb += self.folded.eq(chain[-1])
        m.submodules.accelerator = Instance(
            self.name,
            i_clk=ClockSignal(),
            i_rst=reset,
            i_s_axis_tdata=request,
            i_s_axis_tvalid=valid,
            o_s_axis_tready=answer[-1],
            i_s_axis_tlast=last,
            o_m_axis_tdata=answer[: self.data_width],
            o_m_axis_tvalid=answer[-2],
            i_m_axis_tready=ready,
            o_m_axis_tlast=answer[-3],
        )
        return m
