"""Delays of the wires between cells before placement, by fan-out and by the size of the design."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Wires:
    """Delays of wires in ps, of which the first three are added up for every wire of the fabric."""

    base: float
    by_size: float
    """For each doubling of the look-up tables beyond a thousand."""
    by_fan_out: float
    """For each doubling of the cells that read the wire."""
    to_block: float
    """For each end that is a block in a column of its own."""

    def delays(self, counts: NDArray[np.float32], luts: int) -> NDArray[np.float32]:
        """Return the delays of connections with the ``counts`` of :class:`rbdhw.timing.edges.Edges`."""
        every = self.base + self.by_size * doublings(luts)
        return counts @ np.array([every, self.by_fan_out, self.to_block], np.float32)


def doublings(luts: int) -> float:
    """Return the doublings of a thousand look-up tables that a design has."""
    return math.log2(max(luts, 1000) / 1000)
