"""An accelerator whose reset a testbench drives."""

from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal

from rbdhw.rtl.shell import Accelerator


class Bench(Elaboratable):
    """An accelerator with its reset in hand."""

    def __init__(self, dut: Accelerator) -> None:
        self.dut = dut
        self.reset = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.domains.sync = sync = ClockDomain()
        m.submodules.dut = self.dut
        m.d.comb += sync.rst.eq(self.reset)
        return m
