"""The registers of ``accelerator_axi`` at their AXI4-Lite port."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.registers.map import (
    ADDRESS_BITS,
    CONTROL,
    COUNTERS,
    FIRST_COUNTER,
    INTERRUPTS,
    STATUS,
    Constants,
    Register,
)
from rbdhw.rtl.counters import Counters

AXI4_LITE: dict[str, Any] = {
    "s_axi_awaddr": In(ADDRESS_BITS),
    "s_axi_awvalid": In(1),
    "s_axi_awready": Out(1),
    "s_axi_wdata": In(32),
    "s_axi_wstrb": In(4),
    "s_axi_wvalid": In(1),
    "s_axi_wready": Out(1),
    "s_axi_bresp": Out(2),
    "s_axi_bvalid": Out(1),
    "s_axi_bready": In(1),
    "s_axi_araddr": In(ADDRESS_BITS),
    "s_axi_arvalid": In(1),
    "s_axi_arready": Out(1),
    "s_axi_rdata": Out(32),
    "s_axi_rresp": Out(2),
    "s_axi_rvalid": Out(1),
    "s_axi_rready": In(1),
}
"""The ports of an AXI4-Lite slave with 32 bits of data. It has no use for AxPROT."""

COUNTED = tuple(name for name in COUNTERS if name != "cycles")
"""The counters of what happens outside of the registers."""


class Registers(wiring.Component):
    """The registers that ``registers.rdl`` describes, at an AXI4-Lite port.

    Every output is a register or a constant. One read and one write are served at a time; reading a counter
    takes up to as many cycles more as there are counters. All accesses end with the response OKAY.
    """

    def __init__(self, *, constants: Constants) -> None:
        self.constants = constants
        self.counters = Counters(count=len(COUNTERS), most=constants.pairs)
        super().__init__(
            {
                **AXI4_LITE,
                "interrupt": Out(1),
                # Whether requests are to be taken.
                "enable": Out(1, init=1),
                # High for one cycle when a soft reset is asked for.
                "soft_reset": Out(1),
                **{name: In(width) for name, (_, width) in STATUS.items()},
                # What sets the bits of the interrupt status.
                "events": In(len(INTERRUPTS)),
                # What is added to each counter in this cycle.
                **{f"add_{name}": In(range(constants.pairs + 1)) for name in COUNTED},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.counters = self.counters
        self._interrupt_enable = Signal(len(INTERRUPTS))
        self._interrupt_status = Signal(len(INTERRUPTS))
        for k, name in enumerate(COUNTERS):
            m.d.comb += self.counters.amounts[k].eq(1 if name == "cycles" else getattr(self, f"add_{name}"))
        m.d.sync += self.interrupt.eq((self._interrupt_enable & self._interrupt_status).any())
        self._add_writes(m)
        self._add_reads(m)
        return m

    def _add_writes(self, m: Module) -> None:
        """Take an address and a word, in any order, then write the word and answer."""
        address = Signal(ADDRESS_BITS, name="write_address", reset_less=True)
        word = Signal(len(INTERRUPTS), name="write_word", reset_less=True)
        strobe = Signal(name="write_strobe", reset_less=True)
        has_address = Signal()
        has_word = Signal()
        write = Signal()
        m.d.comb += write.eq(has_address & has_word & ~self.s_axi_bvalid)
        for held, ready, valid in (
            (has_address, self.s_axi_awready, self.s_axi_awvalid),
            (has_word, self.s_axi_wready, self.s_axi_wvalid),
        ):
            taken = valid & ready
            m.d.sync += [held.eq((held | taken) & ~write), ready.eq(~(held | taken) | write)]
        with m.If(self.s_axi_awready):
            m.d.sync += address.eq(self.s_axi_awaddr)
        with m.If(self.s_axi_wready):
            # All bits that can be written are in the lowest byte.
            m.d.sync += [word.eq(self.s_axi_wdata), strobe.eq(self.s_axi_wstrb[0])]
        with m.If(self.s_axi_bready):
            m.d.sync += self.s_axi_bvalid.eq(0)
        with m.If(write):
            m.d.sync += self.s_axi_bvalid.eq(1)
        chosen = {
            register: write & strobe & (address[2:] == register >> 2)
            for register in (Register.CONTROL, Register.INTERRUPT_ENABLE, Register.INTERRUPT_STATUS)
        }
        with m.If(chosen[Register.CONTROL]):
            m.d.sync += self.enable.eq(word[CONTROL["enable"]])
        with m.If(chosen[Register.INTERRUPT_ENABLE]):
            m.d.sync += self._interrupt_enable.eq(word)
        m.d.sync += self.soft_reset.eq(chosen[Register.CONTROL] & word[CONTROL["soft_reset"]])
        m.d.comb += self.counters.clear.eq(chosen[Register.CONTROL] & word[CONTROL["clear_counters"]])
        cleared = Mux(chosen[Register.INTERRUPT_STATUS], word, 0)
        m.d.sync += self._interrupt_status.eq(self._interrupt_status & ~cleared | self.events)

    def _add_reads(self, m: Module) -> None:
        """Take an address, read the word, for a counter in its turn, and answer."""
        address = Signal(ADDRESS_BITS, name="read_address", reset_less=True)
        high = Signal(32, reset_less=True)
        busy = Signal()
        reading = Signal()
        is_low = Signal()
        taken, answered = self.s_axi_arvalid & self.s_axi_arready, self.s_axi_rvalid & self.s_axi_rready
        m.d.sync += [busy.eq((busy | taken) & ~answered), self.s_axi_arready.eq(~(busy | taken) | answered)]
        with m.If(self.s_axi_arready):
            m.d.sync += address.eq(self.s_axi_araddr)
        with m.If(taken):
            m.d.sync += reading.eq(1)
        with m.If(answered):
            m.d.sync += self.s_axi_rvalid.eq(0)
        m.d.comb += is_low.eq(_any_of(address, (FIRST_COUNTER + 8 * k for k in range(len(COUNTERS)))))
        with m.If(reading & (~is_low | (self.counters.turn == (address - FIRST_COUNTER)[3:7]))):
            value = Mux(is_low, self.counters.value[:32], self._word(m, address, high))
            m.d.sync += [reading.eq(0), self.s_axi_rvalid.eq(1), self.s_axi_rdata.eq(value)]
            with m.If(is_low):
                m.d.sync += high.eq(self.counters.value[32:])

    def _word(self, m: Module, address: Any, high: Any) -> Any:
        """Return the word at an address; of a counter the high word that was kept."""
        word = Signal(32)
        words: dict[int, Any] = {
            **self.constants.words,
            Register.CONTROL: self.enable,
            Register.STATUS: Cat(self.idle, self.resetting, self.dropping, C(0, 13), self.in_flight),
            Register.INTERRUPT_ENABLE: self._interrupt_enable,
            Register.INTERRUPT_STATUS: self._interrupt_status,
        }
        with m.Switch(address[2:]):
            for offset, value in words.items():
                with m.Case(offset >> 2):
                    m.d.comb += word.eq(value)
        with m.If(_any_of(address, (FIRST_COUNTER + 8 * k + 4 for k in range(len(COUNTERS))))):
            m.d.comb += word.eq(high)
        return word


def _any_of(address: Any, offsets: Iterable[int]) -> Any:
    """Return whether an address is that of one of the words at these places."""
    return address[2:].matches(*(offset >> 2 for offset in offsets))
