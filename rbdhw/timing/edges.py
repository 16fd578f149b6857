"""The edges of a netlist's timing graph: each is a wire and the cell that reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from rbdhw.errors import InputError
from rbdhw.timing.cells import PAIRED_INPUTS, CellTiming, Family, Pins
from rbdhw.timing.netlist import CONSTANT, Bits, Cell, Netlist

CLOCK = 0
"""The node at which all paths start; nets have the numbers that Yosys gave them, which start at 2."""

PORT = -1
"""In place of the number of a cell: a port of the design."""

Counts = tuple[float, float, float]
"""Of a connection: 1 if it is a wire of the fabric, the doublings of its readers, and its ends at blocks."""

NO_WIRE: Counts = (0.0, 0.0, 0.0)


class Edges:
    """The edges, with the delays of cells (ps) and the counts of wires, and the ends of paths.

    Raises InputError if the family has no such cell.
    """

    def __init__(self, netlist: Netlist, family: Family) -> None:
        self._netlist, self._family = netlist, family
        self._driver: dict[int, tuple[int, str]] = {}
        self._readers: Counter[int] = Counter(bit for bit in netlist.outputs if bit != CONSTANT)
        self._registers: Counter[int] = Counter()
        self._distinct: set[tuple[object, ...]] = set()
        """Of flip-flops: their kind and parameters, and what they read, the clock included."""
        timed = [(cell, self._timing(cell)) for cell in netlist.cells]
        for number, (cell, timing) in enumerate(timed):
            self._connect(number, cell, timing)
        self.nodes = max((*self._readers, *self._driver, *netlist.inputs, CLOCK)) + 1
        self.sources: list[int] = []
        self.targets: list[int] = []
        self.delays: list[float] = []
        self.counts: list[Counts] = []
        self.ends: list[tuple[int, int]] = []
        """The nodes at which paths end, with the number of the cell."""
        self.owners: dict[int, int] = {net: driver for net, (driver, _) in self._driver.items()}
        """The cell that drives each node, or in which it is."""
        for number, (cell, timing) in enumerate(timed):
            self._add(number, cell, timing)
        self._add_ports()

    def _timing(self, cell: Cell) -> CellTiming:
        make = self._family.cells.get(cell.kind)
        if make is None:
            expected = f"one of {', '.join(sorted(self._family.cells))}"
            raise InputError(f"cell {cell.name}", f"{cell.kind} is not of this family", expected)
        return make(cell)

    def _connect(self, number: int, cell: Cell, timing: CellTiming) -> None:
        """Note what drives and what reads each net."""
        outputs = {pin for _, pins, _ in timing.arcs for pin in pins} | _pins_of(timing.clocked)
        for bit in _bits_at(cell, outputs):
            self._driver[bit] = (number, cell.kind)
        inputs = {pin for pins, _, _ in timing.arcs for pin in pins} | _pins_of(timing.setup)
        data = self._family.registers.get(cell.kind)
        if data and self._family.merged and self._is_copy(cell, outputs):
            return
        self._readers.update(set(_bits_at(cell, inputs)))
        if data:
            self._registers.update(_bits_at(cell, {data}))

    def _is_copy(self, cell: Cell, outputs: set[str]) -> bool:
        """Return whether a flip-flop equals an earlier one, and note it."""
        read = sorted((port, nets) for port, nets in cell.ports.items() if port not in outputs)
        flip_flop = cell.kind, *read, *sorted(cell.parameters.items())
        copy = flip_flop in self._distinct
        self._distinct.add(flip_flop)
        return copy

    def _add(self, number: int, cell: Cell, timing: CellTiming) -> None:
        for pins, delay in timing.clocked.items():
            for bit in _bits_at(cell, pins):
                self._edge(CLOCK, bit, delay)
        for sources, targets, delay in timing.arcs:
            self._add_arc(number, sources, _bits_at(cell, targets), delay)
        if timing.setup or timing.period:
            end = self._end(number)
            for pins, delay in timing.setup.items():
                self._read(cell, pins, end, delay)
            if timing.period:
                self._edge(CLOCK, end, timing.period)

    def _add_ports(self) -> None:
        """Add the ports, as if registers stood behind them."""
        kind = next(iter(self._family.registers))
        register = self._family.cells[kind](Cell("", kind, {}, {}))
        for bit in self._netlist.inputs:
            self._edge(CLOCK, bit, next(iter(register.clocked.values())))
        end = self._end(PORT)
        for bit in self._netlist.outputs:
            if bit != CONSTANT:
                self._edge(bit, end, next(iter(register.setup.values())), self._wire(bit, kind))

    def _add_arc(self, number: int, sources: Pins, targets: Bits, delay: float) -> None:
        """Add an arc; an arc to many outputs passes a node of its own."""
        cell = self._netlist.cells[number]
        if len(targets) == 1:
            self._read(cell, sources, targets[0], delay)
        elif targets:
            middle = self._node(number)
            self._read(cell, sources, middle, delay)
            for bit in targets:
                self._edge(middle, bit, 0.0)

    def _read(self, cell: Cell, pins: Pins, target: int, delay: float) -> None:
        """Add the edges from the nets at inputs of a cell."""
        for pin in pins:
            for bit in _bits_at(cell, (pin,)):
                added, counts = self._connection(cell, pin, bit)
                self._edge(bit, target, delay + added, counts)

    def _connection(self, cell: Cell, pin: str, bit: int) -> tuple[float, Counts]:
        """Return what the connection to a pin adds to the cell's delay, and the counts of its wire."""
        family = self._family
        number, driver = self._driver.get(bit, (PORT, ""))
        drivers, delay = family.local.get((cell.kind, pin), (frozenset(), 0.0))
        if driver in drivers:
            return delay, NO_WIRE
        other, beside = family.paired.get((cell.kind, pin), ("", 0.0))
        if other and self._pairs(bit, _bits_at(cell, (other,))):
            return beside, NO_WIRE
        alone = family.registers.get(cell.kind) == pin and self._registers[bit] == 1
        if alone and driver in family.beside_register:
            return family.beside_register[driver], NO_WIRE
        chain, entry, leaving = family.chain
        leaves = driver == chain and bit in self._netlist.cells[number].ports.get("COUT", ())
        enters = (cell.kind, pin) == (chain, "CIN")
        return entry * enters + leaving * leaves, self._wire(bit, cell.kind)

    def _pairs(self, bit: int, others: Bits) -> bool:
        """Return whether one look-up table drives a net and others, by its two outputs."""
        if not self._is_look_up(bit):
            return False
        inputs = {
            net for net in (bit, *others) for net in (self._inputs(net) if self._is_look_up(net) else {net})
        }
        return bit not in inputs and len(inputs) <= PAIRED_INPUTS

    def _is_look_up(self, bit: int) -> bool:
        return self._driver.get(bit, (PORT, ""))[1].startswith(("LUT", "INV"))

    def _inputs(self, bit: int) -> set[int]:
        """Return the nets that the look-up table reads that drives a net."""
        ports = self._netlist.cells[self._driver[bit][0]].ports
        return {net for port, nets in ports.items() if port[0] == "I" for net in nets if net != CONSTANT}

    def _wire(self, bit: int, reader: str) -> Counts:
        blocks = self._family.blocks
        _, driver = self._driver.get(bit, (PORT, ""))
        doublings = float(np.log2(max(self._readers[bit], 1)))
        return 1.0, doublings, float((driver in blocks) + (reader in blocks))

    def _end(self, number: int) -> int:
        node = self._node(number)
        self.ends.append((node, number))
        return node

    def _node(self, number: int) -> int:
        """Return a new node in a cell."""
        self.owners[self.nodes] = number
        self.nodes += 1
        return self.nodes - 1

    def _edge(self, source: int, target: int, delay: float, counts: Counts = NO_WIRE) -> None:
        self.sources.append(source)
        self.targets.append(target)
        self.delays.append(delay)
        self.counts.append(counts)


def _pins_of(delays: Iterable[Pins]) -> set[str]:
    return {pin for pins in delays for pin in pins}


def _bits_at(cell: Cell, pins: set[str] | Pins) -> Bits:
    """Return the nets at pins of a cell; constants are left out."""
    bits: list[int] = []
    for pin in pins:
        port, _, index = pin.removesuffix("]").partition("[")
        at_port = cell.ports.get(port, ())
        bits += at_port[int(index) : int(index) + 1] if index else at_port
    return tuple(bit for bit in bits if bit != CONSTANT)
