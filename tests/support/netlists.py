"""Checks of netlists: for combinational cycles, faster than Amaranth's, and for paths between ports."""

from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any

from amaranth.hdl import Fragment, _nir
from amaranth.hdl._ir import build_netlist

from rbdhw.rtl.hierarchy import _ports

COMBINATIONAL = (
    _nir.Operator,
    _nir.Part,
    _nir.Matches,
    _nir.PriorityMatch,
    _nir.AssignmentList,
    _nir.AsyncReadPort,
    _nir.FlipFlop,
)


def is_acyclic(netlist: _nir.Netlist) -> bool:
    """Return whether no cell depends on itself through combinational logic.

    Then no net does. A path ends at a flip-flop unless it enters by the clock or the asynchronous reset.
    """
    inputs = {
        number: {source for net in _inputs(cell) if (source := _source(netlist, net)) is not None}
        for number, cell in enumerate(netlist.cells)
        if isinstance(cell, COMBINATIONAL)
    }
    try:
        TopologicalSorter(inputs).prepare()
    except CycleError:
        return False
    return True


def _inputs(cell: _nir.Cell) -> set[_nir.Net]:
    """Return the nets on which a cell's output depends in the same cycle."""
    return {cell.clk, cell.arst} if isinstance(cell, _nir.FlipFlop) else cell.input_nets()


def _source(netlist: _nir.Netlist, net: _nir.Net) -> int | None:
    """Return the cell that drives a net, or ``None`` for a constant."""
    while net.is_late:
        net = netlist.connections[net]
    return None if net.is_const else net.cell


def netlist_of(component: Any) -> _nir.Netlist:
    """Return the netlist of a component with the ports of its signature."""
    return build_netlist(Fragment.get(component, None), _ports(component))


def paths_through(netlist: _nir.Netlist) -> set[tuple[str, str]]:
    """Return the inputs and outputs of a netlist between which there is a combinational path.

    Paths end at registers, and at instances of modules that stand elsewhere.
    """
    inputs = {
        bit: name
        for name, (first, width) in netlist.top.ports_i.items()
        for bit in range(first, first + width)
    }

    @cache
    def reached(net: _nir.Net) -> frozenset[str]:
        while net.is_late:
            net = netlist.connections[net]
        if net.is_const:
            return frozenset()
        if net.cell == 0:
            return frozenset({inputs[net.bit]})
        cell = netlist.cells[net.cell]
        if not isinstance(cell, COMBINATIONAL) or isinstance(cell, _nir.FlipFlop):
            return frozenset()
        return frozenset().union(*map(reached, _inputs(cell)))

    return {
        (source, name)
        for name, value in netlist.top.ports_o.items()
        for net in value
        for source in reached(net)
    }
