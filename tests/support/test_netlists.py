import pytest
from amaranth.hdl import CombinationalCycle, Module, Signal, _nir
from amaranth.hdl._ir import Fragment, build_netlist

from tests.support.netlists import is_acyclic


def netlist(module, *ports):
    return build_netlist(Fragment.get(module, None), {port.name: (port, None) for port in ports})


@pytest.fixture
def checked(monkeypatch):
    """The netlists that the fast check sees, with its results."""
    seen = []
    monkeypatch.setattr(_nir.Netlist, "check_comb_cycles", lambda netlist: seen.append(is_acyclic(netlist)))
    return seen


def test_logic_between_registers_is_acyclic(checked):
    m, a, b = Module(), Signal(4, name="a"), Signal(4, name="b")
    m.d.sync += b.eq(b + a)
    netlist(m, a, b)
    assert checked == [True]


def test_a_sum_of_itself_is_not_acyclic(checked):
    m, a, b = Module(), Signal(4, name="a"), Signal(4, name="b")
    m.d.comb += b.eq(b + a)
    netlist(m, a, b)
    assert checked == [False]


def chain(last):
    m, a, b = Module(), Signal(4, name="a"), Signal(4, name="b")
    m.d.comb += [b[0].eq(a[0]), b[1].eq(b[0]), b[2].eq(b[1]), b[3].eq(b[last])]
    return netlist(m, a, b)


def test_bits_of_one_cell_may_depend_on_each_other():
    assert not is_acyclic(chain(2))


def test_what_is_not_acyclic_by_cell_is_checked_by_net():
    with pytest.raises(CombinationalCycle):
        chain(3)
