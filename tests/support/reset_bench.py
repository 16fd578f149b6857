"""A device whose reset a testbench drives."""

from typing import Any

from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal


class ResetBench(Elaboratable):
    """A device with its reset in hand."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.reset = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.domains.sync = sync = ClockDomain()
        m.submodules.dut = self.dut
        m.d.comb += sync.rst.eq(self.reset)
        return m
