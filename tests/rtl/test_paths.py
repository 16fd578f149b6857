"""No output of an accelerator depends on an input in the same cycle."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.model.interface import Interface
from rbdhw.registers.map import Constants
from rbdhw.rtl.axi_accelerator import AxiAccelerator
from rbdhw.rtl.shell import Accelerator
from tests.support import singles
from tests.support.edge import FUNCTIONS
from tests.support.edge_tasks import accelerator, core_of
from tests.support.netlists import netlist_of, paths_through

CONSTANTS = Constants(8, 1, False, (0, 4, 5), 1, 125_000, 125_000, "0" * 64)


class Through(wiring.Component):
    """A register, and a path beside it."""

    def __init__(self) -> None:
        super().__init__({"a": In(2), "b": In(2), "direct": Out(2), "held": Out(2)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.comb += self.direct.eq((self.a + 1) ^ self.held)
        m.d.sync += self.held.eq(self.b)
        return m


def test_a_path_is_found() -> None:
    assert paths_through(netlist_of(Through())) == {("a", "direct")}


@pytest.mark.parametrize("width", [32, 64])
def test_accelerator_has_none(width: int) -> None:
    assert paths_through(netlist_of(accelerator(core_of(), width))) == set()


def test_accelerator_of_singles_has_none() -> None:
    assert paths_through(netlist_of(singles.accelerator(singles.core_of(), 64))) == set()


def test_accelerator_with_several_streams_has_none() -> None:
    component = Accelerator(cores=[core_of()], interface=Interface(FUNCTIONS, 32, streams=2))
    assert paths_through(netlist_of(component)) == set()


@pytest.mark.parametrize("crossing", [False, True])
def test_block_has_none_if_its_accelerator_has_none(crossing: bool) -> None:
    block = AxiAccelerator(
        name="accelerator", interface=Interface(FUNCTIONS, 64), constants=CONSTANTS, crossing=crossing
    )
    assert paths_through(netlist_of(block)) == set()
