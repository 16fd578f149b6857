"""What cells add to paths, and which connections need no wires: the form of the families' figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rbdhw.timing.netlist import Cell

Pins = tuple[str, ...]
"""Ports, or single bits of them such as ``S[2]``."""

Arc = tuple[Pins, Pins, float]
"""A delay from each of some inputs to each of some outputs."""


PAIRED_INPUTS = 5
"""The inputs of a look-up table with two outputs (AMD UG574)."""


@dataclass(frozen=True)
class CellTiming:
    """What a cell adds to paths, in ps."""

    arcs: tuple[Arc, ...] = ()
    clocked: Mapping[Pins, float] = field(default_factory=dict)
    """From the clock to outputs."""
    setup: Mapping[Pins, float] = field(default_factory=dict)
    """From inputs to the clock."""
    period: float = 0.0
    """The longest path between registers inside."""


@dataclass(frozen=True)
class Family:
    """The cells of a device family, and the connections that need no wires of the fabric."""

    cells: Mapping[str, Callable[[Cell], CellTiming]]
    local: Mapping[tuple[str, str], tuple[frozenset[str], float]]
    """By kind and port of the reading cell: the drivers beside which it is placed, and the delay (ps)."""
    registers: Mapping[str, str]
    """Flip-flops and their data ports. A flip-flop is beside its driver if no other one reads it."""
    beside_register: Mapping[str, float]
    """The kinds that a flip-flop is placed beside, and the delay (ps) to it."""
    blocks: frozenset[str]
    """Cells in columns of their own, to which wires are longer."""
    sites: tuple[Mapping[str, float], ...]
    """The cells of which a tile of the device has a number, by the kind of their sites."""
    paired: Mapping[tuple[str, str], tuple[str, float]] = field(default_factory=dict)
    """By kind and port of a reading cell, another port of it, and a delay (ps) instead of a wire.

    A look-up table that drives the first is the second output of that which drives the other, if both have
    no more than :data:`PAIRED_INPUTS` inputs together.
    """
    merged: bool = False
    """Whether equal flip-flops are one, as the vendor's synthesis makes them; readers of each count apart."""
    chain: tuple[str, float, float] = ("", 0.0, 0.0)
    """A carry cell, and what it takes (ps) to enter its chain from the fabric and to leave it."""

    def tiles(self, cells: Mapping[str, int]) -> float:
        """Return the tiles that cells occupy: those of the sites of which they take most."""
        shares = (sum(cells.get(kind, 0) / number for kind, number in sites.items()) for sites in self.sites)
        return max(1.0, *shares)


def constant(timing: CellTiming) -> Callable[[Cell], CellTiming]:
    """Return what all cells of a kind add, whatever their parameters."""
    return lambda _: timing
