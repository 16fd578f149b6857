"""A check of netlists for combinational cycles that is faster than Amaranth's."""

from graphlib import CycleError, TopologicalSorter

from amaranth.hdl import _nir

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
