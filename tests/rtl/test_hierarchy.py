"""Components converted one by one, with the ports of their signatures only."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.hierarchy import read_modules


class Reader(wiring.Component):
    """Answers its operand, and the signal of another component that it was given."""

    def __init__(self, foreign):
        super().__init__({"a": In(4), "o": Out(4)})
        self.foreign = foreign

    def elaborate(self, _platform):
        m = Module()
        m.d.sync += self.o.eq(self.a ^ self.foreign)
        return m


class Parent(wiring.Component):
    """Drives a signal that its part reads past its ports, or leaves it as it is."""

    def __init__(self, drives):
        super().__init__({"a": In(4), "o": Out(4)})
        self.drives = drives

    def elaborate(self, _platform):
        m, foreign = Module(), Signal(4, init=3)
        m.submodules.reader = reader = Reader(foreign)
        m.d.comb += [reader.a.eq(self.a), self.o.eq(reader.o)]
        if self.drives:
            m.d.comb += foreign.eq(self.a + 1)
        return m


def test_a_signal_that_is_no_port_is_not_read():
    with pytest.raises(RuntimeError, match="some_reader reads 'foreign' of some, which is no port of it"):
        read_modules(Parent(drives=True), "some")


def test_a_signal_that_nobody_drives_is_a_constant():
    assert [module.name for module in read_modules(Parent(drives=False), "some")] == [
        "\\some",
        "\\some_reader",
    ]
