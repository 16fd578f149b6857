"""Delays of the wires between cells before placement, by fan-out and by the extent of the design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Wires:
    """Delays of wires in ps, of which the first three are added up for every wire of the fabric."""

    base: float
    by_side: float
    """For each tile of the side of the square that the design occupies."""
    by_fan_out: float
    """For each doubling of the cells that read the wire."""
    to_block: float
    """For each end that is a block in a column of its own."""

    def delays(self, counts: NDArray[np.float32], side: float) -> NDArray[np.float32]:
        """Return the delays of connections with the ``counts`` of :class:`rbdhw.timing.edges.Edges`."""
        every = self.base + self.by_side * side
        return counts @ np.array([every, self.by_fan_out, self.to_block], np.float32)
