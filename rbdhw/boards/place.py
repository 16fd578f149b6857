"""Placement and routing of a stand-alone accelerator on a device, without a board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Instance, Module, ResetSignal, Signal
from amaranth.lib.wiring import Component, In, Out

from rbdhw.boards.build import Implementation
from rbdhw.boards.design import DesignFiles
from rbdhw.boards.nextpnr import NEXTPNR, place_and_route
from rbdhw.boards.tools import tool_version
from rbdhw.boards.yosys import FAMILIES, NETLIST, synthesize_target, time_netlist
from rbdhw.progress import Progress, silent
from rbdhw.rtl.verilog import to_verilog
from rbdhw.target import Target
from rbdhw.timing.devices import Device

TOP = "folded"


def place(
    design: DesignFiles,
    device: Target,
    work: Path,
    *,
    seeds: Sequence[int],
    timed_as: Device,
    cluster: str | None = None,
    progress: Progress = silent,
) -> Implementation:
    """Place and route the accelerator of ``design`` at its own clock, its streams folded onto a few pins.

    ``device`` is one of :data:`~rbdhw.boards.nextpnr.DEVICES`, and ``timed_as`` the same for the timing check
    before placement. The seeds are tried in order until one reaches the clock, or all at once by the workers
    of the Dask scheduler ``cluster``, with the same result. The folder ``work`` keeps the
    output of Yosys, and that of nextpnr for the best placement. The same accelerator, seeds and programs give
    the same result. Raises InputError if the design does not fit, or a program is missing. Raises ToolError
    if a program fails.
    """
    versions = {name: tool_version(name) for name in ("yosys", NEXTPNR)}
    wrapper = work / f"{TOP}.v"
    wrapper.write_text(to_verilog(FoldedAccelerator(data_width=design.data_width, name=design.name), TOP))
    sources = (design.verilog, wrapper)
    counts = synthesize_target(sources, TOP, FAMILIES[device.family], work, netlist=True, progress=progress)
    design.check_fit(counts, device)
    timing = time_netlist(work, TOP, timed_as, progress)
    placed, path = place_and_route(work / NETLIST, device.name, design.clock_mhz, seeds, cluster, progress)
    return Implementation(
        tool=f"yosys, {NEXTPNR}",
        clock_mhz=design.clock_mhz,
        fastest_mhz=placed.report.achieved_mhz,
        resources=placed.report.resources,
        missed=placed.explain_miss(device.name, path),
        versions=versions,
        tries=placed.tries,
        seed=placed.seed,
        timing=timing,
    )


class FoldedAccelerator(Component):
    """The generated Verilog module with its streams folded onto a few pins.

    A shift register provides the bits of a request. Each bit of a response enters a chain of exclusive ors
    with a register per bit, so that nothing can be optimised away. Every path of the accelerator therefore
    runs between registers, with at most one look-up table of the wrapper in addition to its own logic. The
    wrapper takes two flip-flops and one look-up table per bit of TDATA.

    Members
    -------
    request, valid, last, ready : In(1)
        The next bit of the request's data, and the other inputs of the streams.
    folded : Out(1)
        The end of the chain.
    """

    def __init__(self, *, data_width: int, name: str) -> None:
        self.data_width = data_width
        self.name = name
        super().__init__({"request": In(1), "valid": In(1), "last": In(1), "ready": In(1), "folded": Out(1)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002 - Amaranth gives it by position
        m = Module()
        controls = Signal(4, reset_less=True)
        reset, valid, last, ready = controls
        request = Signal(self.data_width, reset_less=True)
        answer = Signal(self.data_width + 3)
        chain = Signal(len(answer), reset_less=True)
        m.d.sync += [
            controls.eq(Cat(ResetSignal(), self.valid, self.last, self.ready)),
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
