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


class Inverter(wiring.Component):
    """A part of which all instances are equal."""

    variant = "only"

    def __init__(self):
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, _platform):
        m = Module()
        m.d.comb += self.o.eq(~self.i)
        return m


class Inverters(wiring.Component):
    """Two in a row, and one whose result is read without a port if ``wild``."""

    def __init__(self, wild=False):
        super().__init__({"i": In(8), "o": Out(8)})
        self._wild = wild

    def elaborate(self, _platform):
        m = Module()
        m.submodules.first, m.submodules.second = first, second = Inverter(), Inverter()
        m.d.comb += [first.i.eq(self.i), second.i.eq(first.o), self.o.eq(second.o)]
        if self._wild:
            m.submodules.reader = Reader(second.o[:4])
        return m


def test_equal_parts_are_converted_once(monkeypatch):
    modules = read_modules(Inverters(), "two")
    assert [module.name for module in modules] == ["\\two", "\\two_inverter"]
    monkeypatch.setattr(Inverter, "variant", None)
    assert modules == read_modules(Inverters(), "two")


def test_a_signal_of_a_repeated_part_is_not_read():
    with pytest.raises(RuntimeError, match="two_reader reads 'o' of two, which is no port of it"):
        read_modules(Inverters(wild=True), "two")
